/**
 * The free lists of a pool: bins by family and size, and an index over the sizes of all families. It knows which bins
 * have held blocks. Its owner knows what a block is, and counts all bytes.
 *
 * @internal
 */
import type { HeldLinks } from "./HeldOrder.ts"
import { SizeIndex, SizeLeaf } from "./SizeIndex.ts"

/** The bins of one size, of all families. Those with held blocks are chained, the most recently filled first. */
class Row<B, F> extends SizeLeaf {
  bins = 0
  first: Bin<B, F> | undefined = undefined
}

/** Interchangeable blocks. The owner stacks the held ones on `top`. */
export class Bin<B, F> extends SizeLeaf implements HeldLinks<Bin<B, F>> {
  readonly family: F
  readonly index: SizeIndex<Bin<B, F>>
  readonly row: Row<B, F>
  /** How many blocks belong to it, active or held. */
  blocks = 0
  top: B | undefined = undefined
  /**
   * Whether it is marked in the indices and chained to its row. A bin that a hit empties stays marked, since the next
   * release mostly fills it again; the next search that meets it unmarks it.
   */
  marked = false
  previous: Bin<B, F> | undefined = undefined
  next: Bin<B, F> | undefined = undefined
  // Its position in the order of use, if the owner keeps one.
  older: Bin<B, F> | undefined = undefined
  newer: Bin<B, F> | undefined = undefined

  constructor(family: F, size: number, index: SizeIndex<Bin<B, F>>, row: Row<B, F>) {
    super(size)
    this.family = family
    this.index = index
    this.row = row
  }
}

/** Whether hits have emptied it, so that it is to be unmarked. */
const isEmptied = <B, F>(bin: Bin<B, F> | undefined): bin is Bin<B, F> & { readonly top: undefined } =>
  bin !== undefined && bin.top === undefined

export class PoolBins<B, F> {
  private lastFamily: F | undefined = undefined
  private lastIndex: SizeIndex<Bin<B, F>> | undefined = undefined
  private readonly families = new Map<F, SizeIndex<Bin<B, F>>>()
  private readonly rows = new SizeIndex<Row<B, F>>()

  /** The bin of a family and size, if there is one. */
  find(family: F, size: number): Bin<B, F> | undefined {
    return this.indexOf(family)?.get(size)
  }

  /** The same; makes it if there is none. */
  findOrMake(family: F, size: number): Bin<B, F> {
    const index = this.indexFor(family)
    return index.get(size) ?? this.makeBin(family, size, index)
  }

  /** The smallest bin of a family that holds a block and is no smaller than `size`. */
  smallestOfFamily(family: F, size: number): Bin<B, F> | undefined {
    const index = this.indexOf(family)
    return index && this.filled(() => index.atLeast(size))
  }

  /** The largest bin of a family that holds a block and is smaller than `size`. */
  largestOfFamilyBelow(family: F, size: number): Bin<B, F> | undefined {
    const index = this.indexOf(family)
    return index && this.filled(() => index.below(size))
  }

  /** A bin that holds a block, of the families for which `isMeant` holds. */
  anyOf(isMeant: (family: F) => boolean): Bin<B, F> | undefined {
    for (const [family, index] of this.families) {
      if (!isMeant(family)) continue
      const bin = this.filled(() => index.largest())
      if (bin !== undefined) return bin
    }
    return undefined
  }

  /** The largest bin of all that holds a block. */
  largest(): Bin<B, F> | undefined {
    let row = this.rows.largest()
    while (row !== undefined && !this.holds(row)) row = this.rows.largest()
    return row?.first
  }

  /** The smallest bin of all that holds a block and is no smaller than `size`. */
  smallest(size: number): Bin<B, F> | undefined {
    let row = this.rows.atLeast(size)
    while (row !== undefined && !this.holds(row)) row = this.rows.atLeast(size)
    return row?.first
  }

  /** The bins that hold blocks, the smallest first. */
  *held(): Generator<Bin<B, F>, void> {
    for (let first = this.smallest(1); first !== undefined; first = this.smallest(first.size + 1)) {
      for (let bin: Bin<B, F> | undefined = first; bin !== undefined; bin = bin.next) {
        if (bin.top !== undefined) yield bin
      }
    }
  }

  /** The owner is about to put a held block into an empty bin: chains the bin first among those of its size. */
  fill(bin: Bin<B, F>): void {
    const row = bin.row
    if (row.first === bin) return
    if (bin.marked) {
      this.unchain(bin)
    } else {
      bin.marked = true
      bin.index.mark(bin)
      if (row.first === undefined) this.rows.mark(row)
    }
    bin.next = row.first
    if (row.first !== undefined) row.first.previous = bin
    row.first = bin
  }

  /** The owner has freed a block of the bin. A bin without blocks is removed. */
  leave(bin: Bin<B, F>): void {
    bin.blocks--
    if (bin.blocks > 0) return
    if (bin.marked) this.unmark(bin)
    bin.index.remove(bin)
    if (bin.index.isEmpty) this.dropFamily(bin.family)
    bin.row.bins--
    if (bin.row.bins === 0) this.rows.remove(bin.row)
  }

  /** The first marked bin that holds a block. Empty bins on the way are unmarked. */
  private filled(first: () => Bin<B, F> | undefined): Bin<B, F> | undefined {
    let bin = first()
    while (isEmptied(bin)) {
      this.unmark(bin)
      bin = first()
    }
    return bin
  }

  private unmark(bin: Bin<B, F>): void {
    this.unchain(bin)
    bin.marked = false
    bin.index.unmark(bin)
    if (bin.row.first === undefined) this.rows.unmark(bin.row)
  }

  private unchain(bin: Bin<B, F>): void {
    const { next, previous, row } = bin
    if (next !== undefined) next.previous = previous
    if (previous === undefined) row.first = next
    else previous.next = next
    bin.next = undefined
    bin.previous = undefined
  }

  /** Whether a bin of the row holds a block; it is then the first one. Empty bins on the way are unmarked. */
  private holds(row: Row<B, F>): boolean {
    while (isEmptied(row.first)) this.unmark(row.first)
    return row.first !== undefined
  }

  /** Consecutive requests mostly have the same family. */
  private indexOf(family: F): SizeIndex<Bin<B, F>> | undefined {
    if (this.lastIndex !== undefined && family === this.lastFamily) return this.lastIndex
    this.lastFamily = family
    this.lastIndex = this.families.get(family)
    return this.lastIndex
  }

  private indexFor(family: F): SizeIndex<Bin<B, F>> {
    const known = this.families.get(family)
    if (known !== undefined) return known
    const index = new SizeIndex<Bin<B, F>>()
    this.families.set(family, index)
    return index
  }

  private dropFamily(family: F): void {
    this.families.delete(family)
    this.lastIndex = undefined
  }

  private makeBin(family: F, size: number, index: SizeIndex<Bin<B, F>>): Bin<B, F> {
    const row = this.rows.get(size) ?? this.makeRow(size)
    const bin = new Bin(family, size, index, row)
    index.insert(bin)
    row.bins++
    return bin
  }

  private makeRow(size: number): Row<B, F> {
    const row = new Row<B, F>(size)
    this.rows.insert(row)
    return row
  }
}
