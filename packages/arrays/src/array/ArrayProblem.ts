/**
 * The array that a function takes: how it is distinguished from the other arguments, and the check that it is one.
 *
 * @internal
 */
import { attempt } from "effect-gpu-pool/ArgumentProblem"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { wrongArgument } from "effect-gpu-pool/WrongArgument"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import { DeviceArray } from "./ArrayValue.ts"

/** Why a value is no device array, or `undefined`. */
export const arrayProblem = (operation: string, value: unknown): GpuError | undefined =>
  value instanceof DeviceArray
    ? undefined
    : wrongArgument(operation, value, "a device array", "Make one with DeviceArray.fromHost.")

/** The advice for a value that an element type cannot represent. */
export const elementHint = (value: unknown, otherwise: string): string => {
  if (typeof value !== "number") return otherwise
  if (!Number.isFinite(value)) return `Integers have no NaN and no infinities. Use { dtype: "f32" }.`
  return `Use a type that holds it, as { dtype: "f32" }${Number.isInteger(value) ? "." : ", or round it."}`
}

/**
 * Whether a dual function is called data-first, with the array or a lease as its first argument. `arity` is how many
 * arguments it then has, at most. An effect counts as a wrong first argument, so that the error says so.
 */
export const isDataFirst =
  (arity: number, type: typeof DeviceArray | typeof PooledBuffer = DeviceArray) => (args: IArguments): boolean =>
    args.length >= arity || args[0] instanceof type || Effect.isEffect(args[0])

export type AnyFunction = (...args: ReadonlyArray<never>) => unknown

/**
 * A function of an array and more, data-first and data-last, which fails before its body runs if the array is none. `F` is
 * the type that users see, and `first` says whether a call is data-first, as for `dual`.
 */
export const ofArray = <F extends AnyFunction>(
  name: string,
  body: (
    operation: string,
    self: DeviceArray,
    ...rest: ReadonlyArray<never>
  ) => Effect.Effect<unknown, GpuError, unknown>,
  first: number | ((args: IArguments) => boolean) = isDataFirst(2)
): F => {
  const operation = `DeviceArray.${name}`
  const checked = (self: DeviceArray, ...rest: ReadonlyArray<never>) =>
    attempt(() => arrayProblem(operation, self) ?? body(operation, self, ...rest))
  return (typeof first === "number" ? dual(first, checked) : dual(first, checked)) as AnyFunction as F
}
