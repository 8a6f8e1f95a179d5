/**
 * Random numbers from a seed, so that a failing run can be repeated. The suite names the seed when a test fails.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { replay } from "./ConformanceTest.ts"
import { Mismatch } from "./Expect.ts"

/** The generator mulberry32. It has 32 bits of state, which is enough to choose test cases. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** A whole number from `least` to `most`, both included. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1))
  }

  pick<A>(choices: ReadonlyArray<A>): A {
    return choices[this.integer(0, choices.length - 1)]!
  }

  /** Calls one of several functions, chosen with a probability proportional to its weight. */
  weighted<A>(ways: ReadonlyArray<readonly [weight: number, way: () => A]>): A {
    let left = this.integer(1, ways.reduce((sum, [weight]) => sum + weight, 0))
    return ways.find(([weight]) => (left -= weight) <= 0)![1]()
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.integer(0, 255))
  }

  /** The next number from 0 to 1, without 1: sums and products mix the bits of the counter. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Runs `body` with a generator for each seed, or only for the seed of {@link replay}. A failure names the seed. */
export const forSeeds = <E, R>(
  seeds: ReadonlyArray<number>,
  body: (random: Random) => Effect.Effect<void, E, R>,
  options?: { readonly concurrency?: "unbounded" | undefined }
): Effect.Effect<void, never, R> =>
  Effect.flatMap(replay, (only) =>
    Effect.forEach(
      only === undefined ? seeds : [only.seed],
      (seed) =>
        Effect.catchCause(
          Effect.suspend(() => body(new Random(seed))),
          (cause) => Effect.die(new Mismatch({ message: `seed ${seed}: ${Cause.pretty(cause)}` }))
        ),
      { ...options, discard: true }
    ))

/** The seeds from 1 on. */
export const seeds = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => index + 1)
