/**
 * Operations on the bits of integers, element by element.
 *
 * @since 0.1.0
 */
import type { IntegerType } from "../kernels/Expr.ts"
import { binary, plain, plainOrTruth, unary } from "./elementwise/Operands.ts"
import * as Signature from "./elementwise/Signature.ts"
import type { ArrayOperand, Computed } from "./fusion/Evaluation.ts"
import type * as Promotion from "./layout/Promotion.ts"
import type { Scalar } from "./layout/Scalar.ts"

/**
 * The element types that have bits: integers, and truth values, of one bit.
 *
 * **Example** (A function of any of them)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const either = <A extends DeviceArray.BitsType>(x: DeviceArray.DeviceArray<A>, y: DeviceArray.DeviceArray<A>) =>
 *   DeviceArray.bitwiseXor(x, y)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type BitsType = IntegerType | "bool"

/**
 * An operation on the bits of two integers or truth values, which broadcast: i32 beside u32 gives i32, with the same
 * bits. A number takes the type of the array beside it.
 *
 * **Example** (Choosing an operation)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const combine = (both: boolean): DeviceArray.Bitwise => both ? DeviceArray.bitwiseAnd : DeviceArray.bitwiseOr
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Bitwise {
  <B extends BitsType>(that: ArrayOperand<B>): <A extends BitsType>(
    self: ArrayOperand<A>
  ) => Computed<Promotion.Promote<A, B>>
  (that: Scalar): <A extends BitsType>(self: ArrayOperand<A>) => Computed<A>
  <A extends BitsType, B extends BitsType>(
    self: ArrayOperand<A>,
    that: ArrayOperand<B>
  ): Computed<Promotion.Promote<A, B>>
  <A extends BitsType>(self: ArrayOperand<A>, that: Scalar): Computed<A>
  <A extends BitsType>(self: Scalar, that: ArrayOperand<A>): Computed<A>
}

/**
 * A shift of the bits of integers. The distance is taken modulo the number of bits of the shifted operand,
 * whose type the result has.
 *
 * **Example** (Choosing a direction)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const shift = (up: boolean): DeviceArray.Shift => up ? DeviceArray.leftShift : DeviceArray.rightShift
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Shift {
  (places: ArrayOperand<IntegerType> | number | bigint): <A extends IntegerType>(self: ArrayOperand<A>) => Computed<A>
  <A extends IntegerType>(self: ArrayOperand<A>, places: ArrayOperand<IntegerType> | number | bigint): Computed<A>
  <A extends IntegerType>(self: Scalar, places: ArrayOperand<A>): Computed<A>
}

/**
 * An operation on the bits of one integer or truth value that keeps its type.
 *
 * **Example** (Naming an operation)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const inverse: DeviceArray.BitwiseUnary = DeviceArray.bitwiseNot
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type BitwiseUnary = <A extends BitsType>(self: ArrayOperand<A>) => Computed<A>

/**
 * The bits that both have.
 *
 * **Example** (The lowest bits)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Uint32Array.of(5, 6)).pipe(
 *   DeviceArray.bitwiseAnd(3),
 *   DeviceArray.toHost
 * ) // => Uint32Array.of(1, 2)
 * ```
 *
 * @see numpy.bitwise_and
 * @category bits
 * @since 0.1.0
 */
export const bitwiseAnd: {
  /** The bits that both have. */
  <B extends BitsType>(
    that: ArrayOperand<B>
  ): <A extends BitsType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Bitwise = binary(plainOrTruth("bitwiseAnd", "logicalAnd"), Signature.commonBits)

/**
 * The bits that at least one has.
 *
 * **Example** (Setting a flag)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Uint32Array.of(4, 5)).pipe(
 *   DeviceArray.bitwiseOr(1),
 *   DeviceArray.toHost
 * ) // => Uint32Array.of(5, 5)
 * ```
 *
 * @see numpy.bitwise_or
 * @category bits
 * @since 0.1.0
 */
export const bitwiseOr: {
  /** The bits that at least one has. */
  <B extends BitsType>(
    that: ArrayOperand<B>
  ): <A extends BitsType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Bitwise = binary(plainOrTruth("bitwiseOr", "logicalOr"), Signature.commonBits)

/**
 * The bits that exactly one has.
 *
 * **Example** (Turning a flag around)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Uint32Array.of(4, 5)).pipe(
 *   DeviceArray.bitwiseXor(1),
 *   DeviceArray.toHost
 * ) // => Uint32Array.of(5, 4)
 * ```
 *
 * @see numpy.bitwise_xor
 * @category bits
 * @since 0.1.0
 */
export const bitwiseXor: {
  /** The bits that exactly one has. */
  <B extends BitsType>(
    that: ArrayOperand<B>
  ): <A extends BitsType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Bitwise = binary(plainOrTruth("bitwiseXor", "notEqual"), Signature.commonBits)

/**
 * Every bit inverted. For masks of 0 and 1 use `logicalNot`.
 *
 * **Example** (All bits but some)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Int32Array.of(0, 5)).pipe(
 *   DeviceArray.bitwiseNot,
 *   DeviceArray.toHost
 * ) // => Int32Array.of(-1, -6)
 * ```
 *
 * @see numpy.bitwise_not
 * @category bits
 * @since 0.1.0
 */
export const bitwiseNot: BitwiseUnary = unary(plainOrTruth("bitwiseNot", "logicalNot"), Signature.bits)

/**
 * The bits moved to higher places; those beyond the highest are lost.
 *
 * **Example** (Powers of two)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Int32Array.of(1, 3)).pipe(
 *   DeviceArray.leftShift(4),
 *   DeviceArray.toHost
 * ) // => Int32Array.of(16, 48)
 * ```
 *
 * @see numpy.left_shift
 * @category bits
 * @since 0.1.0
 */
export const leftShift: {
  /** The bits moved to higher places; those beyond the highest are lost. */
  (places: ArrayOperand<IntegerType> | number | bigint): <A extends IntegerType>(self: ArrayOperand<A>) => Computed<A>
} & Shift = binary(plain("leftShift"), Signature.shift)

/**
 * The bits moved to lower places. i32 keeps its sign, u32 gets zeros from above.
 *
 * **Example** (Halving twice)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Int32Array.of(-8, 8)).pipe(
 *   DeviceArray.rightShift(2),
 *   DeviceArray.toHost
 * ) // => Int32Array.of(-2, 2)
 * ```
 *
 * @see numpy.right_shift
 * @category bits
 * @since 0.1.0
 */
export const rightShift: {
  /** The bits moved to lower places. i32 keeps its sign, u32 gets zeros from above. */
  (places: ArrayOperand<IntegerType> | number | bigint): <A extends IntegerType>(self: ArrayOperand<A>) => Computed<A>
} & Shift = binary(plain("rightShift"), Signature.shift)

/**
 * How many bits are 1, in i32 those of the two's complement; NumPy's counts those of the magnitude.
 *
 * **Example** (Sizes of sets)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Uint32Array.of(0, 7, 255)).pipe(
 *   DeviceArray.countOneBits,
 *   DeviceArray.toHost
 * ) // => Uint32Array.of(0, 3, 8)
 * ```
 *
 * @see numpy.bitwise_count
 * @category bits
 * @since 0.1.0
 */
export const countOneBits: <A extends IntegerType>(self: ArrayOperand<A>) => Computed<A> = unary(
  plain("countOneBits"),
  Signature.integer
)
