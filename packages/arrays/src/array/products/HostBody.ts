/**
 * The body of a product's kernel for the host: it computes the blocks that the items of a range stand for.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { type HostBody, hostFunction } from "effect-gpu-pool/Kernel"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"
import { isFloat } from "effect-gpu-pool/Operation"
import { type Block, computeFloats, computeIntegers } from "./Blocks.ts"
import type { Elements, Run } from "./Strips.ts"
import type { Axes, Types } from "./TileBody.ts"

/** Strides are passed modulo 2^32. */
const signed = (stride: number): number => stride | 0

/** A block is computed when its first item is in the range. */
export const hostBody = (types: Types, axes: Axes, result: string): HostBody<ReadonlyArray<NumericArgument>> => {
  const compute = isFloat(types.sum) ? computeFloats : computeIntegers
  const rounds = (dtype: DType): boolean => types.sum === "f32" && !isFloat(dtype)
  return hostFunction(
    { axes: { ...axes }, compute, roundsA: rounds(types.a), roundsB: rounds(types.b), result, signed },
    bodyOf
  )
}

interface Uses {
  readonly axes: Axes
  readonly compute: (block: Block) => void
  readonly roundsA: boolean
  readonly roundsB: boolean
  readonly result: string
  readonly signed: (stride: number) => number
}

const bodyOf =
  ({ axes, compute, result, roundsA, roundsB, signed }: Uses): HostBody<ReadonlyArray<NumericArgument>> =>
  (from, to, args) => {
    const number = (name: string): number => args[name] as number
    const vector = (name: string): Elements => args[name] as Elements
    const blockItems = number("blockItems")
    const blockRows = number("blockRows")
    const blockColumns = number("blockColumns")
    const rows = number("rows")
    const columns = number("columns")
    /** How far an index along some axes, the last one fastest, is from 0. */
    const strided = (index: number, count: number, lengths: string, strides: string): number => {
      let at = 0
      let rest = index
      for (let axis = count - 1; axis >= 0; axis--) {
        const length = axis === 0 ? 0 : number(`${lengths}${axis}`)
        const above = axis === 0 ? 0 : Math.floor(rest / length)
        at += (rest - above * length) * signed(number(`${strides}${axis}`))
        rest = above
      }
      return at
    }
    const last = axes.depth - 1
    const runLength = number(`depth${last}`)
    let depth = 1
    for (let axis = 0; axis <= last; axis++) depth *= number(`depth${axis}`)
    const factor = (operand: "a" | "b", rounds: boolean) => ({
      from: vector(operand),
      step: signed(number(`${operand}Depth${last}`)),
      rounds,
      runsOf: (from: number, length: number): ReadonlyArray<Run> => {
        const runs: Array<Run> = []
        for (let index = from; index < from + length;) {
          const count = Math.min(runLength - index % runLength, from + length - index)
          runs.push({ at: strided(index, axes.depth, "depth", `${operand}Depth`), length: count })
          index += count
        }
        return runs
      }
    })
    const a = factor("a", roundsA)
    const b = factor("b", roundsB)
    /** Where a matrix of the batch begins. */
    const begin = (operand: "a" | "b" | "y", matrix: number): number =>
      (operand === "y" ? 0 : number(`${operand}Offset`)) + strided(matrix, axes.batch, "length", `${operand}Batch`)
    const across = Math.ceil(columns / blockColumns)
    const ofMatrix = across * Math.ceil(rows / blockRows)
    const blockAt = (index: number): Block => {
      const matrix = Math.floor(index / ofMatrix)
      const inside = index - matrix * ofMatrix
      const row = Math.floor(inside / across) * blockRows
      const column = inside % across * blockColumns
      const rowsBegin = begin("a", matrix) + row * signed(number("aRow"))
      const rowStarts = Array.from(
        { length: Math.min(blockRows, rows - row) },
        (_, line) => rowsBegin + line * signed(number("aRow"))
      )
      const columnsBegin = begin("b", matrix)
      const columnStarts = Array.from(
        { length: Math.min(blockColumns, columns - column) },
        (_, line) => columnsBegin + strided(column + line, axes.columns, "across", "bColumn")
      )
      return {
        depth,
        a: { ...a, lines: rowStarts },
        b: { ...b, lines: columnStarts },
        y: vector(result),
        at: begin("y", matrix) + row * number("yRow") + column,
        row: number("yRow")
      }
    }
    for (let index = Math.ceil(from / blockItems); index < Math.ceil(to / blockItems); index++) compute(blockAt(index))
  }
