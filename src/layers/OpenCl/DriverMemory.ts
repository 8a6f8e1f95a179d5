/**
 * Memory of the driver's, as an ArrayBuffer of the program's.
 *
 * @internal
 */
import type { OpenClApi } from "./OpenClApi.ts"

/** Whoever moved the bytes into an ArrayBuffer of his own would keep them when the driver has taken the memory back. */
const stays = {
  value: () => {
    throw new TypeError("the memory is the device's and cannot be transferred: copy it with slice()")
  }
}

/**
 * Shows memory of the driver's. `detachMemory` cuts it off again, which must happen before the driver takes it back.
 *
 * @internal
 */
export const memoryAt = (api: OpenClApi, address: bigint, bytes: number): ArrayBuffer =>
  Object.defineProperties(api.view(address, bytes), { transfer: stays, transferToFixedLength: stays })
