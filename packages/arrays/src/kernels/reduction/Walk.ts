/**
 * The loop of an item of a reduction or a scan over its elements.
 *
 * @internal
 */
import { ScalarArg } from "effect-gpu-pool/KernelArgument"
import type { Moves } from "effect-gpu-pool/LanguageWriter"
import * as Expr from "../Expr.ts"
import * as Expression from "../expression/Expression.ts"
import { scalar as scalarOf } from "../expression/Expression.ts"
import type { Statements } from "../expression/Statements.ts"
import type { ArgumentNames } from "./ArgumentNames.ts"
import type { Division } from "./Chunks.ts"

export const rowVariable = "row__"

/** The row of an item, as an expression of `map`. */
export const row: Expr.Expr<"u32"> = Expression.make("u32", { _tag: "Variable", name: rowVariable })

/** The position in the row, as an expression of `map`; the same as the element index. */
export const position: Expr.Expr<"u32"> = Expression.make("u32", { _tag: "Index" })

/** Expressions of the item's index and of scalar arguments. */
export interface Walk {
  readonly row: Expr.Expr<"u32">
  readonly begin: Expr.Expr<"u32">
  readonly step: Expr.Expr<"u32">
  readonly times: Expr.Expr<"u32">
}

/**
 * The scalar arguments of a walk: the rows, how they are divided, and whether neighbouring items are in neighbouring
 * rows (1) or in neighbouring chunks of one row (0).
 */
export interface WalkValues extends Division {
  readonly rows: number
  /** Elements of a row. */
  readonly length: number
  readonly across: number
}

/** The names of the scalars among a kernel's arguments. */
export type WalkNames = { readonly [S in keyof WalkValues]: string }

export const walkScalars: ReadonlyArray<keyof WalkValues> = ["rows", "length", "chunks", "lanes", "span", "across"]

export const walkNames = (names: ArgumentNames): WalkNames => ({
  rows: names.add("rows"),
  length: names.add("length"),
  chunks: names.add("chunks"),
  lanes: names.add("lanes"),
  span: names.add("span"),
  across: names.add("across")
})

export const walkArgs = (names: WalkNames): ReadonlyArray<ScalarArg<string, "u32">> =>
  walkScalars.map((scalar) => ScalarArg("u32", names[scalar]))

export const scalar = (name: string): Expr.Expr<"u32"> => scalarOf("u32", name)

export const isSet = (flag: Expr.Expr<"u32">): Expr.Expr<"bool"> => Expr.notEqual(flag, 0)

const quotient = (a: Expr.Expr<"u32">, b: Expr.Expr<"u32">): Expr.Expr<"u32"> =>
  Expression.make("u32", { _tag: "Quotient", operands: [a, b] })

/** The row and the chunk of item `i`. */
const placeOf = (names: WalkNames): { readonly row: Expr.Expr<"u32">; readonly chunk: Expr.Expr<"u32"> } => {
  const item = Expression.make("u32", { _tag: "Index" })
  const across = isSet(scalar(names.across))
  const width = Expr.where(across, scalar(names.rows), scalar(names.chunks))
  const above = quotient(item, width)
  const beside = Expr.subtract(item, Expr.multiply(above, width))
  return { row: Expr.where(across, beside, above), chunk: Expr.where(across, above, beside) }
}

/** The elements of item `i`. No sum exceeds the number of elements of a row, which may be 2^32 - 1. */
export const make = (names: WalkNames): Walk => {
  const { chunk, row } = placeOf(names)
  const lanes = scalar(names.lanes)
  const segment = quotient(chunk, lanes)
  const lane = Expr.subtract(chunk, Expr.multiply(segment, lanes))
  const segmentLength = Expr.multiply(lanes, scalar(names.span))
  const start = Expr.multiply(segment, segmentLength)
  const inSegment = Expr.minimum(segmentLength, Expr.subtract(scalar(names.length), start))
  const aside = Expr.subtract(Expr.subtract(lanes, lane), 1)
  return {
    row,
    begin: Expr.add(start, lane),
    step: lanes,
    times: quotient(Expr.add(inSegment, aside), lanes)
  }
}

/** The index of a state of an earlier kernel: states are stored by item. */
export const stateIndex = (names: WalkNames): Expr.Expr<"u32"> => {
  const across = isSet(scalar(names.across))
  const start = Expr.multiply(row, Expr.where(across, 1, scalar(names.length)))
  const step = Expr.where(across, scalar(names.rows), 1)
  return Expression.make("u32", { _tag: "MultiplyAdd", operands: [start, position, step] })
}

/**
 * The index of the element at a position of the row among results that are stored in their order, where neighbours of a row are
 * `width` elements apart.
 */
export const placeInOrder = (names: WalkNames, width: Expr.Expr<"u32">): Expr.Expr<"u32"> => {
  const rest = Expr.multiply(Expr.subtract(scalar(names.length), 1), width)
  const start = Expression.make("u32", { _tag: "MultiplyAdd", operands: [row, quotient(row, width), rest] })
  return Expression.make("u32", { _tag: "MultiplyAdd", operands: [start, position, width] })
}

/** The loop of an item's walk, after the statements that compute its start and end. */
export const moves = (walk: Walk, item: Statements): Moves => ({
  position: "k__",
  begin: item.value(walk.begin),
  step: item.value(walk.step),
  times: item.value(walk.times)
})
