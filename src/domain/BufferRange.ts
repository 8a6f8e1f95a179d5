/**
 * The portable rules for a part of a buffer, the same on every backend. They are WebGPU's, the strictest.
 *
 * @see https://www.w3.org/TR/webgpu/#dom-gpucommandencoder-copybuffertobuffer
 * @internal
 */
import { type GpuError, invalidRequest } from "./GpuError.ts"
import { shown } from "./ShownValue.ts"

const isByteCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

/**
 * What is wrong with an access that starts at `offset` in a buffer of `size` requested bytes, or `undefined`. An offset
 * is a multiple of 4, and at most `size`. `name` is what the caller passed it as.
 *
 * @internal
 */
export const offsetProblem = (
  operation: string,
  size: number,
  offset: number,
  name: string = "offset"
): GpuError | undefined => {
  if (!isByteCount(offset)) {
    return invalidRequest(
      operation,
      `${name} ${shown(offset)} is no whole number of bytes, zero or more`,
      "Pass an integer below 2^53."
    )
  }
  if (offset > size) {
    return invalidRequest(
      operation,
      `${name} ${offset} is outside the buffer of ${size} bytes`,
      "Stay within the size that was asked for at allocate, or allocate more."
    )
  }
  return offset % 4 === 0 ? undefined : invalidRequest(
    operation,
    `${name} ${offset} is no multiple of 4`,
    "Every device can only start at multiples of 4 bytes."
  )
}

/**
 * What is wrong with an access of `bytes` bytes from a good `offset` on, or `undefined`. A length is a multiple of 4,
 * except that an access may end at the buffer's `size`. `name` is what the caller passed it as.
 *
 * @internal
 */
export const lengthProblem = (
  operation: string,
  size: number,
  offset: number,
  bytes: number,
  name: string = "size"
): GpuError | undefined => {
  if (!isByteCount(bytes)) {
    return invalidRequest(
      operation,
      `${name} ${shown(bytes)} is no whole number of bytes, zero or more`,
      "Pass an integer below 2^53."
    )
  }
  if (offset + bytes > size) {
    return invalidRequest(
      operation,
      `bytes ${offset} to ${offset + bytes} are outside the buffer of ${size} bytes`,
      "Stay within the size that was asked for at allocate, or allocate more."
    )
  }
  return bytes % 4 === 0 || offset + bytes === size ? undefined : invalidRequest(
    operation,
    `the length ${bytes} is no multiple of 4 and does not end at the buffer's size ${size}`,
    "Use a multiple of 4 bytes, or go to the end of the buffer."
  )
}

/**
 * What is wrong with the access of `bytes` bytes at `offset` to a buffer of `size` requested bytes, or `undefined`.
 *
 * @internal
 */
export const problem = (operation: string, size: number, offset: number, bytes: number): GpuError | undefined =>
  offsetProblem(operation, size, offset) ?? lengthProblem(operation, size, offset, bytes)
