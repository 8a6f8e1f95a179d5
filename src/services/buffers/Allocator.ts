/**
 * Where a pool allocates its device memory and frees it.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as BufferUsage from "../../domain/BufferUsage.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import * as CallSite from "../calls/CallPlaces.ts"
import { toLoggers } from "../calls/Warnings.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { QueueDriver } from "../device/QueueDriver.ts"
import { logged } from "../device/ReleaseInOrder.ts"
import { CurrentDeferred } from "../pool/CurrentReservations.ts"
import { allocateFrom, freeOf } from "./AllocatorCalls.ts"
import { makeAllocator } from "./DeviceAllocator.ts"

/**
 * The options of one `allocate`.
 *
 * @category models
 * @since 0.1.0
 */
export interface AllocateOptions {
  /** `BufferUsage.defaultUsage` (storage, copySrc, copyDst) without it. */
  readonly usage?: BufferUsage.BufferUsage | undefined
  /** Errors and a pool's lists of the largest holders show it. */
  readonly label?: string | undefined
  /**
   * Where in the program the memory was asked for, as "file:line:column". In `CallSite.track` the
   * library fills it in, unless it is given.
   */
  readonly callSite?: string | undefined
}

/**
 * The service. Decorators are layers from Allocator to Allocator.
 *
 * **Details**
 *
 * An allocator obeys these rules, and `Conformance.allocator` of `@effect-gpu-pool/testing` checks them:
 *
 * - size: it gives at least the bytes that it was asked for, and for 0 bytes always a buffer of 0, which takes no
 * memory;
 * - usage: it gives exactly the usage that it was asked for;
 * - owner: it gives out no memory that was not freed, and nobody else writes to memory that it has given out;
 * - alive: its buffers are of its own device, and live until `freeUnsafe` is called with them;
 * - order: commands that were recorded before `freeUnsafe` still run;
 * - once: it frees each buffer once, on the device or the allocator below;
 * - return: it has freed everything when its layer has closed;
 * - answer: it fails with a GpuError, and neither dies nor throws.
 *
 * So it may keep buffers and give them out again, give more bytes, and refuse. docs/allocators.md says more, with an
 * example that keeps a spare.
 *
 * **Example** (Logging what the driver is asked for)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Allocator } from "effect-gpu-pool"
 *
 * const logged = Layer.effect(
 *   Allocator.Allocator,
 *   Effect.map(Allocator.Allocator, (inner) =>
 *     Allocator.Allocator.of({
 *       ...inner,
 *       allocate: (bytes, options) =>
 *         Effect.andThen(Effect.logDebug(`${bytes} bytes`), inner.allocate(bytes, options))
 *     }))
 * ).pipe(Layer.provide(Allocator.layerImmediate))
 * ```
 *
 * @see pyopencl.tools.AllocatorBase
 * @category services
 * @since 0.1.0
 */
export class Allocator extends Context.Service<Allocator, {
  /**
   * A device buffer of `bytes` bytes; for 0 one that takes no memory, without asking the driver. Fails with
   * OutOfMemory, LimitExceeded, InvalidRequest, DeviceLost or DriverError. Uninterruptible: the caller owns the buffer
   * and must call `freeUnsafe` on it.
   */
  readonly allocate: (bytes: number, options?: AllocateOptions) => Effect.Effect<DeviceBuffer, GpuError>
  /**
   * Frees a buffer when called, in queue order: it submits the recorded commands that use the buffer first. It returns
   * an Exit, so that finalizers and pools can act on it synchronously.
   */
  readonly freeUnsafe: (buffer: DeviceBuffer) => Exit.Exit<void, GpuError>
  /** Waits until the driver really has the freed memory back. */
  readonly reclaim: Effect.Effect<void, GpuError>
  /** Whether a successful `allocate` proves that the memory exists. */
  readonly immediate: boolean
  /**
   * The limits that its buffers count against. Pools find the others on a shared limit through it, so a decorator must
   * pass it on.
   */
  readonly limits?: ReadonlyArray<object>
}>()("effect-gpu-pool/Allocator") {}

/**
 * Fresh, since a layer is built once: else a program with two devices would get the allocator of the first for both.
 */
const layer = (immediate: boolean) => Layer.fresh(Layer.effect(Allocator, makeAllocator(immediate, toLoggers)))

