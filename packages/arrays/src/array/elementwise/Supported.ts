/**
 * Refuses types that a device lacks, before anything is allocated.
 *
 * @internal
 */
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DType } from "effect-gpu-pool/DType"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { typeProblem } from "effect-gpu-pool/KernelSupport"
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

const isEverywhere = (dtype: DType): boolean => dtype === "f32" || dtype === "i32" || dtype === "u32"
