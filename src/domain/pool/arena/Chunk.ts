/**
 * A slab, which is one driver allocation, and the chunks that it is divided into without gaps. A chunk is leased or free; two
 * neighbours are never both free.
 *
 * @internal
 */
import { type BlockState, nextNumber, type PoolBin, type PoolBlock } from "../PoolBlock.ts"
import { ChunkIndex, type IndexedChunk } from "./ChunkIndex.ts"

/**
 * The free chunks of one family, in slabs with leases. Small requests look first among slabs that serve small ones, and large
 * requests among the others: a small lease in a slab of large ones would keep their chunks from merging.
 */
export class Arena<A, F> implements PoolBin<F> {
  readonly family: F
  readonly ofSmall = new ChunkIndex<Chunk<A, F>>()
  readonly ofLarge = new ChunkIndex<Chunk<A, F>>()
  /** 0: its chunks have no size in common. */
  readonly size = 0

  constructor(family: F) {
    this.family = family
  }

  /** A chunk of at least so many units. */
  find(units: number, isSmall: boolean, among?: number): Chunk<A, F> | undefined {
    const { ofLarge, ofSmall } = this
    return isSmall
      ? ofSmall.find(units, among) ?? ofLarge.find(units, among)
      : ofLarge.find(units, among) ?? ofSmall.find(units, among)
  }

  /** The same among those that `accepts` returns true for, of which at most `among` of each class are looked at. */
  findAccepted(
    units: number,
    isSmall: boolean,
    accepts: (chunk: Chunk<A, F>) => boolean,
    among: number
  ): Chunk<A, F> | undefined {
    const [own, other] = isSmall ? [this.ofSmall, this.ofLarge] : [this.ofLarge, this.ofSmall]
    return own.findAccepted(units, accepts, among) ?? other.findAccepted(units, accepts, among)
  }

  /** The bytes of the largest. */
  get largest(): number {
    let largest = 0
    // A class has chunks of several sizes, and the last chunk of a slab has bytes beyond its whole units.
    for (const index of [this.ofSmall, this.ofLarge]) {
      for (const { capacity } of index.largest()) largest = Math.max(largest, capacity)
    }
    return largest
  }

  *all(): Generator<Chunk<A, F>, void> {
    yield* this.ofSmall.all()
    yield* this.ofLarge.all()
  }
}

export class Slab<A, F> {
  readonly arena: Arena<A, F>
  /** The driver's allocation, as the core of the slabs keeps it. */
  readonly block: PoolBlock<A, F>
  /** That of its block. */
  readonly capacity: number
  /** Where its free chunks are, while it has leases. */
  free: ChunkIndex<Chunk<A, F>>
  /** While it has no leases: its only chunk, or the one of its last lease, with the rest after it in no index. */
  chunk: Chunk<A, F>
  /** Leases of its chunks. */
  leases = 0
  /** Whether its memory may not exist: no chunk of it is leased again. */
  distrusted = false

  constructor(arena: Arena<A, F>, block: PoolBlock<A, F>, units: number) {
    this.arena = arena
    this.block = block
    this.capacity = block.capacity
    this.free = arena.ofLarge
    this.chunk = new Chunk(this, 0, units, block.capacity)
  }
}

/** A part of a slab. Only the arena's core and its index change it. */
export class Chunk<A, F> implements PoolBlock<A, F>, IndexedChunk<Chunk<A, F>> {
  // What neighbours look at is together in memory.
  state: BlockState = "held"
  /** Its whole units. Only the last chunk of a slab may have bytes beyond them. */
  units: number
  /** Its neighbours. */
  before: Chunk<A, F> | undefined = undefined
  after: Chunk<A, F> | undefined = undefined
  newer: Chunk<A, F> | undefined = undefined
  older: Chunk<A, F> | undefined = undefined
  readonly slab: Slab<A, F>
  /** Its first byte in the slab. */
  readonly begin: number
  number = nextNumber()
  /** Its bytes. */
  capacity: number
  request = 0
  /** The memory of its last lease. */
  value: A
  /** The memory that was made for it last, and its bytes. */
  part: A | undefined = undefined
  partBytes = 0

  constructor(slab: Slab<A, F>, begin: number, units: number, capacity: number) {
    this.slab = slab
    this.begin = begin
    this.units = units
    this.capacity = capacity
    this.value = slab.block.value
  }

  get bin(): Arena<A, F> {
    return this.slab.arena
  }

  get whole(): PoolBlock<A, F> {
    return this.slab.block
  }

  resize(units: number, capacity: number): void {
    this.units = units
    this.capacity = capacity
    // To observers it is another block.
    this.number = nextNumber()
  }
}
