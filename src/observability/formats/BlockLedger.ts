/**
 * Which blocks there are at each event of a recording, and who has them: what the exports follow.
 *
 * @internal
 */
import type { Leased, PoolEvent } from "../../domain/pool/PoolEvent.ts"
import type { RecordedBlock, Recording } from "../recording/Recording.ts"

/** A block, and its lease if it has one. */
export interface LedgerBlock {
  readonly memory: number
  readonly block: number
  readonly capacity: number
  readonly pool: string
  readonly lease: BlockLease | undefined
}

export interface BlockLease {
  /** A number for the lease, unlike that of all others. */
  readonly number: number
  readonly size: number
  readonly label: string | undefined
  readonly callSite: string | undefined
  readonly queue: string | undefined
}

/** The bytes of one memory. */
export interface LedgerBytes {
  active: number
  held: number
}

/** What an event has done to a block: as it was before, and as it is after. */
export interface BlockChange {
  readonly before: LedgerBlock | undefined
  readonly after: LedgerBlock | undefined
}

const none: BlockChange = { before: undefined, after: undefined }

export class BlockLedger {
  readonly #memories = new Map<number, { readonly blocks: Map<number, LedgerBlock>; readonly bytes: LedgerBytes }>()
  #lastLease = 0

  /** With the blocks that were there before the first event. */
  constructor({ blocks }: Recording) {
    for (const block of blocks) this.#set(block.memory, block.block, this.#ofRecorded(block))
  }

  /** All blocks that there are. */
  *blocks(): Generator<LedgerBlock> {
    for (const { blocks } of this.#memories.values()) yield* blocks.values()
  }

  /** The bytes of a memory, now and later. */
  bytesOf(memory: number): Readonly<LedgerBytes> {
    return this.#memory(memory).bytes
  }

  /** What an event does. A recording may lack what came before it: then there was nothing before the change. */
  take(event: PoolEvent): BlockChange {
    switch (event._tag) {
      case "Leased":
        return this.#set(event.memoryNumber, event.block, this.#ofLeased(event))
      case "Kept":
      case "Released": {
        const { block, capacity, memoryNumber, pool } = event
        return this.#set(memoryNumber, block, { memory: memoryNumber, block, capacity, pool, lease: undefined })
      }
      case "Freed":
        return this.#set(event.memoryNumber, event.block, undefined)
      default:
        return none
    }
  }

  #memory(number: number) {
    const known = this.#memories.get(number)
    if (known !== undefined) return known
    const made = { blocks: new Map<number, LedgerBlock>(), bytes: { active: 0, held: 0 } }
    this.#memories.set(number, made)
    return made
  }

  #set(memory: number, block: number, after: LedgerBlock | undefined): BlockChange {
    const { blocks, bytes } = this.#memory(memory)
    const before = blocks.get(block)
    if (before !== undefined) count(bytes, before, -1)
    if (after === undefined) blocks.delete(block)
    else {
      blocks.set(block, after)
      count(bytes, after, 1)
    }
    return { before, after }
  }

  #ofRecorded({ block, capacity, lease, memory, pool }: RecordedBlock): LedgerBlock {
    const leased = lease === undefined
      ? undefined
      : {
        number: ++this.#lastLease,
        size: lease.size,
        label: lease.label,
        callSite: lease.callSite,
        queue: undefined
      }
    return { memory, block, capacity, pool, lease: leased }
  }

  #ofLeased({ block, callSite, capacity, label, memoryNumber, pool, queue, size }: Leased): LedgerBlock {
    const lease = { number: ++this.#lastLease, size, label, callSite, queue }
    return { memory: memoryNumber, block, capacity, pool, lease }
  }
}

const count = (bytes: LedgerBytes, { capacity, lease }: LedgerBlock, sign: 1 | -1): void => {
  if (lease === undefined) bytes.held += sign * capacity
  else bytes.active += sign * capacity
}
