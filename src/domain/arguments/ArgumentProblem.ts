/**
 * Checks that an operation makes of its arguments, one after the other, until one of them ends it with an error.
 *
 * @since 0.1.0
 */
import { type GpuError, invalidRequest, isGpuError } from "../GpuError.ts"
import { formatted } from "./Format.ts"
import * as KnownOptions from "./KnownOptions.ts"

/**
 * What `look` returns, or the error with which {@link valid} ended it.
 *
 * @category functions
 * @since 0.1.0
 */
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
 *
 * @category functions
 * @since 0.1.0
 */
export const valid = <A>(answer: A | GpuError): A => {
  if (isGpuError(answer)) throw answer
  return answer
}

/**
 * Whether a value passes a test; `false` for one that throws when it is looked at.
 *
 * @category functions
 * @since 0.1.0
 */
export const satisfies = <A>(value: unknown, test: (value: unknown) => value is A): value is A => {
  try {
    return test(value)
  } catch {
    return false
  }
}

/**
 * Why a value is no function, or `undefined`.
 *
 * @category functions
 * @since 0.1.0
 */
export const functionProblem = (operation: string, name: string, value: unknown): GpuError | undefined =>
  typeof value === "function"
    ? undefined
    : invalidRequest(operation, `${formatted(value)} was given for the function ${name}`, "Pass a function.")

/**
 * An error for an option that is neither left out nor `true` nor `false`; else `undefined`.
 *
 * @category functions
 * @since 0.1.0
 */
export const booleanProblem = (operation: string, name: string, value: unknown): GpuError | undefined =>
  value === undefined || typeof value === "boolean"
    ? undefined
    : invalidRequest(operation, `${name} ${formatted(value)} is no boolean`, "Pass true or false, or leave it out.")

/**
 * An error for a value that is not one of the names; else `undefined`.
 *
 * @category functions
 * @since 0.1.0
 */
export const choiceProblem = (
  operation: string,
  what: string,
  value: unknown,
  choices: ReadonlyArray<string>
): GpuError | undefined =>
  choices.includes(value as string) ? undefined : invalidRequest(
    operation,
    `there is no ${what} ${formatted(value)}`,
    `Pass ${choices.slice(0, -1).map((choice) => JSON.stringify(choice)).join(", ")} or ${
      JSON.stringify(choices.at(-1))
    }.`
  )

/**
 * What is wrong with options, or `undefined`: they must be left out, or an object with known names only.
 *
 * @category functions
 * @since 0.1.0
 */
export const optionsProblem = (
  operation: string,
  value: unknown,
  known: KnownOptions.KnownOptions
): GpuError | undefined => {
  return value === undefined ? undefined : KnownOptions.problem(operation, value, known)
}

/**
 * The options, none where they are left out; or what is wrong with them.
 *
 * @category functions
 * @since 0.1.0
 */
export const membersOf = <O extends object>(
  operation: string,
  options: O | undefined,
  known: KnownOptions.KnownOptions
): Partial<O> | GpuError => optionsProblem(operation, options, known) ?? options ?? {}

/**
 * The values of a list, read once: an array or any other iterable, but not a string.
 *
 * @category functions
 * @since 0.1.0
 */
export const listOf = <A>(operation: string, name: string, values: Iterable<A>): ReadonlyArray<A> | GpuError => {
  const listed = attempt(() =>
    typeof values === "object" && values !== null && typeof values[Symbol.iterator] === "function"
      ? Array.from(values)
      : undefined
  )
  if (listed !== undefined) return listed
  return invalidRequest(
    operation,
    `${formatted(values)} was given for the list of ${name}`,
    `Pass an array of ${name}.`
  )
}
