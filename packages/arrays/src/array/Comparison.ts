/**
 * Comparisons of arrays, element by element. The results are truth values, of type bool.
 *
 * @since 0.1.0
 */
import { isUnsigned } from "effect-gpu-pool/Operation"
import * as Expr from "../kernels/Expr.ts"
import * as Operations from "../kernels/expression/Operations.ts"
import type { Element, Truth } from "./elementwise/Element.ts"
import { binary } from "./elementwise/Operands.ts"
import * as Signature from "./elementwise/Signature.ts"
import type { ArrayOperand, Computed } from "./fusion/Evaluation.ts"
import type { Scalar } from "./layout/Scalar.ts"

/**
 * A comparison of two operands, which broadcast: true where it holds. Integers are compared by value, also i32 with
 * u32; an integer beside a float is cast to that float type first (to f32 beside f16). A number takes the type of the
 * array beside it.
 *
 * **Example** (Choosing a comparison)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const sharp = (strict: boolean): DeviceArray.Comparison => strict ? DeviceArray.less : DeviceArray.lessEqual
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Comparison {
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
  (self: ArrayOperand, that: ArrayOperand | Scalar): Computed<"bool">
  (self: Scalar, that: ArrayOperand): Computed<"bool">
}

/** Each comparison with its mirror: `a < b` is `b > a`. */
const mirrored = {
  equal: "equal",
  notEqual: "notEqual",
  less: "greater",
  lessEqual: "greaterEqual",
  greater: "less",
  greaterEqual: "lessEqual"
} as const

type Ordering = keyof typeof mirrored

/** The result for a negative first operand and a non-negative second one. */
const ofNegative: { readonly [O in Ordering]: boolean } = {
  equal: false,
  notEqual: true,
  less: true,
  lessEqual: true,
  greater: false,
  greaterEqual: false
}

const compared = (ordering: Ordering, a: Element, b: Element): Truth => Operations.apply(ordering, [a, b]) as Truth

const truthOf = (ordering: Ordering, a: Element, b: Element): Truth => {
  if (a.type === b.type) return compared(ordering, a, b)
  return isUnsigned(b.type) ? truthOfSigned(ordering, a, b) : truthOfSigned(mirrored[ordering], b, a)
}

/** Compares an integer with a sign and one without as the latter, unless the former is negative. */
const truthOfSigned = (ordering: Ordering, a: Element, b: Element): Truth => {
  const isNegative = Expr.less(a, 0)
  const truth = compared(ordering, Expr.astype(a, b.type), b)
  return ofNegative[ordering] ? Expr.logicalOr(isNegative, truth) : Expr.logicalAnd(Expr.logicalNot(isNegative), truth)
}

const comparison = (ordering: Ordering, signatures = Signature.comparison): Comparison =>
  binary({ name: ordering, build: ([a, b]) => truthOf(ordering, a!, b!) }, signatures)

/**
 * Whether the numbers are equal; NaN is equal to nothing.
 *
 * **Example** (Finding a value)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2, 3)).pipe(
 *   DeviceArray.equal(2),
 *   DeviceArray.toHost
 * ) // => Uint8Array.of(0, 1, 0)
 * ```
 *
 * @see numpy.equal
 * @category comparisons
 * @since 0.1.0
 */
export const equal: {
  /** Whether the numbers are equal; NaN is equal to nothing. */
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
} & Comparison = comparison("equal", Signature.equality)

/**
 * Whether the numbers differ; NaN differs from everything, itself included.
 *
 * **Example** (All but one)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2, 3)).pipe(
 *   DeviceArray.notEqual(2),
 *   DeviceArray.toHost
 * ) // => Uint8Array.of(1, 0, 1)
 * ```
 *
 * @see numpy.not_equal
 * @category comparisons
 * @since 0.1.0
 */
export const notEqual: {
  /** Whether the numbers differ; NaN differs from everything, itself included. */
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
} & Comparison = comparison("notEqual", Signature.equality)

/**
 * Whether the first is the lesser; false where either is NaN.
 *
 * **Example** (Below a limit)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2, 3)).pipe(
 *   DeviceArray.less(2),
 *   DeviceArray.toHost
 * ) // => Uint8Array.of(1, 0, 0)
 * ```
 *
 * @see numpy.less
 * @category comparisons
 * @since 0.1.0
 */
export const less: {
  /** Whether the first is the lesser; false where either is NaN. */
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
} & Comparison = comparison("less")

/**
 * Whether the first is the lesser or equal; false where either is NaN.
 *
 * **Example** (Up to a limit)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2, 3)).pipe(
 *   DeviceArray.lessEqual(2),
 *   DeviceArray.toHost
 * ) // => Uint8Array.of(1, 1, 0)
 * ```
 *
 * @see numpy.less_equal
 * @category comparisons
 * @since 0.1.0
 */
export const lessEqual: {
  /** Whether the first is the lesser or equal; false where either is NaN. */
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
} & Comparison = comparison("lessEqual")

/**
 * Whether the first is the greater; false where either is NaN.
 *
 * **Example** (Above a limit)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2, 3)).pipe(
 *   DeviceArray.greater(2),
 *   DeviceArray.toHost
 * ) // => Uint8Array.of(0, 0, 1)
 * ```
 *
 * @see numpy.greater
 * @category comparisons
 * @since 0.1.0
 */
export const greater: {
  /** Whether the first is the greater; false where either is NaN. */
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
} & Comparison = comparison("greater")

/**
 * Whether the first is the greater or equal; false where either is NaN.
 *
 * **Example** (From a limit on)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2, 3)).pipe(
 *   DeviceArray.greaterEqual(2),
 *   DeviceArray.toHost
 * ) // => Uint8Array.of(0, 1, 1)
 * ```
 *
 * @see numpy.greater_equal
 * @category comparisons
 * @since 0.1.0
 */
export const greaterEqual: {
  /** Whether the first is the greater or equal; false where either is NaN. */
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
} & Comparison = comparison("greaterEqual")
