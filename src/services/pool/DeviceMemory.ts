/**
 * Device memory that several pools share, of buffers or images. They have one limit together. A release in one pool serves a
 * request that waits in another, and a request in one evicts held blocks of the others before it waits or fails.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { optionsProblem, readValues } from "../../domain/arguments/ArgumentProblem.ts"
import * as KnownOptions from "../../domain/arguments/KnownOptions.ts"
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import { type GpuError, type Holder, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import type * as MemoryLimit from "../../domain/pool/MemoryLimit.ts"
import * as PoolStats from "../../domain/pool/PoolStats.ts"
import type { QueueStats } from "../../domain/pool/QueueStats.ts"
import { DeviceContext } from "../device/DeviceContext.ts"
import type * as QueueEvent from "../device/QueueEvent.ts"
import { makeMemory, type MemoryControls, memoryControlsOf } from "./Pool.ts"
import { type MemoryOptions, memorySettingsOf, ofMemory, type PoolLimit } from "./PoolOptions.ts"
import type { PoolRuntime } from "./PoolRuntime.ts"

export type { MemoryOptions } from "./PoolOptions.ts"

/**
 * The service. Its functions report and change the memory of all its pools.
 *
 * **Example** (The bytes of buffers and images together)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceMemory } from "effect-gpu-pool"
 *
 * const taken = Effect.gen(function*() {
 *   const memory = yield* DeviceMemory.DeviceMemory
 *   return (yield* memory.stats).managedBytes
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class DeviceMemory extends Context.Service<DeviceMemory, MemoryControls>()("effect-gpu-pool/DeviceMemory") {}

const known = KnownOptions.of<MemoryOptions>(ofMemory)

const memories = new WeakMap<object, PoolRuntime>()

/**
 * The memory behind the service.
 *
 * @internal
 */
export const memoryOf: Effect.Effect<PoolRuntime, GpuError, DeviceMemory> = DeviceMemory.use((service) =>
  Effect.suspend(() => {
    const memory = memories.get(service)
    return memory === undefined
      ? invalidRequest("DeviceMemory", "the service was not made by DeviceMemory.layer", "Provide DeviceMemory.layer.")
      : Effect.succeed(memory)
  })
)

