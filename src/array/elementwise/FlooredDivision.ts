/**
 * Division that rounds down, and what it leaves over, with the sign of the divisor: made of that which truncates.
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.floor_divide.html
 * @internal
 */
import type { DType } from "../../domain/DType.ts"
import * as Expr from "../../kernels/Expr.ts"
import { type Element, isFloating, type Truth } from "./Element.ts"

/** What truncating division leaves over. Steps of floats are rounded, so it may come out as the divisor or beyond. */
const truncated = (a: Element, b: Element): Element => {
  const rest = Expr.remainder(a, b)
  if (!isFloating(a) || !isFloating(b)) return rest
  const inside: Element = Expr.select(Expr.greaterEqual(Expr.abs(rest), Expr.abs<DType>(b)), 0, rest)
  const infinite = Expr.not(Expr.or(Expr.isFinite(b), Expr.isNaN(b)))
  return Expr.select<DType>(Expr.and(infinite, Expr.isFinite(a)), a, inside)
}

/** Whether the quotient that was truncated is above the one that is rounded down. */
const isAbove = (rest: Element, b: Element): Truth =>
  Expr.or(
    Expr.and(Expr.less(rest, 0), Expr.greater(b, 0)),
    Expr.and(Expr.greater(rest, 0), Expr.less(b, 0))
  )

/** @internal */
export const remainderOf = (a: Element, b: Element): Element => {
  const rest = truncated(a, b)
  return b.type === "u32" ? rest : Expr.select(isAbove(rest, b), Expr.add(rest, b), rest)
}

/** @internal */
export const floorDivideOf = (a: Element, b: Element): Element => {
  if (b.type === "u32") return Expr.divide(a, b)
  const rest = truncated(a, b)
  const above = isAbove(rest, b)
  if (!isFloating(a) || !isFloating(b)) {
    const quotient = Expr.divide(a, b)
    return Expr.select(above, Expr.subtract(quotient, 1), quotient)
  }
  // Without the rest the quotient is whole but for the rounding of the division.
  const quotient = Expr.divide(Expr.subtract(a, rest as typeof a), b)
  const whole = Expr.round(Expr.select(above, Expr.subtract(quotient, 1), quotient))
  return Expr.select(Expr.equal(b, 0), Expr.divide(a, b), whole)
}
