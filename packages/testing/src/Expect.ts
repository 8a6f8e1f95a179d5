/**
 * What a conformance test expects, without a test framework: the suite also runs in a page.
 *
 * @since 0.1.0
 */
import { type GpuError, isGpuError, type Reason } from "effect-gpu-pool/GpuError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/**
 * A backend breaks a rule of the contract. The test dies with this error.
 *
 * **Example** (Telling a mismatch from another failure)
 *
 * ```ts
 * import { Conformance } from "@effect-gpu-pool/testing"
 *
 * const isMismatch = (cause: unknown) => cause instanceof Conformance.Mismatch
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class Mismatch extends Data.TaggedError("ConformanceMismatch")<{ readonly message: string }> {}

const show = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(value)
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value)
  return JSON.stringify(value)
}

/** @internal */
export const fail = (message: string): never => {
  throw new Mismatch({ message })
}

/** @internal */
export const isTrue = (what: string, condition: boolean): void => {
  if (!condition) fail(what)
}

/** Checks that both are the same value, by `Object.is`. @internal */
export const equal = <A extends string | number | boolean | undefined>(what: string, actual: A, expected: A): void => {
  if (!Object.is(actual, expected)) fail(`${what}: expected ${show(expected)}, got ${show(actual)}`)
}

/** Checks that both have the same JSON. @internal */
export const same = (what: string, actual: unknown, expected: unknown): void => {
  if (show(actual) !== show(expected)) fail(`${what}: expected ${show(expected)}, got ${show(actual)}`)
}

type Numbers = Uint8Array | Uint16Array | Int32Array | Uint32Array | Float32Array | Float64Array

/** Checks that both have the same numbers. A failure names the first difference and counts all of them. @internal */
export const numbers = (what: string, actual: Numbers, expected: Numbers | ReadonlyArray<number>): void => {
  if (actual.length !== expected.length) fail(`${what}: expected ${expected.length} elements, got ${actual.length}`)
  let first = -1
  let different = 0
  for (let at = 0; at < actual.length; at++) {
    if (Object.is(actual[at], expected[at])) continue
    if (different++ === 0) first = at
  }
  if (different === 0) return
  fail(
    `${what}: ${different} of ${actual.length} elements differ, the first at ${first}: ` +
      `expected ${show(expected[first])}, got ${show(actual[first])}`
  )
}

/**
 * Checks that the effect fails with this reason, and that the message says what to do, by a hint or a second sentence.
 *
 * @internal
 */
export const failsWith = <A, E, R, Tag extends Reason["_tag"]>(
  what: string,
  effect: Effect.Effect<A, E, R>,
  tag: Tag
): Effect.Effect<Extract<Reason, { readonly _tag: Tag }>, never, R> =>
  Effect.matchEffect(effect, {
    onSuccess: (value) => Effect.sync(() => fail(`${what}: expected ${tag}, but it succeeded with ${String(value)}`)),
    onFailure: (error) => Effect.sync(() => reasonOf(what, error, tag))
  })

/** Checks that the effect fails with InvalidRequest, as {@link failsWith} does. @internal */
export const refused = <A, E, R>(what: string, effect: Effect.Effect<A, E, R>) =>
  failsWith(what, effect, "InvalidRequest")

/** Checks that the error has this reason, and returns the reason. @internal */
export const reasonOf = <Tag extends Reason["_tag"]>(
  what: string,
  error: unknown,
  tag: Tag
): Extract<Reason, { readonly _tag: Tag }> => {
  const reason = (error as Partial<GpuError> | null)?.reason
  if (reason?._tag !== tag) fail(`${what}: expected ${tag}, got ${String(error)}`)
  const found = reason as Extract<Reason, { readonly _tag: Tag }>
  isTrue(`${what}: the message says what is wrong and what to do: ${found.message}`, isHelpful(found))
  return found
}

const isHelpful = (reason: Reason): boolean => {
  if ("hint" in reason && reason.hint.trim() === "") return false
  if (reason._tag === "DriverError" && reason.log.trim() === "") return false
  if (reason._tag === "LimitExceeded" && !/\d [a-z]+ are over .+, \d+ [a-z]+, so/.test(reason.message)) return false
  return /[.)!?] [A-Z]/.test(reason.message)
}

/** Turns what an array throws into a failure. @internal */
export const thrownBy = (call: () => unknown): Effect.Effect<unknown, GpuError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(call())
    } catch (error) {
      return isGpuError(error) ? error : Effect.die(error)
    }
  })
