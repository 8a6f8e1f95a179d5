/**
 * Complex numbers of arrays: made of parts, and taken apart.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import * as Expr from "../../kernels/Expr.ts"
import * as Operations from "../../kernels/expression/Operations.ts"
import type { RealPart, SameType } from "../Arithmetic.ts"
import type { DeviceArray } from "../ArrayValue.ts"
import type { ArrayOperand, Computed } from "../fusion/Evaluation.ts"
import type * as Promotion from "../layout/Promotion.ts"
import type { Scalar } from "../layout/Scalar.ts"
import { isComplex } from "./Element.ts"
import { binary, unary } from "./Operands.ts"
import * as Signature from "./Signature.ts"

/**
 * A function of two operands of real numbers that gives complex ones, data-first and data-last.
 *
 * **Example** (Its type)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const paired: DeviceArray.Pairing = DeviceArray.complex
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Pairing {
  (imaginary: DeviceArray | Scalar): (real: DeviceArray) => Computed<"c64">
  (real: DeviceArray, imaginary: DeviceArray | Scalar): Computed<"c64">
  (real: Scalar, imaginary: DeviceArray): Computed<"c64">
}

/**
 * Complex numbers of their real and their imaginary parts, which broadcast, and are cast to f32. Complex operands are
 * InvalidRequest.
 *
 * **Example** (A wave)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const phases = yield* DeviceArray.fromHost([0, Math.PI])
 *   const wave = yield* DeviceArray.exp(yield* DeviceArray.complex(0, phases))
 *   return yield* DeviceArray.toHost(yield* DeviceArray.round(yield* DeviceArray.real(wave)))
 * }) // => Float32Array.of(1, -1)
 * ```
 *
 * @category complex
 * @since 0.1.0
 */
export const complex: {
  /**
   * Complex numbers of their real and their imaginary parts, which broadcast, and are cast to f32. Complex operands are
   * InvalidRequest.
   */
  (imaginary: DeviceArray | Scalar): (real: DeviceArray) => Computed<"c64">
} & Pairing = binary(
  { name: "complex", build: ([x, y]) => Operations.apply("complex", [x!, y!]) as Expr.Expr<DType> },
  Signature.pairing
)

/**
 * The real parts of complex numbers, as f32; real numbers are their own.
 *
 * **Example** (Of two numbers)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, 2, 3, 4), { dtype: "c64" }).pipe(
 *   DeviceArray.real,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(1, 3)
 * ```
 *
 * @see pyopencl.array.Array.real
 * @category complex
 * @since 0.1.0
 */
export const real: RealPart = unary(
  { name: "real", build: ([x]) => isComplex(x!) ? Expr.real(x) : x! },
  Signature.part
)

/**
 * The imaginary parts of complex numbers, as f32; those of real numbers are 0.
 *
 * **Example** (Of two numbers)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([[1, 2], [3, 4]], { dtype: "c64" }).pipe(
 *   DeviceArray.imag,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(2, 4)
 * ```
 *
 * @see pyopencl.array.Array.imag
 * @category complex
 * @since 0.1.0
 */
export const imag: RealPart = unary(
  { name: "imag", build: ([x], dtype) => isComplex(x!) ? Expr.imag(x) : zeroOf(dtype) },
  Signature.part
)

const zeroOf = (dtype: DType): Expr.Expr<DType> => Expr.astype(Expr.constant("u32", 0), dtype)

/**
 * Complex numbers with the other sign of their imaginary parts; real numbers stay as they are.
 *
 * **Example** (The squares of magnitudes)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const power = (z: DeviceArray.DeviceArray<"c64">) =>
 *   DeviceArray.real(DeviceArray.multiply(DeviceArray.conj(z), z))
 * ```
 *
 * @see pyopencl.array.Array.conj
 * @category complex
 * @since 0.1.0
 */
export const conj: SameType = unary(
  { name: "conj", build: ([x]) => isComplex(x!) ? Expr.conj(x) : x! },
  Signature.same
)

/**
 * The angles of complex numbers in the complex plane, in radians, as f32: between -π and π. That of a real number is 0, or π
 * where it is negative.
 *
 * **Example** (A right angle)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([[0, 2]], { dtype: "c64" }).pipe(
 *   DeviceArray.angle,
 *   DeviceArray.degrees,
 *   DeviceArray.toHost
 * ) // => Float32Array.of(90)
 * ```
 *
 * @see numpy.angle
 * @category complex
 * @since 0.1.0
 */
export const angle: <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Real<Promotion.Floating<A>>> = unary(
  {
    name: "angle",
    build: ([x]) =>
      (isComplex(x!)
        ? Operations.apply("atan2", [Expr.imag(x), Expr.real(x)])
        : Operations.apply("atan2", [0, x!])) as Expr.Expr<DType>
  },
  Signature.partOfAnalytic
)
