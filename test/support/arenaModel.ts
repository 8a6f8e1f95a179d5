/**
 * An arena against a model of byte intervals: of each slab the model knows which bytes are leased, and nothing else. What is
 * free, merged, held and managed follows from that.
 */
import { assert } from "@effect/vitest"
import type { ArenaCore } from "../../src/domain/pool/arena/ArenaCore.ts"
import type { PoolBlock } from "../../src/domain/pool/PoolCore.ts"

/** The memory of a slab, or of a part of one. */
export interface Memory {
  readonly slab: number
  readonly begin: number
  readonly bytes: number
}

export type Block = PoolBlock<Memory, string>

export type Core = ArenaCore<Memory, string>

interface Lease {
  readonly block: Block
  readonly memory: Memory
  readonly request: number
}

interface ModelSlab {
  readonly family: string
  readonly bytes: number
  readonly leases: Set<Lease>
  distrusted: boolean
}

const sorted = (all: ReadonlyArray<Memory>): ReadonlyArray<string> =>
  all.map(({ begin, bytes, slab }) => `slab ${slab}: ${begin} to ${begin + bytes}`).sort()

const sum = (all: Iterable<{ readonly bytes: number }>): number =>
  Array.from(all).reduce((total, { bytes }) => total + bytes, 0)

/**
 * What a request may get: a part beside other leases; a slab of its exact size, as under a reservation; or, where a limit leaves too
 * little for its part, any slab that is no larger than the part.
 */
export type Way = "shared" | "alone" | "tight"

/** The device makes slabs of multiples of so many bytes. */
const granularity = 4

export class ArenaWorld {
  readonly core: Core
  readonly unit: number
  readonly slabs = new Map<number, ModelSlab>()
  readonly leases: Array<Lease> = []
  #made = 0

  constructor(core: Core, unit: number) {
    this.core = core
    this.unit = unit
  }

  /** As a pool: a hit, or a slab of the driver, or nothing where the limit has no room for one of the exact size. */
  lease(family: string, request: number, way: Way): void {
    const { core } = this
    const exact = Math.ceil(request / granularity) * granularity
    const part = Math.ceil(request / this.unit) * this.unit
    const shares = way === "shared"
    const wanted = shares ? core.slabs.sizePolicy.blockSize(request) : exact
    const most = shares ? 2 * wanted : way === "alone" ? exact : part
    // Above a lowered limit no request shares a slab.
    const fitted = shares && !core.isOverLimit ? this.#largestFree(family) : 0
    const before = core.fragmentedBytes
    const hit = core.acquireOwn(family, wanted, request) ?? core.borrow(family, wanted, request, most)
    if (hit !== undefined) {
      if (!shares) {
        assert.strictEqual(core.fragmentedBytes, before, "a lease that shares with none is alone in its slab")
      }
      if (way === "alone") assert.strictEqual(hit.capacity, exact, "it counts what it asks for")
      return this.#leased(hit, request)
    }
    // From 32 units on a chunk of the request's own class may be overlooked.
    const overlooked = part < 32 * this.unit ? part : part * (1 + 1 / 32) + this.unit
    assert.isBelow(fitted, overlooked, `a free chunk of ${fitted} bytes for ${part}`)
    const bytes = [wanted, exact].find((size) => core.deficit(size) === 0)
    if (bytes === undefined || !core.addPending(bytes)) return
    for (const block of core.evictOutgrown(family, bytes, most)) this.freed(block)
    const slab = ++this.#made
    this.slabs.set(slab, { family, bytes, leases: new Set(), distrusted: false })
    const lease = core.addActive(family, bytes, { slab, begin: 0, bytes }, request)
    assert.strictEqual(lease.capacity, Math.min(bytes, part), "a part of a new slab, or all of it")
    this.#leased(lease, request)
  }

