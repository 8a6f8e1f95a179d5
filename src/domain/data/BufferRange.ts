/**
 * The rules for a range of a buffer, the same on every backend. They are WebGPU's, the strictest, unless a device was
 * opened with others: offsets and lengths of commands are multiples of `DeviceLimits.copyAlignment`.
 *
 * @see https://www.w3.org/TR/webgpu/#dom-gpucommandencoder-copybuffertobuffer
 * @internal
 */
import { formatted, line } from "../arguments/Format.ts"
import type { DeviceLimits } from "../device/DeviceInfo.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"

/** What is accessed: a buffer, or its stand-in in a test. */
interface Accessed {
  /** Requested bytes. */
  readonly size: number
  readonly label?: string | undefined
}

/** As `the source "frame" of 64 bytes`. */
const named = (role: string, { label, size }: Accessed): string =>
  `the ${role}${label === undefined ? "" : ` "${line(label)}"`} of ${size} bytes`

/** The alignment of offsets and lengths. */
export interface Alignment {
  readonly bytes: number
  /** Whether `byteGranular` lifts the rule, on OpenCL and the host. */
  readonly liftable: boolean
}

/** The alignment that every device supports, and that `byteGranular` does not lift. */
export const portableAlignment: Alignment = { bytes: 4, liftable: false }

/** The alignment of commands on a device of such limits. */
export const alignmentOfCommands = ({ copyAlignment }: Pick<DeviceLimits, "copyAlignment">): Alignment => ({
  bytes: copyAlignment,
  liftable: true
})

/** The advice: what to do instead, and which places are valid. */
export const alignmentHint = (advice: string, { liftable }: Alignment): string =>
  liftable
    ? `${advice}, as every device can; OpenCL and the host can start and end at any byte when opened with ` +
      "byteGranular: true."
    : `${advice}.`

const noByteCount = (operation: string, name: string, value: number): GpuError | undefined =>
  Number.isSafeInteger(value) && value >= 0 ? undefined : invalidRequest(
    operation,
    `${name} ${formatted(value)} is no whole number of bytes, zero or more`,
    "Pass an integer below 2^53."
  )

const outside = (operation: string, what: string, role: string, buffer: Accessed): GpuError =>
  invalidRequest(
    operation,
    `${what} outside ${named(role, buffer)}`,
    "Stay within the requested size, or allocate more."
  )

/**
 * What is wrong with an access that starts at `offset` in a buffer of `size` requested bytes, or `undefined`. An offset
 * is a multiple of the alignment, and at most `size`. `name` is what the caller passed it as.
 */
export const offsetProblem = (
  operation: string,
  buffer: Accessed,
  offset: number,
  alignment: Alignment,
  name: string = "offset",
  role: string = "buffer"
): GpuError | undefined => {
  const wrong = noByteCount(operation, name, offset)
  if (wrong !== undefined) return wrong
  if (offset > buffer.size) return outside(operation, `${name} ${offset} is`, role, buffer)
  return offset % alignment.bytes === 0 ? undefined : invalidRequest(
    operation,
    `${name} ${offset} is no multiple of ${alignment.bytes} bytes`,
    alignmentHint(`Start at a multiple of ${alignment.bytes} bytes`, alignment)
  )
}

/**
 * What is wrong with an access of `bytes` bytes from a good `offset` on, or `undefined`. A length is a multiple of the alignment,
 * except that an access may end at the buffer's `size`. `name` is what the caller passed it as.
 */
export const lengthProblem = (
  operation: string,
  buffer: Accessed,
  offset: number,
  bytes: number,
  alignment: Alignment,
  role: string = "buffer"
): GpuError | undefined => {
  const wrong = noByteCount(operation, "size", bytes)
  if (wrong !== undefined) return wrong
  const { size } = buffer
  if (offset + bytes > size) return outside(operation, `bytes ${offset} to ${offset + bytes} are`, role, buffer)
  return bytes % alignment.bytes === 0 || offset + bytes === size ? undefined : invalidRequest(
    operation,
    `the length of ${bytes} bytes is no multiple of ${alignment.bytes} bytes and does not end where ${
      named(role, buffer)
    } ends`,
    alignmentHint(`Go to the end of the buffer, or use a multiple of ${alignment.bytes} bytes`, alignment)
  )
}

/** What is wrong with the access of `bytes` bytes at `offset` to a buffer of `size` requested bytes, or `undefined`. */
export const problem = (
  operation: string,
  buffer: Accessed,
  offset: number,
  bytes: number,
  alignment: Alignment
): GpuError | undefined =>
  offsetProblem(operation, buffer, offset, alignment) ?? lengthProblem(operation, buffer, offset, bytes, alignment)
