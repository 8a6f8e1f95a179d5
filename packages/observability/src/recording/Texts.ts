/**
 * Texts, each once, and their places.
 *
 * @internal
 */

/** Texts that hits and the ends of leases say: they have the same places everywhere, so that nobody looks for them. */
const fixed = ["held", "borrowed", "driver", "scopeClosed", "released", "poolClosed", "parentReleased"] as const

/** The places of {@link fixed}. */
export const fixedPlaces = Object.fromEntries(fixed.map((text, at) => [text, at + 1])) as {
  readonly [T in typeof fixed[number]]: number
}

/** Place 0 is for none. */
export class Texts {
  readonly all: Array<string | undefined>
  readonly #places = new Map<string, number>()

  /** It begins with these. */
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

  /** From now on it has these, at these places. */
  read(texts: ReadonlyArray<string>): void {
    this.all.length = 1
    this.#places.clear()
    for (const text of texts) this.#places.set(text, this.all.push(text) - 1)
  }
}
