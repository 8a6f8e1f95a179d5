/**
 * Truth values, element by element: arrays of bool. Where one is asked for, every number but 0 is true, NaN
 * included.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import * as Expr from "../kernels/Expr.ts"
import type { Comparison } from "./Comparison.ts"
import { type Element, isComplex, isFloating } from "./elementwise/Element.ts"
import { binary, unary } from "./elementwise/Operands.ts"
import * as Signature from "./elementwise/Signature.ts"
import type { ArrayOperand, Computed } from "./fusion/Evaluation.ts"
import type { Scalar } from "./layout/Scalar.ts"

/**
 * A test of each element: true where it holds.
 *
 * **Example** (Choosing a test)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const wrong = (strict: boolean): DeviceArray.Test => strict ? DeviceArray.isNaN : DeviceArray.isInf
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Test = (self: ArrayOperand) => Computed<"bool">

const isTrue = (x: Expr.Expr<DType>): Expr.Expr<"bool"> => Expr.astype(x, "bool")

const hasNaN = (x: Expr.Expr): x is Expr.Expr<Expr.FloatType | "c64"> => isFloating(x) || isComplex(x)

const infinite = (x: Expr.Expr<Expr.FloatType>): Expr.Expr<"bool"> =>
  Expr.logicalNot(Expr.logicalOr(Expr.isFinite(x), Expr.isNaN(x)))

const logic = (
  name: string,
  of: (a: Expr.Expr<"bool">, b: Expr.Expr<"bool">) => Expr.Expr<"bool">
): Comparison => binary({ name, build: ([a, b]) => of(isTrue(a!), isTrue(b!)) }, Signature.logic)

const test = (name: string, of: (x: Element) => Expr.Expr<"bool">): Test =>
  unary({ name, build: ([x]) => of(x!) }, Signature.test)

/**
 * Whether both are true, that is: not 0.
 *
 * **Example** (Inside a range)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const inside = (x: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.lazy(Effect.gen(function*() {
 *     return yield* DeviceArray.logicalAnd(yield* DeviceArray.greater(x, 0), yield* DeviceArray.less(x, 1))
 *   }))
 * ```
 *
 * @see numpy.logical_and
 * @category logic
 * @since 0.1.0
 */
export const logicalAnd: {
  /** Whether both are true, that is: not 0. */
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
} & Comparison = logic("logicalAnd", Expr.logicalAnd)

/**
 * Whether at least one is true, that is: not 0.
 *
 * **Example** (Either mask)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const either = (a: DeviceArray.DeviceArray<"bool">, b: DeviceArray.DeviceArray<"bool">) => DeviceArray.logicalOr(a, b)
 * ```
 *
 * @see numpy.logical_or
 * @category logic
 * @since 0.1.0
 */
export const logicalOr: {
  /** Whether at least one is true, that is: not 0. */
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
} & Comparison = logic("logicalOr", Expr.logicalOr)

/**
 * Whether exactly one is true, that is: not 0.
 *
 * **Example** (Where masks differ)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const differs = (a: DeviceArray.DeviceArray<"bool">, b: DeviceArray.DeviceArray<"bool">) =>
 *   DeviceArray.logicalXor(a, b)
 * ```
 *
 * @see numpy.logical_xor
 * @category logic
 * @since 0.1.0
 */
export const logicalXor: {
  /** Whether exactly one is true, that is: not 0. */
  (that: ArrayOperand | Scalar): (self: ArrayOperand) => Computed<"bool">
} & Comparison = logic(
  "logicalXor",
  (a, b) => Expr.logicalOr(Expr.logicalAnd(a, Expr.logicalNot(b)), Expr.logicalAnd(Expr.logicalNot(a), b))
)

/**
 * Whether the number is 0. It inverts a mask of 0 and 1, which `bitwiseNot` does not.
 *
 * **Example** (The other elements)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(0, 2, NaN)).pipe(
 *   DeviceArray.logicalNot,
 *   DeviceArray.toHost
 * ) // => Uint8Array.of(1, 0, 0)
 * ```
 *
 * @see numpy.logical_not
 * @category logic
 * @since 0.1.0
 */
export const logicalNot: Test = test("logicalNot", (x) => Expr.logicalNot(isTrue(x)))

/**
 * Whether the element is no number. Integers never are.
 *
 * **Example** (Replacing gaps)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const filled = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.where(DeviceArray.isNaN(x), 0, x)
 * ```
 *
 * @see numpy.isnan
 * @category logic
 * @since 0.1.0
 */
export const isNaN: Test = test("isNaN", (x) => hasNaN(x) ? Expr.isNaN(x) : Expr.notEqual(x, x))

/**
 * Whether the element is a number, and not infinite. Integers always are.
 *
 * **Example** (Valid elements)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, NaN, Infinity)).pipe(
 *   DeviceArray.isFinite,
 *   DeviceArray.toHost
 * ) // => Uint8Array.of(1, 0, 0)
 * ```
 *
 * @see numpy.isfinite
 * @category logic
 * @since 0.1.0
 */
export const isFinite: Test = test("isFinite", (x) => hasNaN(x) ? Expr.isFinite(x) : Expr.equal(x, x))

/**
 * Whether the element is infinite, on either side. Integers never are.
 *
 * **Example** (Overflows)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, NaN, -Infinity)).pipe(
 *   DeviceArray.isInf,
 *   DeviceArray.toHost
 * ) // => Uint8Array.of(0, 0, 1)
 * ```
 *
 * @see numpy.isinf
 * @category logic
 * @since 0.1.0
 */
export const isInf: Test = test("isInf", (x) =>
  isComplex(x)
    ? Expr.logicalOr(infinite(Expr.real(x)), infinite(Expr.imag(x)))
    : isFloating(x)
    ? infinite(x)
    : Expr.notEqual(x, x))
