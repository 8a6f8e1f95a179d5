/**
 * Single values of the program beside arrays, and as elements of them.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { Constant } from "effect-gpu-pool/LanguageWriter"
import { isFloat, isInteger, isLong } from "effect-gpu-pool/Operation"
import type { ValueOf } from "effect-gpu-pool/ValueType"
import { held, holds } from "../../kernels/expression/Expression.ts"

/**
 * A value of the program: a number, a bigint for integers of 64 bits, or a truth value.
 *
 * **Example** (The largest integer)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const most: DeviceArray.Scalar = 2n ** 64n - 1n
 * const capped = (x: DeviceArray.DeviceArray<"u64">) => DeviceArray.minimum(x, most)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Scalar = number | bigint | boolean

/**
 * What an element is in JavaScript: a bigint for integers of 64 bits, a boolean for truth values, the two parts of a complex
 * number, otherwise a number.
 *
 * **Example** (Elements of two types)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const count: DeviceArray.ElementOf<"u64"> = 10n
 * const isThere: DeviceArray.ElementOf<"bool"> = true
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ElementOf<D extends DType> = D extends "c64" ? readonly [real: number, imaginary: number] : ValueOf<D>

/**
 * The element type that a value alone has: f32 for numbers, i64 for bigints, bool for truth values.
 *
 * **Example** (The type of a bigint)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const dtype: DeviceArray.TypeOfScalar<bigint> = "i64"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type TypeOfScalar<S extends Scalar> = S extends boolean ? "bool" : S extends bigint ? "i64" : "f32"

/** Whether a value is one, which types do not show of holes of lists and of what JavaScript converts to numbers. @internal */
export const isScalar = (value: unknown): value is Scalar =>
  typeof value === "number" || typeof value === "bigint" || typeof value === "boolean"

/** @internal */
export const typeOfScalar = (value: unknown): "f32" | "i64" | "bool" =>
  typeof value === "boolean" ? "bool" : typeof value === "bigint" ? "i64" : "f32"

/**
 * A value as an element of a type, `undefined` where the type does not hold it. Truth values are 0 and 1 in the other types;
 * a bigint is a number in those that have numbers, and the other way around, as long as both are exact.
 *
 * @internal
 */
export const elementOf = (dtype: DType, value: Scalar): Constant | undefined => {
  if (!isScalar(value)) return undefined
  if (dtype === "bool") {
    if (typeof value === "boolean") return value
    return value === 1 || value === 1n ? true : value === 0 || value === 0n ? false : undefined
  }
  if (isLong(dtype)) {
    const integer = typeof value === "boolean" ? Number(value) : value
    return holds(dtype, integer) ? held(dtype, integer) : undefined
  }
  const number = typeof value === "number" ? value : exactNumber(value)
  return number !== undefined && holds(dtype, number) ? held(dtype, number) : undefined
}

/**
 * Why a value cannot be an element, or `undefined`.
 *
 * @internal
 */
export const elementProblem = (operation: string, dtype: DType, value: Scalar): GpuError | undefined =>
  elementOf(dtype, value) !== undefined
    ? undefined
    : invalidRequest(operation, `the value ${formatted(value)} is no ${dtype}`, elementHint(dtype, value))

const exactNumber = (value: bigint | boolean): number | undefined => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : undefined
}

/**
 * The advice for a value that an element type does not hold; undefined stands for a hole of a list, which types do not show.
 *
 * @internal
 */
export const elementHint = (dtype: DType, value: Scalar | undefined): string => {
  if (!isScalar(value)) return "Give each element a number, as fill(0) does."
  if (dtype === "bool") return `Use true or false, or another type, as { dtype: "f32" }.`
  if (isLong(dtype) && typeof value === "number" && Number.isInteger(value)) {
    return "Pass a bigint that the type holds, as 7n: numbers above 2^53 are not exact."
  }
  if (typeof value === "bigint") {
    return isFloat(dtype) ? "Pass a number." : "Use a type that holds it, as { dtype: \"u64\" }."
  }
  if (isInteger(dtype) && !Number.isFinite(value)) {
    return `Integers have no NaN and no infinities. Use { dtype: "f32" }.`
  }
  return `Use a type that holds it, as { dtype: "f32" }${Number.isInteger(value) ? "." : ", or round it."}`
}
