/**
 * A slab, which is one driver allocation, and the chunks that it is divided into without gaps. A chunk is leased or free; two
 * neighbours are never both free.
 *
 * @internal
 */
import { type BlockState, nextNumber, type PoolBin, type PoolBlock } from "../PoolBlock.ts"
import type { ChunkIndex, IndexedChunk } from "./ChunkIndex.ts"

/** The free chunks of one family, in slabs with leases. */
export class Arena<A, F> implements PoolBin<F> {
  readonly family: F
  readonly free: ChunkIndex<Chunk<A, F>>
  /** 0: its chunks have no size in common. */
  readonly size = 0

  constructor(family: F, free: ChunkIndex<Chunk<A, F>>) {
    this.family = family
    this.free = free
  }
}

export class Slab<A, F> {
  readonly arena: Arena<A, F>
  /** The driver's allocation, as the core of the slabs keeps it. */
  readonly block: PoolBlock<A, F>
  readonly units: number
  /** Its only chunk, while it has no leases. */
  chunk: Chunk<A, F>
  /** Leases of its chunks. */
  leases = 0
  /** Whether its memory may not exist: no chunk of it is leased again. */
  distrusted = false

  constructor(arena: Arena<A, F>, block: PoolBlock<A, F>, units: number, unit: number) {
    this.arena = arena
    this.block = block
    this.units = units
    this.chunk = new Chunk(this, 0, units, unit)
  }
}

/** A part of a slab. Only the arena's core and its index change it. */
export class Chunk<A, F> implements PoolBlock<A, F>, IndexedChunk<Chunk<A, F>> {
  readonly slab: Slab<A, F>
  readonly bin: Arena<A, F>
  /** Its first byte in the slab. */
  readonly begin: number
  number = nextNumber()
  units: number
  /** Its bytes. */
  capacity: number
  request = 0
  state: BlockState = "held"
  /** The memory of its last lease. */
  value: A
  /** The memory that was made for it last, and its units. */
  part: A | undefined = undefined
  partUnits = 0
  /** Its neighbours. */
  before: Chunk<A, F> | undefined = undefined
  after: Chunk<A, F> | undefined = undefined
  newer: Chunk<A, F> | undefined = undefined
  older: Chunk<A, F> | undefined = undefined

  constructor(slab: Slab<A, F>, begin: number, units: number, unit: number) {
    this.slab = slab
    this.bin = slab.arena
    this.begin = begin
    this.units = units
    this.capacity = units * unit
    this.value = slab.block.value
  }

  get whole(): PoolBlock<A, F> {
    return this.slab.block
  }

  resize(units: number, unit: number): void {
    this.units = units
    this.capacity = units * unit
    // To observers it is another block.
    this.number = nextNumber()
  }
}
