/**
 * One open device: its description, whether it is lost, and the raw creation and destruction of buffers.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { DeviceStatus } from "../../domain/device/DeviceStatus.ts"
import type { DriverObjects } from "../../domain/device/DriverObjects.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import * as LazyModule from "../calls/LazyModule.ts"
import type { DeviceBuffer, Part } from "./DeviceBuffer.ts"

export type { DeviceInfo, DeviceLimits, ImageLimits } from "../../domain/device/DeviceInfo.ts"

/**
 * Whether a buffer copies the program's data, or uses it as its memory.
 *
 * @category models
 * @since 0.1.0
 */
export type HostMode = "copy" | "use"

/**
 * The service: one open device. Each backend's layer provides it.
 *
 * **Example** (Asking what the device is)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceContext } from "effect-gpu-pool"
 * import { Host } from "effect-gpu-pool/host"
 *
 * const backend = DeviceContext.info.pipe(Effect.map((info) => info.backend), Effect.provide(Host.layer()))
 * await Effect.runPromise(backend) // => "host"
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class DeviceContext extends Context.Service<DeviceContext, {
  readonly info: DeviceInfo
  /** Alive or lost, synchronously. */
  readonly status: DeviceStatus
  /** Counts at the driver boundary; readable after the device is closed. */
  readonly driverObjects: DriverObjects
  /**
   * Creates a buffer of `bytes` bytes (positive, at most `maxBufferSize`: the caller checks; that they are a number of bytes,
   * `usage` flags and `label` a text is checked before a backend sees them). Fails with OutOfMemory,
   * DeviceLost or DriverError. Whether success proves that the memory exists depends on the backend: see
   * `Allocator.layerImmediate`. Interruption frees what was created.
   *
   * With `isDeferred` it succeeds in the step in which it runs, where the backend can: that the driver had no memory shows later, as a
   * failed command.
   */
  readonly createBuffer: (
    bytes: number,
    usage: BufferUsage,
    label?: string | undefined,
    isDeferred?: boolean
  ) => Effect.Effect<DeviceBuffer, GpuError>
  /**
   * A buffer with the bytes of the program's `data`, which are a positive number and at most `maxBufferSize`: a copy of
   * them, or, with mode "use", the data itself, which the buffer keeps. Fails as `createBuffer`, and with Unsupported
   * where a device cannot use the program's memory. `MemoryObjects.fromHost` checks the arguments.
   */
  readonly createFromHost: (
    data: Uint8Array<ArrayBuffer>,
    mode: HostMode,
    usage: BufferUsage,
    label?: string | undefined
  ) => Effect.Effect<DeviceBuffer, GpuError>
  /**
   * Creates a buffer over a range of another one when called. The parent is no sub-region itself, and it is live or has
   * a live sub-region. `SubRegion.make` checks origin, size and usage. `destroyBufferUnsafe` frees the new buffer. The
   * memory of a parent that was freed before is freed with the last of its sub-regions.
   */
  readonly createRegionUnsafe: (
    part: Part,
    size: number,
    usage: BufferUsage,
    label?: string | undefined
  ) => Exit.Exit<DeviceBuffer, GpuError>
  /**
   * A part of a buffer as memory of its own, which a pool leases: see `PoolStrategy.arena`. It makes no driver object that it
   * does not need, and ends with the buffer. Without it pools on the device cannot split memory.
   */
  readonly partUnsafe?: ((whole: DeviceBuffer, begin: number, bytes: number) => DeviceBuffer) | undefined
  /** Loads the code of `partUnsafe`, where that is not loaded at once. A pool that splits memory runs it before. */
  readonly loadParts?: Effect.Effect<void, GpuError> | undefined
  /**
   * Frees a buffer when called. Recorded commands that use it must be submitted before: an Allocator does that.
   * Destroying a buffer twice does nothing.
   */
  readonly destroyBufferUnsafe: (buffer: DeviceBuffer) => Exit.Exit<void, GpuError>
}>()("effect-gpu-pool/DeviceContext") {}

/**
 * The open device's description.
 *
 * **Example** (Choosing a size that the device can hold)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, DeviceContext } from "effect-gpu-pool"
 *
 * const largest = Effect.flatMap(
 *   DeviceContext.info,
 *   ({ limits }) => BufferPool.allocate(Math.min(1 << 30, limits.maxBufferSize))
 * )
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const info: Effect.Effect<DeviceInfo, never, DeviceContext> = DeviceContext.useSync((device) => device.info)

/**
 * Waits until the device is lost and succeeds with the DeviceLost error; never completes while the device lives.
 *
 * **Example** (Restarting when the device is gone)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceContext } from "effect-gpu-pool"
 *
 * const orLost = <A, E, R>(job: Effect.Effect<A, E, R>) =>
 *   Effect.raceFirst(job, Effect.flatMap(DeviceContext.lost, Effect.fail))
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const lost: Effect.Effect<GpuError, never, DeviceContext> = DeviceContext.use((device) =>
  Effect.callback<GpuError>((resume) => {
    const stop = device.status.onLost((error) => resume(Effect.succeed(error)))
    return Effect.sync(stop)
  })
)

/**
 * Loads the parts of the library that load at their first use, as images, kernels and rectangles do: before work that must not wait for
 * an import, or whose steps are counted. Fails with DriverError where a file of the build is missing.
 *
 * **Example** (Loading while the page is still being read)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceContext } from "effect-gpu-pool"
 *
 * const withoutImports = <A, E, R>(job: Effect.Effect<A, E, R>) => Effect.andThen(DeviceContext.preload, job)
 * ```
 *
 * @category loading
 * @since 0.1.0
 */
export const preload: Effect.Effect<void, GpuError> = LazyModule.all
