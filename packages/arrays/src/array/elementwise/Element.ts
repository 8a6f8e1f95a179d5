/**
 * The expressions that elementwise operations are built of.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { isFloat } from "effect-gpu-pool/Operation"
import type * as Expr from "../../kernels/Expr.ts"

export type Element = Expr.Expr<DType>

export type Truth = Expr.Expr<"bool">

export const isFloating = (x: Element): x is Expr.Expr<Expr.FloatType> => isFloat(x.type)
