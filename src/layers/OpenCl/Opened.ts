/**
 * What this backend's modules know of an open device.
 *
 * @internal
 */
import type { OpenClApi } from "./OpenClApi.ts"
import type { OpenDevice } from "./OpenDevice.ts"
import type { SvmMemory } from "./svm/SvmMemory.ts"

/** @internal */
export class Opened {
  readonly opened: OpenDevice
  /** Shared virtual memory of the device. */
  readonly svm: SvmMemory

  constructor(opened: OpenDevice, svm: SvmMemory) {
    this.opened = opened
    this.svm = svm
  }

  get api(): OpenClApi {
    return this.opened.api
  }
}
