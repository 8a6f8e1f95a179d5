/**
 * The driver's memory that a program has transferred out of a mapping, so that it cannot be detached any more.
 *
 * @internal
 */
import type { GpuError } from "../../../domain/GpuError.ts"
import { takeUnsafe } from "../../../services/buffers/mapping/TransferredMemory.ts"
import { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import { imageOf } from "../images/OpenClImage.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { memoryOf, OpenClBuffer } from "./OpenClBuffer.ts"

/**
 * Leaves the memory to the program for as long as the process lives: a reference that is never released keeps the driver from
 * giving it to anything else, also after the layer has closed. Returns the error.
 */
export const leaveUnsafe = ({ api }: OpenDevice, memory: DeviceBuffer | DeviceImage): GpuError => {
  const allocation = memory instanceof OpenClBuffer ? memory.beneath : undefined
  if (allocation !== undefined) allocation.taken = true
  api.clRetainMemObject(memory instanceof DeviceBuffer ? memoryOf(memory) : imageOf(memory))
  return takeUnsafe(memory)
}
