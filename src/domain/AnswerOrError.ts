/**
 * Answers of functions of values: within the library a union of an answer and an error.
 *
 * @internal
 */
import * as Result from "effect/Result"
import type { GpuError } from "./GpuError.ts"
import { isGpuError } from "./GpuError.ts"

/**
 * What a function of values answers: within the library an answer or an error is a union of both, as that of an effect's
 * step, which needs no wrapping.
 */
export const resultOf = <A>(answer: A | GpuError): Result.Result<A, GpuError> =>
  isGpuError(answer) ? Result.fail(answer) : Result.succeed(answer)
