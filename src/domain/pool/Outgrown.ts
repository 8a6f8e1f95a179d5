/**
 * When a program has outgrown the blocks that its pool holds: those that are smaller than what it asks for, where the pool
 * manages more than 1.9 times what leases have asked for at one time.
 *
 * A program whose sizes grow never asks for them again; one whose sizes come again does. Which of the two it is shows only
 * when it asks for what was freed. So freed sizes are noted, and the bytes of those that it asks for are allowed besides from
 * then on: it misses each block once.
 *
 * @internal
 */
import { maxBytes } from "./PowersOfTwo.ts"
import { SizeIndex, SizeLeaf } from "./SizeIndex.ts"

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

/** The freed blocks of one family and size that nobody has asked for since. */
class FreedSize<F> extends SizeLeaf {
  readonly family: F
  blocks = 0

  constructor(family: F, size: number) {
    super(size)
    this.family = family
  }
}

/** Of more sizes the pool forgets those that it has freed the longest ago. */
export const mostNoted = 1024

export class Outgrown<F> {
  mostLeasedBytes: number
  missedBytes: number
  readonly #families = new Map<F, SizeIndex<FreedSize<F>>>()
  /** The one that a block was freed of the longest ago comes first. */
  readonly #noted = new Set<FreedSize<F>>()

  constructor({ mostLeasedBytes, missedBytes }: OutgrownOptions) {
    this.mostLeasedBytes = mostLeasedBytes
    this.missedBytes = missedBytes
  }

  /** The most bytes to manage, where leases ask for so many now. */
  mostManaged(leasedBytes: number): number {
    this.mostLeasedBytes = Math.max(this.mostLeasedBytes, leasedBytes)
    // Exact up to 2^53−1, as 1.9 times it would not be.
    const most = 2 * this.mostLeasedBytes - Math.ceil(this.mostLeasedBytes / 10)
    return Math.min(most + this.missedBytes, maxBytes)
  }

  /** A held block is freed. */
  freed(family: F, size: number): void {
    const index = this.#families.get(family) ?? this.#add(family)
    let noted = index.get(size)
    if (noted === undefined) {
      noted = new FreedSize(family, size)
      index.insert(noted)
      index.mark(noted)
    }
    noted.blocks++
    this.#noted.delete(noted)
    this.#noted.add(noted)
    if (this.#noted.size > mostNoted) { for (const oldest of this.#noted) return this.#forget(oldest) }
  }

  /** A request needs the driver that a block from `size` to `most` bytes would have served. */
  missed(family: F, size: number, most: number): void {
    const noted = this.#families.get(family)?.atLeast(size)
    if (noted === undefined || noted.size > most) return
    this.missedBytes += noted.size
    noted.blocks--
    if (noted.blocks === 0) this.#forget(noted)
  }

  #add(family: F): SizeIndex<FreedSize<F>> {
    const index = new SizeIndex<FreedSize<F>>()
    this.#families.set(family, index)
    return index
  }

  #forget(noted: FreedSize<F>): void {
    const index = this.#families.get(noted.family)!
    index.unmark(noted)
    index.remove(noted)
    if (index.isEmpty) this.#families.delete(noted.family)
    this.#noted.delete(noted)
  }
}
