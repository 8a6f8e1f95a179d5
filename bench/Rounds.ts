/**
 * Times effects in alternation on one fiber. Each has many short turns, so that other load on the machine affects all
 * contenders alike.
 */
import { Effect, Schema } from "effect"
import { constVoid } from "effect/Function"
import { median } from "simple-statistics"

export interface Timed<E, R> {
  readonly effect: Effect.Effect<unknown, E, R>
  /** How often it runs in a turn. */
  readonly calls: number
  /** How many operations one call counts as: 10 for an effect that does its operation ten times. */
  readonly each?: number | undefined
}

/** Nanoseconds per call in each round, by contender. */
export const Nanos = Schema.Record(Schema.String, Schema.Array(Schema.Finite))

export type Nanos = typeof Nanos.Type

/** Runs an effect over and over; the milliseconds of all calls together. */
export const repeat = <E, R>(effect: Effect.Effect<unknown, E, R>, calls: number): Effect.Effect<number, E, R> =>
  Effect.suspend(() => {
    let done = 0
    const from = performance.now()
    const loop = Effect.whileLoop({
      while: () => done < calls,
      body: () => {
        done++
        return effect
      },
      step: constVoid
    })
    return Effect.map(loop, () => performance.now() - from)
  })

const nanosPerCall = <E, R>({ calls, each = 1, effect }: Timed<E, R>): Effect.Effect<number, E, R> =>
  Effect.map(repeat(effect, calls), (millis) => millis * 1e6 / (calls * each))

/** Rounds in which each contender has its turn; the first ones only warm up. */
export const interleave = Effect.fnUntraced(function*<E, R>(
  contenders: Readonly<Record<string, Timed<E, R>>>,
  rounds: { readonly warmUp: number; readonly measured: number }
) {
  const nanos = Object.entries(contenders).map(([name, timed]) => ({ name, timed, samples: Array<number>() }))
  for (let round = -rounds.warmUp; round < rounds.measured; round++) {
    for (const { samples, timed } of nanos) {
      const sample = yield* nanosPerCall(timed)
      if (round >= 0) samples.push(sample)
    }
  }
  return Object.fromEntries(nanos.map(({ name, samples }) => [name, samples]))
})

/** The contender that measures the cost of the loop itself. */
export const loop = "the loop itself (Effect.void)"

const loopNanos = (nanos: Nanos): number => median([...nanos[loop]!])

/** The median of a contender without the loop's share; for the loop itself, that share. */
export const net = (nanos: Nanos, name: string): number =>
  median([...nanos[name]!]) - (name === loop ? 0 : loopNanos(nanos))

/** How many times as long as another, both without the loop's share: the median of the rounds' ratios. */
export const netRatio = (nanos: Nanos, over: string, under: string): number => {
  const share = loopNanos(nanos)
  return median(nanos[over]!.map((sample, round) => (sample - share) / (nanos[under]![round]! - share)))
}
