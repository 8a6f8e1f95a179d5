/**
 * Arithmetic on arrays, element by element.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { bitsOf, isInteger, isLong, isUnsigned } from "effect-gpu-pool/Operation"
import { dual } from "effect/Function"
import * as Expr from "../kernels/Expr.ts"
import * as Expression from "../kernels/expression/Expression.ts"
import * as Operations from "../kernels/expression/Operations.ts"
import { withArrays } from "./ArrayProblem.ts"
import { DeviceArray } from "./ArrayValue.ts"
import type { ArrayOperation } from "./elementwise/ArrayOperation.ts"
import { type Element, isComplex, isFloating } from "./elementwise/Element.ts"
import { binary, binaryBody, nameOf, type Operand, plain, plainOrTruth, unary } from "./elementwise/Operands.ts"
import * as Signature from "./elementwise/Signature.ts"
import type { ArrayOperand, Computed } from "./fusion/Evaluation.ts"
import type * as Promotion from "./layout/Promotion.ts"
import { isScalar, type Scalar } from "./layout/Scalar.ts"

/**
 * An operation of two operands, which broadcast, whose result has their common type (`Promote`). A number takes
 * the type of the array beside it; one that this type cannot represent is InvalidRequest, as are shapes that do not
 * broadcast.
 *
 * **Example** (Choosing an operation)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const accumulate = (product: boolean): DeviceArray.Arithmetic => product ? DeviceArray.multiply : DeviceArray.add
 * ```
 *
 * @see https://numpy.org/doc/stable/user/basics.broadcasting.html
 * @category models
 * @since 0.1.0
 */
export interface Arithmetic {
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
  (that: Scalar): <A extends DType>(self: ArrayOperand<A>) => Computed<A>
  <A extends DType, B extends DType>(self: ArrayOperand<A>, that: ArrayOperand<B>): Computed<Promotion.Promote<A, B>>
  <A extends DType>(self: ArrayOperand<A>, that: Scalar): Computed<A>
  <A extends DType>(self: Scalar, that: ArrayOperand<A>): Computed<A>
}

/**
 * An operation of two real numbers, which broadcast: as {@link Arithmetic}, but integers are taken as f32, and so is a
 * number beside them.
 *
 * **Example** (Fractions of integers)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const share = (part: DeviceArray.DeviceArray<"i32">, whole: DeviceArray.DeviceArray<"i32">) =>
 *   DeviceArray.divide(part, whole)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Division {
  <B extends DType>(that: ArrayOperand<B>): <A extends DType>(
    self: ArrayOperand<A>
  ) => Computed<Promotion.Floating<Promotion.Promote<A, B>>>
  (that: Scalar): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Floating<A>>
  <A extends DType, B extends DType>(
    self: ArrayOperand<A>,
    that: ArrayOperand<B>
  ): Computed<Promotion.Floating<Promotion.Promote<A, B>>>
  <A extends DType>(self: ArrayOperand<A>, that: Scalar): Computed<Promotion.Floating<A>>
  <A extends DType>(self: Scalar, that: ArrayOperand<A>): Computed<Promotion.Floating<A>>
}

/**
 * An operation of one array whose result has the array's type.
 *
 * **Example** (Choosing an operation)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const tidy: DeviceArray.SameType = DeviceArray.round
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type SameType = <A extends DType>(self: ArrayOperand<A>) => Computed<A>

/**
 * The sum. Integers wrap around. The sum of truth values is true where either is.
 *
 * **Example** (Adding a number)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2)).pipe(
 *   DeviceArray.add(0.5),
 *   DeviceArray.toHost
 * ) // => Float32Array.of(1.5, 2.5)
 * ```
 *
 * @see numpy.add
 * @category arithmetic
 * @since 0.1.0
 */
