/**
 * Values that throw when they are looked at.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "./GpuError.ts"
import { thrownText } from "./ShownValue.ts"

/**
 * The error of an operation one of whose arguments threw when it was read.
 *
 * @internal
 */
export const unreadable = (operation: string, thrown: unknown): GpuError =>
  invalidRequest(
    operation,
    `an argument could not be read: ${thrownText(thrown)}`,
    "Pass plain values: a member of one of them threw when it was read."
  )

/**
 * What `look` finds in values of the program, or the error of a value that throws.
 *
 * @internal
 */
export const readValues = <A>(operation: string, look: () => A): A | GpuError => {
  try {
    return look()
  } catch (thrown) {
    return unreadable(operation, thrown)
  }
}
