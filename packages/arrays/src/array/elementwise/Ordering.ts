/**
 * Comparisons of elements, also of i32 with u32, for which there is no common type.
 *
 * @internal
 */
import * as Expr from "../../kernels/Expr.ts"
import * as Expression from "../../kernels/expression/Expression.ts"
import type { Element, Truth } from "./Element.ts"

/** Each comparison with its mirror: `a < b` is `b > a`. */
const mirrored = {
  equal: "equal",
  notEqual: "notEqual",
  less: "greater",
  lessEqual: "greaterEqual",
  greater: "less",
  greaterEqual: "lessEqual"
} as const

export type Ordering = keyof typeof mirrored

/** The result for a negative first operand and a non-negative second one. */
const ofNegative: { readonly [O in Ordering]: boolean } = {
  equal: false,
  notEqual: true,
  less: true,
  lessEqual: true,
  greater: false,
  greaterEqual: false
}

/** A truth value as an element. */
export const compare = (ordering: Ordering, a: Element, b: Element): Expr.Expr<"u32"> =>
  Expr.astype(truthOf(ordering, a, b), "u32")

const compared = (ordering: Ordering, a: Element, b: Element): Truth => Expression.apply(ordering, [a, b]) as Truth

const truthOf = (ordering: Ordering, a: Element, b: Element): Truth => {
  if (a.type === "i32" && b.type === "u32") return truthOfSigned(ordering, a, b)
  if (a.type === "u32" && b.type === "i32") return truthOfSigned(mirrored[ordering], b, a)
  return compared(ordering, a, b)
}

/** Compares an i32 and a u32 as u32, unless the i32 is negative. */
const truthOfSigned = (ordering: Ordering, a: Element, b: Element): Truth => {
  const isNegative = Expr.less(a, 0)
  const truth = compared(ordering, Expr.astype(a, "u32"), b)
  return ofNegative[ordering] ? Expr.logicalOr(isNegative, truth) : Expr.logicalAnd(Expr.logicalNot(isNegative), truth)
}
