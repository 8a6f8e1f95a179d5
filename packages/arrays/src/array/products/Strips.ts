/**
 * The inner loops of products in JavaScript: copies of parts of both operands, strip by strip, and their product.
 *
 * Sums of floats are kept in 64 bits, in which JavaScript computes anyway. To round every step, as a device does, would
 * take more than twice the time and be less exact.
 *
 * Bodies are sent to other threads as text, so each function only uses its arguments and what `hostFunction` gives it.
 *
 * @internal
 */
import { hostFunction } from "effect-gpu-pool/Kernel"

/** How many lines a strip has: as many as keep the sums of a pair of strips in registers. */
export const rowsOfStrip = 2

export const columnsOfStrip = 4

/** The part of a typed array that is used. */
export interface Elements {
  readonly length: number
  [index: number]: number
}

/** Some lines of a matrix, in part: rows of the first operand, or columns of the second. */
export interface Part {
  readonly from: Elements
  /** Where each line begins. */
  readonly lines: ReadonlyArray<number>
  /** The elements of a line, as runs with one stride: where each run begins, counted from the line's start, and its length. */
  readonly runs: ReadonlyArray<Run>
  /** The stride from element to element of a run. */
  readonly step: number
  /** Whether elements become 32-bit floats, which cannot hold every integer. */
  readonly rounds: boolean
}

export interface Run {
  readonly at: number
  readonly length: number
}

/** Memory for the copies and for sums. Floats are multiplied as 64-bit ones, integers modulo 2^32. */
export interface Scratch<A extends Float64Array | Int32Array> {
  readonly a: A
  readonly b: A
  readonly sums: A
}

/**
 * Copies the `depth` elements of each line's runs, so that those of a strip are side by side; lines that fill up the last
 * strip are zero.
 */
export const copy = (
  to: Float64Array | Int32Array,
  { from, lines, rounds, runs, step }: Part,
  depth: number,
  strip: number
): void => {
  for (let index = 0; index < Math.ceil(lines.length / strip) * strip; index++) {
    const inside = index % strip
    let target = (index - inside) * depth + inside
    if (index >= lines.length) {
      for (const end = target + strip * depth; target < end; target += strip) to[target] = 0
      continue
    }
    for (const { at, length } of runs) {
      const end = target + strip * length
      let source = lines[index]! + at
      if (rounds) { for (; target < end; target += strip, source += step) to[target] = Math.fround(from[source]!) }
      else for (; target < end; target += strip, source += step) to[target] = from[source]!
    }
  }
}

/** Adds the product of two strips to the sums of two rows and four columns. */
export const addFloats = (
  { a, b, sums }: Scratch<Float64Array>,
  aAt: number,
  bAt: number,
  sumsAt: number,
  width: number,
  depth: number
): void => {
  const next = sumsAt + width
  let s00 = sums[sumsAt]!
  let s01 = sums[sumsAt + 1]!
  let s02 = sums[sumsAt + 2]!
  let s03 = sums[sumsAt + 3]!
  let s10 = sums[next]!
  let s11 = sums[next + 1]!
  let s12 = sums[next + 2]!
  let s13 = sums[next + 3]!
  for (let p = 0; p < depth; p++, aAt += 2, bAt += 4) {
    const x0 = a[aAt]!
    const x1 = a[aAt + 1]!
    const z0 = b[bAt]!
    const z1 = b[bAt + 1]!
    const z2 = b[bAt + 2]!
    const z3 = b[bAt + 3]!
    s00 += x0 * z0
    s01 += x0 * z1
    s02 += x0 * z2
    s03 += x0 * z3
    s10 += x1 * z0
    s11 += x1 * z1
    s12 += x1 * z2
    s13 += x1 * z3
  }
  sums[sumsAt] = s00
  sums[sumsAt + 1] = s01
  sums[sumsAt + 2] = s02
  sums[sumsAt + 3] = s03
  sums[next] = s10
  sums[next + 1] = s11
  sums[next + 2] = s12
  sums[next + 3] = s13
}

/** The same for integers, signed or not: the bits are the same. */
export const addIntegers = hostFunction(
  { columnsOfStrip, rowsOfStrip },
  ({ columnsOfStrip, rowsOfStrip }) =>
  (
    { a, b, sums }: Scratch<Int32Array>,
    aAt: number,
    bAt: number,
    sumsAt: number,
    width: number,
    depth: number
  ): void => {
    for (let row = 0; row < rowsOfStrip; row++) {
      const at = sumsAt + row * width
      let s0 = sums[at]!
      let s1 = sums[at + 1]!
      let s2 = sums[at + 2]!
      let s3 = sums[at + 3]!
      for (let p = 0, x = aAt + row, z = bAt; p < depth; p++, x += rowsOfStrip, z += columnsOfStrip) {
        s0 = (s0 + Math.imul(a[x]!, b[z]!)) | 0
        s1 = (s1 + Math.imul(a[x]!, b[z + 1]!)) | 0
        s2 = (s2 + Math.imul(a[x]!, b[z + 2]!)) | 0
        s3 = (s3 + Math.imul(a[x]!, b[z + 3]!)) | 0
      }
      sums[at] = s0
      sums[at + 1] = s1
      sums[at + 2] = s2
      sums[at + 3] = s3
    }
  }
)
