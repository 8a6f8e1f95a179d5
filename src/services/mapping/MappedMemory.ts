/**
 * What of each device allocation is mapped, whichever buffers stand for it: regions, and buffers that were adopted by
 * its handle.
 *
 * @internal
 */
import { MappedRanges } from "../../domain/MappedRanges.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"

const allocations = new WeakMap<object, MappedRanges>()

/** Most programs never map anything, and then no command looks further. */
let isUsed = false

/**
 * The mapped ranges of a buffer's whole allocation, counted from its first byte; `undefined` where nothing ever was.
 *
 * @internal
 */
export const rangesOf = (buffer: DeviceBuffer): MappedRanges | undefined =>
  isUsed ? allocations.get(buffer.root.identity) : undefined

/**
 * The same, to add a range to.
 *
 * @internal
 */
export const ensureRanges = (buffer: DeviceBuffer): MappedRanges => {
  const known = rangesOf(buffer)
  if (known !== undefined) return known
  isUsed = true
  const ranges = new MappedRanges()
  allocations.set(buffer.root.identity, ranges)
  return ranges
}
