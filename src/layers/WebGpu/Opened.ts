/**
 * What this backend's modules know of an open device.
 *
 * @internal
 */
import type { QueueDriver } from "../../services/device/QueueDriver.ts"
import type { ImageAllocator } from "../../services/images/ImageAllocator.ts"
import type { WebGpuImages } from "./images/WebGpuImages.ts"
import type { WebGpuDevice } from "./WebGpuDevice.ts"

export interface Opened {
  readonly device: WebGpuDevice
  readonly queue: QueueDriver["Service"]
  readonly images: WebGpuImages
  /** Gives images and samplers back, in queue order. */
  readonly allocator: ImageAllocator
}
