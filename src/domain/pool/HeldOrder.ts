/**
 * Held blocks in the order in which they were released, or bins in that of their last use, as a doubly linked list
 * through the members themselves: adding one, and taking one out wherever it is, cost a few steps and allocate nothing.
 *
 * @internal
 */

/** A member's position in at most one order. Only the order writes these fields. */
export interface HeldLinks<B> {
  older: B | undefined
  newer: B | undefined
}

export class HeldOrder<B extends HeldLinks<B>> {
  oldest: B | undefined = undefined
  private newest: B | undefined = undefined

  /** Puts in a member that is in no order; it comes last. */
  add(member: B): void {
    member.older = this.newest
    if (this.newest === undefined) this.oldest = member
    else this.newest.newer = member
    this.newest = member
  }

  /** Takes out a member. */
  remove(member: B): void {
    const { newer, older } = member
    if (older === undefined) this.oldest = newer
    else older.newer = newer
    if (newer === undefined) this.newest = older
    else newer.older = older
    member.older = undefined
    member.newer = undefined
  }

  /** Moves a member to the end. */
  renew(member: B): void {
    if (member === this.newest) return
    this.remove(member)
    this.add(member)
  }
}
