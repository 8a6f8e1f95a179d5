/**
 * Durations of delays.
 *
 * @internal
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/** The duration, or `undefined` for an invalid text, for a negative one, and for NaN, which Effect takes for 0. */
export const parse = (input: Duration.Input): Duration.Duration | undefined => {
  const duration = input === null || Number.isNaN(input) ? undefined : Option.getOrUndefined(Duration.fromInput(input))
  return duration === undefined || Duration.isNegative(duration) ? undefined : duration
}
