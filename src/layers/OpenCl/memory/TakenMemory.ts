/**
 * The driver's memory that a program has transferred out of a mapping, as to a worker, so that it cannot be detached
 * any more.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"
import { DeviceBuffer } from "../../../services/device/DeviceBuffer.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import { imageOf } from "../images/OpenClImage.ts"
import type { OpenDevice } from "../opening/OpenDevice.ts"
import { memoryOf, OpenClBuffer } from "./OpenClBuffer.ts"

/**
 * Leaves the memory to the program for as long as the process lives: no pool leases it again, and a reference that is
 * never released keeps the driver from giving it to anything else, also after the layer has closed. Returns the error.
 */
export const leaveUnsafe = ({ api }: OpenDevice, memory: DeviceBuffer | DeviceImage): GpuError => {
  if (memory instanceof DeviceBuffer) leaveBuffer(memory)
  else memory.distrust()
  api.clRetainMemObject(memory instanceof DeviceBuffer ? memoryOf(memory) : imageOf(memory))
  return invalidRequest(
    "Mapping.unmap",
    "the mapped memory was transferred to another ArrayBuffer, or marked as untransferable: it cannot go back to the device, " +
      "what was stored in it is lost, and its bytes are never freed",
    "Copy it with slice(), and transfer the copy."
  )
}

const leaveBuffer = (buffer: DeviceBuffer): void => {
  buffer.root.recyclable = false
  const allocation = buffer instanceof OpenClBuffer ? buffer.beneath : undefined
  if (allocation !== undefined) allocation.taken = true
}
