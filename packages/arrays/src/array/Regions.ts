/**
 * Array scopes: effects whose intermediate arrays are released at once, or whose operations become one kernel.
 *
 * @since 0.1.0
 */
import type * as MemoryLimit from "effect-gpu-pool/BufferPool"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Scope from "effect/Scope"
import { arrayProblem } from "./elementwise/OperandProblem.ts"
import { type ArrayOperand, type Computed, evaluateAll, extracted } from "./fusion/Evaluation.ts"
import { Recording, recording } from "./fusion/Recording.ts"
import { effectProblem } from "./layout/WrongValue.ts"

/** An effect that runs in a scope of its own, whose result lives longer. */
type Scoped<A, E, R> = Effect.Effect<
  A,
  E | GpuError,
  Exclude<R, Scope.Scope> | BufferPool.BufferPool | CommandQueue | Scope.Scope
>

/**
 * The options of an array scope: the memory that it needs.
 *
 * **Example** (Array scopes that run concurrently in a small pool)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const norm = DeviceArray.scoped(
 *   Effect.gen(function*() {
 *     const x = yield* DeviceArray.fromHost(Float32Array.of(3, 4))
 *     const squares = yield* DeviceArray.multiply(x, x)
 *     return yield* DeviceArray.toNumber(yield* DeviceArray.sqrt(yield* DeviceArray.sum(squares)))
 *   }),
 *   { reserve: 64 }
 * )
 * Effect.replicateEffect(norm, 8, { concurrency: "unbounded" }).pipe(
 *   Effect.scoped,
 *   Effect.provide(BufferPool.layer({ maxBytes: 128, onExhausted: "wait" }))
 * ) // => [5, 5, 5, 5, 5, 5, 5, 5]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface RegionOptions {
  /**
   * The most bytes that its arrays have at one time, results included. The effect begins when these bytes are reserved, and
   * then waits for no other program (`BufferPool.reserve`). Without it, array scopes in a pool whose requests wait run
   * one after the other (`BufferPool.exclusively`).
   */
  readonly reserve?: MemoryLimit.ByteAmount | undefined
}

/** The data-first and data-last forms of an array scope. */
interface Region {
  (options?: RegionOptions): <A, E, R>(effect: Effect.Effect<A, E, R>) => Scoped<A, E, R>
  <A, E, R>(effect: Effect.Effect<A, E, R>, options?: RegionOptions): Scoped<A, E, R>
}

const known = KnownOptions.of<RegionOptions>({ reserve: true })

/** Runs an array scope when its memory is reserved, or in an exclusive section. */
const admitted = <A, E, R>(
  region: Effect.Effect<A, E, R>,
  options: RegionOptions | undefined
): Effect.Effect<A, E | GpuError, R | BufferPool.BufferPool> =>
  options?.reserve === undefined ? BufferPool.exclusively(region) : BufferPool.reserve(region, options.reserve)

/**
 * Runs an expression in a scope of its own and keeps only its result, in the caller's scope: the memory of
 * all intermediate arrays returns to the pool as soon as the result is there. The result may be an array, or tuples,
 * arrays and records of them.
 *
 * In a pool whose requests wait, programs that keep all their arrays in array scopes cannot wait for each other
 * forever: an array scope runs when its `reserve` is reserved, or else in an exclusive section. See
 * {@link RegionOptions}. A program that keeps arrays between two array scopes has memory while it waits: put one array
 * scope around both.
 *
 * **Example** (Ten intermediates, one of which lives on)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool } from "effect-gpu-pool"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost(Float32Array.of(3, 4))
 *   const length = yield* DeviceArray.scoped(Effect.gen(function*() {
 *     const squares = yield* DeviceArray.multiply(x, x)
 *     return yield* DeviceArray.sqrt(yield* DeviceArray.sum(squares))
 *   }))
 *   const { activeBlocks } = yield* BufferPool.stats
 *   return [yield* DeviceArray.toNumber(length), activeBlocks]
 * }) // => [5, 2]
 * ```
 *
 * @category scopes
 * @since 0.1.0
 */
export const scoped: {
  /**
   * Runs an expression in a scope of its own and keeps only its result, in the caller's scope: the memory of
   * all intermediate arrays returns to the pool as soon as the result is there. The result may be an array, or tuples,
   * arrays and records of them.
   */
  (options?: RegionOptions): <A, E, R>(effect: Effect.Effect<A, E, R>) => Scoped<A, E, R>
} & Region = dual(
  (args) => Effect.isEffect(args[0]),
  <A, E, R>(effect: Effect.Effect<A, E, R>, options?: RegionOptions): Scoped<A, E, R> =>
    effectProblem("DeviceArray.scoped", effect) ?? KnownOptions.problem("DeviceArray.scoped", options, known) ??
      admitted(extracted(effect), options)
)

