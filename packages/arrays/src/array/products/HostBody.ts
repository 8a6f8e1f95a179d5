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
import type { Elements } from "./Strips.ts"
import type { Types } from "./TileBody.ts"

/** Strides are passed modulo 2^32. */
const signed = (stride: number): number => stride | 0

/** A block is computed when its first item is in the range. */
export const hostBody = (types: Types, axes: number): HostBody<ReadonlyArray<NumericArgument>> => {
  const compute = isFloat(types.sum) ? computeFloats : computeIntegers
  const rounds = (dtype: DType): boolean => types.sum === "f32" && !isFloat(dtype)
  return hostFunction({ axes, compute, roundsA: rounds(types.a), roundsB: rounds(types.b), signed }, bodyOf)
}

interface Uses {
  readonly axes: number
  readonly compute: (block: Block) => void
  readonly roundsA: boolean
  readonly roundsB: boolean
  readonly signed: (stride: number) => number
}

const bodyOf =
  ({ axes, compute, roundsA, roundsB, signed }: Uses): HostBody<ReadonlyArray<NumericArgument>> => (from, to, args) => {
    const number = (name: string): number => args[name] as number
    const vector = (name: string): Elements => args[name] as Elements
    const blockItems = number("blockItems")
    const blockRows = number("blockRows")
    const blockColumns = number("blockColumns")
    const rows = number("rows")
    const columns = number("columns")
    const a = {
      from: vector("a"),
      line: signed(number("aRow")),
      step: signed(number("aColumn")),
      rounds: roundsA
    }
    const b = {
      from: vector("b"),
      line: signed(number("bColumn")),
      step: signed(number("bRow")),
      rounds: roundsB
    }
    /** Where a matrix of the batch begins in an operand. */
    const begin = (operand: "a" | "b", matrix: number): number => {
      let at = number(`${operand}Offset`)
      let rest = matrix
      for (let axis = axes - 1; axis >= 0; axis--) {
        const above = axis === 0 ? 0 : Math.floor(rest / number(`length${axis}`))
        at += (axis === 0 ? rest : rest - above * number(`length${axis}`)) * signed(number(`${operand}Batch${axis}`))
        rest = above
      }
      return at
    }
    const across = Math.ceil(columns / blockColumns)
    const ofMatrix = across * Math.ceil(rows / blockRows)
    const blockAt = (index: number): Block => {
      const matrix = Math.floor(index / ofMatrix)
      const inside = index - matrix * ofMatrix
      const row = Math.floor(inside / across) * blockRows
      const column = inside % across * blockColumns
      return {
        rows: Math.min(blockRows, rows - row),
        columns: Math.min(blockColumns, columns - column),
        depth: number("depth"),
        a: { ...a, at: begin("a", matrix) + row * a.line },
        b: { ...b, at: begin("b", matrix) + column * b.line },
        y: vector("y"),
        at: (matrix * rows + row) * columns + column,
        row: columns
      }
    }
    for (let index = Math.ceil(from / blockItems); index < Math.ceil(to / blockItems); index++) compute(blockAt(index))
  }
