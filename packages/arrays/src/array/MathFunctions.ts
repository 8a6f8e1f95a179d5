/**
 * Functions of real numbers, element by element.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Operation } from "effect-gpu-pool/Operation"
import * as Expr from "../kernels/Expr.ts"
import { hypotenuseOf } from "../kernels/expression/Hypotenuse.ts"
import * as Operations from "../kernels/expression/Operations.ts"
import type { Division } from "./Arithmetic.ts"
import { binary, plain, unary } from "./elementwise/Operands.ts"
import * as Signature from "./elementwise/Signature.ts"
import type { ArrayOperand, Computed } from "./fusion/Evaluation.ts"
import type * as Promotion from "./layout/Promotion.ts"

/**
 * A function of a real number. Floats keep their type; integers are taken as f32. It is as accurate as the device's own
 * function; where the function is undefined, the result is NaN.
 *
 * **Example** (Choosing a function)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const wave = (even: boolean): DeviceArray.RealFunction => even ? DeviceArray.cos : DeviceArray.sin
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type RealFunction = <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Floating<A>>

const real = (operation: Operation): RealFunction => unary(plain(operation), Signature.real)

/** The same, also of a complex number. */
const analytic = (operation: Operation): RealFunction => unary(plain(operation), Signature.analytic)

/**
 * One over the number, infinite for 0.
 *
 * **Example** (Frequencies of periods)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(2, 4)).pipe(
 *   DeviceArray.reciprocal,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(0.5, 0.25)
 * ```
 *
 * @see numpy.reciprocal
 * @category math
 * @since 0.1.0
 */
export const reciprocal: RealFunction = unary(
  { name: "reciprocal", build: ([x]) => Operations.apply("divide", [1, x!]) as Expr.Expr<DType> },
  Signature.analytic
)

/**
 * The square root; NaN for negative numbers.
 *
 * **Example** (Roots of integers)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Int32Array.of(4, 9)).pipe(
 *   DeviceArray.sqrt,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(2, 3)
 * ```
 *
 * @see numpy.sqrt
 * @category math
 * @since 0.1.0
 */
export const sqrt: RealFunction = analytic("sqrt")

/**
 * One over the square root; NaN for negative numbers.
 *
 * **Example** (Normalising)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const normalised = (x: DeviceArray.DeviceArray<"f32">, squares: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.multiply(DeviceArray.inverseSqrt(squares), x)
 * ```
 *
 * @category math
 * @since 0.1.0
 */
export const inverseSqrt: RealFunction = real("inverseSqrt")

/**
 * The exponential function: infinite above its range, 0 below it.
 *
 * **Example** (A logistic curve)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const logistic = (x: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.lazy(Effect.gen(function*() {
 *     const decay = yield* DeviceArray.exp(yield* DeviceArray.negative(x))
 *     return yield* DeviceArray.divide(1, yield* DeviceArray.add(decay, 1))
 *   }))
 * ```
 *
 * @see numpy.exp
 * @category math
 * @since 0.1.0
 */
export const exp: RealFunction = analytic("exp")

/**
 * Two to the power of the number.
 *
 * **Example** (Octaves)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const frequency = (octave: DeviceArray.DeviceArray<"i32">) =>
 *   DeviceArray.multiply(DeviceArray.exp2(octave), 440)
 * ```
 *
 * @see numpy.exp2
 * @category math
 * @since 0.1.0
 */
export const exp2: RealFunction = real("exp2")

/**
 * The natural logarithm: minus infinity for 0, NaN below.
 *
 * **Example** (Logarithms)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const entropy = (p: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.multiply(DeviceArray.log(p), p)
 * ```
 *
 * @see numpy.log
 * @category math
 * @since 0.1.0
 */
export const log: RealFunction = analytic("log")

/**
 * The logarithm to base 2: minus infinity for 0, NaN below.
 *
 * **Example** (Bits)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const bits = (choices: DeviceArray.DeviceArray<"u32">) => DeviceArray.log2(choices)
 * ```
 *
 * @see numpy.log2
 * @category math
 * @since 0.1.0
 */
export const log2: RealFunction = real("log2")

/**
 * The logarithm to base 10: minus infinity for 0, NaN below.
 *
 * **Example** (Decibels)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const decibels = (power: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.multiply(DeviceArray.log10(power), 10)
 * ```
 *
 * @see numpy.log10
 * @category math
 * @since 0.1.0
 */
export const log10: RealFunction = unary(
  {
    name: "log10",
    build: ([x]) => Expr.multiply(Operations.apply("log2", [x!]) as Expr.Expr<Expr.FloatType>, Math.log10(2))
  },
  Signature.real
)

/**
 * The sine of an angle in radians; NaN for infinite ones. Large angles lose accuracy on devices.
 *
 * **Example** (An angle in degrees)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const wave = (degrees: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.sin(DeviceArray.radians(degrees))
 * ```
 *
 * @see numpy.sin
 * @category math
 * @since 0.1.0
 */
export const sin: RealFunction = analytic("sin")

/**
 * The cosine of an angle in radians; NaN for infinite ones. Large angles lose accuracy on devices.
 *
 * **Example** (An angle in degrees)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const wave = (degrees: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.cos(DeviceArray.radians(degrees))
 * ```
 *
 * @see numpy.cos
 * @category math
 * @since 0.1.0
 */
