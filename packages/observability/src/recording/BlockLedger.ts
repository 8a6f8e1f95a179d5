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

/** A block. There is one object for it as long as it exists: a recording has millions of leases. */
export interface LedgerBlock extends Required<Asked> {
  /** Its index among all blocks that the ledger has had. */
  readonly place: number
  readonly memory: number
  readonly block: number
  readonly capacity: number
  readonly pool: string
  readonly family: string | undefined
  /**
   * The index of its lease among all leases that the ledger has had; -1 while it is held. Size, label, call site and queue are those
   * of its last lease, or of the request that it was made for.
   */
  readonly lease: number
}

/** Is called as each block and lease begins or ends. At the end of a lease the block still has it. */
export interface BlockFollower {
  readonly begins?: (block: LedgerBlock) => void
  readonly leased?: (block: LedgerBlock) => void
  readonly released?: (block: LedgerBlock) => void
  readonly ends?: (block: LedgerBlock) => void
}

export class LedgerBytes {
  /** What leases asked for. */
  activeBytes = 0
  /** The capacity of the blocks without a lease, and of all blocks. */
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

type KnownBlock = { -readonly [K in keyof LedgerBlock]: LedgerBlock[K] }

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
    for (const { lease, memory: number, ...block } of blocks) {
      const memory = this.#memory(number)
      const begun = this.#begin(memory, { ...block, memoryNumber: number }, lease ?? nothing)
      if (lease !== undefined) this.#lease(memory, begun, lease)
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
        this.#lease(memory, known ?? this.#begin(memory, event, event), event)
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
        return event._tag === "Released" ? this.#release(memory, known) : this.#end(memory, known)
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

  #lease(memory: Memory, block: KnownBlock, { callSite, label, queue, size }: Asked): void {
    this.#release(memory, block)
    block.lease = this.#leases++
    block.size = size
    block.label = label
    block.callSite = callSite
    block.queue = queue
    this.#count(memory, size, -block.capacity, 0)
    this.#follower.leased?.(block)
  }

  /** Whether there was a lease. */
  #release(memory: Memory, block: KnownBlock): boolean {
    if (block.lease === -1) return false
    this.#count(memory, -block.size, block.capacity, 0)
    this.#follower.released?.(block)
    block.lease = -1
    return true
  }

  #end(memory: Memory, block: KnownBlock): boolean {
    this.#release(memory, block)
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
