/**
 * Buffers of the program's own data, and moving the memory of buffers.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { ViewType } from "../../domain/data/ElementClass.ts"
import * as HostData from "../../domain/data/HostData.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, unsupported } from "../../domain/GpuError.ts"
import * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../domain/images/ImageUsageRules.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import * as BufferMemory from "../buffers/BufferMemory.ts"
import * as Mapping from "../buffers/mapping/Mapping.ts"
import { bufferFirst, eitherWay } from "../buffers/SubjectFirst.ts"
import { validated } from "../calls/Validated.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import { DeviceContext, type HostMode } from "../device/DeviceContext.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"
import { EmptyBuffer } from "../device/EmptyBuffer.ts"
import * as PinnedMemory from "../device/PinnedMemory.ts"
import { QueueDriver } from "../device/QueueDriver.ts"
import { logged, releaseInOrderUnsafe } from "../device/ReleaseInOrder.ts"
import * as ImageAccess from "../images/ImageAccess.ts"
import * as ImageLike from "../images/ImageLike.ts"

export type { ViewType } from "../../domain/data/ElementClass.ts"

/**
 * How a buffer is made of data.
 *
 * @category models
 * @since 0.1.0
 */
export interface FromHostOptions {
  /**
   * `"copy"` without it: the data is copied once. `"use"` makes the data itself the buffer's memory, without a copy where
   * the device can reach it.
   */
  readonly mode?: HostMode | undefined
  /** How many bytes of the data to take, from the first on; all of them without it. */
  readonly size?: number | undefined
  /** `BufferUsage.defaultUsage` (storage, copySrc, copyDst) without it; the first contents need none. */
  readonly usage?: BufferUsage.BufferUsage | undefined
  /** What errors call it. */
  readonly label?: string | undefined
}

/**
 * A buffer without a pool that begins with the bytes of `data`, or with the first `size` of them, until the scope
 * closes.
 *
 * **Details**
 *
 * With mode "use" (OpenCL and the host) the buffer keeps the data's ArrayBuffer for as long as it and its sub-regions
 * live and until the commands on it have ended. {@link hostArray} makes the writes of kernels visible in the data, and
 * `Mapping.map` makes the program's writes visible to the device. At other times a device with memory of its own has
 * another copy. The data must have a fixed length and begin at a multiple of 8 bytes of its ArrayBuffer.
 *
 * **Gotchas**
 *
 * Do not transfer data in use to a worker: the driver still has its address. Later commands are InvalidRequest, but
 * commands that were recorded before may read freed memory. Data that is copied must stay until the effect has
 * completed.
 *
 * A copy of 0 bytes is an empty buffer, as of `Allocator.allocate`; mode "use" needs at least one byte.
 *
 * Fails with InvalidRequest for a size above the data's, for data that is shared, detached or, in use, resizable or
 * without bytes; with LimitExceeded above `maxBufferSize`; with Unsupported for mode "use" on WebGPU, which has no
 * memory but its own; and with OutOfMemory, DeviceLost or DriverError.
 *
 * **Example** (A table that kernels read)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue, MemoryObjects } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const table = yield* MemoryObjects.fromHost(Float32Array.of(0.25, 0.5, 0.25), { label: "weights" })
 *   return [...(yield* CommandQueue.read(table, Float32Array))]
 * }) // => [0.25, 0.5, 0.25]
 * ```
 *
 * **Example** (The first half of an array)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue, MemoryObjects } from "effect-gpu-pool"
 *
 * Effect.gen(function*() {
 *   const half = yield* MemoryObjects.fromHost(Float32Array.of(1, 2, 3, 4), { size: 8 })
 *   return [...(yield* CommandQueue.read(half, Float32Array))]
 * }) // => [1, 2]
 * ```
 *
 * @see pyopencl.Buffer, with COPY_HOST_PTR or USE_HOST_PTR
 * @category constructors
 * @since 0.1.0
 */
export const fromHost = (
  data: HostData.HostData,
  options?: FromHostOptions
): Effect.Effect<DeviceBuffer, GpuError, DeviceContext | QueueDriver | Scope.Scope> =>
  Effect.flatMap(DeviceContext, (device) =>
    Effect.flatMap(QueueDriver, (driver) =>
      Effect.acquireRelease(
        validated(
          "MemoryObjects.fromHost",
          (operation) => create(operation, device, data, options ?? {})
        ),
        (buffer) => logged(() => releaseInOrderUnsafe(device, driver, buffer))
      )))

/**
 * The data of a buffer made with mode "use". It waits for recorded commands and makes the device's writes visible. It
 * is a view of the data, not a copy.
 *
 * Fails with InvalidRequest for a buffer that was not made so, that is mapped to be written or lacks the usage
 * `copySrc`, or whose bytes are no whole number of elements; and as `Mapping.map`.
 *
 * **Example** (Letting kernels work on memory of the program)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue, MemoryObjects } from "effect-gpu-pool"
 *
 * const data = new Float32Array(4)
 * Effect.gen(function*() {
 *   const x = yield* MemoryObjects.fromHost(data, { mode: "use" })
 *   yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
 *   const seen = yield* MemoryObjects.hostArray(x, Float32Array)
 *   return [seen.buffer === data.buffer, ...data]
 * }) // => [true, 1, 2, 3, 4]
 * ```
 *
 * @see pyopencl.MemoryObject.get_host_array
 * @category accessors
 * @since 0.1.0
 */
