/** The forms of an array expression. The job is written once; a form says how its expressions are run. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import type { Effect } from "effect"
import type { GpuError } from "effect-gpu-pool"

export type ArrayEffect<A> = Effect.Effect<A, GpuError.GpuError, DeviceArray.ArrayServices>

export type Form = <A>(expression: ArrayEffect<A>) => ArrayEffect<A>

/** Each operation is a kernel with an array for its result, and all of them live until the caller's scope closes. */
export const eager: Form = (expression) => expression

/** The same kernels, but as soon as an expression has its result, its other arrays go back to the pool. */
export const scoped: Form = DeviceArray.scoped

/** An expression is one kernel with its intermediate values in registers, so there are no other arrays. */
export const fused: Form = DeviceArray.lazy
