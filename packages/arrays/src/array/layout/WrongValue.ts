/**
 * Refuses values of other kinds than a call takes. Types rule them out, but programs in JavaScript pass them, and in place of an effect
 * they would end the whole fiber without its finalizers.
 *
 * @internal
 */
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"

/** The error for a value in the place of something else: `what` is what the call takes there. */
export const wrongValue = (operation: string, value: unknown, what: string, hint: string): GpuError =>
  invalidRequest(operation, `${formatted(value)} was given for ${what}`, hint)

/** Whether a value is a list, also where types say that anything else is a number. */
export const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

/** Why a value is no list, or `undefined`. */
export const listProblem = (operation: string, value: unknown, what: string, hint: string): GpuError | undefined =>
  isList(value) ? undefined : wrongValue(operation, value, what, hint)

/** Why a value is no function, or `undefined`. */
export const functionProblem = (operation: string, value: unknown, what: string): GpuError | undefined =>
  typeof value === "function"
    ? undefined
    : wrongValue(operation, value, what, "Pass a function that returns an effect.")

/** Why a value is no effect, or `undefined`. */
export const effectProblem = (operation: string, value: unknown): GpuError | undefined =>
  Effect.isEffect(value)
    ? undefined
    : wrongValue(operation, value, "an effect", "Pass an effect, as Effect.succeed(x).")

/** What a function of the program returned; `what` is the function. */
export const returned = <A, E, R>(
  operation: string,
  answer: Effect.Effect<A, E, R>,
  what: string
): Effect.Effect<A, E | GpuError, R> =>
  Effect.isEffect(answer)
    ? answer
    : invalidRequest(operation, `${what} returned ${formatted(answer)}`, "Return an effect, as Effect.succeed(x).")
