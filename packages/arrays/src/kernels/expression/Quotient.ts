/**
 * Quotients of floats by divisors of any size.
 *
 * @internal
 */
import type { ExprType } from "effect-gpu-pool/Operation"
import { apply, constantOf, type Expr } from "./Expression.ts"

/**
 * WGSL promises nothing for f32 quotients by more than 2^126: devices multiply by the reciprocal of the divisor, which is a
 * subnormal number from there on and may be treated as zero. A quarter of a large divisor is small enough.
 */
export const quotientOf = <T extends ExprType>(a: Expr<T>, b: Expr<T>): Expr<T> =>
  (b.type === "f32" ? quotientOfScaled(a, b) : apply("divide", [a, b])) as Expr<T>

const quotientOfScaled = (a: Expr, b: Expr): Expr => {
  const isLarge = apply("greater", [apply("abs", [b]), 1e37])
  const scale = apply("where", [isLarge, constantOf("Expr.divide", "f32", 0.25), 1])
  return apply("divide", [apply("multiply", [a, scale]), apply("multiply", [b, scale])])
}
