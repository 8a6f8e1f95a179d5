/**
 * Chooses what runs next, wherever there are several options.
 *
 * @internal
 */
import type { SchedulePath } from "./SchedulePath.ts"

/** The generator mulberry32. It has 32 bits of state, which is enough to choose schedules. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** A whole number from `least` to `most`, both included. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1))
  }

  /** The next number from 0 to 1, without 1: sums and products mix the bits of the counter. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Takes one of `options` options; 0 is the usual one. */
export type Chooser = (options: number, decision: number) => number

/** Takes the options of the path, and the usual one where the path's option does not exist. */
export const following = (path: SchedulePath): Chooser => {
  let next = 0
  return (options, decision) => {
    while (next < path.length && path[next]!.decision < decision) next++
    if (next === path.length || path[next]!.decision !== decision) return 0
    const { option } = path[next++]!
    return option < options ? option : 0
  }
}

/** Deviates at `times` random places among the first `decisions` decisions; some places may coincide. */
export const fewDeviations = (random: Random, times: number, decisions: number): Chooser => {
  const places = new Set<number>()
  for (let nth = 0; nth < times; nth++) places.add(random.integer(0, Math.max(0, decisions - 1)))
  return (options, decision) => places.has(decision) ? random.integer(1, options - 1) : 0
}

/** Takes a random option at one decision in `every`; all options are equally likely. */
export const anyOption = (random: Random, every: number): Chooser => (options) =>
  random.integer(1, every) === 1 ? random.integer(0, options - 1) : 0
