/**
 * What programs without types can pass for an array.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import { isInstance, satisfies } from "../domain/ArgumentProblem.ts"
import type { GpuError } from "../domain/GpuError.ts"
import { wrongArgument } from "../services/WrongArgument.ts"
import { DeviceArray } from "./ArrayValue.ts"

/** Why a value is no device array, or `undefined`. @internal */
export const arrayProblem = (operation: string, value: unknown): GpuError | undefined =>
  isInstance(value, DeviceArray)
    ? undefined
    : wrongArgument(operation, value, "a device array", "Make one with DeviceArray.fromHost.")

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
