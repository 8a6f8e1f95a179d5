/**
 * Durations of delays.
 *
 * @internal
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/**
 * The duration, or `undefined` for a value that is none: NaN, a negative one, another text, or an object without a unit.
 * Effect's Duration takes NaN for 0, and an object for the sum of the units that it knows.
 */
export const parse = (input: Duration.Input): Duration.Duration | undefined => {
  try {
    if (!saysHowLong(input)) return undefined
    const duration = Option.getOrUndefined(Duration.fromInput(input))
    return duration === undefined || Duration.isNegative(duration) ? undefined : duration
  } catch {
    // Members of objects are read, which may throw.
    return undefined
  }
}

const units: ReadonlyArray<keyof Duration.DurationObject> = [
  "weeks",
  "days",
  "hours",
  "minutes",
  "seconds",
  "milliseconds",
  "microseconds",
  "nanoseconds"
]

const isNumber = (value: unknown): boolean => typeof value === "number" && !Number.isNaN(value)

const saysHowLong = (input: Duration.Input): boolean => {
  if (typeof input !== "object" || input === null || Duration.isDuration(input)) return !Number.isNaN(input)
  if (Array.isArray(input)) return input.length > 0 && input.every(isNumber)
  // Those of a Temporal.Duration are getters of its class.
  const object = input as Duration.DurationObject
  const given = units.filter((unit) => object[unit] !== undefined)
  return given.length > 0 && given.every((unit) => isNumber(object[unit])) &&
    Object.entries(input).every(([key, value]) => value === undefined || units.some((unit) => unit === key))
}
