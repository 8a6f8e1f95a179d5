/**
 * Durations of delays.
 *
 * @internal
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/**
 * The duration, or `undefined` for a value that is none: NaN, a negative one, or another text. Effect's Duration takes
 * NaN for 0.
 */
export const parse = (input: Duration.Input): Duration.Duration | undefined => {
  const duration = Number.isNaN(input) ? undefined : durationOf(input)
  return duration === undefined || Duration.isNegative(duration) ? undefined : duration
}

/** Duration reads members of objects, which may throw. */
const durationOf = (input: Duration.Input): Duration.Duration | undefined => {
  try {
    return Option.getOrUndefined(Duration.fromInput(input))
  } catch {
    return undefined
  }
}
