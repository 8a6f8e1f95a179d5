/**
 * What programs without types can pass for an array.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { isInstance, readValues, satisfies } from "../domain/ArgumentProblem.ts"
import { type GpuError, invalidRequest } from "../domain/GpuError.ts"
import { shown } from "../domain/ShownValue.ts"
import { DeviceArray } from "./ArrayValue.ts"

/** Why a value is no device array, or `undefined`. @internal */
export const arrayProblem = (operation: string, value: unknown): GpuError | undefined =>
  isInstance(value, DeviceArray) ? undefined : invalidRequest(
    operation,
    `${shown(value)} was given for a device array`,
    satisfies(value, Effect.isEffect)
      ? "An effect that makes an array must be yielded first."
      : "Make one with DeviceArray.fromHost."
  )

/**
 * Why a value is no options object, or `undefined`. One with a name that is not among those known would go unnoticed, as
 * `axes` for `axis`.
 *
 * @internal
 */
export const optionsProblem = (
  operation: string,
  value: unknown,
  known?: ReadonlyArray<string>
): GpuError | undefined => {
  if (value === undefined) return undefined
  return readValues(operation, () =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? known && nameProblem(operation, value, known)
      : invalidRequest(operation, `${shown(value)} was given for the options`, "Pass an object, or leave them out."))
}

/** Why an object has a name that nobody reads, or `undefined`. What is undefined is as good as left out. @internal */
export const nameProblem = (
  operation: string,
  value: object,
  known: ReadonlyArray<string>
): GpuError | undefined => {
  const unknown = Object.entries(value).find(([name, given]) => given !== undefined && !known.includes(name))
  return unknown === undefined ? undefined : invalidRequest(
    operation,
    `there is no option ${shown(unknown[0])}`,
    `Use ${known.length === 1 ? known[0] : `${known.slice(0, -1).join(", ")} or ${known.at(-1)}`}.`
  )
}

/** What to do about a value that an element type does not hold. @internal */
export const elementHint = (value: unknown, otherwise: string): string => {
  if (typeof value !== "number") return otherwise
  if (!Number.isFinite(value)) return `Integers have no NaN and no infinities. Use { dtype: "f32" }.`
  return `Use a type that holds it, as { dtype: "f32" }${Number.isInteger(value) ? "." : ", or round it."}`
}

/**
 * Whether a call of a dual function has the array as its first argument. `arity` is how many arguments it then has, at
 * most. An effect in the place of the array is told so, and not taken for the arguments after it.
 *
 * @internal
 */
export const isDataFirst = (arity: number) => (args: IArguments): boolean =>
  args.length >= arity || isInstance(args[0], DeviceArray) || satisfies(args[0], Effect.isEffect)
