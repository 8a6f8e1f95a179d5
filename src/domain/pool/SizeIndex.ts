/**
 * Bins in the order of their sizes, with a bitmap of the non-empty ones.
 *
 * A radix tree of 32-way nodes over the binary exponent and the mantissa of the size: five bits a level, most
 * significant first, so the order of the slots is the order of the sizes. A leaf sits at the first node where its slot
 * is its alone: two levels down for up to 16 sizes per power of two, at most twelve for any sizes. Each node has one
 * bit per slot that says whether something below is marked. So finding, marking, and the nearest marked size cost a few
 * steps, however many sizes there are; marking touches one word unless a node becomes empty or stops being so.
 *
 * @internal
 */
import { floorLog2, powerOfTwo } from "../data/PowersOfTwo.ts"

/**
 * Something with a size, an integer from 1 to 2^53−1, and a place in at most one index. Only the index changes these
 * fields.
 */
export class SizeLeaf {
  readonly size: number
  node: SizeNode | undefined = undefined
  bit = 0

  constructor(size: number) {
    this.size = size
  }
}

class SizeNode {
  readonly parent: SizeNode | undefined
  readonly bit: number
  readonly depth: number
  readonly slots: Array<SizeNode | SizeLeaf | undefined> = Array.from({ length: 32 })
  used = 0
  marks = 0

  constructor(parent: SizeNode | undefined, bit: number, depth: number) {
    this.parent = parent
    this.bit = bit
    this.depth = depth
  }
}

/** An ordered set of leaves with distinct sizes, some of them marked. */
export class SizeIndex<L extends SizeLeaf> {
  private readonly root = new SizeNode(undefined, 0, 0)

  get isEmpty(): boolean {
    return this.root.used === 0
  }

  /** The leaf of exactly this size. */
  get(size: number): L | undefined {
    const high = highDigits(size)
    let node = this.root
    while (true) {
      const entry = node.slots[digitAt(size, high, node.depth)]
      if (entry instanceof SizeNode) node = entry
      else return entry !== undefined && entry.size === size ? entry as L : undefined
    }
  }

  /** Puts in an unmarked leaf of a size that is not there yet. */
  insert(leaf: L): void {
    const high = highDigits(leaf.size)
    let node = this.root
    while (true) {
      const digit = digitAt(leaf.size, high, node.depth)
      const entry = node.slots[digit]
      if (entry === undefined) return place(node, digit, leaf)
      if (entry instanceof SizeNode) node = entry
      else if (entry.size === leaf.size) throw new Error(`size ${leaf.size} is in the index already`)
      else node = pushDown(node, digit, entry)
    }
  }

  /** Takes out an unmarked leaf, and the nodes that nothing else needs. */
  remove(leaf: L): void {
    let node = leaf.node
    let bit = leaf.bit
    leaf.node = undefined
    while (node !== undefined) {
      node.slots[highestBit(bit)] = undefined
      node.used--
      if (node.used > 0) return
      bit = node.bit
      node = node.parent
    }
  }

  mark(leaf: L): void {
    let node = leaf.node
    let bit = leaf.bit
    while (node !== undefined) {
      const before = node.marks
      node.marks = before | bit
      if (before !== 0) return
      bit = node.bit
      node = node.parent
    }
  }

  unmark(leaf: L): void {
    let node = leaf.node
    let bit = leaf.bit
    while (node !== undefined) {
      node.marks &= ~bit
      if (node.marks !== 0) return
      bit = node.bit
      node = node.parent
    }
  }

  /** The largest marked leaf. */
  largest(): L | undefined {
    return (this.root.marks === 0 ? undefined : largest(this.root)) as L | undefined
  }

  /** The largest marked leaf below this size. */
  below(size: number): L | undefined {
    const high = highDigits(size)
    let entry: SizeNode | SizeLeaf | undefined = this.root
    let under: SizeNode | SizeLeaf | undefined = undefined
    while (entry instanceof SizeNode) {
      const node: SizeNode = entry
      const digit = digitAt(size, high, node.depth)
      const smaller = node.marks & ((1 << digit) - 1)
      if (smaller !== 0) under = node.slots[highestBit(smaller)]
      entry = (node.marks & (1 << digit)) === 0 ? undefined : node.slots[digit]
    }
    return (entry !== undefined && entry.size < size ? entry : largest(under)) as L | undefined
  }

  /** The smallest marked leaf of at least this size. */
  atLeast(size: number): L | undefined {
    const high = highDigits(size)
    let entry: SizeNode | SizeLeaf | undefined = this.root
    let above: SizeNode | SizeLeaf | undefined = undefined
    while (entry instanceof SizeNode) {
      const node: SizeNode = entry
      const digit = digitAt(size, high, node.depth)
      const larger = node.marks & ~((2 << digit) - 1)
      if (larger !== 0) above = node.slots[lowestBit(larger)]
      entry = (node.marks & (1 << digit)) === 0 ? undefined : node.slots[digit]
    }
    return (entry !== undefined && entry.size >= size ? entry : smallest(above)) as L | undefined
  }
}

const smallest = (entry: SizeNode | SizeLeaf | undefined): SizeLeaf | undefined => {
  let at = entry
  while (at instanceof SizeNode) at = at.slots[lowestBit(at.marks)]
  return at
}

const largest = (entry: SizeNode | SizeLeaf | undefined): SizeLeaf | undefined => {
  let at = entry
  while (at instanceof SizeNode) at = at.slots[highestBit(at.marks)]
  return at
}

const place = (node: SizeNode, digit: number, leaf: SizeLeaf): void => {
  node.slots[digit] = leaf
  node.used++
  leaf.node = node
  leaf.bit = 1 << digit
}

const pushDown = (node: SizeNode, digit: number, leaf: SizeLeaf): SizeNode => {
  const bit = 1 << digit
  const child = new SizeNode(node, bit, node.depth + 1)
  place(child, digitAt(leaf.size, highDigits(leaf.size), child.depth), leaf)
  if ((node.marks & bit) !== 0) child.marks = leaf.bit
  node.slots[digit] = child
  return child
}

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits)

const highestBit = (bits: number): number => 31 - Math.clz32(bits)

// The order of sizes is the order of these 60 bits: the exponent (6 bits), the mantissa below the leading one (52
// bits), and two zeros. They are cut in two halves of six digits; the second half is seldom needed.
const digitAt = (size: number, high: number, depth: number): number =>
  depth < 6 ? (high >>> (25 - 5 * depth)) & 31 : (lowDigits(size) >>> (55 - 5 * depth)) & 31

const highDigits = (size: number): number => {
  const exponent = floorLog2(size)
  return (exponent << 24) | (leadingDigits(size, exponent) & 0xff_ffff)
}

// 24 bits below the leading one. Small sizes, which are most, take the integer instructions: they halve the cost of a
// hit.
const leadingDigits = (size: number, exponent: number): number => {
  if (exponent <= 24) return size << (24 - exponent)
  return exponent < 31 ? size >> (exponent - 24) : Math.floor(size * powerOfTwo(24 - exponent))
}

const lowDigits = (size: number): number => {
  const scaled = size * powerOfTwo(24 - floorLog2(size))
  return (scaled - Math.floor(scaled)) * 2 ** 30
}
