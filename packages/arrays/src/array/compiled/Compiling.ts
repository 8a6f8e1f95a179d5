/**
 * Functions of arrays that are traced once for each kind of arguments, and then only replayed.
 *
 * @since 0.1.0
 */
import type { BufferPool } from "effect-gpu-pool/BufferPool"
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ArrayServices, evaluateAll } from "../fusion/Evaluation.ts"
import { Recording } from "../fusion/Recording.ts"
import { functionProblem, returned } from "../layout/WrongValue.ts"
import { Arguments, read } from "./Arguments.ts"
import { trace, type Variant } from "./Variant.ts"

/**
 * A function of arrays that {@link compile} made.
 *
 * **Example** (What a run needs of the pool, before anything runs)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const norm = DeviceArray.compile((x: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.square(x).pipe(Effect.flatMap(DeviceArray.sum), Effect.flatMap(DeviceArray.sqrt))
 * )
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost(Float32Array.of(3, 4))
 *   return [yield* norm.peakBytes(x), yield* DeviceArray.toNumber(yield* norm(x))]
 * }) // => [8, 5]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Compiled<in Args extends ReadonlyArray<unknown>, out A, out E, out R> {
  /** Runs the function on these arguments. Its results belong to the caller's scope. */
  (...args: Args): Effect.Effect<A, E | GpuError, Exclude<R, ArrayServices> | ArrayServices>
  /**
   * The most bytes that a run on these arguments requests from the pool: its results, and memory that it releases as soon as its
   * commands are recorded. Traces the function if that is necessary, and runs nothing.
   */
  readonly peakBytes: (
    ...args: Args
  ) => Effect.Effect<number, E | GpuError, Exclude<R, ArrayServices> | ArrayServices>
}

const operation = "DeviceArray.compile"

/** How many kinds of arguments a function keeps traces for, on one queue. */
const mostVariants = 16

/**
 * A function that does what `f` does, and calls `f` only once for each kind of arguments. Then it records the commands that `f` recorded,
 * on the arrays of the call, without making kernels and checking commands again. The numbers are those of `f`.
 *
 * Arguments may be arrays, tuples and plain records of them, numbers, texts and other plain values, and functions. `f` runs again for an
 * array of another type or shape, or with other strides or another offset, for arrays that share memory in another way, and for another
 * value or function, by `Object.is`. Objects of classes, such as a `Map` or a typed array, are InvalidRequest, since a change in them could
 * not be seen; so are effects, and what contains itself. An argument may be nested 16 deep and contain 65,536 values. The function keeps the
 * traces of the sixteen kinds that were used last on each queue, but no memory of the device.
 *
 * **Details**
 *
 * `f` runs as in {@link lazy}, on arrays without memory. So whatever else it does, such as logging or drawing random numbers, it does at
 * the trace only, and the result of that is part of the trace. Data of the host inside `f`, as of `fromHost`, is written again in each
 * run, and is that of the trace; pass an array for data that changes. Arrays that `f` knows from elsewhere are those of the program in
 * every run: they must live, and a run has their elements of that time. Writes in place to these and to arguments are made by each run.
 *
 * The result may be an array, or tuples, arrays and records of them; other values in it are those of the trace. Arguments in it are the
 * arrays of the call.
 *
 * A run requests all its memory together, results and intermediates, and releases the intermediates as soon as its commands are recorded.
 * Arrays that are not needed at the same time have the same block. So runs cannot wait for each other forever in a pool whose requests
 * wait, without an array scope around them.
 *
 * **Gotchas**
 *
 * Elements cannot be read inside `f`: `toHost`, `toNumber` and their like fail with InvalidRequest, as do events, further queues, `flush`
 * and `finish`. Return the array, and read it after. Images and mappings cannot be part of a trace either. An array that `lazy` has only
 * recorded outside of `f` must be an argument: recorded arguments are computed first. Fails with the errors of `f` at the trace, and as
 * `CommandList.run` in each run.
 *
 * A slice at another place is an argument of another kind, as is a number that says where. A function that is called with more than sixteen
 * of them in turn is traced at each call. Pass `DeviceArray.copy(slice)`, which has a place of its own, or the whole array with the
 * position in an array, as for `take` and `put`.
 *
 * Inside another compiled function it is `f` itself, whose commands become part of that function's.
 *
 * **Example** (A step of an iteration)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Lease } from "effect-gpu-pool"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * type Floats = DeviceArray.DeviceArray<"f32">
 *
 * let traces = 0
 * const newton = DeviceArray.compile(Effect.fnUntraced(function*(root: Floats, x: Floats) {
 *   traces += 1
 *   return yield* DeviceArray.multiply(yield* DeviceArray.add(root, yield* DeviceArray.divide(x, root)), 0.5)
 * }))
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost(Float32Array.of(4, 9, 16))
 *   let root = yield* DeviceArray.onesLike(x)
 *   for (let iteration = 0; iteration < 20; iteration++) {
 *     const before = root
 *     root = yield* newton(before, x)
 *     yield* Lease.release(before.lease!)
 *   }
 *   return [yield* DeviceArray.toNested(root), traces]
 * }) // => [[2, 3, 4], 1]
 * ```
 *
 * @see jax.jit
 * @category scopes
 * @since 0.1.0
 */
