/**
 * The body of a product's kernel for one item: a tile of the result, with its sums in registers. There is no workgroup
 * memory: an item uses each loaded element for a whole row or column of its tile, and neighbours find it in the cache.
 *
 * Each sum is over the depth in order, whatever the tile, so the numbers do not depend on its size.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Fours } from "effect-gpu-pool/Language"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import type * as Expr from "../../kernels/Expr.ts"
import { held } from "../../kernels/expression/Expression.ts"
import { Statements } from "../../kernels/expression/Statements.ts"
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

/** How many axes a product has: kernels are written for these numbers. */
export interface Axes {
  readonly batch: number
  readonly columns: number
  readonly depth: number
}

/** Names of variables for the item's tile: where it begins in its matrix, and where that begins in memory. */
export interface Place {
  readonly row: string
  readonly column: string
  /** The scalars. */
  readonly rows: string
  readonly columns: string
  /** Where the matrix and its factors begin. */
  readonly begin: { readonly a: string; readonly b: string; readonly y: string }
}

/** 0, 1, ... */
export const upTo = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

/** Statements for the item's tile, for an item that has one. */
export const onTile = (
  writer: LanguageWriter,
  tile: Tile,
  axes: Axes,
  work: (at: Indices, place: Place) => void
): ReadonlyArray<string> => {
  const at = new Indices(writer)
  const { column, columns, matrix, row, rows } = placeOf(at, tile)
  const hasTile = at.apply("logicalAnd", [at.compare("less", row, rows), at.compare("less", column, columns)], "bool")
  const within = at.within()
  work(within, { row, column, rows, columns, begin: beginOf(within, axes.batch, matrix) })
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
  const places = placesOf(at, axes, "length", matrix)
  const begin = (operand: "a" | "b" | "y", from: string): string => at.strided(from, `${operand}Batch`, places)
  const zero = at.constant(0)
  return { a: begin("a", at.scalar("aOffset")), b: begin("b", at.scalar("bOffset")), y: begin("y", zero) }
}

/** The place of an index along each of some axes, the last one fastest; `lengths` is how their scalars are named. */
const placesOf = (at: Indices, axes: number, lengths: string, index: string): ReadonlyArray<string> => {
  const places: Array<string> = []
  let above = index
  for (let axis = axes - 1; axis > 0; axis--) {
    const [quotient, place] = at.divide(above, at.scalar(`${lengths}${axis}`))
    places.unshift(place)
    above = quotient
  }
  return axes === 0 ? places : [above, ...places]
}

/** Every `step`th line of the tile, `count` from the first on; those beyond the last one of the matrix repeat it. */
const linesFrom = (at: Indices, count: number, first: string, length: string, step = 1): ReadonlyArray<string> => {
  const last = at.subtract(length, at.constant(step))
  return upTo(count).map((line) => line === 0 ? first : at.minimum(at.plus(first, line * step), last))
}

/** Where rows of the tile begin in the first operand. */
export const rowStarts = (at: Indices, count: number, { begin, row, rows }: Place): ReadonlyArray<string> => {
  const step = at.scalar("aRow")
  return linesFrom(at, count, row, rows).map((place) => at.add(begin.a, at.multiply(place, step)))
}

/** Where columns of the tile begin in the second operand, every `step`th of them. */
const columnStarts = (
  at: Indices,
  count: number,
  { begin, column, columns }: Place,
  axes: number,
  step: number
): ReadonlyArray<string> =>
  linesFrom(at, count, column, columns, step).map((place) =>
    at.strided(begin.b, "bColumn", placesOf(at, axes, "across", place))
  )

/** Names of two positions: how far an element of each operand is from where its line begins. */
export interface Moved {
  readonly a: string
  readonly b: string
}

/** The loops over the axes of the depth, the last one inside, with the statements `round` for the positions `moved`, which begin at `from`. */
export const alongDepth = (at: Indices, axes: number, round: Indices, moved: Moved, from: Moved): void => {
  const { writer } = at
  let lines: ReadonlyArray<string> = round.lines
  let inner = moved
  for (let axis = axes - 1; axis >= 0; axis--) {
    const outer = axis === 0 ? from : { a: at.fresh(), b: at.fresh() }
    const next = writer.apply("add", [inner.b, at.scalar(`bDepth${axis}`)], "u32", "u32")
    const moves = {
      position: inner.a,
      begin: outer.a,
      step: at.scalar(`aDepth${axis}`),
      times: at.scalar(`depth${axis}`)
    }
    lines = [
      writer.variable(inner.b, "u32", outer.b),
      ...writer.walk(moves, [...lines, writer.assign(inner.b, next)])
    ]
    inner = outer
  }
  at.lines.push(...lines)
}

