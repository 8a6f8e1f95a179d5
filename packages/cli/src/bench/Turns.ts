/**
 * Measures two ways to do one thing in alternating rounds, so that a busy phase of the machine affects both.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** What one call takes, in nanoseconds, and how many times as long the second way takes as the first. */
export interface Compared {
  readonly one: number
  readonly other: number
  /** The median of the ratios of single rounds. */
  readonly ratio: number
}

/** Rounds are long enough for the clock, and many enough that a disturbed one does not matter. */
const roundNanos = 20e6
const rounds = 9
const mostCalls = 100_000

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = Array.from(values).sort((one, other) => one - other)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Nanoseconds per call, `wait` included, because recorded commands must be done. */
const timed = <E, R>(call: Effect.Effect<unknown, E, R>, wait: Effect.Effect<unknown, E, R>, calls: number) =>
  Effect.gen(function*() {
    const from = yield* Clock.currentTimeNanos
    yield* Effect.replicateEffect(call, calls, { discard: true })
    yield* wait
    return Number((yield* Clock.currentTimeNanos) - from) / calls
  })

/** How many calls make a round, found by doubling rounds, which also warm everything up. */
const callsFor = <E, R>(call: Effect.Effect<unknown, E, R>, wait: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function*() {
    for (let calls = 1;; calls *= 2) {
      const nanos = yield* timed(call, wait, calls)
      if (calls >= mostCalls || nanos * calls >= roundNanos) return calls
    }
  })

export const compare = <E, R>(
  one: Effect.Effect<unknown, E, R>,
  other: Effect.Effect<unknown, E, R>,
  wait: Effect.Effect<unknown, E, R>
): Effect.Effect<Compared, E, R> =>
  Effect.gen(function*() {
    const [callsOfOne, callsOfOther] = [yield* callsFor(one, wait), yield* callsFor(other, wait)]
    const round = Effect.all([timed(one, wait, callsOfOne), timed(other, wait, callsOfOther)])
    const measured = yield* Effect.replicateEffect(round, rounds)
    return {
      one: median(measured.map(([one]) => one)),
      other: median(measured.map(([, other]) => other)),
      ratio: median(measured.map(([one, other]) => other / one))
    }
  })
