/**
 * Which row and which part of it an item of a reduction or a scan works on.
 *
 * @internal
 */
import { ScalarArg } from "effect-gpu-pool/KernelArgument"
import * as Expr from "../Expr.ts"
import * as Expression from "../expression/Expression.ts"
import { scalar as scalarOf } from "../expression/Expression.ts"
import type { ArgumentNames } from "./ArgumentNames.ts"
import type { Parts } from "./Division.ts"

type Index = Expr.Expr<"u32">

export const rowVariable = "row__"

/** The row of an item, as an expression of `map`. */
export const row: Index = Expression.make("u32", { _tag: "Variable", name: rowVariable })

/** The position in the row, as an expression of `map`; the same as the element index. */
export const position: Index = Expression.make("u32", { _tag: "Index" })

/**
 * The scalar arguments of a walk: the rows, how they are divided, and whether neighbouring items are in neighbouring
 * rows (1) or in neighbouring parts of one row (0).
 */
export interface WalkValues extends Parts {
  readonly rows: number
  /** Elements of a row. */
  readonly length: number
  readonly across: number
}

/** The names of the scalars among a kernel's arguments. */
export type WalkNames = { readonly [S in keyof WalkValues]: string }

export const walkScalars: ReadonlyArray<keyof WalkValues> = ["rows", "length", "parts", "segment", "across"]

export const walkNames = (names: ArgumentNames): WalkNames => ({
  rows: names.add("rows"),
  length: names.add("length"),
  parts: names.add("parts"),
  segment: names.add("segment"),
  across: names.add("across")
})

export const walkArgs = (names: WalkNames): ReadonlyArray<ScalarArg<string, "u32">> =>
  walkScalars.map((scalar) => ScalarArg("u32", names[scalar]))

export const scalar = (name: string): Index => scalarOf("u32", name)

export const isSet = (flag: Index): Expr.Expr<"bool"> => Expr.notEqual(flag, 0)

export const quotient = (a: Index, b: Index): Index => Expression.make("u32", { _tag: "Quotient", operands: [a, b] })

export const multiplyAdd = (a: Index, b: Index, c: Index): Index =>
  Expression.make("u32", { _tag: "MultiplyAdd", operands: [a, b, c] })

/** A block of neighbouring rows, and a part of each. */
export interface Place {
  readonly block: Index
  readonly part: Index
}

/** The place of an item or of a group, counted by the index; `blocks` are all blocks. */
export const placeOf = (names: WalkNames, blocks: Index): Place => {
  const index = Expression.make("u32", { _tag: "Index" })
  const across = isSet(scalar(names.across))
  const width = Expr.where(across, blocks, scalar(names.parts))
  const above = quotient(index, width)
  const beside = Expr.subtract(index, Expr.multiply(above, width))
  return { block: Expr.where(across, beside, above), part: Expr.where(across, above, beside) }
}

/** Where a part begins in its row, and how many elements it has. No sum exceeds the elements of a row, which may be 2^32 - 1. */
export const extentOf = (names: WalkNames, part: Index): { readonly begin: Index; readonly size: Index } => {
  const segment = scalar(names.segment)
  const begin = Expr.multiply(part, segment)
  return { begin, size: Expr.minimum(segment, Expr.subtract(scalar(names.length), begin)) }
}

/** Where the state of a part is among those of all rows. */
export const stateOfPart = (names: WalkNames, row: Index, part: Index): Index =>
  multiplyAdd(part, row, scalar(names.parts))

/** Where the state at the walk's position is: those of an earlier kernel are the elements of rows that follow each other. */
export const stateIndex = (names: WalkNames): Index => multiplyAdd(position, row, scalar(names.length))

/**
 * The index of the element at a position of the row among results that are stored in their order, where neighbours of a row are
 * `width` elements apart.
 */
export const placeInOrder = (names: WalkNames, width: Index): Index => {
  const rest = Expr.multiply(Expr.subtract(scalar(names.length), 1), width)
  return multiplyAdd(multiplyAdd(row, quotient(row, width), rest), position, width)
}
