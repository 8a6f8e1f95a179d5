/**
 * What a reduction carries from element to element: one or several values.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Constant } from "effect-gpu-pool/LanguageWriter"
import type * as Expr from "../Expr.ts"
import * as Expression from "../expression/Expression.ts"

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

/** The variables in which an item accumulates its state. */
export const gathered = (state: ReadonlyArray<Component>): StateExprs =>
  state.map(({ dtype }, index) => Expression.make(dtype, { _tag: "Variable", name: variableOf(index) }))

export const variableOf = (component: number): string => `state__${component}`
