/**
 * How the host divides a product into blocks, and computes one. A block fits a processor's cache; its size does not
 * change the numbers.
 *
 * @internal
 */
import { hostFunction } from "effect-gpu-pool/Kernel"
import {
  addFloats,
  addIntegers,
  columnsOfStrip,
  copy,
  type Elements,
  type Part,
  rowsOfStrip,
  type Run,
  type Scratch
} from "./Strips.ts"

/** Rows and columns of the largest block; a multiple of those of a strip. */
const largest = 64

/** How much of the depth is copied at a time. */
const depthAtATime = 256

/** How many multiplications count as one item: after a number of items the host yields to the event loop. */
const worthAnItem = 64

/**
 * The most multiplications of a block, which blocks the event loop for a few milliseconds. Blocks are no smaller than
 * strips, so a greater depth takes longer in proportion: a pause within a block would have to keep its sums.
 */
const worthABlock = 2 ** 21

/** The size of blocks in rows and columns, and how many items of the dispatch each stands for. */
export interface Division {
  readonly blockRows: number
  readonly blockColumns: number
  readonly blockItems: number
  /** The number of all items. */
  readonly count: number
}

export const divide = (matrices: number, rows: number, columns: number, depth: number): Division => {
  let blockRows = Math.min(rows, largest)
  let blockColumns = Math.min(columns, largest)
  while (blockRows * blockColumns * depth > worthABlock && Math.max(blockRows, blockColumns) > columnsOfStrip) {
    if (blockRows > blockColumns) blockRows = Math.ceil(blockRows / 2)
    else blockColumns = Math.ceil(blockColumns / 2)
  }
  const blocks = matrices * Math.ceil(rows / blockRows) * Math.ceil(columns / blockColumns)
  const worth = Math.ceil(blockRows * blockColumns * depth / worthAnItem)
  const blockItems = Math.max(1, Math.min(worth, Math.floor(0xffffffff / blocks)))
  return { blockRows, blockColumns, blockItems, count: blocks * blockItems }
}

/** The factors of a block: of each the lines that it needs, and all runs of their elements. */
type Factor = Omit<Part, "runs"> & {
  /** The runs of some elements, from one on. */
  readonly runsOf: (from: number, length: number) => ReadonlyArray<Run>
}

/** A block of one matrix of the result. */
export interface Block {
  readonly depth: number
  readonly a: Factor
  readonly b: Factor
  readonly y: Elements
  /** The index of its first element in the result, and the stride of its rows. */
  readonly at: number
  readonly row: number
}

type Add<A extends Float64Array | Int32Array> = (
  scratch: Scratch<A>,
  aAt: number,
  bAt: number,
  sumsAt: number,
  width: number,
  depth: number
) => void

const sizes = { columnsOfStrip, copy, depthAtATime, largest, rowsOfStrip }

/** Blocks are computed synchronously, so all share this memory. Sums are rounded to the result's type, or taken modulo 2^32. */
const computing = <A extends Float64Array | Int32Array>(
  { add, columnsOfStrip, copy, depthAtATime, largest, numbers, rowsOfStrip }: typeof sizes & {
    readonly add: Add<A>
    readonly numbers: (length: number) => A
  }
) => {
  let scratch: Scratch<A> | undefined
  return ({ a, at, b, depth, row, y }: Block): void => {
    const [rows, columns] = [a.lines.length, b.lines.length]
    scratch ??= {
      a: numbers(largest * depthAtATime),
      b: numbers(largest * depthAtATime),
      sums: numbers(largest ** 2)
    }
    const { sums } = scratch
    sums.fill(0)
    for (let from = 0; from < depth; from += depthAtATime) {
      const length = Math.min(depth - from, depthAtATime)
      copy(scratch.a, { ...a, runs: a.runsOf(from, length) }, length, rowsOfStrip)
      copy(scratch.b, { ...b, runs: b.runsOf(from, length) }, length, columnsOfStrip)
      for (let c = 0; c < columns; c += columnsOfStrip) {
        for (let r = 0; r < rows; r += rowsOfStrip) {
          add(scratch, r * length, c * length, r * largest + c, largest, length)
        }
      }
    }
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++) y[at + r * row + c] = sums[r * largest + c]!
    }
  }
}

export const computeFloats = hostFunction(
  { ...sizes, add: addFloats, numbers: (length: number) => new Float64Array(length) },
  computing
)

export const computeIntegers = hostFunction(
  { ...sizes, add: addIntegers, numbers: (length: number) => new Int32Array(length) },
  computing
)
