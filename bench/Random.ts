/** Numbers that look random and are the same in every run. */

/** The generator mulberry32: from 0 up to, not including, 1. */
export const make = (seed: number): () => number => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Every doubling of sizes is as likely as any other. In bytes, multiples of 4. */
export const logUniform = (next: () => number, least: number, most: number): number =>
  4 * Math.round(least * (most / least) ** next() / 4)

/** From `least` to `most`, both included. */
export const integer = (next: () => number, least: number, most: number): number =>
  least + Math.floor(next() * (most - least + 1))

export const pick = <A>(next: () => number, choices: ReadonlyArray<A>): A =>
  choices[integer(next, 0, choices.length - 1)]!
