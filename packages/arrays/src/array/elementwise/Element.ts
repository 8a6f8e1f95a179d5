/**
 * The expressions that elementwise operations are built of.
 *
 * @internal
 */
import { isFloat } from "effect-gpu-pool/Operation"
import type * as Expr from "../../kernels/Expr.ts"

/** An element; also a truth value or a complex number, where an operation takes those. */
export type Element = Expr.Expr<Expr.NumberType>

export type Truth = Expr.Expr<"bool">

export const isComplex = (x: Expr.Expr): x is Expr.Expr<"c64"> => x.type === "c64"

export const isFloating = (x: Expr.Expr): x is Expr.Expr<Expr.FloatType> => isFloat(x.type)
