/**
 * What this backend's modules know of an open device.
 *
 * @internal
 */
import type { Images } from "../../services/images/Images.ts"
import type { WebGpuImages } from "./images/WebGpuImages.ts"
import type { WebGpuDevice } from "./WebGpuDevice.ts"

/** @internal */
export class Opened {
  readonly device: WebGpuDevice
  readonly images: WebGpuImages
  /** Gives images back, in queue order. */
  readonly destroyImageUnsafe: Images["Service"]["destroyUnsafe"]
  /** Gives samplers back likewise. */
  readonly destroySamplerUnsafe: Images["Service"]["destroySamplerUnsafe"]

  constructor(device: WebGpuDevice, images: WebGpuImages, service: Images["Service"]) {
    this.device = device
    this.images = images
    this.destroyImageUnsafe = service.destroyUnsafe
    this.destroySamplerUnsafe = service.destroySamplerUnsafe
  }
}