export const cos: RealFunction = analytic("cos")

/**
 * The tangent of an angle in radians; NaN for infinite ones. Large angles lose accuracy on devices.
 *
 * **Example** (An angle in degrees)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const slope = (degrees: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.tan(DeviceArray.radians(degrees))
 * ```
 *
 * @see numpy.tan
 * @category math
 * @since 0.1.0
 */
export const tan: RealFunction = analytic("tan")

/**
 * The angle whose sine is the number, in radians; NaN outside -1 to 1.
 *
 * **Example** (In degrees)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const degrees = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.degrees(DeviceArray.asin(x))
 * ```
 *
 * @see numpy.asin
 * @category math
 * @since 0.1.0
 */
export const asin: RealFunction = real("asin")

/**
 * The angle whose cosine is the number, in radians; NaN outside -1 to 1.
 *
 * **Example** (In degrees)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const degrees = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.degrees(DeviceArray.acos(x))
 * ```
 *
 * @see numpy.acos
 * @category math
 * @since 0.1.0
 */
export const acos: RealFunction = real("acos")

/**
 * The angle whose tangent is the number, in radians, between -π/2 and π/2.
 *
 * **Example** (In degrees)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const degrees = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.degrees(DeviceArray.atan(x))
 * ```
 *
 * @see numpy.atan
 * @category math
 * @since 0.1.0
 */
export const atan: RealFunction = real("atan")

/**
 * The angle between the x axis and the point (x, y), in radians, between -π and π. `y` comes first.
 *
 * **Example** (Directions of vectors)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const direction = (x: DeviceArray.DeviceArray<"f32">, y: DeviceArray.DeviceArray<"f32">) => DeviceArray.atan2(y, x)
 * ```
 *
 * @see numpy.atan2
 * @category math
 * @since 0.1.0
 */
export const atan2: {
  /** The angle between the x axis and the point (x, y), in radians, between -π and π. `y` comes first. */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Floating<Promotion.Promote<A, B>>>
} & Division = binary(plain("atan2"), Signature.commonReal)

/**
 * The length of the vector (x, y), without overflow on the way.
 *
 * **Example** (Lengths of vectors)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(3, 6)).pipe(
 *   DeviceArray.hypot(4),
 *   DeviceArray.floor,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(5, 7)
 * ```
 *
 * @see numpy.hypot
 * @category math
 * @since 0.1.0
 */
export const hypot: {
  /** The length of the vector (x, y), without overflow on the way. */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Floating<Promotion.Promote<A, B>>>
} & Division = binary(
  { name: "hypot", build: ([x, y]) => hypotenuseOf(x!, y!) as Expr.Expr<DType> },
  Signature.commonReal
)

/**
 * The hyperbolic sine.
 *
 * **Example** (Sums of exponentials)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const half = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.sinh(x)
 * ```
 *
 * @see numpy.sinh
 * @category math
 * @since 0.1.0
 */
export const sinh: RealFunction = analytic("sinh")

/**
 * The hyperbolic cosine.
 *
 * **Example** (A hanging chain)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const chain = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.cosh(x)
 * ```
 *
 * @see numpy.cosh
 * @category math
 * @since 0.1.0
 */
export const cosh: RealFunction = analytic("cosh")

/**
 * The hyperbolic tangent.
 *
 * **Example** (A soft limit)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const limited = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.tanh(x)
 * ```
 *
 * @see numpy.tanh
 * @category math
 * @since 0.1.0
 */
export const tanh: RealFunction = analytic("tanh")

/**
 * The inverse of the hyperbolic sine.
 *
 * **Example** (A scale for both signs)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const scaled = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.asinh(x)
 * ```
 *
 * @see numpy.asinh
 * @category math
 * @since 0.1.0
 */
export const asinh: RealFunction = real("asinh")

/**
 * The inverse of the hyperbolic cosine; NaN below 1.
 *
 * **Example** (From a chain's height)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const place = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.acosh(x)
 * ```
 *
 * @see numpy.acosh
 * @category math
 * @since 0.1.0
 */
export const acosh: RealFunction = real("acosh")

/**
 * The inverse of the hyperbolic tangent; NaN outside -1 to 1.
 *
 * **Example** (From a soft limit back)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const unlimited = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.atanh(x)
 * ```
 *
 * @see numpy.atanh
 * @category math
 * @since 0.1.0
 */
export const atanh: RealFunction = real("atanh")

/**
 * Radians as degrees.
 *
 * **Example** (A half turn)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const compass = (heading: DeviceArray.DeviceArray<"f32">) => DeviceArray.degrees(heading)
 * ```
 *
 * @see numpy.degrees
 * @category math
 * @since 0.1.0
 */
export const degrees: RealFunction = real("degrees")

/**
 * Degrees as radians.
 *
 * **Example** (Latitudes)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const latitude = (degrees: DeviceArray.DeviceArray<"f32">) => DeviceArray.radians(degrees)
 * ```
 *
 * @see numpy.radians
 * @category math
 * @since 0.1.0
 */
export const radians: RealFunction = real("radians")
