/**
 * Durations by which something is put off.
 *
 * @internal
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/**
 * The duration, or `undefined` for what is none: NaN, something negative, or another text. Duration itself takes NaN
 * for 0.
 *
 * @internal
 */
export const parse = (input: Duration.Input): Duration.Duration | undefined => {
  const duration = Number.isNaN(input) ? undefined : Option.getOrUndefined(Duration.fromInput(input))
  return duration === undefined || Duration.isNegative(duration) ? undefined : duration
}

/**
 * The delay that a test plans, `undefined` for none. Throws a RangeError for what is no duration.
 *
 * @internal
 */
export const planned = (input: Duration.Input | undefined): Duration.Duration | undefined => {
  const duration = parse(input ?? 0)
  if (duration === undefined) {
    throw new RangeError(`Faults: ${String(input)} is no delay. Pass a duration of at least 0.`)
  }
  return input === undefined ? undefined : duration
}
