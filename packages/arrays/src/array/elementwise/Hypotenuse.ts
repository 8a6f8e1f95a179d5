/**
 * The length of a vector of two components.
 *
 * @internal
 */
import * as Expr from "../../kernels/Expr.ts"
import { quotientOf } from "../../kernels/expression/Division.ts"
import { type Element, isFloating } from "./Element.ts"

/**
 * Divides both components by the greater one before they are squared, since the squares could overflow. The result is
 * infinite where one component is.
 */
export const hypotenuseOf = (x: Element, y: Element): Element => {
  if (!isFloating(x) || !isFloating(y)) return x
  const a = Expr.abs(x)
  const b = Expr.abs(y)
  const greater = Expr.maximum(a, b)
  const ratio = quotientOf(Expr.minimum(a, b), greater)
  const length = Expr.multiply(greater, Expr.sqrt(Expr.add(Expr.multiply(ratio, ratio), 1)))
  const isInfinite = Expr.logicalOr(infinite(a), infinite(b))
  return Expr.where(isInfinite, Infinity, Expr.where(Expr.equal(greater, 0), greater, length))
}

const infinite = (x: Expr.Expr<Expr.FloatType>): Expr.Expr<"bool"> =>
  Expr.logicalNot(Expr.logicalOr(Expr.isFinite(x), Expr.isNaN(x)))
