/**
 * How often something is repeated, and how much is added.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"

/** Why a number counts nothing, or `undefined`; `name` says what it is. */
export const countProblem = (operation: string, name: string, count: number): GpuError | undefined =>
  Number.isSafeInteger(count) && count >= 0
    ? undefined
    : invalidRequest(operation, `${name} is ${count}`, "Pass a whole number, zero or more.")
