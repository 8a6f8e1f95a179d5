/**
 * Results of pure functions: within the library a union of an answer and an error.
 *
 * @internal
 */
import * as Result from "effect/Result"
import type { GpuError } from "./GpuError.ts"
import { isGpuError } from "./GpuError.ts"

/**
 * The public result of a pure function. Within the library it is a plain union of answer and error, as in an effect's
 * step, without a wrapper.
 */
export const resultOf = <A>(answer: A | GpuError): Result.Result<A, GpuError> =>
  isGpuError(answer) ? Result.fail(answer) : Result.succeed(answer)
