/**
 * The expressions that elementwise operations are built of.
 *
 * @internal
 */
import { isFloat } from "effect-gpu-pool/Operation"
import type * as Expr from "../../kernels/Expr.ts"

/** An element, or a truth value where an operation takes those. */
export type Element = Expr.Expr<Expr.NumberType>

export type Truth = Expr.Expr<"bool">

export const isFloating = (x: Element): x is Expr.Expr<Expr.FloatType> => isFloat(x.type)
