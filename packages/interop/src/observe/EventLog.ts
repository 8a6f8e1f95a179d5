/**
 * The last events of an observation: objects made and ended.
 *
 * @internal
 */
import type { Happening, Tracked } from "./Tracked.ts"

/**
 * Keeps so many events. An object is its own event, made and then ended: to keep an object more for each would cost the collector more than
 * all else that an observation does.
 */
export class EventLog {
  readonly #most: number
  readonly #all: Array<Tracked> = []
  /** The place of the first event that is not dropped, and how many were before the first place. */
  #first = 0
  #before = 0
  /** The number of the object whose making comes next among the events: they are made in the order of their numbers. */
  #nextMade = 1

  constructor(most: number) {
    this.#most = most
  }

  /** How many events were dropped. */
  get dropped(): number {
    return this.#before + this.#first
  }

  /** An object was made, or has ended. */
  add(tracked: Tracked): void {
    this.#all.push(tracked)
    if (this.#all.length - this.#first > this.#most) {
      if (this.#all[this.#first++]!.id === this.#nextMade) this.#nextMade++
    }
    // So that each event is moved once.
    if (this.#first > this.#most) {
      this.#all.splice(0, this.#first)
      this.#before += this.#first
      this.#first = 0
    }
  }

  /** The events, from the first one that was not dropped. */
  happenings(): ReadonlyArray<Happening> {
    let nextMade = this.#nextMade
    return this.#all.slice(this.#first).map((tracked) => {
      const ends = tracked.id !== nextMade
      if (!ends) nextMade++
      return { at: ends ? tracked.endedAt : tracked.madeAt, ends, tracked }
    })
  }
}
