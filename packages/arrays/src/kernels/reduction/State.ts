/**
 * What a reduction carries from element to element: one or several values.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Constant, LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import type * as Expr from "../Expr.ts"
import * as Expression from "../expression/Expression.ts"
import { Statements } from "../expression/Statements.ts"

/** One value of a state. */
export interface Component {
  readonly name: string
  readonly dtype: DType
  /** The neutral value. */
  readonly neutral: Constant
}

/** An expression for each component. */
export type StateExprs = ReadonlyArray<Expr.Expr<DType>>

export type Combine = (a: StateExprs, b: StateExprs) => StateExprs

/** The neutral state. */
export const neutralState = (state: ReadonlyArray<Component>): StateExprs =>
  state.map(({ dtype, neutral }) => Expression.constantOf("neutral", dtype, neutral))

/** The variables in which an item accumulates its state, or the states of its streams, whose names have a number. */
export const gathered = (state: ReadonlyArray<Component>, of = ""): StateExprs =>
  state.map(({ dtype }, index) => Expression.make(dtype, { _tag: "Variable", name: variableOf(index, of) }))

export const variableOf = (component: number, of = ""): string => `state${of}__${component}`

/**
 * Assigns the next state to its variables. All its values are computed before the first is assigned. A value that is only
 * the old value of another component is copied first, since that component may be assigned before; the prefix distinguishes
 * the names of copies.
 */
export const assignments = (
  writer: LanguageWriter,
  next: StateExprs,
  values: ReadonlyArray<string>,
  prefix: string,
  of = ""
): ReadonlyArray<string> => {
  const variables = next.map((_, index) => variableOf(index, of))
  const moved = values.map((value, index) => next[index]!.node._tag === "Variable" && value !== variables[index])
  const copies = next.map((_, index) => `${prefix}next__${index}`)
  return [
    ...values.flatMap((value, index) => moved[index] ? [writer.declare(copies[index]!, next[index]!.type, value)] : []),
    ...values.flatMap((value, index) =>
      value === variables[index] ? [] : [writer.assign(variables[index]!, moved[index] ? copies[index]! : value)]
    )
  ]
}

/** Statements that assign a state made of variables; the prefix distinguishes their names. */
export const combining = (writer: LanguageWriter, next: StateExprs, prefix: string): ReadonlyArray<string> => {
  const statements = new Statements(writer, { index: "", indexVaries: true, prefix })
  const values = next.map((expr) => statements.value(expr))
  return [...statements.before, ...statements.inside, ...assignments(writer, next, values, prefix)]
}
