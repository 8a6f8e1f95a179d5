/**
 * The rules for a part of a buffer, the same on every backend. They are WebGPU's, the strictest, unless a device was opened
 * with others: `DeviceLimits.copyAlignment` is what offsets and lengths are multiples of.
 *
 * @see https://www.w3.org/TR/webgpu/#dom-gpucommandencoder-copybuffertobuffer
 * @internal
 */
import { type GpuError, invalidRequest } from "./GpuError.ts"
import { shown } from "./ShownValue.ts"

/**
 * What offsets and lengths are multiples of where a program runs on every device.
 *
 * @internal
 */
export const portableAlignment = 4

const isByteCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

/**
 * What is wrong with an access that starts at `offset` in a buffer of `size` requested bytes, or `undefined`. An offset
 * is a multiple of `alignment`, and at most `size`. `name` is what the caller passed it as.
 *
 * @internal
 */
export const offsetProblem = (
  operation: string,
  size: number,
  offset: number,
  alignment: number,
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
  return offset % alignment === 0 ? undefined : invalidRequest(
    operation,
    `${name} ${offset} is no multiple of ${alignment}`,
    `Start at a multiple of ${alignment} bytes, ${everyDevice}.`
  )
}

/**
 * What a hint for other alignments says.
 *
 * @internal
 */
export const everyDevice = "as every device can; OpenCL and the host can do otherwise, opened with byteGranular"

/**
 * What is wrong with an access of `bytes` bytes from a good `offset` on, or `undefined`. A length is a multiple of `alignment`,
 * except that an access may end at the buffer's `size`. `name` is what the caller passed it as.
 *
 * @internal
 */
export const lengthProblem = (
  operation: string,
  size: number,
  offset: number,
  bytes: number,
  alignment: number,
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
  return bytes % alignment === 0 || offset + bytes === size ? undefined : invalidRequest(
    operation,
    `the length ${bytes} is no multiple of ${alignment} and does not end at the buffer's size ${size}`,
    `Go to the end of the buffer, or use a multiple of ${alignment} bytes, ${everyDevice}.`
  )
}

/**
 * What is wrong with the access of `bytes` bytes at `offset` to a buffer of `size` requested bytes, or `undefined`.
 *
 * @internal
 */
export const problem = (
  operation: string,
  size: number,
  offset: number,
  bytes: number,
  alignment: number
): GpuError | undefined =>
  offsetProblem(operation, size, offset, alignment) ?? lengthProblem(operation, size, offset, bytes, alignment)
