/**
 * The rules for a part of a buffer, the same on every backend. They are WebGPU's, the strictest, unless a device was opened
 * with others: `DeviceLimits.copyAlignment` is what offsets and lengths are multiples of.
 *
 * @see https://www.w3.org/TR/webgpu/#dom-gpucommandencoder-copybuffertobuffer
 * @internal
 */
import { type GpuError, invalidRequest } from "./GpuError.ts"
import { line, shown } from "./ShownValue.ts"

/** What is accessed: a buffer, or what stands for one in a test. */
interface Accessed {
  /** Requested bytes. */
  readonly size: number
  readonly label?: string | undefined
}

/** As `the source "frame" of 64 bytes`. */
const named = (role: string, { label, size }: Accessed): string =>
  `the ${role}${label === undefined ? "" : ` "${line(label)}"`} of ${size} bytes`

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
  buffer: Accessed,
  offset: number,
  alignment: number,
  name: string = "offset",
  role: string = "buffer"
): GpuError | undefined => {
  if (!isByteCount(offset)) {
    return invalidRequest(
      operation,
      `${name} ${shown(offset)} is no whole number of bytes, zero or more`,
      "Pass an integer below 2^53."
    )
  }
  if (offset > buffer.size) {
    return invalidRequest(
      operation,
      `${name} ${offset} is outside ${named(role, buffer)}`,
      "Stay within the size that was asked for at allocate, or allocate more."
    )
  }
  return offset % alignment === 0 ? undefined : invalidRequest(
    operation,
    `${name} ${offset} is no multiple of ${alignment} bytes`,
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
  buffer: Accessed,
  offset: number,
  bytes: number,
  alignment: number,
  role: string = "buffer"
): GpuError | undefined => {
  if (!isByteCount(bytes)) {
    return invalidRequest(
      operation,
      `size ${shown(bytes)} is no whole number of bytes, zero or more`,
      "Pass an integer below 2^53."
    )
  }
  const { size } = buffer
  if (offset + bytes > size) {
    return invalidRequest(
      operation,
      `bytes ${offset} to ${offset + bytes} are outside ${named(role, buffer)}`,
      "Stay within the size that was asked for at allocate, or allocate more."
    )
  }
  return bytes % alignment === 0 || offset + bytes === size ? undefined : invalidRequest(
    operation,
    `the length of ${bytes} bytes is no multiple of ${alignment} bytes and does not end where ${
      named(role, buffer)
    } ends`,
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
  buffer: Accessed,
  offset: number,
  bytes: number,
  alignment: number
): GpuError | undefined =>
  offsetProblem(operation, buffer, offset, alignment) ?? lengthProblem(operation, buffer, offset, bytes, alignment)
