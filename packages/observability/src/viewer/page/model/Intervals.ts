/**
 * Many intervals, stored so that those that intersect a range are found without reading the others: in classes by length, each of
 * twice the length of the one before, and within a class by start.
 *
 * @internal
 */
import { above, notBelow } from "../../../Bisection.ts"

/** The class of intervals of length 2^k to 2^(k+1); class 0 also has all shorter ones. */
const classOf = (length: number): number => length < 2 ? 0 : Math.min(52, Math.floor(Math.log2(length)))

interface Class {
  /** Ascending, each with the interval's index. */
  readonly starts: Float64Array
  readonly places: Int32Array
  /** The longest one. */
  readonly longest: number
}

export class Intervals {
  readonly #classes: ReadonlyArray<Class>
  readonly #start: Float64Array
  readonly #end: Float64Array

  /** The starts ascend. Lengths are counted in units. */
  constructor(start: Float64Array, end: Float64Array, unit = 1) {
    this.#start = start
    this.#end = end
    const of = Uint8Array.from(start, (from, at) => classOf((end[at]! - from) / unit))
    const counts = new Int32Array(54)
    for (const k of of) counts[k]!++
    const classes = [...counts].map((count) => ({
      starts: new Float64Array(count),
      places: new Int32Array(count),
      longest: 0
    }))
    const next = new Int32Array(54)
    of.forEach((k, at) => {
      const to = classes[k]!
      to.starts[next[k]!] = start[at]!
      to.places[next[k]!++] = at
      to.longest = Math.max(to.longest, end[at]! - start[at]!)
    })
    // the longest first
    this.#classes = classes.filter(({ places }) => places.length > 0).sort((one, other) => other.longest - one.longest)
  }

  /** Calls `visit` with each interval that has begun by `x` and not ended; those of equal start in their order. */
  at(x: number, visit: (place: number) => void): void {
    for (const { longest, places, starts } of this.#classes) {
      const last = above(starts, x)
      for (let at = notBelow(starts, x - longest); at < last; at++) {
        if (this.#end[places[at]!]! > x) visit(places[at]!)
      }
    }
  }

  /**
   * Calls `visit` with the intervals that intersect a range and are in classes that have some of at least that length, longest first,
   * until `mostLooks` were read. Returns whether it has visited all of them.
   */
  over(from: number, to: number, atLeast: number, mostLooks: number, visit: (place: number) => void): boolean {
    let looks = 0
    for (const { longest, places, starts } of this.#classes) {
      if (longest < atLeast) continue
      const last = notBelow(starts, to)
      for (let at = notBelow(starts, from - longest); at < last; at++) {
        if (++looks > mostLooks) return false
        const place = places[at]!
        if (this.#end[place]! > from && this.#end[place]! - this.#start[place]! >= atLeast) visit(place)
      }
    }
    return true
  }
}