/**
 * Device memory for the pools of `BufferPool.layerShared` and `ImagePool.layerShared`. It closes after them, with its
 * scope. Fails with InvalidRequest for wrong options, and with Unsupported for a share of the memory of a device that
 * does not report it.
 *
 * **Example** (One limit for buffers and images)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool, DeviceMemory } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 * import { ImageFormat, ImagePool, ImageShape } from "effect-gpu-pool/images"
 *
 * const Gpu = Layer.merge(BufferPool.layerShared(), ImagePool.layerShared()).pipe(
 *   Layer.provideMerge(DeviceMemory.layer({ maxBytes: 4096 })),
 *   Layer.provideMerge(Host.layer())
 * )
 * const program = Effect.gen(function*() {
 *   // The image goes back to its pool, which keeps it.
 *   yield* ImagePool.use(ImageShape.image2d(32, 32), ImageFormat.rgba8, () => Effect.void)
 *   // The buffer needs that memory.
 *   yield* BufferPool.use(2048, () => Effect.void)
 *   return (yield* DeviceMemory.stats).heldBytes
 * })
 * await Effect.runPromise(program.pipe(Effect.provide(Gpu))) // => 2048
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: MemoryOptions = {}): Layer.Layer<DeviceMemory, GpuError, DeviceContext> =>
  Layer.effect(
    DeviceMemory,
    Effect.gen(function*() {
      const operation = "DeviceMemory.layer"
      const { info, status } = yield* DeviceContext
      const settings = readValues(operation, () =>
        optionsProblem(operation, options, known) ?? memorySettingsOf(operation, "memory", options, info))
      if (isGpuError(settings)) {
        return yield* settings
      }
      const memory = yield* makeMemory(settings)
      const line = () =>
        inOneLine("DeviceMemory", settings.label, [
          PoolStats.format(memory.core.stats()),
          memory.core.maxBytes === Infinity ? "no byte limit" : `maxBytes ${memory.core.maxBytes} B`,
          memory.closed ? "closed" : deviceState(status, info)
        ])
      const service = showing(line, "DeviceMemory")(
        DeviceMemory.of(memoryControlsOf("DeviceMemory", memory, undefined))
      )
      memories.set(service, memory)
      return service
    })
  )

/**
 * The counters of all pools together.
 *
 * **Example** (Watching all of the memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceMemory } from "effect-gpu-pool"
 *
 * const report = Effect.map(DeviceMemory.stats, (s) => `${s.activeBytes} B leased, ${s.heldBytes} B held`)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const stats: Effect.Effect<PoolStats.PoolStats, never, DeviceMemory> = DeviceMemory.use(({ stats }) => stats)

/**
 * The limit of all pools together, in bytes; `Infinity` without one.
 *
 * **Example** (What is left)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceMemory } from "effect-gpu-pool"
 *
 * const left = Effect.zipWith(DeviceMemory.maxBytes, DeviceMemory.stats, (limit, { activeBytes }) => limit - activeBytes)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const maxBytes: Effect.Effect<number, never, DeviceMemory> = DeviceMemory.use(({ maxBytes }) => maxBytes)

/**
 * Changes the limit that the pools share: see `BufferPool.setLimit`.
 *
 * **Example** (Leaving memory to another program)
 *
 * ```ts
 * import { DeviceMemory } from "effect-gpu-pool"
 *
 * const background = DeviceMemory.setLimit("128 MiB")
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const setLimit = (
  limit: MemoryLimit.ByteAmount | PoolLimit
): Effect.Effect<void, GpuError, DeviceMemory> => DeviceMemory.use((memory) => memory.setLimit(limit))

/**
 * The largest active leases of all pools, largest first: three, or `count`.
 *
 * **Example** (The largest holders)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceMemory } from "effect-gpu-pool"
 *
 * const largest = Effect.map(DeviceMemory.holders(1), (holders) => holders[0]?.label)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const holders = (count?: number): Effect.Effect<ReadonlyArray<Holder>, never, DeviceMemory> =>
  DeviceMemory.use((memory) => memory.holders(count))

/**
 * Frees the held blocks of all pools, and waits until the driver has the memory back: see `BufferPool.freeHeld`.
 *
 * **Example** (Giving memory back between two jobs)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceMemory } from "effect-gpu-pool"
 *
 * const between = <A, E, R>(job: Effect.Effect<A, E, R>) => Effect.ensuring(job, Effect.ignore(DeviceMemory.freeHeld))
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const freeHeld: Effect.Effect<void, GpuError, DeviceMemory> = DeviceMemory.use(({ freeHeld }) => freeHeld)

/**
 * Frees the held blocks that a queue of the device used last, and waits until the driver has their memory; those that no queue has
 * used count for the first one. On a device with one queue these are all held blocks. Errors as {@link freeHeld}, and InvalidRequest
 * for a value that is no queue of the pool's device.
 *
 * **Example** (Giving back what a job on its own queue has left)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue, DeviceMemory } from "effect-gpu-pool"
 *
 * const alone = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.flatMap(CommandQueue.make(), (queue) =>
 *     Effect.ensuring(CommandQueue.on(job, queue), Effect.ignore(DeviceMemory.freeHeldOf(queue))))
 * ```
 *
 * @see cupy.cuda.MemoryPool.free_all_blocks, with a stream
 * @category accessors
 * @since 0.1.0
 */
export const freeHeldOf = (queue: QueueEvent.QueueLike): Effect.Effect<void, GpuError, DeviceMemory> =>
  DeviceMemory.use((pool) => pool.freeHeldOf(queue))

/**
 * What the pool has for one queue of its device: held blocks, and how many leases of the queue had to wait for another one. Fails
 * with InvalidRequest for a value that is no queue of the pool's device.
 *
 * **Example** (How often a queue waits for the others)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue, DeviceMemory } from "effect-gpu-pool"
 *
 * const waits = Effect.map(Effect.flatMap(CommandQueue.CommandQueue, DeviceMemory.statsOf), ({ waits }) => waits)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const statsOf = (queue: QueueEvent.QueueLike): Effect.Effect<QueueStats, GpuError, DeviceMemory> =>
  DeviceMemory.use((pool) => pool.statsOf(queue))

/**
 * Frees held blocks of any pool until no more than `bytes` are managed: see `BufferPool.trimTo`.
 *
 * **Example** (Making room for another program)
 *
 * ```ts
 * import { DeviceMemory } from "effect-gpu-pool"
 *
 * const shrink = DeviceMemory.trimTo("64 MiB")
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const trimTo = (bytes: MemoryLimit.ByteAmount): Effect.Effect<void, GpuError, DeviceMemory> =>
  DeviceMemory.use((memory) => memory.trimTo(bytes))
