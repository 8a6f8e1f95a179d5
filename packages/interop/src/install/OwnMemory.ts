/**
 * The pool that an installation has for itself.
 *
 * @internal
 */
import { type PoolBlock, PoolCore } from "effect-gpu-pool/PoolCore"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import { refusalOf } from "./Holders.ts"
import { type Asked, create, type Lent, type Memory } from "./Memory.ts"
import type { Buffer, Native } from "./Native.ts"
import type { Settings } from "./Options.ts"
import { Slot } from "./Slot.ts"

/** Blocks have multiples of so many bytes. */
const granularity = 16

export class OwnMemory implements Memory {
  isFreeing = false
  readonly #core: PoolCore<Slot>
  readonly #native: Native
  readonly #settings: Settings
  /** Those that programs have. */
  readonly #live: Iterable<Slot>
  readonly #blockSize: (request: number) => number

  constructor(native: Native, settings: Settings, live: Iterable<Slot>, maxBufferBytes: number) {
    this.#native = native
    this.#settings = settings
    this.#live = live
    this.#blockSize = SizePolicy.forDevice(settings.sizePolicy, { granularity, maxBlockBytes: maxBufferBytes })
    this.#core = new PoolCore<Slot>({ maxBytes: settings.maxBytes, outgrown: { mostLeasedBytes: 0, missedBytes: 0 } })
  }

  lend(asked: Asked): Lent {
    const { size, usage } = asked
    const blockSize = this.#blockSize(size)
    const block = this.#core.acquire(usage, blockSize, size, this.#mostBorrowed(blockSize))
    return block === undefined ? this.#miss(asked, blockSize) : block.value
  }

  own(asked: Asked): Lent {
    const { size } = asked
    if (!this.#makeRoom(size)) return this.#refusal(asked)
    const slot = new Slot(size, asked.usage)
    slot.held = this.#native.createBuffer(asked)
    this.#core.addPending(size, size)
    slot.block = this.#core.addActiveUnbinned(size, slot, size)
    return slot
  }

  giveBack(slot: Slot, buffer: Buffer): boolean {
    const block = this.#blockOf(slot)
    const detached = slot.isBroken ? this.#core.discard(block) : this.#core.release(block)
    if (detached === undefined) {
      slot.held = buffer
      return false
    }
    this.#core.freed(detached)
    return true
  }

  discard(slot: Slot): void {
    const detached = this.#core.discard(this.#blockOf(slot))
    if (detached !== undefined) this.#core.freed(detached)
  }

  refused(slot: Slot): void {
    if (slot.held === undefined) return
    for (const block of this.#core.evictWhich((value) => value === slot)) this.#destroy(block)
  }

  trim(): void {
    for (const block of this.#core.evictAll()) this.#destroy(block)
  }

  stop(): void {
    this.#core.stopHolding()
    this.trim()
  }

  stats(): PoolStats {
    return this.#core.stats()
  }

  #blockOf(slot: Slot): PoolBlock<Slot> {
    // The slots of an installation's own pool have its blocks.
    return slot.block as PoolBlock<Slot>
  }

  #mostBorrowed(blockSize: number): number {
    return SizePolicy.borrowLimit(this.#settings.sizePolicy, blockSize)
  }

  #miss(asked: Asked, blockSize: number): Lent {
    const { label, size, usage } = asked
    const core = this.#core
    // Less than the bin's size where a limit leaves too little for that.
    const capacity = blockSize - size <= core.nextPadding && this.#makeRoom(blockSize) ? blockSize : size
    if (!this.#makeRoom(capacity)) return this.#refusal(asked)
    const slot = new Slot(capacity, usage)
    core.addPending(capacity, size)
    // Blocks that are too small for what the program asks for now go, as in every pool.
    for (const block of core.evictOutgrown(usage, capacity, this.#mostBorrowed(capacity))) this.#destroy(block)
    try {
      const { buffer, creation } = create(this.#native, { label, size: capacity, usage })
      slot.held = buffer
      slot.creation = creation
    } catch (error) {
      core.removePending(capacity, size)
      throw error
    }
    slot.block = core.addActive(usage, capacity, slot, size)
    return slot
  }

  #makeRoom(bytes: number): boolean {
    for (let missing = this.#core.deficit(bytes); missing > 0; missing = this.#core.deficit(bytes)) {
      const block = this.#core.evictNext(missing)
      if (block === undefined) return false
      this.#destroy(block)
    }
    return true
  }

  #refusal({ size }: Asked): string {
    const { activeBytes, maxBytes } = this.#core
    return refusalOf(size, { live: this.#live, maxBytes, usedBytes: activeBytes })
  }

  #destroy(block: PoolBlock<Slot>): void {
    const slot = block.value
    const buffer = slot.held
    slot.held = undefined
    this.isFreeing = true
    try {
      buffer?.destroy()
    } finally {
      this.isFreeing = false
    }
    this.#core.freed(block)
  }
}
