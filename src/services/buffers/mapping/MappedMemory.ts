/**
 * What of each buffer's memory and of each image is mapped, whichever objects of the program stand for it: regions, and
 * what was adopted by its handle. The rules are the same for both, on every backend.
 *
 * @internal
 */
import { type Claim, type MappedPart, MappedParts } from "../../../domain/data/MappedParts.ts"
import { type GpuError, invalidRequest } from "../../../domain/GpuError.ts"

/** By what stands for the driver's object. */
const mapped = new WeakMap<object, MappedParts>()

/** Most programs never map anything: then no command checks more than this. */
let isUsed = false

/** A part of the memory of a driver's object that is about to be mapped: bytes from its first one on, or elements. */
export const claim = (object: object, part: MappedPart): Claim => {
  isUsed = true
  const known = mapped.get(object)
  if (known !== undefined) return known.claim(part)
  const parts = new MappedParts()
  mapped.set(object, parts)
  return parts.claim(part)
}

/**
 * Why a command cannot use the memory of a driver's object as it is mapped now, or `undefined`. `reads` says that it does
 * nothing but read or copy from it, and `name` what messages call it.
 */
export const problem = (
  operation: string,
  object: object,
  reads: boolean,
  name: () => string
): GpuError | undefined => {
  const state = (isUsed ? mapped.get(object)?.state : undefined) ?? "unmapped"
  return state === "unmapped" || (state === "reading" && reads) ? undefined : invalidRequest(
    operation,
    `${name()} is mapped for ${state}`,
    "End the mapping first: close its scope, or unmap it. What is mapped for reading alone can be read and copied from."
  )
}
