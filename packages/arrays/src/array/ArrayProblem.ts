/**
 * The arrays that a function takes: how they are distinguished from other arguments, and how effects of arrays become arrays.
 *
 * @internal
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import { DeviceArray } from "./ArrayValue.ts"
import { arrayProblem } from "./elementwise/OperandProblem.ts"
import type { ArrayServices, Computed } from "./fusion/Evaluation.ts"
import { lazy } from "./Regions.ts"

export type AnyFunction = (...args: ReadonlyArray<never>) => unknown

/** The arguments of a call after its effects have run. */
type Resolved<Args extends ReadonlyArray<unknown>> = { -readonly [K in keyof Args]: Exclude<Args[K], Computed> }

/**
 * Calls a function of arrays. Effects among its arguments run first, in one `DeviceArray.lazy` with the function, so that a
 * chain of calls becomes one kernel.
 */
export const withArrays = <const Args extends ReadonlyArray<unknown>, A>(
  args: Args,
  body: (...args: Resolved<Args>) => Effect.Effect<A, GpuError, ArrayServices>
): Effect.Effect<A, GpuError, ArrayServices> =>
  args.some(Effect.isEffect)
    ? lazy(Effect.flatMap(
      Effect.forEach(args, resolved),
      (all) => body(...all as Resolved<Args>)
    ))
    : body(...args as Resolved<Args>)

const resolved = (arg: unknown): Effect.Effect<unknown, GpuError, ArrayServices> =>
  isComputed(arg) ? arg : Effect.succeed(arg)

/** No other effects are arguments of functions of arrays. */
const isComputed = (arg: unknown): arg is Computed => Effect.isEffect(arg)

/**
 * Whether a dual function is called data-first, with the array as its first argument. `arity` is how many arguments it then
 * has, at most.
 */
export const isDataFirst = (arity: number) => (args: IArguments): boolean =>
  args.length >= arity || args[0] instanceof DeviceArray || Effect.isEffect(args[0])

/**
 * A function of an array and more, data-first and data-last. `F` is the type that users see, and `first` says whether a call is data-first, as for `dual`.
 */
export const ofArray = <F extends AnyFunction>(
  name: string,
  body: (
    operation: string,
    self: DeviceArray,
    ...rest: ReadonlyArray<never>
  ) => Effect.Effect<unknown, GpuError, ArrayServices>,
  first: number | ((args: IArguments) => boolean) = isDataFirst(2)
): F => {
  const operation = `DeviceArray.${name}`
  const named = (...args: readonly [DeviceArray, ...ReadonlyArray<never>]) =>
    withArrays(args, (self, ...rest) => arrayProblem(operation, self) ?? body(operation, self, ...rest))
  return (typeof first === "number" ? dual(first, named) : dual(first, named)) as AnyFunction as F
}
