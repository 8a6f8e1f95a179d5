/**
 * A table of distinct texts and their indices.
 *
 * @internal
 */

/** Texts of hits and of ends of leases: they have the same index in every table, so that no lookup is needed. */
const fixed = ["held", "borrowed", "driver", "scopeClosed", "released", "poolClosed", "parentReleased"] as const

/** The indices of {@link fixed}. */
export const fixedPlaces = Object.fromEntries(fixed.map((text, at) => [text, at + 1])) as {
  readonly [T in typeof fixed[number]]: number
}

/** Index 0 is for none. */
export class Texts {
  readonly all: Array<string | undefined>
  readonly #places = new Map<string, number>()

  constructor(all: ReadonlyArray<string | undefined> = [undefined, ...fixed]) {
    this.all = all.slice()
    all.forEach((text, place) => text === undefined || this.#places.set(text, place))
  }

  placeOf(text: string | undefined): number {
    if (text === undefined) return 0
    const known = this.#places.get(text)
    if (known !== undefined) return known
    this.#places.set(text, this.all.length)
    return this.all.push(text) - 1
  }

  /** Replaces all texts by these. */
  read(texts: ReadonlyArray<string>): void {
    this.all.length = 1
    this.#places.clear()
    for (const text of texts) this.#places.set(text, this.all.push(text) - 1)
  }
}
