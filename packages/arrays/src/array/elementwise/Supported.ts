/**
 * Refuses types that a device lacks, before anything is allocated.
 *
 * @internal
 */
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { typeProblem } from "effect-gpu-pool/KernelSupport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The effect; Unsupported where the device lacks the type of its elements. */
export const supported = <A, R>(
  operation: string,
  dtype: DType,
  effect: Effect.Effect<A, GpuError, R>
): Effect.Effect<A, GpuError, R | CommandQueue> =>
  isEverywhere(dtype) ? effect : Effect.flatMap(
    CommandQueue,
    (queue) => typeProblem(operation, queue.info, dtype, "the elements") ?? effect
  )

/** Why the device cannot compute an operation whose operands or results have these types, or `undefined`. */
export const problemOf = (
  operation: string,
  context: Context.Context<never>,
  result: DType,
  operands: ReadonlyArray<DType>
): GpuError | undefined => {
  if (isEverywhere(result) && operands.every(isEverywhere)) return undefined
  const { info } = Context.getUnsafe(context as Context.Context<CommandQueue>, CommandQueue)
  const lacked = [result, ...operands].find((dtype) => !info.dtypes.has(dtype))
  return lacked && typeProblem(operation, info, lacked, "what it computes in")
}

const isEverywhere = (dtype: DType): boolean => dtype === "f32" || dtype === "i32" || dtype === "u32"
