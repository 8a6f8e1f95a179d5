/**
 * Decides how many bytes an arena manages before the driver is asked for another slab: 1.1 times the most bytes that leases asked for
 * at one time. Slabs without leases beyond that go.
 *
 * A program that alternates between sizes would so free and make the same slabs again and again. So while the driver is asked once in
 * four leases or more often, a slab that is missed is allowed besides from then on, up to twice those bytes in all.
 *
 * @internal
 */
import { Outgrown } from "../Outgrown.ts"

const oncePer = 4

export class SpareSlabs<F> extends Outgrown<F> {
  /** How many leases lie between two requests that need the driver, on average of the last few. */
  #interval = 0
  #lastLeases = 0

  override mostManaged(leasedBytes: number): number {
    this.mostLeasedBytes = Math.max(this.mostLeasedBytes, leasedBytes)
    // Sizes that never recur must not let it grow for ever.
    const besides = Math.min(Math.ceil(this.mostLeasedBytes / 10) + this.missedBytes, this.mostLeasedBytes)
    return Math.min(this.mostLeasedBytes + besides, Number.MAX_SAFE_INTEGER)
  }

  /** A slab from `size` to `most` bytes would have served a request; so many leases were made before. */
  missedAfter(leases: number, family: F, size: number, most: number): void {
    this.#interval += (leases - this.#lastLeases - this.#interval) / 4
    this.#lastLeases = leases
    if (this.#interval <= oncePer) this.missed(family, size, most)
  }
}
