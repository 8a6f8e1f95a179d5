/**
 * Refuses what is no array, and what is neither an array nor a number.
 *
 * @internal
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import { DeviceArray } from "../ArrayValue.ts"
import { isScalar } from "../layout/Scalar.ts"
import { wrongValue } from "../layout/WrongValue.ts"

/** Why a value is no array, or `undefined`; `what` is what the call takes there. */
export const arrayProblem = (operation: string, value: unknown, what = "an array"): GpuError | undefined =>
  value instanceof DeviceArray
    ? undefined
    : wrongValue(operation, value, what, "Pass an array on the device, as DeviceArray.fromHost([1, 2]) makes one.")

/** Why a value is neither an array nor a value for elements, or `undefined`. */
export const operandProblem = (operation: string, value: unknown): GpuError | undefined =>
  value instanceof DeviceArray || isScalar(value) ? undefined : wrongValue(
    operation,
    value,
    "an array or a number",
    "Pass a number, a bigint, a truth value, or an array on the device, as DeviceArray.fromHost([1, 2]) makes one."
  )
