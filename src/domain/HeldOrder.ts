/**
 * Held blocks in the order in which they were released, as a doubly linked list through the blocks themselves: adding
 * one, and taking one out wherever it is, cost a few steps and allocate nothing.
 *
 * @internal
 */

/**
 * A block's place in at most one order. The fields are the order's own.
 *
 * @internal
 */
export interface HeldLinks<B> {
  older: B | undefined
  newer: B | undefined
}

/** @internal */
export class HeldOrder<B extends HeldLinks<B>> {
  oldest: B | undefined = undefined
  private newest: B | undefined = undefined

  /** Puts in a block that is in no order; it comes last. */
  add(block: B): void {
    block.older = this.newest
    if (this.newest === undefined) this.oldest = block
    else this.newest.newer = block
    this.newest = block
  }

  /** Takes out a block. */
  remove(block: B): void {
    const { newer, older } = block
    if (older === undefined) this.oldest = newer
    else older.newer = newer
    if (newer === undefined) this.newest = older
    else newer.older = older
    block.older = undefined
    block.newer = undefined
  }
}
