/**
 * Which blocks exist at each event of a recording, who has them, and how many bytes they have. Everything that walks through events
 * keeps track of blocks here.
 *
 * Recordings of other programs, and those that begin in the middle, can contradict themselves: then the later event wins, and an event
 * of an unknown block changes nothing.
 *
 * @internal
 */
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import type { RecordingFacts } from "./RecordingFacts.ts"

/** The attributes of a request. */
interface Asked {
  readonly size: number
  readonly label?: string | undefined
  readonly callSite?: string | undefined
  readonly queue?: string | undefined
}

/** A lease of a block, or of a part of one. */
export interface LedgerLease extends Required<Asked> {
  /** The index of its block among all blocks that the ledger has had; then what else is known of the block. */
  readonly place: number
  readonly memory: number
  readonly block: number
  readonly capacity: number
  readonly pool: string
  readonly family: string | undefined
  /** Its first byte in the block, and its bytes: all of the block's, unless it is a part. */
  readonly offset: number
  readonly bytes: number
  /** The index of it among all leases that the ledger has had. */
  readonly lease: number
}

/**
 * A block, which is also the lease of all its bytes. There is one object for it as long as it exists: a recording has millions of
 * leases. Size, label, call site and queue are those of its last lease of all its bytes, or of the request that it was made for.
 */
export interface LedgerBlock extends LedgerLease {
  /** The index of the lease of all its bytes; -1 while there is none. */
  readonly lease: number
  /** The leases of its parts, by their offsets. */
  readonly parts: ReadonlyMap<number, LedgerLease>
  /** The bytes that leases have of it; the others are free. */
  readonly leasedBytes: number
}

/** Is called as each block and lease begins or ends. */
export interface BlockFollower {
  readonly begins?: (block: LedgerBlock) => void
  readonly leased?: (lease: LedgerLease) => void
  readonly released?: (lease: LedgerLease) => void
  readonly ends?: (block: LedgerBlock) => void
}

/** The leases that a block has now. */
export function* leasesOf(block: LedgerBlock): Generator<LedgerLease, void> {
  if (block.lease !== -1) yield block
  yield* block.parts.values()
}

export class LedgerBytes {
  /** What leases asked for. */
  activeBytes = 0
  /** What blocks have without a lease, and what they have in all. */
  heldBytes = 0
  managedBytes = 0
  peakManagedBytes = 0

  add(active: number, held: number, managed: number): void {
    this.activeBytes += active
    this.heldBytes += held
    this.managedBytes += managed
    if (this.managedBytes > this.peakManagedBytes) this.peakManagedBytes = this.managedBytes
  }
}

type KnownLease = { -readonly [K in keyof LedgerLease]: LedgerLease[K] }

/** A block of a pool that splits none has no map of parts. */
const noParts: ReadonlyMap<number, KnownLease> = new Map()

interface KnownBlock extends KnownLease {
  parts: ReadonlyMap<number, KnownLease>
  leasedBytes: number
}

interface Memory {
  readonly blocks: Map<number, KnownBlock>
  readonly bytes: LedgerBytes
}

const nothing: Asked = { size: 0 }

export class BlockLedger {
  /** The bytes of all memories; updated by later events. */
  readonly bytes = new LedgerBytes()
  readonly #follower: BlockFollower
  readonly #memories = new Map<number, Memory>()
  #blocks = 0
  #leases = 0

  /** Calls the follower at once for the blocks and leases before the first event. */
  constructor({ blocks }: Pick<RecordingFacts, "blocks">, follower: BlockFollower = {}) {
    this.#follower = follower
    for (const { lease, memory: number, parts = [], ...block } of blocks) {
      const memory = this.#memory(number)
      const begun = this.#begin(memory, { ...block, memoryNumber: number }, lease ?? nothing)
      if (lease !== undefined) this.#lease(memory, begun, lease, undefined)
      for (const part of parts) this.#lease(memory, begun, part, part)
    }
  }