/**
 * Runs an expression as {@link scoped} does, but elementwise operations in it are only recorded: a chain of them
 * becomes one kernel, without intermediate arrays. Results of one shape are computed together. The numbers are those
 * of the eager form.
 *
 * **Details**
 *
 * A mistake in shapes or types fails the operation that has it, as in the eager form. An error of the device occurs when
 * the chain is computed. That is when the effect ends, or earlier if something needs the elements: `toHost`,
 * `matmul`, convolutions and views compute their operands; reductions compute them in their own kernel. A recorded array
 * that two of these need is computed twice; {@link evaluate} gives it memory once. A chain that is too long or reads too
 * many arrays for one kernel of the device becomes several.
 *
 * Products and convolutions are recorded too. On WebGPU and OpenCL their kernel computes the operations on them as well,
 * as the bias and the maximum of a layer, where these have its shape and no other kernel needs its elements; otherwise, and
 * on the host, it stores them first. An operation that is recorded after that kernel has run computes the product again,
 * unless {@link evaluate} has given it memory.
 *
 * Intermediate memory lives until the effect ends. A {@link scoped} inside releases it earlier, and computes its
 * result. A `lazy` inside another only records more: its results become part of the outer kernels, and its `reserve`
 * has no effect. Results that are computed together are allocated together (`BufferPool.allocateAll`). The paragraph on
 * memory at {@link scoped} holds here too.
 *
 * **Example** (One kernel for three operations)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 * import { Host } from "effect-gpu-pool/host"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost(Float32Array.of(0, 1, 2))
 *   const y = yield* DeviceArray.lazy(Effect.gen(function*() {
 *     const squares = yield* DeviceArray.multiply(x, x)
 *     return yield* DeviceArray.sqrt(yield* DeviceArray.add(squares, 9))
 *   }))
 *   const { allocations } = yield* Effect.map(Host.Host, (host) => host.faults)
 *   return [(yield* DeviceArray.toHost(y))[0], allocations]
 * }) // => [3, 2]
 * ```
 *
 * @category scopes
 * @since 0.1.0
 */
export const lazy: {
  /**
   * Runs an expression as {@link scoped} does, but elementwise operations in it are only recorded: a chain of them
   * becomes one kernel, without intermediate arrays. Results of one shape are computed together. The numbers are those
   * of the eager form.
   */
  (options?: RegionOptions): <A, E, R>(effect: Effect.Effect<A, E, R>) => Scoped<A, E, R>
} & Region = dual(
  (args) => Effect.isEffect(args[0]),
  <A, E, R>(effect: Effect.Effect<A, E, R>, options?: RegionOptions): Scoped<A, E, R> =>
    effectProblem("DeviceArray.lazy", effect) ?? KnownOptions.problem("DeviceArray.lazy", options, known) ??
      Effect.withFiber((fiber): Scoped<A, E, R> =>
        fiber.getRef(Recording) !== undefined
          // The scope is the current one: providing it only changes the type.
          ? Effect.flatMap(Effect.scope, (scope) => Scope.provide(effect, scope))
          : scoped(recording(effect), options)
      )
)

/**
 * Gives a recorded array its memory now; takes an effect of an array, too. An array that has memory stays as it is. For a value inside
 * {@link lazy} that is needed more than once. The memory belongs to the scope that the array was recorded in, or to the caller's if that is
 * closed already.
 *
 * **Example** (Computing a shared value once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const spread = (x: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.lazy(Effect.gen(function*() {
 *     const roots = yield* Effect.tap(DeviceArray.sqrt(x), DeviceArray.evaluate)
 *     return yield* DeviceArray.subtract(yield* DeviceArray.max(roots), yield* DeviceArray.min(roots))
 *   }))
 * ```
 *
 * @category scopes
 * @since 0.1.0
 */
export const evaluate = <D extends DType>(self: ArrayOperand<D>): Computed<D> =>
  Effect.isEffect(self)
    ? lazy(Effect.flatMap(self, evaluate))
    : arrayProblem("DeviceArray.evaluate", self) ?? Effect.as(evaluateAll([self]), self)
