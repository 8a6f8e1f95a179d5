/**
 * Quotients of floats by divisors of any size; division that rounds down, and its remainder, with the sign of the divisor.
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.floor_divide.html
 * @internal
 */
import { type ExprType, isFloat, isUnsigned } from "effect-gpu-pool/Operation"
import { applyReal as apply, constantOf, type Expr } from "./Expression.ts"

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

/** The remainder of truncating division. Each step with floats is rounded, so the result may equal or exceed the divisor. */
const truncated = (a: Expr, b: Expr): Expr => {
  const rest = apply("fmod", [a, b])
  if (!isFloat(a.type)) return rest
  const isBeyond = apply("greaterEqual", [apply("abs", [rest]), apply("abs", [b])])
  const isInfinite = apply("logicalNot", [apply("logicalOr", [apply("isFinite", [b]), apply("isNaN", [b])])])
  const keepsDividend = apply("logicalAnd", [isInfinite, apply("isFinite", [a])])
  return apply("where", [keepsDividend, a, apply("where", [isBeyond, 0, rest])])
}

/** Whether the truncated quotient is above the floored one. */
const isAbove = (rest: Expr, b: Expr): Expr =>
  apply("logicalOr", [
    apply("logicalAnd", [apply("less", [rest, 0]), apply("greater", [b, 0])]),
    apply("logicalAnd", [apply("greater", [rest, 0]), apply("less", [b, 0])])
  ])

export const remainderOf = (a: Expr, b: Expr): Expr => {
  const rest = truncated(a, b)
  return isUnsigned(b.type) ? rest : apply("where", [isAbove(rest, b), apply("add", [rest, b]), rest])
}

export const floorDivideOf = (a: Expr, b: Expr): Expr => {
  if (isUnsigned(b.type)) return apply("truncDivide", [a, b])
  const rest = truncated(a, b)
  const down = (quotient: Expr) => apply("where", [isAbove(rest, b), apply("subtract", [quotient, 1]), quotient])
  if (!isFloat(b.type)) return down(apply("truncDivide", [a, b]))
  // Without the remainder the quotient is a whole number, apart from the rounding of the division.
  const whole = apply("round", [down(quotientOf(apply("subtract", [a, rest]), b))])
  return apply("where", [apply("equal", [b, 0]), apply("divide", [a, b]), whole])
}
