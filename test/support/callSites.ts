/**
 * Places in test files, and a count of the stacks that the library reads.
 */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"

/** "file:line" of the caller, to be compared with what the library finds for a call on the same line. */
export const here = (): string => {
  const [, , caller] = new Error().stack?.split("\n") ?? []
  const place = /\(?(?:file:\/\/)?([^\s()]+:\d+):\d+\)?$/.exec(caller ?? "")?.[1]
  assert(place !== undefined, caller)
  return place
}

/** How many stacks the library read during an effect, and the effect's result. */
export const stacksDuring = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<[stacks: number, A], E, R> =>
  Effect.suspend(() => {
    let stacks = 0
    const { prepareStackTrace } = Error
    Error.prepareStackTrace = (error, sites) => {
      if (sites[0]?.getFileName()?.endsWith("CallPlaces.ts")) stacks += 1
      return prepareStackTrace === undefined ? "" : prepareStackTrace(error, sites)
    }
    return Effect.ensuring(
      Effect.map(effect, (result): [number, A] => [stacks, result]),
      Effect.sync(() => {
        Error.prepareStackTrace = prepareStackTrace
      })
    )
  })