/**
 * Allocates so that success proves that the memory exists: an OutOfMemory comes at once, where a pool can answer it.
 *
 * **Example** (Unpooled memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Allocator } from "effect-gpu-pool"
 *
 * Effect.map(Allocator.allocate(4096), (buffer) => buffer.size).pipe(
 *   Effect.scoped,
 *   Effect.provide(Allocator.layerImmediate)
 * ) // => 4096
 * ```
 *
 * @see pyopencl.tools.ImmediateAllocator
 * @category layers
 * @since 0.1.0
 */
export const layerImmediate: Layer.Layer<Allocator, never, DeviceContext | QueueDriver> = layer(true)

/**
 * Allocates as the driver does, and waits for nothing: on OpenCL a buffer may turn out not to exist at its first use, and on WebGPU at the
 * next command that waits. Cheaper than
 * {@link layerImmediate}. Do not use it below a pool: the pool then cannot react to OutOfMemory.
 *
 * A pool never leases a block again whose first use failed. On OpenCL the failure may show only in a later `finish` or
 * `read`. The pool may lease a block again that was released before that. So call `finish` once before you release a
 * fresh block.
 *
 * **Example** (A buffer that costs nothing until it is used)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Allocator } from "effect-gpu-pool"
 *
 * Effect.map(Allocator.Allocator, (allocator) => allocator.immediate).pipe(
 *   Effect.provide(Allocator.layerDeferred)
 * ) // => false
 * ```
 *
 * @see pyopencl.tools.DeferredAllocator
 * @category layers
 * @since 0.1.0
 */
export const layerDeferred: Layer.Layer<Allocator, never, DeviceContext | QueueDriver> = layer(false)

/**
 * Runs an effect whose allocations wait for nothing that the driver does, as those of {@link layerDeferred}: so `Effect.runSync` can run
 * an `allocate` also where the pool asks the driver. For callbacks that need memory at once, as those of a library that draws or infers.
 *
 * **Details**
 *
 * - That the driver had no memory shows later: the next command that waits, as `CommandQueue.finish`, fails, and no pool leases the
 *   buffer again. Where its lease ended before that, one more request may have got it, whose commands fail too.
 * - After an eviction the pool asks the driver at once, so for a while the driver may have more bytes than the limit allows.
 * - A request that waits for other leases still waits, so pass `onExhausted: "fail"`. Handlers of `onOutOfMemory` are not asked.
 * - Images still wait for their driver, and the first staging buffer of a WebGPU device for its code, which is loaded then.
 *
 * **Example** (Memory within a callback)
 *
 * ```ts
 * import { Effect, Scope } from "effect"
 * import { Allocator, BufferPool } from "effect-gpu-pool"
 *
 * const allocator = Effect.gen(function*() {
 *   const { allocate } = yield* BufferPool.BufferPool
 *   const scope = yield* Effect.scope
 *   return (bytes: number) =>
 *     Effect.runSync(Scope.provide(Allocator.deferred(allocate(bytes, { onExhausted: "fail" })), scope))
 * })
 * Effect.map(allocator, (allocate) => allocate(1000).capacity).pipe(Effect.scoped) // => 1024
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const deferred = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, CurrentDeferred, true)

/**
 * A device buffer without a pool, freed when the scope closes. A driver error at that moment is logged. A buffer of 0
 * bytes takes no device memory, and commands on it do nothing.
 *
 * **Example** (A buffer that no pool keeps)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Allocator, CommandQueue } from "effect-gpu-pool"
 *
 * const once = Effect.scoped(Effect.gen(function*() {
 *   const buffer = yield* Allocator.allocate(1024, { label: "once" })
 *   yield* CommandQueue.fill(buffer, 0)
 * }))
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const allocate = (
  bytes: number,
  options?: AllocateOptions
): Effect.Effect<DeviceBuffer, GpuError, Allocator | Scope.Scope> => {
  const located = CallSite.locate(options, allocate)
  return Effect.flatMap(Allocator, (allocator) =>
    Effect.acquireRelease(
      allocateFrom(allocator, toLoggers, bytes, located),
      (buffer) => logged(() => freeOf(allocator, buffer))
    ))
}

/**
 * Waits until the driver really has the freed memory back.
 *
 * **Example** (Measuring what is free once a large buffer is gone)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Allocator } from "effect-gpu-pool"
 *
 * const gone = Effect.scoped(Allocator.allocate(1 << 20)).pipe(Effect.andThen(Allocator.reclaim))
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const reclaim: Effect.Effect<void, GpuError, Allocator> = Allocator.use((allocator) => allocator.reclaim)
