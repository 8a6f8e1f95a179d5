/**
 * Sequences of bigints, which are counted exactly.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { isLong } from "effect-gpu-pool/Operation"
import { holds } from "../../kernels/expression/Expression.ts"
import * as Shape from "../layout/Shape.ts"

export interface Sequence {
  readonly start: bigint
  readonly step: bigint
  readonly count: number
}

/** The sequence from `start` up to, not including, `stop`; InvalidRequest where the type does not hold both of its ends. */
export const of = (operation: string, dtype: DType, numbers: ReadonlyArray<bigint>): Sequence | GpuError => {
  const [start = 0n, stop = 0n, step = 1n] = numbers.length === 1 ? [0n, ...numbers] : numbers
  if (!isLong(dtype)) {
    return invalidRequest(
      operation,
      `the numbers are bigints, and the type asked for is ${dtype}`,
      "Pass numbers, or use i64 or u64."
    )
  }
  if (step === 0n) return invalidRequest(operation, "the step is 0n", "Pass a step that leads from start to stop.")
  const distance = stop - start
  // Rounded up, as the division of bigints drops the fraction.
  const steps = distance / step + (distance % step === 0n ? 0n : 1n)
  const count = steps > 0n && distance > 0n === step > 0n ? Number(steps) : 0
  const problem = Shape.problem(operation, [count])
  if (problem !== undefined) return problem
  const last = start + step * (steps - 1n)
  return count === 0 || (holds(dtype, start) && holds(dtype, last)) ? { start, step, count } : invalidRequest(
    operation,
    `the elements from ${start}n to ${last}n by steps of ${step}n are not all of type ${dtype}`,
    dtype === "i64" ? "Use a type that holds them, as { dtype: \"u64\" }." : "Use a type that holds them."
  )
}
