/** Numbers from a seed, always the same ones (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }

  /** A whole number from 0, below `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<A>(values: ReadonlyArray<A>): A {
    const picked = values[this.below(values.length)]
    if (values.length === 0) throw new RangeError("Random.pick: there is nothing to pick from")
    return picked as A
  }
}

/** One seed out of several numbers. */
export const mixed = (...numbers: ReadonlyArray<number>): number => {
  let seed = 0x9e3779b9
  for (const number of numbers) seed = Math.imul(seed ^ number, 0x85ebca6b) ^ (seed >>> 13)
  return seed >>> 0
}
