/**
 * What this backend's modules know of an open device.
 *
 * @internal
 */
import type { Images } from "../../services/images/Images.ts"
import type { OpenClImages } from "./images/OpenClImages.ts"
import type { OpenClApi } from "./OpenClApi.ts"
import type { OpenDevice } from "./OpenDevice.ts"
import type { SvmMemory } from "./svm/SvmMemory.ts"

/** @internal */
export class Opened {
  readonly opened: OpenDevice
  /** Shared virtual memory of the device. */
  readonly svm: SvmMemory
  readonly images: OpenClImages
  /** Gives images back, in queue order. */
  readonly destroyImageUnsafe: Images["Service"]["destroyUnsafe"]
  /** Gives samplers back likewise. */
  readonly destroySamplerUnsafe: Images["Service"]["destroySamplerUnsafe"]

  constructor(opened: OpenDevice, svm: SvmMemory, images: OpenClImages, service: Images["Service"]) {
    this.opened = opened
    this.svm = svm
    this.images = images
    this.destroyImageUnsafe = service.destroyUnsafe
    this.destroySamplerUnsafe = service.destroySamplerUnsafe
  }

  get api(): OpenClApi {
    return this.opened.api
  }
}
