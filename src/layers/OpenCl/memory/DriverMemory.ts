/**
 * The driver's memory, as an ArrayBuffer for the program.
 *
 * @internal
 */
import { lend } from "../../../domain/data/DetachMemory.ts"
import type { GpuError } from "../../../domain/GpuError.ts"
import { takeUnsafe } from "../../../services/buffers/mapping/MappedMemory.ts"
import type { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import { allocationOf } from "./OpenClObject.ts"

/** Shows the driver's memory. `detachMemory` must detach it before the driver gets it back. */
export const memoryAt = (api: OpenClApi, address: bigint, bytes: number): ArrayBuffer => lend(api.view(address, bytes))

/**
 * Leaves memory that a program has transferred out of a mapping to the program for as long as the process lives: a reference
 * to a cl_mem of it that is never released keeps the driver from giving it to anything else, also after the layer has closed. Returns the error.
 */
export const leaveUnsafe = (api: OpenClApi, memory: DeviceBuffer | DeviceImage, handle: bigint): GpuError => {
  const allocation = allocationOf(memory)
  if (allocation !== undefined) allocation.taken = true
  api.clRetainMemObject(handle)
  return takeUnsafe(memory)
}
