/**
 * The body of a product's kernel for one item: a tile of the result, with its sums in registers. There is no workgroup
 * memory: an item uses each loaded element for a whole row or column of its tile, and neighbours find it in the cache.
 *
 * Each sum is over the depth in order, whatever the tile, so the numbers do not depend on its size.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import { held } from "../../kernels/expression/Expression.ts"
import { Indices } from "./Indices.ts"

/** Rows and columns of the result that one item computes. */
export interface Tile {
  readonly rows: number
  readonly columns: number
}

/** The element types of the operands and of the result, and that of the sums. */
export interface Types {
  readonly a: DType
  readonly b: DType
  readonly y: DType
  readonly sum: DType
}

/** Names of variables for the item's tile: its matrix, where that begins in the operands, and where the tile begins in it. */
export interface Place {
  readonly matrix: string
  readonly row: string
  readonly column: string
  /** The scalars. */
  readonly rows: string
  readonly columns: string
  /** Where the matrices of the operands begin. */
  readonly begin: { readonly a: string; readonly b: string }
}

/** 0, 1, ... */
export const upTo = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

/** Statements for the item's tile, for an item that has one. */
export const onTile = (
  writer: LanguageWriter,
  tile: Tile,
  axes: number,
  work: (at: Indices, place: Place) => void
): ReadonlyArray<string> => {
  const at = new Indices(writer)
  const { column, columns, matrix, row, rows } = placeOf(at, tile)
  const hasTile = at.apply("logicalAnd", [at.compare("less", row, rows), at.compare("less", column, columns)], "bool")
  const within = at.within()
  work(within, { row, column, rows, columns, matrix, begin: beginOf(within, axes, matrix) })
  return [...at.lines, ...writer.when(hasTile, within.lines)]
}

/**
 * Computes the item's tile. The tiles of a group make a block of the result, so that its items share what they load.
 */
const placeOf = (at: Indices, tile: Tile) => {
  const groupColumns = at.scalar("groupColumns")
  const [group, item] = at.divide("i", at.multiply(at.scalar("groupRows"), groupColumns))
  const [matrix, block] = at.divide(group, at.scalar("groups"))
  const [blockRow, blockColumn] = at.divide(block, at.scalar("groupsAcross"))
  const [down, across] = at.divide(item, groupColumns)
  const first = (begin: string, length: string, place: string, tiles: number): string =>
    at.multiply(at.add(at.multiply(begin, length), place), at.constant(tiles))
  return {
    matrix,
    rows: at.scalar("rows"),
    columns: at.scalar("columns"),
    row: first(blockRow, at.scalar("groupRows"), down, tile.rows),
    column: first(blockColumn, groupColumns, across, tile.columns)
  }
}

const beginOf = (at: Indices, axes: number, matrix: string): Place["begin"] => {
  let a = at.scalar("aOffset")
  let b = at.scalar("bOffset")
  let above = matrix
  for (let axis = axes - 1; axis >= 0; axis--) {
    const [quotient, place] = axis > 0 ? at.divide(above, at.scalar(`length${axis}`)) : [above, above]
    a = at.add(a, at.multiply(place, at.scalar(`aBatch${axis}`)))
    b = at.add(b, at.multiply(place, at.scalar(`bBatch${axis}`)))
    above = quotient
  }
  return { a, b }
}

/** Where lines of the tile begin in an operand; lines beyond the last one repeat it. */
export const lineStarts = (
  at: Indices,
  count: number,
  { begin, first, length, stride }: {
    readonly begin: string
    readonly first: string
    readonly length: string
    readonly stride: string
  }
): ReadonlyArray<string> => {
  const step = at.scalar(stride)
  const last = at.subtract(length, at.constant(1))
  return upTo(count).map((line) => {
    const place = line === 0 ? first : at.minimum(at.plus(first, line), last)
    return at.add(begin, at.multiply(place, step))
  })
}

/** Statements for one line of a tile, under the condition that the result has it; the first line always exists. */
export const onLine = (
  at: Indices,
  first: string,
  line: number,
  length: string,
  work: (at: Indices) => void
): void => {
  if (line === 0) return work(at)
  const within = at.within()
  work(within)
  at.lines.push(...at.writer.when(at.compare("less", at.plus(first, line), length), within.lines))
}

/** The loop over the depth, whose statements are `round`: `moved` counts along a row of the first operand, `bMoved` down the second. */
export const alongDepth = (at: Indices, round: Indices, moved: string, bMoved: string): void => {
  const { writer } = at
  const next = writer.apply("add", [bMoved, round.scalar("bRow")], "u32", "u32")
  const moves = { position: moved, begin: at.constant(0), step: at.scalar("aColumn"), times: at.scalar("depth") }
  at.lines.push(...writer.walk(moves, [...round.lines, writer.assign(bMoved, next)]))
}

/** Where a row of the tile begins in the result. */
export const resultRow = (
  at: Indices,
  { columns, matrix, row, rows }: Place,
  line: number,
  column: string
): string => at.add(at.multiply(at.plus(at.add(at.multiply(matrix, rows), row), line), columns), column)

/** Statements in a language with scalar variables. */
export const scalarBody = (
  writer: LanguageWriter,
  tile: Tile,
  types: Types,
  axes: number
): ReadonlyArray<string> =>
  onTile(writer, tile, axes, (at, place) => {
    const { begin, column, columns, row, rows } = place
    const a = lineStarts(at, tile.rows, { begin: begin.a, first: row, length: rows, stride: "aRow" })
    const b = lineStarts(at, tile.columns, { begin: begin.b, first: column, length: columns, stride: "bColumn" })
    const variable = (type: DType): string => {
      const name = at.fresh()
      at.lines.push(writer.variable(name, type, writer.constant(held(type, 0), type)))
      return name
    }
    const sums = a.map(() => b.map(() => variable(types.sum)))
    const [moved, bMoved] = [at.fresh(), variable("u32")]
    const round = at.within()
    const operand = (vector: "a" | "b", index: string): string => {
      const loaded = round.named(types[vector], writer.load(vector, index, types[vector]))
      return round.apply("astype", [loaded], types[vector], types.sum)
    }
    const down = a.map((start) => operand("a", round.add(start, moved)))
    const across = b.map((start) => operand("b", round.add(start, bMoved)))
    for (const [r, x] of down.entries()) {
      for (const [c, z] of across.entries()) {
        const sum = sums[r]![c]!
        const product = round.apply("multiply", [x, z], types.sum)
        round.lines.push(writer.assign(sum, writer.apply("add", [sum, product], types.sum, types.sum)))
      }
    }
    alongDepth(at, round, moved, bMoved)
    for (const [r, line] of sums.entries()) {
      onLine(at, row, r, rows, (at) => {
        const start = resultRow(at, place, r, column)
        for (const [c, sum] of line.entries()) {
          onLine(at, column, c, columns, (at) => {
            const index = at.plus(start, c)
            const stored = at.apply("astype", [sum], types.sum, types.y)
            at.lines.push(writer.store("y", index, stored, types.y))
          })
        }
      })
    }
  })
