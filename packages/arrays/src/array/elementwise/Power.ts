/**
 * Powers of floats and of integers.
 *
 * @internal
 */
import * as Expr from "../../kernels/Expr.ts"
import { type Element, isFloating } from "./Element.ts"

export const powerOf = (base: Element, exponent: Element): Element => {
  if (isFloating(base) && isFloating(exponent)) return Expr.power(base, exponent)
  const power = Expr.astype(powerOfBits(Expr.astype(base, "u32"), Expr.astype(exponent, "u32")), base.type)
  if (base.type === "u32") return power
  // Only 1 and -1 have integer reciprocals, themselves; the lowest bit of the exponent decides the sign of powers of -1.
  const vanishes = Expr.logicalAnd(Expr.less(exponent, 0), Expr.notEqual(Expr.abs(base), 1))
  return Expr.where(vanishes, 0, power)
}

/** Exponentiation by squaring, modulo 2^32: the product of the repeated squares whose bit the exponent has. */
const powerOfBits = (base: Expr.Expr<"u32">, exponent: Expr.Expr<"u32">): Expr.Expr<"u32"> => {
  const one = Expr.constant("u32", 1)
  const factors: Array<Expr.Expr<"u32">> = []
  let square = base
  for (let bit = 0; bit < 32; bit++) {
    const isSet = Expr.astype(Expr.bitwiseAnd(exponent, 2 ** bit), "bool")
    factors.push(Expr.where(isSet, square, one))
    square = Expr.multiply(square, square)
  }
  return productOf(factors)
}

/** Multiplies in pairs, so that the expression stays shallow. */
const productOf = (factors: ReadonlyArray<Expr.Expr<"u32">>): Expr.Expr<"u32"> => {
  if (factors.length === 1) return factors[0]!
  const half = factors.length >> 1
  return Expr.multiply(productOf(factors.slice(0, half)), productOf(factors.slice(half)))
}
