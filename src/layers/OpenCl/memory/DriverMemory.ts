/**
 * The driver's memory, as an ArrayBuffer for the program.
 *
 * @internal
 */
import type { OpenClApi } from "../OpenClApi.ts"

/**
 * A program that moved the bytes to an ArrayBuffer of its own would still see them after the driver has the memory
 * back.
 */
const stays = {
  value: () => {
    throw new TypeError("the memory is the device's and cannot be transferred: copy it with slice()")
  }
}

/** Shows the driver's memory. `detachMemory` must detach it before the driver gets it back. */
export const memoryAt = (api: OpenClApi, address: bigint, bytes: number): ArrayBuffer =>
  Object.defineProperties(api.view(address, bytes), { transfer: stays, transferToFixedLength: stays })
