/**
 * Checks of what programs pass to a fleet: the names of options, and values. A wrong one is InvalidRequest, before anything is done.
 *
 * @internal
 */
import { formatted } from "effect-gpu-pool/Format"
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"

/** What is wrong with a value, which errors call `name`; `undefined` where nothing is. */
export type Check = (operation: string, name: string, value: unknown) => GpuError | undefined

/** Fails with what is wrong with the first wrong value. */
export const checked = (
  operation: string,
  ...values: ReadonlyArray<readonly [name: string, check: Check, value: unknown]>
): Effect.Effect<void, GpuError> =>
  Effect.suspend(() => {
    for (const [name, check, value] of values) {
      const problem = check(operation, name, value)
      if (problem !== undefined) return Effect.fail(problem)
    }
    return Effect.void
  })

/** A value for which `test` holds. */
export const is =
  (expected: string, hint: string, test: (value: unknown) => boolean): Check => (operation, name, value) =>
    test(value) ? undefined : invalidRequest(operation, `${name} ${formatted(value)} is no ${expected}`, hint)

/** May be left out. */
export const optional = (check: Check): Check => (operation, name, value) =>
  value === undefined ? undefined : check(operation, name, value)

/** Checked elsewhere. */
export const any: Check = () => undefined

export const text: Check = is("text", "Pass a text.", Predicate.isString)

export const nonEmptyText: Check = is(
  "text of one character or more",
  "Pass a text that is not empty.",
  (value) => typeof value === "string" && value !== ""
)

export const boolean: Check = is("boolean", "Pass true or false, or leave it out.", Predicate.isBoolean)

/** One of these texts. */
export const oneOf = (...texts: ReadonlyArray<string>): Check => {
  const list = texts.map((text) => `"${text}"`).join(" or ")
  return is(list, `Pass ${list}, or leave it out.`, (value) => typeof value === "string" && texts.includes(value))
}

/** A whole number of this unit. */
export const count = (unit: string, least: number, most = Number.MAX_SAFE_INTEGER): Check => {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return is(
    `whole number of ${unit} ${range}`,
    `Pass a whole number ${range}.`,
    (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
  )
}

export const bytes: Check = count("bytes", 1)

/** A text that is not shown. */
export const secret: Check = (operation, name, value) =>
  Redacted.isRedacted(value) && typeof valueOf(value) === "string"
    ? undefined
    : invalidRequest(
      operation,
      `${name} is no Redacted text`,
      "Pass Redacted.make of the text that all processes have."
    )

/** A secret that was wiped has no value. */
const valueOf = (redacted: Redacted.Redacted<unknown>): unknown => {
  try {
    return Redacted.value(redacted)
  } catch {
    return undefined
  }
}

const units = new Set([
  "weeks",
  "days",
  "hours",
  "minutes",
  "seconds",
  "milliseconds",
  "microseconds",
  "nanoseconds"
])

/** Effect takes NaN, and objects without a unit, for 0. */
const isDurationInput = (value: unknown): boolean => {
  if (typeof value === "number") return !Number.isNaN(value)
  if (!Predicate.isObject(value) || Duration.isDuration(value) || Array.isArray(value)) return true
  const entries = Object.entries(value)
  return entries.length > 0 &&
    entries.every(([unit, n]) => units.has(unit) && typeof n === "number" && !Number.isNaN(n))
}

const parsed = (value: unknown): number => {
  try {
    return isDurationInput(value) ? Duration.toMillis(Duration.fromInputUnsafe(value as Duration.Input)) : NaN
  } catch {
    return NaN
  }
}

/** A duration whose milliseconds pass a test. */
export const duration = (expected: string, test: (millis: number) => boolean): Check =>
  is(expected, "Pass milliseconds or a text such as \"10 seconds\", or leave it out.", (value) => test(parsed(value)))

/** An object whose members all pass this check, whatever their names. */
export const record = (check: Check, keys: Check = any): Check => (operation, name, value) => {
  if (!isPlain(value)) return noObject(operation, name, value, "Pass an object.")
  for (const [key, member] of Object.entries(value)) {
    const problem = keys(operation, `a name in ${name}`, key) ?? check(operation, `${name}[${formatted(key)}]`, member)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** An array whose elements all pass this check. */
export const array = (check: Check): Check => (operation, name, value) => {
  if (!Array.isArray(value)) {
    return invalidRequest(operation, `${name} ${formatted(value)} is no array`, "Pass an array.")
  }
  for (const [index, element] of value.entries()) {
    const problem = check(operation, `${name}[${index}]`, element)
    if (problem !== undefined) return problem
  }
  return undefined
}

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)

const noObject = (operation: string, name: string, value: unknown, hint: string): GpuError =>
  invalidRequest(operation, `${name} ${formatted(value)} is no object`, hint)

/** The options of a call, which errors call `options`, and options within them: an object with these members and no others. */
export const options = <A extends object>(checks: { readonly [K in keyof A]-?: Check }): Check => {
  const known = new Set(Object.keys(checks))
  const entries = Object.entries<Check>(checks)
  return (operation, name, value) => {
    if (!isPlain(value)) return noObject(operation, name, value, `Pass an object with ${[...known].join(", ")}.`)
    const isOutermost = name === "options"
    const unknown = KnownOptions.problem(operation, value, known, isOutermost ? "" : ` in ${name}`)
    if (unknown !== undefined) return unknown
    for (const [key, check] of entries) {
      const problem = check(operation, isOutermost ? key : `${name}.${key}`, Reflect.get(value, key))
      if (problem !== undefined) return problem
    }
    return undefined
  }
}

const whereOptions = options({
  host: optional(text),
  device: optional(text),
  backend: optional(text),
  labels: optional(record(text)),
  atLeast: optional(
    record(is("number", "Pass a number.", (value) => typeof value === "number" && !Number.isNaN(value)))
  )
})

/** A `Where`. A member that is there and undefined is wrong, since without it more devices match than the program wants. */
export const where: Check = (operation, name, value) => {
  const problem = whereOptions(operation, name, value)
  if (problem !== undefined) return problem
  const missing = Object.entries(Object(value)).find(([, member]) => member === undefined)
  return missing === undefined
    ? undefined
    : invalidRequest(operation, `${name}.${missing[0]} is undefined`, "Pass a value, or leave it out for any device.")
}
