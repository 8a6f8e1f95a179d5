/**
 * Powers of floats and of integers.
 *
 * @internal
 */
import * as Expr from "../../kernels/Expr.ts"
import { type Element, isFloating } from "./Element.ts"

/** @internal */
export const powerOf = (base: Element, exponent: Element): Element => {
  if (isFloating(base) && isFloating(exponent)) return Expr.pow(base, exponent)
  const power = Expr.cast(powerOfBits(Expr.cast(base, "u32"), Expr.cast(exponent, "u32")), base.type)
  if (base.type === "u32") return power
  // Only 1 and -1 have reciprocals that are whole, themselves; the bits of the exponent tell odd from even as well.
  const vanishes = Expr.and(Expr.less(exponent, 0), Expr.notEqual(Expr.abs(base), 1))
  return Expr.select(vanishes, 0, power)
}

/** Modulo 2^32: the product of those squares of squares whose bit the exponent has. */
const powerOfBits = (base: Expr.Expr<"u32">, exponent: Expr.Expr<"u32">): Expr.Expr<"u32"> => {
  const one = Expr.constant("u32", 1)
  const factors: Array<Expr.Expr<"u32">> = []
  let square = base
  for (let bit = 0; bit < 32; bit++) {
    const isSet = Expr.cast(Expr.bitAnd(exponent, 2 ** bit), "bool")
    factors.push(Expr.select(isSet, square, one))
    square = Expr.multiply(square, square)
  }
  return productOf(factors)
}

/** In pairs, so that the expression stays shallow. */
const productOf = (factors: ReadonlyArray<Expr.Expr<"u32">>): Expr.Expr<"u32"> => {
  if (factors.length === 1) return factors[0]!
  const half = factors.length >> 1
  return Expr.multiply(productOf(factors.slice(0, half)), productOf(factors.slice(half)))
}