  /** All blocks that exist now. */
  *blocks(): Generator<LedgerBlock, void> {
    for (const { blocks } of this.#memories.values()) yield* blocks.values()
  }

  /** The bytes of one memory; updated by later events. */
  bytesOf(memory: number): LedgerBytes {
    return this.#memory(memory).bytes
  }

  /** Applies an event. False if its block or lease is unknown. */
  take(event: PoolEvent): boolean {
    switch (event._tag) {
      case "Leased": {
        const memory = this.#memory(event.memoryNumber)
        const known = event.from === "driver" ? undefined : memory.blocks.get(event.block)
        if (known !== undefined) known.pool = event.pool
        this.#lease(memory, known ?? this.#begin(memory, event, event), event, event)
        return true
      }
      case "Kept":
        this.#begin(this.#memory(event.memoryNumber), event, event)
        return true
      case "Released":
      case "Freed": {
        const memory = this.#memory(event.memoryNumber)
        const known = memory.blocks.get(event.block)
        if (known === undefined) return false
        if (event._tag === "Freed") return this.#end(memory, known)
        return this.#release(memory, known, event.partBytes === undefined ? known : known.parts.get(event.offset ?? 0))
      }
      case "Closed": {
        // Not every recording has an event for each block.
        const memory = this.#memory(event.memoryNumber)
        for (const block of memory.blocks.values()) this.#end(memory, block)
        return true
      }
      default:
        return true
    }
  }

  #memory(number: number): Memory {
    const known = this.#memories.get(number)
    if (known !== undefined) return known
    const made = { blocks: new Map<number, KnownBlock>(), bytes: new LedgerBytes() }
    this.#memories.set(number, made)
    return made
  }

  #begin(
    memory: Memory,
    { block, capacity, family, memoryNumber, pool }: {
      readonly memoryNumber: number
      readonly block: number
      readonly capacity: number
      readonly pool: string
      readonly family?: string | undefined
    },
    { callSite, label, queue, size }: Asked
  ): KnownBlock {
    // An earlier block of this number has ended, though that is not recorded.
    const last = memory.blocks.get(block)
    if (last !== undefined) this.#end(memory, last)
    const begun: KnownBlock = {
      place: this.#blocks++,
      memory: memoryNumber,
      block,
      capacity,
      pool,
      family,
      offset: 0,
      bytes: capacity,
      parts: noParts,
      leasedBytes: 0,
      lease: -1,
      size,
      label,
      callSite,
      queue
    }
    memory.blocks.set(block, begun)
    this.#count(memory, 0, capacity, capacity)
    this.#follower.begins?.(begun)
    return begun
  }

  #lease(
    memory: Memory,
    block: KnownBlock,
    { callSite, label, queue, size }: Asked,
    place: { readonly offset?: number | undefined; readonly partBytes?: number | undefined } | undefined
  ): void {
    const bytes = place?.partBytes
    const lease = bytes === undefined ? block : this.#part(memory, block, place?.offset ?? 0, bytes)
    if (bytes === undefined) this.#releaseAll(memory, block)
    lease.lease = this.#leases++
    lease.size = size
    lease.label = label
    lease.callSite = callSite
    lease.queue = queue
    block.leasedBytes += lease.bytes
    this.#count(memory, size, -lease.bytes, 0)
    this.#follower.leased?.(lease)
  }

  /** A part of a block that no lease has: others in its place have ended, though that is not recorded. */
  #part(memory: Memory, block: KnownBlock, offset: number, bytes: number): KnownLease {
    this.#release(memory, block, block)
    this.#release(memory, block, block.parts.get(offset))
    if (block.leasedBytes + bytes > block.capacity) {
      for (const other of block.parts.values()) {
        if (other.offset < offset + bytes && offset < other.offset + other.bytes) this.#release(memory, block, other)
      }
      if (block.leasedBytes + bytes > block.capacity) this.#releaseAll(memory, block)
    }
    const { capacity, family, memory: number, place, pool } = block
    const known = { place, memory: number, block: block.block, capacity, pool, family, offset, bytes, lease: -1 }
    const part: KnownLease = { ...known, size: 0, label: undefined, callSite: undefined, queue: undefined }
    if (block.parts === noParts) block.parts = new Map()
    ;(block.parts as Map<number, KnownLease>).set(offset, part)
    return part
  }

  /** Whether there was a lease. */
  #release(memory: Memory, block: KnownBlock, lease: KnownLease | undefined): boolean {
    if (lease === undefined || lease.lease === -1) return false
    block.leasedBytes -= lease.bytes
    this.#count(memory, -lease.size, lease.bytes, 0)
    this.#follower.released?.(lease)
    lease.lease = -1
    if (lease !== block) (block.parts as Map<number, KnownLease>).delete(lease.offset)
    return true
  }

  #releaseAll(memory: Memory, block: KnownBlock): void {
    this.#release(memory, block, block)
    for (const part of block.parts.values()) this.#release(memory, block, part)
  }

  #end(memory: Memory, block: KnownBlock): boolean {
    this.#releaseAll(memory, block)
    memory.blocks.delete(block.block)
    this.#count(memory, 0, -block.capacity, -block.capacity)
    this.#follower.ends?.(block)
    return true
  }

  #count({ bytes }: Memory, active: number, held: number, managed: number): void {
    bytes.add(active, held, managed)
    this.bytes.add(active, held, managed)
  }
}
