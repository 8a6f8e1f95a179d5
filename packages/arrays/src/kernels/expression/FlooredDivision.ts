/**
 * Division that rounds down, and its remainder, with the sign of the divisor, made from truncating division.
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.floor_divide.html
 * @internal
 */
import { isFloat } from "effect-gpu-pool/Operation"
import { apply, type Expr } from "./Expression.ts"
import { quotientOf } from "./Quotient.ts"

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
  return b.type === "u32" ? rest : apply("where", [isAbove(rest, b), apply("add", [rest, b]), rest])
}

export const floorDivideOf = (a: Expr, b: Expr): Expr => {
  if (b.type === "u32") return apply("truncDivide", [a, b])
  const rest = truncated(a, b)
  const down = (quotient: Expr) => apply("where", [isAbove(rest, b), apply("subtract", [quotient, 1]), quotient])
  if (!isFloat(b.type)) return down(apply("truncDivide", [a, b]))
  // Without the remainder the quotient is a whole number, apart from the rounding of the division.
  const whole = apply("round", [down(quotientOf(apply("subtract", [a, rest]), b))])
  return apply("where", [apply("equal", [b, 0]), apply("divide", [a, b]), whole])
}