/** What a kernel stores for each element of a product, which is a variable of the expressions. */
export interface Results {
  readonly product: string
  readonly expressions: ReadonlyArray<Expr.Expr<DType>>
  /** The vector of each. */
  readonly names: ReadonlyArray<string>
}

/** The names of a sum, and of its place in the tile, where each is stored. */
export const turn = { value: "sum__", place: "place__" }

/**
 * Statements that store the results for a sum of the tile, if the result has its place. The tile begins at `first` along
 * the columns, and has the columns from that of the place on.
 */
export const storeOne = (
  outer: Indices,
  { columns }: Tile,
  types: Types,
  { begin, column, columns: allColumns, row, rows }: Place,
  { expressions, names, product }: Results,
  first: string
): ReadonlyArray<string> => {
  const at = outer.within()
  const { writer } = at
  const [line, inLine] = at.divide(turn.place, at.constant(columns))
  const [y, x] = [at.add(row, line), at.add(first, inLine)]
  const isOwn = at.apply("logicalNot", [at.compare("less", x, column)], "bool")
  const isInside = at.apply("logicalAnd", [at.compare("less", y, rows), at.compare("less", x, allColumns)], "bool")
  const stores = at.apply("logicalAnd", [isOwn, isInside], "bool")
  const inside = at.within()
  const index = inside.add(inside.add(begin.y, inside.multiply(y, inside.scalar("yRow"))), x)
  const element = inside.writer.apply("astype", [turn.value], types.sum, types.y)
  const statements = new Statements(writer, { index, indexVaries: true, variables: { [product]: true } })
  for (const expression of expressions) statements.value(expression)
  for (const [at, expression] of expressions.entries()) statements.store(names[at]!, false, expression)
  const lines = [
    ...inside.lines,
    writer.declare(product, types.y, element),
    ...statements.before,
    ...statements.inside
  ]
  return [...at.lines, ...writer.when(stores, lines)]
}

/** Statements in a language with scalar variables. With `fours` the second operand is declared with elements of four numbers. */
export const scalarBody = (
  writer: LanguageWriter,
  fours: Fours | undefined,
  tile: Tile,
  types: Types,
  axes: Axes,
  results: Results
): ReadonlyArray<string> =>
  onTile(writer, tile, axes, (at, place) => {
    const a = rowStarts(at, tile.rows, place)
    const width = fours === undefined ? 1 : 4
    const b = columnStarts(at, tile.columns / width, place, axes.columns, width)
    const variable = (type: DType): string => {
      const name = at.fresh()
      at.lines.push(writer.variable(name, type, writer.constant(held(type, 0), type)))
      return name
    }
    const sums = a.map(() => upTo(tile.columns).map(() => variable(types.sum)))
    const moved = { a: at.fresh(), b: at.fresh() }
    const round = at.within()
    const operand = (vector: "a" | "b", element: string): string =>
      round.apply("astype", [round.named(types[vector], element)], types[vector], types.sum)
    const down = a.map((start) => operand("a", writer.load("a", round.add(start, moved.a), types.a)))
    const across = b.flatMap((start) => {
      const index = round.add(start, moved.b)
      if (fours === undefined) return [operand("b", writer.load("b", index, types.b))]
      const four = round.fresh()
      const place = round.named("u32", writer.quotient(index, round.constant(width)))
      round.lines.push(fours.load(four, "b", place, types.b))
      return upTo(width).map((at) => operand("b", fours.number(four, writer.constant(at, "u32"))))
    })
    for (const [r, x] of down.entries()) {
      for (const [c, z] of across.entries()) {
        const sum = sums[r]![c]!
        const product = round.apply("multiply", [x, z], types.sum)
        round.lines.push(writer.assign(sum, writer.apply("add", [sum, product], types.sum, types.sum)))
      }
    }
    const zero = at.constant(0)
    alongDepth(at, axes.depth, round, moved, { a: zero, b: zero })
    at.lines.push(
      ...writer.each(sums.flat(), types.sum, {
        ...turn,
        lines: storeOne(at, tile, types, place, results, place.column)
      })
    )
  })
