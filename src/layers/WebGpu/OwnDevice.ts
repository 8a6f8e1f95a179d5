/**
 * The library's own side of an open device.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { formatted } from "../../domain/arguments/Format.ts"
import { deviceState, inOneLine, showing } from "../../domain/arguments/Showing.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, isGpuError } from "../../domain/GpuError.ts"
import { BackendHandle } from "../../services/backend/BackendHandle.ts"
import type * as BufferLike from "../../services/buffers/BufferLike.ts"
import * as BufferMemory from "../../services/buffers/BufferMemory.ts"
import type { LazyModule } from "../../services/calls/LazyModule.ts"
import type { ImageDriver } from "../../services/device/ImageDriver.ts"
import type * as ImageLike from "../../services/images/ImageLike.ts"
import type { WebGpuQueue } from "./commands/WebGpuQueue.ts"
import type { WebGpuImages } from "./images/WebGpuImages.ts"
import type { OpenDevice } from "./opening/OpenDevice.ts"
import { gpuOf, type WebGpuBuffer } from "./WebGpuBuffer.ts"
import type { WebGpuDevice } from "./WebGpuDevice.ts"
import type * as WebGpuHandle from "./WebGpuHandle.ts"

/**
 * The service: raw handles of the open device, for programs that also call WebGPU themselves. The layers of this
 * module provide it next to the services that every backend has.
 *
 * **Details**
 *
 * Commands that a program submits itself run in queue order with the library's, as soon as the library's recorded
 * commands are submitted. {@link submit} submits these first, and then the program's own in the same step. A program that calls
 * `device.queue.submit` itself runs `CommandQueue.flush` before, in the same step: without it the device does not have the
 * recorded commands yet, and the program's read old data. A lease may be released right after the submit. Handles are valid until the lease is
 * released; destroying one yourself makes later commands on its block fail.
 *
 * Their types are the program's own `GPUDevice`, `GPUBuffer` and so on where it has declarations of WebGPU, and those of
 * `WebGpuApi` where it has none.
 *
 * Error scopes belong to the whole device: push and pop yours in one synchronous step. An uncaptured error of your own
 * calls fails the next `CommandQueue.finish` or `read`; on a device of {@link layerFromDevice} it is the program's own matter.
 *
 * **Example** (Submitting a command buffer of your own)
 *
 * ```ts
 * import type { BufferPool } from "effect-gpu-pool"
 * import { WebGpu } from "effect-gpu-pool/webgpu"
 *
 * const clear = (lease: BufferPool.PooledBuffer) =>
 *   WebGpu.submit([lease], ([{ buffer, offset, size }], { device }) => {
 *     const encoder = device.createCommandEncoder()
 *     encoder.clearBuffer(buffer, offset, size)
 *     return [encoder.finish()]
 *   })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class WebGpu extends Context.Service<WebGpu, {
  /** The GPU object that gave the adapter; `undefined` where the program gave the device. */
  readonly gpu: WebGpuHandle.Gpu | undefined
  /** The adapter that opened the device; `undefined` likewise. */
  readonly adapter: WebGpuHandle.Adapter | undefined
  readonly device: WebGpuHandle.Device
  readonly queue: WebGpuHandle.Queue
  /** What the library knows of the device. Each layer has its own, also where several use one device. */
  readonly info: DeviceInfo
  /** See {@link handle}; the answer is an Exit, for use within one step. */
  readonly handleUnsafe: (buffer: BufferLike.BufferLike) => Exit.Exit<WebGpuHandle.Buffer, GpuError>
  /**
   * Whether a lease keeps its GPUBuffer alive, as it does unless this says otherwise. After `false` only the program does: where it drops
   * the object, that is collected, and its memory with it. Say `true` before the lease ends, while the program has the object; if it is
   * collected, release the lease. For code that never learns of leases, and drops buffers without `destroy()`.
   */
  readonly keepUnsafe: (buffer: BufferLike.BufferLike, keeps: boolean) => Exit.Exit<void, GpuError>
  /** See {@link texture}; the answer is an Exit, for use within one step. */
  readonly textureUnsafe: (image: ImageLike.ImageLike) => Exit.Exit<WebGpuHandle.Texture, GpuError>
}>()("effect-gpu-pool/WebGpu") {}

/** What this backend's modules know of an open device. @internal */
export interface OpenedDevice {
  readonly device: WebGpuDevice
  readonly queue: WebGpuQueue
  /** What {@link driver} loads. */
  readonly images: LazyModule<WebGpuImages>
  readonly driver: ImageDriver["Service"]
}

const backendHandles = new BackendHandle<DeviceInfo, OpenedDevice>()

/**
 * What this backend's modules know of the program's device.
 *
 * @internal
 */
export const own: Effect.Effect<OpenedDevice, never, WebGpu> = WebGpu.useSync(({ info }) => backendHandles.of(info))

/**
 * The service of a device that was just opened.
 *
 * @internal
 */
export const serviceOf = (
  { adapter, device, gpu, info, status }: OpenDevice,
  own: OpenedDevice
): WebGpu["Service"] => {
  backendHandles.add(info, own)
  return showing(() => inOneLine("WebGpu", undefined, [deviceState(status, info)]), "WebGpu")(WebGpu.of({
    gpu,
    adapter,
    device,
    queue: device.queue,
    info,
    handleUnsafe: (buffer) => {
      const memory = BufferMemory.some("WebGpu.handle", buffer, { info, status })
      if (isGpuError(memory)) return Exit.fail(memory)
      const { sharing } = memory.wholeMemory as WebGpuBuffer
      return sharing === undefined ? Exit.succeed(gpuOf(memory)) : Exit.fail(sharing)
    },
    keepUnsafe: (buffer, keeps) => {
      const memory = BufferMemory.some("WebGpu.keepUnsafe", buffer, { info, status })
      if (isGpuError(memory)) return Exit.fail(memory)
      ;(memory.root as WebGpuBuffer).keep(keeps)
      return Exit.void
    },
    textureUnsafe: (image) => own.images.value?.textureUnsafe("WebGpu.texture", image) ?? Exit.fail(noImage(image))
  }))
}

/** The error where the device has no image yet. */
const noImage = (image: unknown): GpuError =>
  invalidRequest(
    "WebGpu.texture",
    `${formatted(image)} was given for an image of this device, which has none yet`,
    "Pass a lease of ImagePool.allocate, or an image of Images.make."
  )
