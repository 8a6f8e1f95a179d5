/**
 * Mapped memory of a driver that a program has transferred to another ArrayBuffer, or has marked as untransferable: the library
 * cannot detach it any more.
 *
 * @internal
 */
import type { GpuError } from "../../../domain/GpuError.ts"
import { DeviceBuffer } from "../../device/DeviceBuffer.ts"
import type { DeviceImage } from "../../device/DeviceImage.ts"
import { named } from "../BufferProblems.ts"
import * as MappedMemory from "./MappedMemory.ts"

/**
 * Leaves the memory to the program for good: no pool leases it again, and no command uses it. The driver must neither unmap nor
 * free it. Returns the error of the mapping's end.
 */
export const takeUnsafe = (memory: DeviceBuffer | DeviceImage): GpuError => {
  const buffer = memory instanceof DeviceBuffer ? memory : memory.beneath
  memory.distrust()
  MappedMemory.take(memory)
  return MappedMemory.takenProblem("Mapping.unmap", buffer === undefined ? "the image" : named(buffer))
}
