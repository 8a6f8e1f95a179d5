/**
 * The portable rules for a part of a buffer, the same on every backend. They are WebGPU's, the strictest.
 *
 * @see https://www.w3.org/TR/webgpu/#dom-gpucommandencoder-copybuffertobuffer
 * @since 0.1.0
 */
import { type GpuError, invalidRequest } from "./GpuError.ts"

const isByteCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

/**
 * What is wrong with the access of `bytes` bytes at `offset` to a buffer of `size` requested bytes, or `undefined`.
 * Offsets and lengths are multiples of 4, except that an access may end at `size`.
 *
 * @category predicates
 * @since 0.1.0
 */
export const problem = (operation: string, size: number, offset: number, bytes: number): GpuError | undefined => {
  if (!isByteCount(offset) || !isByteCount(bytes)) {
    return invalidRequest(
      operation,
      `offset ${offset} and length ${bytes} must be whole numbers of bytes, zero or more`,
      "Pass integers below 2^53."
    )
  }
  if (offset + bytes > size) {
    return invalidRequest(
      operation,
      `bytes ${offset} to ${offset + bytes} are outside the buffer of ${size} bytes`,
      "Stay within the size that was asked for at allocate, or allocate more."
    )
  }
  if (offset % 4 !== 0) {
    return invalidRequest(
      operation,
      `offset ${offset} is no multiple of 4`,
      "Every device can only start at multiples of 4 bytes."
    )
  }
  if (bytes % 4 !== 0 && offset + bytes !== size) {
    return invalidRequest(
      operation,
      `length ${bytes} is no multiple of 4 and does not end at the buffer's size ${size}`,
      "Use a multiple of 4 bytes, or go to the end of the buffer."
    )
  }
  return undefined
}
