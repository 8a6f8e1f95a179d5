/**
 * The greatest and the least value of any range of many numbers, in time logarithmic in their count: these are the
 * levels of detail that the page draws from.
 *
 * @internal
 */

const fan = 4

/** The greatest of each block of 4 values, of 16, of 64, and so on; and their indices, since a search for them would be slow. */
interface Level {
  readonly values: Float64Array
  /** Undefined for the values themselves. */
  readonly places: Int32Array | undefined
}

export class Peaks {
  readonly #levels: Array<Level>
  readonly #sign: 1 | -1
  /** The greatest value found so far in the current range, and its index. */
  #most = 0
  #best = 0
  /** How many values and blocks were read since it was set to 0. */
  looks = 0

  /** With the sign −1 it finds the least value. */
  constructor(values: Float64Array, sign: 1 | -1 = 1) {
    this.#sign = sign
    let level: Level = { values, places: undefined }
    this.#levels = [level]
    while (level.values.length > 1) this.#levels.push(level = this.#above(level))
  }

  #above({ places: below, values: of }: Level): Level {
    const count = Math.ceil(of.length / fan)
    const values = new Float64Array(count)
    const places = new Int32Array(count)
    for (let at = 0; at < count; at++) {
      let best = at * fan
      const end = Math.min(of.length, best + fan)
      for (let next = best + 1; next < end; next++) {
        if (of[next]! * this.#sign > of[best]! * this.#sign) best = next
      }
      values[at] = of[best]!
      places[at] = below === undefined ? best : below[best]!
    }
    return { values, places }
  }

  /** The index of the greatest value from `first` to `last`, both included; any of equal ones. */
  between(first: number, last: number): number {
    this.#best = first
    this.#most = -Infinity
    let from = first
    let to = last
    for (const level of this.#levels) {
      if (to - from < 2 * fan) {
        for (; from <= to; from++) this.#see(level, from)
        break
      }
      for (; from % fan !== 0; from++) this.#see(level, from)
      for (; to % fan !== fan - 1; to--) this.#see(level, to)
      from /= fan
      to = (to + 1) / fan - 1
    }
    return this.#best
  }

  #see({ places, values }: Level, at: number): void {
    this.looks++
    const value = values[at]! * this.#sign
    if (value <= this.#most) return
    this.#most = value
    this.#best = places === undefined ? at : places[at]!
  }
}
