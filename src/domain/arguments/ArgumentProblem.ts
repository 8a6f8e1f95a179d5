/**
 * Checks that an operation makes of its arguments, one after the other, until one of them ends it with an error.
 *
 * @internal
 */
import { type GpuError, invalidRequest, isGpuError } from "../GpuError.ts"
import { formatted } from "./Format.ts"

/** What `look` returns, or the error with which {@link valid} ended it. */
export const attempt = <A>(look: () => A): A | GpuError => {
  try {
    return look()
  } catch (thrown) {
    if (isGpuError(thrown)) return thrown
    throw thrown
  }
}

/**
 * The answer of a check. Throws an error, which {@link attempt} catches and returns, so that the operation fails with
 * it. Use it only within `attempt`.
 */
export const valid = <A>(answer: A | GpuError): A => {
  if (isGpuError(answer)) throw answer
  return answer
}

/** An error for an option that is neither left out nor `true` nor `false`; else `undefined`. */
export const booleanProblem = (operation: string, name: string, value: unknown): GpuError | undefined =>
  value === undefined || typeof value === "boolean"
    ? undefined
    : invalidRequest(operation, `${name} ${formatted(value)} is no boolean`, "Pass true or false, or leave it out.")
