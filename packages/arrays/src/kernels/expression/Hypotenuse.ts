/**
 * The length of a vector of two components.
 *
 * @internal
 */
import { quotientOf } from "./Division.ts"
import { applyReal as apply, type Expr } from "./Expression.ts"

/**
 * Divides both components by the greater one before they are squared, since the squares could overflow. The result is
 * infinite where one component is.
 */
export const hypotenuseOf = (x: Expr, y: Expr): Expr => {
  const a = apply("abs", [x])
  const b = apply("abs", [y])
  const greater = apply("maximum", [a, b])
  const ratio = quotientOf(apply("minimum", [a, b]), greater)
  const length = apply("multiply", [greater, apply("sqrt", [apply("add", [apply("multiply", [ratio, ratio]), 1])])])
  const isInfinite = apply("logicalOr", [infinite(a), infinite(b)])
  const finite = apply("where", [apply("equal", [greater, 0]), greater, length])
  return apply("where", [isInfinite, Infinity, finite])
}

/** Whether a number is infinite; NaN is not. */
export const infinite = (x: Expr): Expr =>
  apply("logicalNot", [apply("logicalOr", [apply("isFinite", [x]), apply("isNaN", [x])])])