export const hostArray: {
  /**
   * The data of a buffer made with mode "use". It waits for recorded commands and makes the device's writes visible.
   * It is a view of the data, not a copy.
   */
  <A extends Mapping.Elements>(
    type: ViewType<A>
  ): (buffer: BufferLike.BufferLike) => Effect.Effect<A, GpuError, DeviceContext | QueueDriver>
  <A extends Mapping.Elements>(
    buffer: BufferLike.BufferLike,
    type: ViewType<A>
  ): Effect.Effect<A, GpuError, DeviceContext | QueueDriver>
} = eitherWay(
  bufferFirst,
  (buffer, type) =>
    Effect.flatMap(DeviceContext, (device) =>
      validated("MemoryObjects.hostArray", (operation) => {
        const { origin, root, size }: Partial<DeviceBuffer> = valid(BufferMemory.of(operation, buffer, device)) ?? {}
        const view = valid(PinnedMemory.viewOf(operation, "buffer", root?.pinned, type, origin, size))
        // Mapping updates the memory, wherever the driver keeps the contents meanwhile.
        return Effect.as(Effect.scoped(Mapping.map(buffer, type, { access: "read" })), view)
      }))
)

/**
 * Where buffers and images are to be.
 *
 * @category models
 * @since 0.1.0
 */
export interface MigrateOptions {
  /** `"device"` without it. */
  readonly to?: "device" | "host" | undefined
  /** The contents need not move: they are unspecified afterwards. */
  readonly contentUndefined?: boolean | undefined
}

/**
 * Moves the memory of buffers and images to the device, or to the host, ahead of their use, in queue order. It changes
 * only when the data moves, not what commands do. A sub-region moves with the whole buffer that it is a part of, and
 * stays where the contents need not move. On the host backend, where both places are the same, it does nothing.
 *
 * Fails with Unsupported on WebGPU, which places memory itself, and on OpenCL before version 1.2; with InvalidRequest
 * for memory that is mapped, or that lacks `copyDst` while its contents need not move; and with Released,
 * ForeignDevice, DeviceLost, OutOfMemory or DriverError.
 *
 * **Example** (Having the inputs there when the kernel starts)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type BufferPool, MemoryObjects } from "effect-gpu-pool"
 *
 * const warm = (inputs: ReadonlyArray<BufferPool.PooledBuffer>) =>
 *   MemoryObjects.migrate(inputs).pipe(
 *     Effect.catchReason("GpuError", "Unsupported", () => Effect.void)
 *   )
 * ```
 *
 * @see pyopencl.enqueue_migrate_mem_objects
 * @category accessors
 * @since 0.1.0
 */
export const migrate = (
  objects: ReadonlyArray<BufferLike.BufferLike | ImageLike.ImageLike>,
  options?: MigrateOptions
): Effect.Effect<void, GpuError, DeviceContext | QueueDriver> =>
  Effect.flatMap(
    DeviceContext,
    (device) =>
      Effect.flatMap(QueueDriver, (driver) =>
        validated("MemoryObjects.migrate", (operation) => {
          const { info, status } = device
          const { contentUndefined = false, to = "device" } = options ?? {}
          if (status.error !== undefined) return status.error
          const memory: Array<DeviceBuffer | DeviceImage> = []
          for (const one of objects) {
            const own = valid(
              ImageLike.isImageLike(one)
                ? movableImage(operation, one, info, contentUndefined)
                : BufferMemory.use(operation, one, device, contentUndefined ? BufferUsage.copyDst : 0)
            )
            if (own !== undefined) memory.push(own)
          }
          if (driver.migrateUnsafe === undefined) return noMigration(operation, info)
          return memory.length === 0 ? Exit.void : driver.migrateUnsafe(memory, to, contentUndefined)
        }))
  )

const movableImage = (
  operation: string,
  image: ImageLike.ImageLike,
  info: DeviceInfo,
  contentUndefined: boolean
): DeviceImage | DeviceBuffer | GpuError => {
  valid(ImageLike.problem(operation, image, info))
  if (contentUndefined) valid(ImageUsageRules.lackProblem(operation, image.usage, ImageUsage.copyDst))
  const own = ImageLike.deviceImage(image)
  // An image over a buffer has no memory of its own: migrate the buffer.
  return ImageAccess.mappedProblem(operation, own, false) ?? own.beneath ?? own
}

const create = (
  operation: string,
  device: DeviceContext["Service"],
  data: HostData.HostData,
  options: FromHostOptions
): Effect.Effect<DeviceBuffer, GpuError> => {
  const { label, mode = "copy", usage = BufferUsage.defaultUsage } = options
  if (device.status.error !== undefined) return device.status.error
  const whole = valid(HostData.bytes(operation, data))
  const byteLength = options.size ?? whole.byteLength
  valid(BufferRequest.problem(operation, byteLength, usage, label))
  valid(sizeProblem(operation, byteLength, whole.byteLength))
  valid(BufferRequest.deviceLimitProblem(operation, byteLength, device.info.limits, "maxBufferSize"))
  const bytes = whole.subarray(0, byteLength)
  valid(PinnedMemory.modeProblem(operation, mode, bytes, 8))
  if (byteLength === 0) return Exit.succeed(new EmptyBuffer(device.info, usage, label))
  return Effect.mapError(
    device.createFromHost(bytes, mode, usage, label),
    (error) => PinnedMemory.changedProblem(operation, bytes, byteLength) ?? error
  )
}

/** The driver would read past the data's end. */
const sizeProblem = (operation: string, size: number, available: number): GpuError | undefined =>
  size <= available ? undefined : invalidRequest(
    operation,
    `the size ${size} is more than the data's ${available} bytes`,
    "Pass at most as many, or allocate a buffer of that size and write the data into it."
  )

const noMigration = (operation: string, { backend }: DeviceInfo): GpuError =>
  unsupported(
    operation,
    backend,
    "moving memory ahead of its use",
    "The driver moves it when it is used: leave the call out."
  )
