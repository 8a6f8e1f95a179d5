/**
 * The greatest and the least of any range of many numbers, in steps that grow with the logarithm of their count: these are the
 * levels of detail that the page draws from.
 *
 * @internal
 */

const fan = 4

/** The places of the greatest, by blocks of 4 values, of 16, of 64, and so on. */
export class Peaks {
  readonly #levels: Array<Int32Array> = []
  readonly #values: Float64Array
  readonly #sign: 1 | -1
  /** How many values and blocks were looked at since it was set to 0. */
  looks = 0

  /** With the sign −1 the least one counts as the greatest. */
  constructor(values: Float64Array, sign: 1 | -1 = 1) {
    this.#values = values
    this.#sign = sign
    let below: Int32Array | undefined
    for (let count = values.length; count > 1; count = Math.ceil(count / fan)) {
      below = this.#level(below, count)
      this.#levels.push(below)
    }
  }

  #level(below: Int32Array | undefined, count: number): Int32Array {
    const level = new Int32Array(Math.ceil(count / fan))
    for (let at = 0; at < level.length; at++) {
      const end = Math.min(count, (at + 1) * fan)
      let best = below === undefined ? at * fan : below[at * fan]!
      for (let of = at * fan + 1; of < end; of++) best = this.#better(best, below === undefined ? of : below[of]!)
      level[at] = best
    }
    return level
  }

  #better(one: number, other: number): number {
    return this.#values[other]! * this.#sign > this.#values[one]! * this.#sign ? other : one
  }

  /** The place of the greatest value from one place to another, both included; any of equal ones. */
  between(first: number, last: number): number {
    let best = first
    let places: Int32Array | undefined
    let from = first
    let to = last
    for (let level = 0; to - from >= 2 * fan; level++) {
      for (; from % fan !== 0; from++) best = this.#better(best, places === undefined ? from : places[from]!)
      for (; to % fan !== fan - 1; to--) best = this.#better(best, places === undefined ? to : places[to]!)
      from /= fan
      to = (to + 1) / fan - 1
      places = this.#levels[level]!
      this.looks += fan
    }
    this.looks += to - from + 1
    for (; from <= to; from++) best = this.#better(best, places === undefined ? from : places[from]!)
    return best
  }
}
