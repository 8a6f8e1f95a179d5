/**
 * What this backend's modules know of an open device.
 *
 * @internal
 */
import type { ImageAllocator } from "../../../services/images/ImageAllocator.ts"
import type { OpenClQueue } from "../commands/OpenClQueue.ts"
import type { OpenClImages } from "../images/OpenClImages.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import type { SvmMemory } from "../svm/SvmMemory.ts"
import type { OpenDevice } from "./OpenDevice.ts"

export interface OpenedDevice {
  readonly api: OpenClApi
  readonly opened: OpenDevice
  readonly queue: OpenClQueue
  /** Shared virtual memory of the device. */
  readonly svm: SvmMemory
  readonly images: OpenClImages
  /** Gives images and samplers back, in queue order. */
  readonly allocator: ImageAllocator
}
