/**
 * What a fill of a buffer repeats: 1, 2, 4, 8, 16, 32, 64 or 128 bytes, the sizes of OpenCL C's scalars and vectors.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#clEnqueueFillBuffer
 * @internal
 */
import { formatted } from "../arguments/Format.ts"
import { type GpuError, invalidRequest, isGpuError } from "../GpuError.ts"
import * as HostData from "./HostData.ts"

const sizes: ReadonlySet<number> = new Set([1, 2, 4, 8, 16, 32, 64, 128])

/** A pattern, copied from the program's data. */
export interface BytePattern {
  /** How many bytes the program gave: the offset and the size of a fill are multiples of it. */
  readonly size: number
  /** Up to 32 words of 32 bits, little-endian; a shorter pattern is repeated to fill one. */
  readonly words: ReadonlyArray<number>
}

/** The pattern of a 32-bit number or of some bytes; InvalidRequest for anything else. */
export const make = (operation: string, pattern: number | HostData.HostData): BytePattern | GpuError => {
  if (typeof pattern === "number") return isWord(pattern) ? { size: 4, words: [pattern] } : noWord(operation, pattern)
  const bytes = HostData.bytes(operation, pattern, "pattern")
  if (isGpuError(bytes)) return bytes
  return sizeProblem(operation, bytes) ?? { size: bytes.byteLength, words: wordsOf(bytes) }
}

/** Why bytes are no pattern, or `undefined`. */
export const sizeProblem = (operation: string, { byteLength }: Uint8Array): GpuError | undefined =>
  sizes.has(byteLength) ? undefined : invalidRequest(
    operation,
    `the pattern has ${byteLength} bytes`,
    `Pass one of ${[...sizes].join(", ")} bytes, as Float32Array.of(1).`
  )

/**
 * What is wrong with a fill of `bytes` bytes that begins at `offset`, or `undefined`: both are whole numbers of patterns.
 */
export const partProblem = (
  operation: string,
  { size }: Pick<BytePattern, "size">,
  offset: number,
  bytes: number
): GpuError | undefined => {
  if (offset % size !== 0) {
    return invalidRequest(
      operation,
      `offset ${offset} is no multiple of the pattern's ${size} bytes`,
      "Start at a multiple of the pattern's bytes."
    )
  }
  return bytes % size === 0 ? undefined : invalidRequest(
    operation,
    `the ${bytes} bytes to fill are no multiple of the pattern's ${size}`,
    "Fill a multiple of the pattern's bytes: one byte, as Uint8Array.of(0), fits every size."
  )
}

/** Sets `target` to a pattern, over and over, the last one cut. */
export const repeat = (target: Uint8Array<ArrayBuffer>, pattern: Uint8Array<ArrayBuffer>): void => {
  const [first] = pattern
  if (pattern.every((byte) => byte === first)) {
    target.fill(first!)
    return
  }
  target.set(pattern.length > target.length ? pattern.subarray(0, target.length) : pattern)
  let block = pattern.length
  for (let done = block; done < target.length; done += block) {
    if (block < largestBlock) block = done
    target.copyWithin(done, 0, block)
  }
}

/** Blocks of this size stay in the first cache of a processor. */
export const largestBlock = 16 * 1024

const isWord = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= 0xffffffff

const noWord = (operation: string, pattern: number): GpuError =>
  invalidRequest(
    operation,
    `the pattern ${formatted(pattern)} is no unsigned 32-bit number`,
    "Pass the 4 bytes as one number, as 0xff00ff00, or as a typed array, as Float32Array.of(-1)."
  )

/** The words of a pattern, of as few bytes as repeat to the same. */
export const wordsOf = (bytes: Uint8Array<ArrayBuffer>): ReadonlyArray<number> => {
  const repeated = new Uint8Array(Math.max(4, bytes.length))
  repeat(repeated, bytes)
  const view = new DataView(repeated.buffer)
  const words = Array.from({ length: repeated.length / 4 }, (_, at) => view.getUint32(4 * at, true))
  return words.every((word) => word === words[0]) ? words.slice(0, 1) : words
}