  #leased(block: Block, request: number): void {
    const { value: memory } = block
    assert.strictEqual(block.state, "active")
    assert.strictEqual(block.request, request)
    assert.strictEqual(block.capacity, memory.bytes)
    const slab = this.slabs.get(memory.slab)!
    const part = Math.ceil(request / this.unit) * this.unit
    if (memory.bytes === slab.bytes) assert.isTrue(memory.bytes >= request && memory.bytes <= part)
    else assert.strictEqual(memory.bytes, part)
    assert.strictEqual(memory.begin % this.unit, 0)
    assert.isFalse(slab.distrusted, "no part of a distrusted slab is leased")
    assert.isAtMost(memory.begin + memory.bytes, slab.bytes)
    for (const other of slab.leases) {
      const apart = memory.begin + memory.bytes <= other.memory.begin ||
        other.memory.begin + other.memory.bytes <= memory.begin
      assert.isTrue(apart, `bytes from ${memory.begin} on are leased twice`)
    }
    const lease = { block, memory, request }
    slab.leases.add(lease)
    this.leases.push(lease)
  }

  end(index: number, isLost: boolean): void {
    const lease = this.leases.splice(index, 1)[0]!
    const { block, memory } = lease
    const slab = this.slabs.get(memory.slab)!
    slab.leases.delete(lease)
    if (isLost) slab.distrusted = true
    const gone = isLost ? this.core.discard(block) : this.core.release(block)
    if (gone !== undefined) {
      assert.strictEqual(gone.value.slab, memory.slab)
      assert.strictEqual(slab.leases.size, 0, "a slab with leases is freed")
      this.freed(gone)
    } else if (slab.distrusted) assert.isAbove(slab.leases.size, 0, "a distrusted slab without leases is kept")
  }

  freed(block: Block): void {
    assert.strictEqual(block.state, "detached")
    const slab = this.slabs.get(block.value.slab)!
    assert.strictEqual(slab.leases.size, 0, "a slab with leases is evicted")
    this.core.freed(block)
    this.slabs.delete(block.value.slab)
  }

  /** The free intervals of a slab, each as long as it can be. */
  #free({ bytes, distrusted, leases }: ModelSlab): Array<{ readonly begin: number; readonly bytes: number }> {
    if (distrusted) return []
    const free: Array<{ begin: number; bytes: number }> = []
    let begin = 0
    const leased = Array.from(leases, ({ memory }) => memory).sort((a, b) => a.begin - b.begin)
    for (const memory of [...leased, { begin: bytes, bytes: 0 }]) {
      if (memory.begin > begin) free.push({ begin, bytes: memory.begin - begin })
      begin = memory.begin + memory.bytes
    }
    return free
  }

  /** The largest free interval beside a lease of the family. */
  #largestFree(family: string): number {
    let largest = 0
    for (const slab of this.slabs.values()) {
      if (slab.family !== family || slab.leases.size === 0) continue
      for (const { bytes } of this.#free(slab)) largest = Math.max(largest, bytes)
    }
    return largest
  }

  check(): void {
    const { core } = this
    const free = Array.from(this.slabs).flatMap(([slab, facts]) => this.#free(facts).map((one) => ({ slab, ...one })))
    const held = Array.from(core.held(), ({ capacity, state, value }) => {
      assert.strictEqual(state, "held")
      assert.strictEqual(capacity, value.bytes)
      return value
    })
    assert.deepStrictEqual(sorted(held), sorted(free), "what is held is what is free, each interval in one piece")
    const whole = Array.from(this.slabs.values()).filter(({ distrusted, leases }) => leases.size === 0 && !distrusted)
    const requested = this.leases.reduce((total, { request }) => total + request, 0)
    assert.deepInclude({ ...core.stats() }, {
      activeBlocks: this.leases.length,
      activeBytes: requested,
      heldBlocks: free.length,
      heldBytes: sum(free),
      managedBlocks: this.slabs.size,
      managedBytes: sum(this.slabs.values()),
      fragmentedBytes: sum(free) - sum(whole),
      pendingBytes: 0
    })
    assert.strictEqual(core.evictableBytes, sum(whole))
    assert.strictEqual(core.largestHeld, Math.max(0, ...free.map(({ bytes }) => bytes)) || 0)
    assert.strictEqual(core.releases, core.hits + core.misses - this.leases.length)
    assert.strictEqual(core.driverAllocations - core.driverFrees, this.slabs.size)
  }
}