export const compile = <Args extends ReadonlyArray<unknown>, A, E, R>(
  f: (...args: Args) => Effect.Effect<A, E, R>
): Compiled<Args, A, E, R> => {
  /** The least recently used variant is the last. A lost device has its queue, and its variants, no more. */
  const variants = new WeakMap<CommandQueue["Service"], Array<Variant<A>>>()
  const call = (...args: ReadonlyArray<unknown>): Effect.Effect<A, E | GpuError, R> =>
    functionProblem(operation, f, "a function") ?? returned(operation, f(...args as Args), "the function")

  const find = (queue: CommandQueue["Service"], args: Arguments): Variant<A> | undefined => {
    const known = variants.get(queue)
    if (known === undefined) return undefined
    for (let at = 0; at < known.length; at++) {
      const variant = known[at]!
      if (!variant.serves(args)) continue
      if (at > 0) known.unshift(...known.splice(at, 1))
      return variant
    }
    return undefined
  }

  const keep = (queue: CommandQueue["Service"], variant: Variant<A>): void => {
    const known = variants.get(queue)
    if (known === undefined) variants.set(queue, [variant])
    else if (known.unshift(variant) > mostVariants) known.pop()
  }

  type Services = Exclude<R, ArrayServices> | ArrayServices

  const withVariant = <B>(
    values: Args,
    use: (variant: Variant<A>, args: Arguments) => Effect.Effect<B, GpuError, BufferPool | Scope.Scope>
  ): Effect.Effect<B, E | GpuError, Services> =>
    Effect.withFiber((fiber): Effect.Effect<B, E | GpuError, Services> => {
      const args = read(values)
      if (!(args instanceof Arguments)) return args
      if (args.recorded.length > 0) {
        return Effect.andThen(evaluateAll(args.recorded), Effect.suspend(() => withVariant(values, use)))
      }
      const queue = Context.getUnsafe(fiber.context as Context.Context<CommandQueue>, CommandQueue)
      const known = find(queue, args)
      if (known !== undefined) return use(known, args)
      return Effect.flatMap(trace(call, args), (traced) => {
        // Another fiber may have traced the same meanwhile.
        const variant = find(queue, args) ?? traced
        if (variant === traced) keep(queue, traced)
        return use(variant, args)
      })
    })

  const run = (...values: Args): Effect.Effect<A, E | GpuError, Services> =>
    Effect.withFiber((fiber): Effect.Effect<A, E | GpuError, Services> =>
      // In another function that is traced, its commands become part of that one's.
      fiber.getRef(Recording)?.isTraced === true
        ? Effect.flatMap(
          Effect.context<ArrayServices>(),
          // The services are the current ones: providing them only changes the type.
          (context) => Effect.provideContext(call(...values), context)
        )
        : withVariant(values, (variant, args) => variant.run(args))
    )
  return Object.assign(run, {
    peakBytes: (...values: Args) => withVariant(values, ({ peakBytes }) => Effect.succeed(peakBytes))
  })
}
