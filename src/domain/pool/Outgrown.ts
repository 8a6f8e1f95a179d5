/**
 * Decides when a program has outgrown the blocks that its pool holds: those smaller than its request, while the pool manages
 * more than 1.9 times the most bytes that leases have asked for at one time.
 *
 * A program whose sizes grow never requests the smaller ones again; one whose sizes recur does. Which of the two it is shows
 * only when it requests a size that was freed. So freed sizes are noted, and the bytes of those that it requests again are
 * allowed besides from then on: it misses each block once.
 *
 * @since 0.1.0
 */
import { maxBytes } from "../data/PowersOfTwo.ts"

/**
 * What was known of a program when its pool began.
 *
 * @category models
 * @since 0.1.0
 */
export interface OutgrownOptions {
  /** The most bytes that leases asked for at one time. */
  readonly mostLeasedBytes: number
  /** Bytes of blocks that were freed, and asked for again. */
  readonly missedBytes: number
}

/**
 * How many freed blocks are noted at most; beyond that the earliest are forgotten.
 *
 * @category getters
 * @since 0.1.0
 */
export const mostNoted = 1024

/**
 * What a pool knows of the sizes of its program.
 *
 * @category models
 * @since 0.1.0
 */
export class Outgrown<F> {
  mostLeasedBytes: number
  missedBytes: number
  /** Freed blocks that were not requested since. */
  readonly #noted: Array<{ readonly family: F; readonly size: number }> = []

  constructor({ mostLeasedBytes, missedBytes }: OutgrownOptions) {
    this.mostLeasedBytes = mostLeasedBytes
    this.missedBytes = missedBytes
  }

  /** The most bytes to manage, while leases ask for `leasedBytes`. */
  mostManaged(leasedBytes: number): number {
    this.mostLeasedBytes = Math.max(this.mostLeasedBytes, leasedBytes)
    // 1.9 times, but exact up to 2^53−1.
    const most = 2 * this.mostLeasedBytes - Math.ceil(this.mostLeasedBytes / 10)
    return Math.min(most + this.missedBytes, maxBytes)
  }

  /** A held block is freed. */
  freed(family: F, size: number): void {
    if (this.#noted.push({ family, size }) > mostNoted) this.#noted.shift()
  }

  /** A request needs the driver, which a block from `size` to `most` bytes would have served. */
  missed(family: F, size: number, most: number): void {
    let at = -1
    let least = most + 1
    this.#noted.forEach((one, index) => {
      if (one.family !== family || one.size < size || one.size >= least) return
      at = index
      least = one.size
    })
    if (at < 0) return
    this.missedBytes += least
    this.#noted.splice(at, 1)
  }
}
