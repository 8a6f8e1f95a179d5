/**
 * Loops whose state is arrays: the memory of a state goes as soon as the next one is there.
 *
 * @since 0.1.0
 */
import type * as BufferPool from "effect-gpu-pool/BufferPool"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as LeaseHolder from "effect-gpu-pool/LeaseHolder"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { extracted } from "../fusion/Evaluation.ts"
import { functionProblem, returned, wrongValue } from "../layout/WrongValue.ts"
import { type RegionOptions, scoped } from "../Regions.ts"

/**
 * How a loop goes on, and what it does in each step.
 *
 * **Example** (At most a hundred steps, until the change is small)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * interface Estimate {
 *   readonly value: DeviceArray.DeviceArray<"f32">
 *   readonly change: DeviceArray.DeviceArray<"f32">
 * }
 * const isRough = ({ change }: Estimate) => DeviceArray.toNumber(DeviceArray.greater(change, 1e-6))
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface IterateOptions<in out S, out E = never, out R = never, out E2 = E, out R2 = R> extends RegionOptions {
  /** The most steps. Without it, the loop ends by `while` alone. */
  readonly times?: number | undefined
  /**
   * Whether to go on from a state. It is asked before the first step and then after every `every` steps. Reading a number waits for
   * the device, so a loop of short steps asks rarely, and may then make up to `every - 1` steps too many.
   */
  readonly while?: ((state: S, step: number) => Effect.Effect<boolean, E2, R2>) | undefined
  /** How many steps are between two questions; a whole number. Default: 1. */
  readonly every?: number | undefined
  /**
   * The next state. `step` counts from 0. Everything else that it takes from the pool returns at the end of the step; arrays of the
   * old state may be part of the new one.
   */
  readonly body: (state: S, step: number) => Effect.Effect<S, E, R>
}

/**
 * Repeats a step whose state is an array, or tuples, arrays and records of them, as often as `times` and `while` say, and returns
 * the last state. The memory of a state returns to the pool as soon as the next state is there, and that of other arrays of
 * a step at its end: the loop has the memory of two states and one step, however long it is. The arrays of the last state belong to the
 * caller's scope.
 *
 * **Details**
 *
 * An array that the loop begins with stays the caller's. The effect of one, as `DeviceArray.zeros(...)`, belongs to the loop, which
 * releases it as it does later states. Arrays that `body` has from elsewhere stay as they are.
 *
 * The whole loop is one array scope: in a pool whose requests wait, it runs when its `reserve` is reserved, or else in an exclusive section, so
 * it waits for no memory while it has some. Steps run eagerly; put `DeviceArray.lazy` around the body, or write formulas, to fuse their operations.
 * Interruption ends the loop between two commands, and releases what it has.
 *
 * Fails as `body` and `while` do, and with InvalidRequest if there is neither `times` nor `while`, or if a number is not a whole one.
 *
 * **Example** (Newton's method for square roots)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([4, 9])
 *   const roots = yield* DeviceArray.iterate(DeviceArray.onesLike(x), {
 *     times: 8,
 *     body: (root) => root.pipe(DeviceArray.add(DeviceArray.divide(x, root)), DeviceArray.multiply(0.5))
 *   })
 *   return [yield* DeviceArray.toNested(roots), (yield* BufferPool.stats).activeBlocks]
 * }) // => [[2, 3], 2]
 * ```
 *
 * **Example** (Until a number says so)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const halved = DeviceArray.iterate(DeviceArray.fromHost([100, 7]), {
 *   while: (x) => DeviceArray.toNumber(DeviceArray.any(DeviceArray.greater(x, 1))),
 *   every: 4,
 *   body: (x) => DeviceArray.multiply(x, 0.5)
 * })
 * Effect.flatMap(halved, DeviceArray.toNested) // => [0.390625, 0.02734375]
 * ```
 *
 * @see https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html
 * @category scopes
 * @since 0.1.0
 */
export const iterate = <S, E, R, E0 = never, R0 = never, E2 = never, R2 = never>(
  initial: S | Effect.Effect<S, E0, R0>,
  options: IterateOptions<S, E, R, E2, R2>
): Effect.Effect<
  S,
  E | E0 | E2 | GpuError,
  Exclude<R | R0 | R2, Scope.Scope> | BufferPool.BufferPool | CommandQueue | Scope.Scope
> => problemOf(options) ?? scoped(loop(initial, options), { reserve: options.reserve })

const loop = <S, E, R, E0, R0, E2, R2>(
  initial: S | Effect.Effect<S, E0, R0>,
  { body, every = 1, times = Infinity, while: goesOn }: IterateOptions<S, E, R, E2, R2>
) =>
  Effect.gen(function*() {
    // The scopes of states are part of this one: whatever ends the loop ends them.
    const whole = yield* Effect.scope
    let owner = yield* Scope.fork(whole)
    let state = yield* Scope.provide(extracted(Effect.isEffect(initial) ? initial : Effect.succeed(initial)), owner)
    for (let step = 0; step < times; step++) {
      if (
        goesOn !== undefined && step % every === 0 &&
        !(yield* Effect.scoped(returned(operation, goesOn(state, step), "while")))
      ) break
      const next = yield* Scope.fork(whole)
      const made: S = yield* Scope.provide(extracted(returned(operation, body(state, step), "the body")), next)
      yield* LeaseHolder.move(made, owner, next)
      yield* Scope.close(owner, Exit.void)
      owner = next
      state = made
    }
    yield* LeaseHolder.move(state, owner, whole)
    return state
  })

const operation = "DeviceArray.iterate"

const known = KnownOptions.of<IterateOptions<unknown>>({
  body: true,
  every: true,
  reserve: true,
  times: true,
  while: true
})

const problemOf = <S, E, R, E2, R2>(
  options: IterateOptions<S, E, R, E2, R2>
): GpuError | undefined => {
  if (typeof options !== "object" || options === null) {
    return wrongValue(operation, options, "options", "Pass an object with a body, and times or while.")
  }
  const unknown = KnownOptions.problem(operation, options, known)
  if (unknown !== undefined) return unknown
  const { body, every, times, while: goesOn } = options
  const noFunction = functionProblem(operation, body, "the body") ??
    (goesOn === undefined ? undefined : functionProblem(operation, goesOn, "while"))
  if (noFunction !== undefined) return noFunction
  if (times === undefined && goesOn === undefined) {
    return invalidRequest(operation, "nothing ends the loop", "Pass times, while, or both.")
  }
  if (times !== undefined && !(Number.isSafeInteger(times) && times >= 0)) {
    return invalidRequest(
      operation,
      `times is ${formatted(times)}`,
      "Pass how many steps there are: 0 or a whole number above."
    )
  }
  if (every !== undefined && !(Number.isSafeInteger(every) && every >= 1)) {
    return invalidRequest(
      operation,
      `every is ${formatted(every)}`,
      "Pass a whole number of steps, 1 or more."
    )
  }
  return undefined
}
