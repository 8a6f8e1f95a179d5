/**
 * What this backend's modules know of an open device.
 *
 * @internal
 */
import type { ImageAllocator } from "../../services/images/ImageAllocator.ts"
import type { WebGpuImages } from "./images/WebGpuImages.ts"
import type { WebGpuDevice } from "./WebGpuDevice.ts"

/** @internal */
export class Opened {
  readonly device: WebGpuDevice
  readonly images: WebGpuImages
  /** Gives images and samplers back, in queue order. */
  readonly allocator: ImageAllocator

  constructor(device: WebGpuDevice, images: WebGpuImages, allocator: ImageAllocator) {
    this.device = device
    this.images = images
    this.allocator = allocator
  }
}
