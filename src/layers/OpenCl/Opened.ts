/**
 * What this backend's modules know of an open device.
 *
 * @internal
 */
import type { ImageAllocator } from "../../services/images/ImageAllocator.ts"
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
  /** Gives images and samplers back, in queue order. */
  readonly allocator: ImageAllocator

  constructor(opened: OpenDevice, svm: SvmMemory, images: OpenClImages, allocator: ImageAllocator) {
    this.opened = opened
    this.svm = svm
    this.images = images
    this.allocator = allocator
  }

  get api(): OpenClApi {
    return this.opened.api
  }
}
