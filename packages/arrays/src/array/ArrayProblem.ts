/**
 * The array that a function takes: how it is distinguished from the other arguments, and the check that it is one.
 *
 * @internal
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import { DeviceArray } from "./ArrayValue.ts"

/**
 * Whether a dual function is called data-first, with the array as its first argument. `arity` is how many arguments it then
 * has, at most.
 */
export const isDataFirst = (arity: number) => (args: IArguments): boolean =>
  args.length >= arity || args[0] instanceof DeviceArray

export type AnyFunction = (...args: ReadonlyArray<never>) => unknown

/**
 * A function of an array and more, data-first and data-last. `F` is the type that users see, and `first` says whether a call is data-first, as for `dual`.
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
  const named = (self: DeviceArray, ...rest: ReadonlyArray<never>) => body(operation, self, ...rest)
  return (typeof first === "number" ? dual(first, named) : dual(first, named)) as AnyFunction as F
}
