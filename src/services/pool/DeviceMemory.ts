/**
 * Device memory that several pools share, of buffers or images. They have one limit together. A release in one pool serves a
 * request that waits in another, and a request in one evicts held blocks of the others before it waits or fails.
 *
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as LayerOptions from "../../domain/arguments/LayerOptions.ts"
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { idleClockOf } from "../../domain/pool/machine/IdleSchedule.ts"
import { MemoryOptions, memorySettingsOf } from "../../domain/pool/PoolOptions.ts"
import * as PoolStats from "../../domain/pool/PoolStats.ts"
import { type ConfigOf, layerOfConfig } from "../calls/LayerConfig.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type * as Accessors from "./Accessors.ts"
import * as BoundAccessors from "./BoundAccessors.ts"
import { DeviceMemory, memories } from "./OpenShared.ts"
import { makeMemory, type MemoryControls, memoryControlsOf, openWith } from "./Pool.ts"
import type { PoolRuntime } from "./PoolRuntime.ts"

export { DeviceMemory } from "./OpenShared.ts"

export type { MemoryOptions } from "../../domain/pool/PoolOptions.ts"

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
export const layer = (options: MemoryOptions = {}): Layer.Layer<DeviceMemory, GpuError, DeviceContext> => {
  const operation = "DeviceMemory.layer"
  return Layer.effect(
    DeviceMemory,
    openWith(
      (device) =>
        memorySettingsOf(
          operation,
          "memory",
          valid(LayerOptions.read(operation, MemoryOptions, options)),
          device,
          idleClockOf
        ),
      (settings) => Effect.map(makeMemory(operation, settings), (memory) => serviceOf(memory, settings.label))
    )
  )
}

/**
 * The same as {@link layer}, with options that come from configuration.
 *
 * **Example** (The limit of all pools from the environment)
 *
 * ```ts
 * import { ConfigProvider, Effect, Layer } from "effect"
 * import { DeviceMemory } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const Memory = DeviceMemory.layerConfig("memory").pipe(
 *   Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { memory_maxBytes: "64 MiB" } }))),
 *   Layer.provideMerge(Host.layer())
 * )
 * await Effect.runPromise(DeviceMemory.maxBytes.pipe(Effect.provide(Memory))) // => 67108864
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  config: ConfigOf<MemoryOptions>
): Layer.Layer<DeviceMemory, GpuError | Config.ConfigError, DeviceContext> =>
  layerOfConfig("DeviceMemory.layerConfig", config, MemoryOptions, layer)

const serviceOf = (memory: PoolRuntime, label: string | undefined): MemoryControls => {
  const { core, deviceInfo, status } = memory
  const line = () =>
    inOneLine("DeviceMemory", label, [
      PoolStats.format(core.stats()),
      core.maxBytes === Infinity ? "no byte limit" : `maxBytes ${core.maxBytes} B`,
      memory.closed ? "closed" : deviceState(status, deviceInfo)
    ])
  const service = showing(line, "DeviceMemory")(DeviceMemory.of(memoryControlsOf("DeviceMemory", memory, undefined)))
  memories.set(service, memory)
  return service
}

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
export const stats: Accessors.OfMemory<DeviceMemory>["stats"] = BoundAccessors.stats(DeviceMemory)

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
export const maxBytes: Accessors.OfMemory<DeviceMemory>["maxBytes"] = BoundAccessors.maxBytes(DeviceMemory)

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
export const setLimit: Accessors.OfMemory<DeviceMemory>["setLimit"] = BoundAccessors.setLimit(DeviceMemory)

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
export const holders: Accessors.OfMemory<DeviceMemory>["holders"] = BoundAccessors.holders(DeviceMemory)

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
export const freeHeld: Accessors.OfMemory<DeviceMemory>["freeHeld"] = BoundAccessors.freeHeld(DeviceMemory)

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
export const freeHeldOf: Accessors.OfMemory<DeviceMemory>["freeHeldOf"] = BoundAccessors.freeHeldOf(DeviceMemory)

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
export const statsOf: Accessors.OfMemory<DeviceMemory>["statsOf"] = BoundAccessors.statsOf(DeviceMemory)

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
export const trimTo: Accessors.OfMemory<DeviceMemory>["trimTo"] = BoundAccessors.trimTo(DeviceMemory)

/**
 * Frees the held blocks of all pools, and from now on every block when its lease ends. Errors as {@link freeHeld}.
 *
 * **Example** (Pools that keep nothing any more)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { BufferPool, DeviceMemory } from "effect-gpu-pool"
 *
 * DeviceMemory.stopHolding.pipe(
 *   Effect.andThen(BufferPool.use(4096, () => Effect.void)),
 *   Effect.andThen(DeviceMemory.stats),
 *   Effect.map((stats) => stats.heldBytes),
 *   Effect.provide(BufferPool.layerShared().pipe(Layer.provideMerge(DeviceMemory.layer())))
 * ) // => 0
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const stopHolding: Accessors.OfMemory<DeviceMemory>["stopHolding"] = BoundAccessors.stopHolding(DeviceMemory)

/**
 * From now on released blocks of all pools are kept for reuse again, after {@link stopHolding}. Memory whose device is lost
 * keeps no blocks any more.
 *
 * **Example** (Keeping nothing during one job)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceMemory } from "effect-gpu-pool"
 *
 * const lean = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.acquireUseRelease(DeviceMemory.stopHolding, () => job, () => DeviceMemory.resumeHolding)
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const resumeHolding: Accessors.OfMemory<DeviceMemory>["resumeHolding"] = BoundAccessors.resumeHolding(
  DeviceMemory
)