export const add: {
  /** The sum. Integers wrap around. The sum of truth values is true where either is. */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Arithmetic = binary(plainOrTruth("add", "logicalOr"), Signature.commonOrTruth)

/**
 * The difference. Integers wrap around.
 *
 * **Example** (From the other side)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2)).pipe(
 *   Effect.flatMap((x) => DeviceArray.subtract(10, x)),
 *   DeviceArray.toHost
 * ) // => Float32Array.of(9, 8)
 * ```
 *
 * @see numpy.subtract
 * @category arithmetic
 * @since 0.1.0
 */
export const subtract: {
  /** The difference. Integers wrap around. */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Arithmetic = binary(plain("subtract"), Signature.common)

/**
 * The product. Integers wrap around. The product of truth values is true where both are.
 *
 * **Example** (Doubling)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2)).pipe(
 *   DeviceArray.multiply(2),
 *   DeviceArray.toHost
 * ) // => Float32Array.of(2, 4)
 * ```
 *
 * @see numpy.multiply
 * @category arithmetic
 * @since 0.1.0
 */
export const multiply: {
  /** The product. Integers wrap around. The product of truth values is true where both are. */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Arithmetic = binary(plainOrTruth("multiply", "logicalAnd"), Signature.commonOrTruth)

/**
 * The quotient of real numbers; integers are divided as f32. Infinite or NaN where the divisor is 0.
 *
 * **Example** (Halves of integers)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Int32Array.of(1, 2)).pipe(
 *   DeviceArray.divide(2),
 *   DeviceArray.toHost
 * ) // => Float32Array.of(0.5, 1)
 * ```
 *
 * @see numpy.divide
 * @category arithmetic
 * @since 0.1.0
 */
export const divide: {
  /** The quotient of real numbers; integers are divided as f32. Infinite or NaN where the divisor is 0. */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Floating<Promotion.Promote<A, B>>>
} & Division = binary(plain("divide"), Signature.commonAnalytic)

/**
 * The quotient, rounded down. That of integers is 0 where the divisor is 0, and wraps around for the least i32 by
 * -1; that of floats is infinite or NaN there.
 *
 * **Example** (Rounding down)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Int32Array.of(-7, 7)).pipe(
 *   DeviceArray.floorDivide(2),
 *   DeviceArray.toHost
 * ) // => Int32Array.of(-4, 3)
 * ```
 *
 * @see numpy.floor_divide
 * @category arithmetic
 * @since 0.1.0
 */
export const floorDivide: {
  /**
   * The quotient, rounded down. That of integers is 0 where the divisor is 0, and wraps around for the least i32 by
   * -1; that of floats is infinite or NaN there.
   */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Arithmetic = binary(
  { name: "floorDivide", build: ([a, b]) => Expr.floorDivide(a!, b!) },
  Signature.commonOrderedNumber
)

/**
 * The remainder of {@link floorDivide}, with the sign of the divisor. That of integers is 0 where the divisor is 0;
 * that of floats is NaN there. For floats the error is that of rounding the dividend, so from a quotient of 2^24
 * (f32) on the result means nothing.
 *
 * **Example** (Angles from 0 to 360)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-90, 450)).pipe(
 *   DeviceArray.remainder(360),
 *   DeviceArray.toHost
 * ) // => Float32Array.of(270, 90)
 * ```
 *
 * @see numpy.remainder
 * @category arithmetic
 * @since 0.1.0
 */
export const remainder: {
  /**
   * The remainder of {@link floorDivide}, with the sign of the divisor. That of integers is 0 where the divisor is 0;
   * that of floats is NaN there. For floats the error is that of rounding the dividend, so from a quotient of 2^24
   * (f32) on the result means nothing.
   */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Arithmetic = binary(
  { name: "remainder", build: ([a, b]) => Expr.remainder(a!, b!) },
  Signature.commonOrderedNumber
)

/**
 * The power, in the common type. Of floats, a negative base gives NaN unless the exponent is a whole number, and
 * anything to the 0 is 1. Of integers, it wraps around; for negative exponents in an array it is the reciprocal
 * without its fraction, and a negative number as the exponent is InvalidRequest. The exponent 2 is {@link square}.
 *
 * **Example** (Cubes)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Int32Array.of(2, -3)).pipe(
 *   DeviceArray.power(3),
 *   DeviceArray.toHost
 * ) // => Int32Array.of(8, -27)
 * ```
 *
 * @see numpy.power
 * @category arithmetic
 * @since 0.1.0
 */
export const power: {
  /**
   * The power, in the common type. Of floats, a negative base gives NaN unless the exponent is a whole number, and
   * anything to the 0 is 1. Of integers, it wraps around; for negative exponents in an array it is the reciprocal
   * without its fraction, and a negative number as the exponent is InvalidRequest. The exponent 2 is {@link square}.
   */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Arithmetic = dual(
  2,
  (self: Operand | Computed, that: Operand | Computed): Computed =>
    withArrays([self, that], (base, exponent) => {
      if ((exponent === 2 || exponent === 2n) && base instanceof DeviceArray) return square(base)
      const isOfSigned = base instanceof DeviceArray && isInteger(base.dtype) && !isUnsigned(base.dtype)
      if (isOfSigned && isScalar(exponent) && Number(exponent) < 0) return negativeExponent(exponent)
      return powerOfNumbers(base, exponent)
    })
)

/** Of integers by squaring. */
const powerOf = (base: Element, exponent: Element): Element => {
  if (isFloating(base) || isComplex(base)) return Operations.apply("power", [base, exponent]) as Element
  const bits = isLong(base.type) ? "u64" : "u32"
  const power = Expr.astype(powerOfBits(bits, Expr.astype(base, bits), Expr.astype(exponent, bits)), base.type)
  if (isUnsigned(base.type)) return power
  // Only 1 and -1 have integer reciprocals, themselves; the lowest bit of the exponent decides the sign of powers of -1.
  const vanishes = Expr.logicalAnd(Expr.less(exponent, 0), Expr.notEqual(Expr.abs(base), 1))
  return Expr.where(vanishes, 0, power)
}

type Bits = Expr.Expr<"u32" | "u64">

/** Exponentiation by squaring, modulo 2^32 or 2^64: the product of the repeated squares whose bit the exponent has. */
const powerOfBits = (type: "u32" | "u64", base: Bits, exponent: Bits): Bits => {
  const one = Expression.constantOf("Expr.constant", type, 1)
  const factors: Array<Bits> = []
  let square = base
  for (let bit = 0; bit < bitsOf(type); bit++) {
    const isSet = Expr.astype(Expr.bitwiseAnd(exponent, type === "u32" ? 2 ** bit : 1n << BigInt(bit)), "bool")
    factors.push(Expr.where(isSet, square, one))
    square = Expr.multiply(square, square)
  }
  return productOf(factors)
}

/** Multiplies in pairs, so that the expression stays shallow. */
const productOf = (factors: ReadonlyArray<Bits>): Bits => {
  if (factors.length === 1) return factors[0]!
  const half = factors.length >> 1
  return Expr.multiply(productOf(factors.slice(0, half)), productOf(factors.slice(half)))
}

const powerOperation: ArrayOperation = {
  name: "power",
  build: ([base, exponent]) => powerOf(base!, exponent!)
}

const powerOfNumbers = binaryBody(powerOperation, Signature.common)

const negativeExponent = (exponent: Scalar): GpuError =>
  invalidRequest(
    nameOf(powerOperation),
    `the exponent is ${exponent}, and integers have no such power`,
    "Cast the array first: DeviceArray.astype(x, \"f32\")."
  )

/**
 * The number with the other sign. Integers wrap around: the least i32 stays as it is.
 *
 * **Example** (The other sign)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, -2)).pipe(
 *   DeviceArray.negative,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(-1, 2)
 * ```
 *
 * @see numpy.negative
 * @category arithmetic
 * @since 0.1.0
 */
export const negative: SameType = unary(plain("negative"), Signature.same)

/**
 * A function of one array that gives real numbers: those of complex numbers are f32, all others keep their type.
 *
 * **Example** (Choosing a function)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const lengths: DeviceArray.RealPart = DeviceArray.abs
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type RealPart = <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Real<A>>

const magnitude: ArrayOperation = {
  name: "abs",
  build: ([x], dtype) => dtype === "bool" ? x! : Expr.abs(x!)
}

/**
 * The magnitude, an f32 of complex numbers. That of the least i32 is too large for i32, so it stays as it is.
 *
 * **Example** (Distances)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const distance = (x: DeviceArray.DeviceArray<"f32">, y: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.abs(DeviceArray.subtract(x, y))
 * ```
 *
 * @see numpy.abs
 * @category arithmetic
 * @since 0.1.0
 */
export const abs: RealPart = unary(magnitude, Signature.part)

/**
 * -1, 0 or 1; NaN for NaN.
 *
 * **Example** (Directions)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-5, 0, 3)).pipe(
 *   DeviceArray.sign,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(-1, 0, 1)
 * ```
 *
 * @see numpy.sign
 * @category arithmetic
 * @since 0.1.0
 */
export const sign: SameType = unary(plain("sign"), Signature.same)

/**
 * The number times itself. Integers wrap around.
 *
 * **Example** (Sums of squares)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const norm = (x: DeviceArray.DeviceArray<"f32">, y: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.lazy(Effect.gen(function*() {
 *     const squares = yield* DeviceArray.square(x)
 *     return yield* DeviceArray.sqrt(yield* DeviceArray.add(squares, yield* DeviceArray.square(y)))
 *   }))
 * ```
 *
 * @see numpy.square
 * @category arithmetic
 * @since 0.1.0
 */
export const square: SameType = unary({ name: "square", build: ([x]) => Expr.multiply(x!, x!) }, Signature.same)

/**
 * The lesser of two; NaN where either is NaN.
 *
 * **Example** (Keeping below a limit)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 5)).pipe(
 *   DeviceArray.minimum(3),
 *   DeviceArray.toHost
 * ) // => Float32Array.of(1, 3)
 * ```
 *
 * @see numpy.minimum
 * @category arithmetic
 * @since 0.1.0
 */
export const minimum: {
  /** The lesser of two; NaN where either is NaN. */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Arithmetic = binary(plainOrTruth("minimum", "logicalAnd"), Signature.commonOrdered)

/**
 * The greater of two; NaN where either is NaN.
 *
 * **Example** (Cutting off what is negative)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-1, 5)).pipe(
 *   DeviceArray.maximum(0),
 *   DeviceArray.toHost
 * ) // => Float32Array.of(0, 5)
 * ```
 *
 * @see numpy.maximum
 * @category arithmetic
 * @since 0.1.0
 */
export const maximum: {
  /** The greater of two; NaN where either is NaN. */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Arithmetic = binary(plainOrTruth("maximum", "logicalOr"), Signature.commonOrdered)

const rounding = (operation: "floor" | "ceil" | "trunc" | "round"): ArrayOperation => {
  const { build, name } = plain(operation)
  return { name, build: (operands, dtype) => isFloating(operands[0]!) ? build(operands, dtype) : operands[0]! }
}

/**
 * The whole number below, in the type of the array. Integers are as they are.
 *
 * **Example** (Rounding down)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-1.5, 0.5, 2.7)).pipe(
 *   DeviceArray.floor,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(-2, 0, 2)
 * ```
 *
 * @see numpy.floor
 * @category rounding
 * @since 0.1.0
 */
export const floor: SameType = unary(rounding("floor"), Signature.ordered)

/**
 * The whole number above, in the type of the array. Integers are as they are.
 *
 * **Example** (Rounding up)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-1.5, 0.5, 2.7)).pipe(
 *   DeviceArray.ceil,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(-1, 1, 3)
 * ```
 *
 * @see numpy.ceil
 * @category rounding
 * @since 0.1.0
 */
export const ceil: SameType = unary(rounding("ceil"), Signature.ordered)

/**
 * The number without its fraction, in the type of the array. Integers are as they are.
 *
 * **Example** (Rounding to zero)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-1.5, 0.5, 2.7)).pipe(
 *   DeviceArray.trunc,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(-1, 0, 2)
 * ```
 *
 * @see numpy.trunc
 * @category rounding
 * @since 0.1.0
 */
export const trunc: SameType = unary(rounding("trunc"), Signature.ordered)

/**
 * The nearest whole number, the even one of two that are as near, in the type of the array. Integers are as they are.
 *
 * **Example** (Rounding to even)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-1.5, 0.5, 2.7)).pipe(
 *   DeviceArray.round,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(-2, 0, 3)
 * ```
 *
 * @see numpy.round
 * @category rounding
 * @since 0.1.0
 */
export const round: SameType = unary(rounding("round"), Signature.orderedNumber)
