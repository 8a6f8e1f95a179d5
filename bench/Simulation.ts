/** A trace on the synchronous core of a pool, without a device: what a size policy makes of it. */
import { type EvictionPolicy, SizePolicy } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { PoolCore } from "effect-gpu-pool/machine"
import * as Random from "./Random.ts"
import type { Step } from "./Traces.ts"

/** The core counts calls of the driver; requested and wasted bytes are counted here. */
export interface Outcome {
  readonly leases: number
  readonly hits: number
  /** Allocations and frees. */
  readonly driverCalls: number
  readonly peakManagedBytes: number
  readonly peakLiveBytes: number
  /** Bytes of live blocks beyond the requested ones, over the requested bytes: both summed over all steps. */
  readonly waste: number
  /** Held bytes at the end of the last phase, while its buffers are live. */
  readonly heldBytes: number
  /** The most bytes that were requested at one time in the last phase. */
  readonly lastPeakLiveBytes: number
  /** Requests for which there was no room within the limit. */
  readonly failures: number
}

/** Of a driver's allocation; its parts have the same. */
interface Memory {
  readonly bytes: number
}

type Block = PoolCore.PoolBlock<Memory>

const family = 0
const granularity = 4
/** Of parts, as WebGPU has it. */
const alignment = 256

/** What a simulated pool does beside what its size policy says. */
export interface Thrift {
  /** How it keeps free memory; blocks without it. An arena has no size policy. */
  readonly strategy?: PoolStrategy.PoolStrategy | undefined
  /** The memory of how many random live buffers a new one must not share, where the limit allows that. */
  readonly apartFrom?: number | undefined
  /** The most bytes that it manages. */
  readonly maxBytes?: number | undefined
  /** The most bytes that it holds. Without it a pool whose policy borrows frees what the program has outgrown. */
  readonly maxHeldBytes?: number | undefined
  /** How many steps of a trace an idle block is kept. */
  readonly idleSteps?: number | undefined
  /** Which held blocks are evicted where the limit leaves no room. */
  readonly eviction?: EvictionPolicy.EvictionPolicy | undefined
}

/** How often a pool looks for idle blocks within that time. */
const ticks = 4

/** How many chunks of a class, or blocks of a bin, are looked at for memory apart from other buffers. */
const looksAt = 8

const split = {
  alignment,
  splits: () => true,
  part: (slab: Memory) => slab
}

/**
 * A pool with the fallback of the buffer pool: own bin, larger bins, the driver, eviction by need, and the exact size
 * near a limit.
 */
class SimulatedPool {
  readonly core: PoolCore.BlockCore<Memory>
  failures = 0
  /** Capacity of the live blocks. */
  capacity = 0
  readonly #policy: SizePolicy.SizePolicy
  readonly #sizeOf: (request: number) => number
  readonly #exactSizeOf: (request: number) => number

  constructor(policy: SizePolicy.SizePolicy, thrift: Thrift) {
    const { eviction, idleSteps, maxBytes = Infinity, maxHeldBytes, strategy = PoolStrategy.blocks } = thrift
    this.core = strategy.core({
      maxBytes,
      maxHeldBytes,
      eviction,
      idle: idleSteps === undefined ? undefined : PoolCore.idleDecay({ steps: ticks, keepBytes: 0 }),
      outgrown: maxHeldBytes === undefined ? { mostLeasedBytes: 0, missedBytes: 0 } : undefined
    }, split)
    const { slabs } = this.core
    this.#policy = slabs?.sizePolicy ?? policy
    const ofDevice = { granularity: slabs?.unit ?? granularity }
    this.#sizeOf = SizePolicy.forDevice(this.#policy, { ...ofDevice, maxBlockBytes: maxBytes })
    this.#exactSizeOf = SizePolicy.forDevice(SizePolicy.exact, { ...ofDevice, maxBlockBytes: Infinity })
  }

  /** A buffer that shares no memory with `others`, or, where the limit has no room for that, any. */
  allocate(size: number, others: ReadonlySet<Memory>): Block | undefined {
    const exact = this.#exactSizeOf(size)
    const most = this.#policy.borrow === 0 ? Infinity : exact + this.core.nextPadding
    const policySize = this.#sizeOf(size)
    const blockSize = policySize > most ? exact : policySize
    const limit = SizePolicy.borrowLimit(this.#policy, blockSize)
    const held = () => this.core.acquire(family, blockSize, size, Math.min(limit, most))
    const block = others.size === 0
      ? held() ?? this.#miss(blockSize, exact, size, limit)
      : this.core.acquireAccepted(
        family,
        blockSize,
        size,
        Math.min(limit, most),
        (memory) => !others.has(memory),
        looksAt
      ) ?? this.#miss(blockSize, exact, size, limit) ?? held()
    if (block === undefined) this.failures++
    else this.capacity += block.capacity
    return block
  }

  release(block: Block): void {
    this.capacity -= block.capacity
    const gone = this.core.release(block)
    if (gone !== undefined) this.core.freed(gone)
    while (this.core.excessHeld) this.core.freed(this.core.evictOldest()!)
  }

  /** One tick of the time after which idle blocks are freed. */
  tick(): void {
    this.core.tick()
    for (let block = this.core.evictIdle(); block !== undefined; block = this.core.evictIdle()) this.core.freed(block)
  }

  #miss(blockSize: number, exact: number, size: number, limit: number): Block | undefined {
    const capacity = [blockSize, exact].find((bytes) => this.#makeRoom(bytes, size))
    if (capacity === undefined) return undefined
    if (this.#policy.borrow > 0) {
      for (const block of this.core.evictOutgrown(family, capacity, limit)) this.core.freed(block)
    }
    const memory = { bytes: capacity }
    return capacity === blockSize || this.#policy.borrow > 0
      ? this.core.addActive(family, capacity, memory, size)
      : this.core.addActiveUnbinned(capacity, memory, size)
  }

  #makeRoom(bytes: number, size: number): boolean {
    if (this.core.deficit(bytes) > this.core.evictableBytes) return false
    while (!this.core.addPending(bytes, size)) {
      const block = this.core.evictNext(this.core.deficit(bytes))
      if (block === undefined) return false
      this.core.freed(block)
    }
    return true
  }
}

/** Plays the steps of a trace on a pool, and sums up what only the trace knows. */
class Player {
  readonly pool: SimulatedPool
  wasted = 0
  asked = 0
  lastPeakLiveBytes = 0
  #live: Array<Block | undefined> = []
  readonly #stepsPerTick: number
  readonly #apartFrom: number
  readonly #random = Random.make(1)
  #steps = 0

  constructor(pool: SimulatedPool, { apartFrom = 0, idleSteps }: Thrift) {
    this.pool = pool
    this.#stepsPerTick = idleSteps === undefined ? Infinity : Math.ceil(idleSteps / ticks)
    this.#apartFrom = apartFrom
  }

  phase(steps: ReadonlyArray<Step>): void {
    for (const block of this.#live) this.#release(block)
    this.#live = []
    this.lastPeakLiveBytes = 0
    for (const step of steps) this.#step(step)
  }

  #step({ size, slot }: Step): void {
    const { core } = this.pool
    this.#release(this.#live[slot])
    this.#live[slot] = size === 0 ? undefined : this.pool.allocate(size, this.#others())
    this.wasted += this.pool.capacity - core.activeBytes
    this.asked += core.activeBytes
    this.lastPeakLiveBytes = Math.max(this.lastPeakLiveBytes, core.activeBytes)
    if (++this.#steps % this.#stepsPerTick === 0) this.pool.tick()
  }

  /** The memory of a few live buffers, as those that a kernel reads for its output. */
  #others(): ReadonlySet<Memory> {
    const others = new Set<Memory>()
    if (this.#apartFrom === 0) return others
    const live = this.#live.filter((block) => block !== undefined)
    for (let left = this.#apartFrom; left > 0 && live.length > 0; left--) {
      others.add(Random.pick(this.#random, live).value)
    }
    return others
  }

  #release(block: Block | undefined): void {
    if (block !== undefined) this.pool.release(block)
  }
}

export const simulate = (
  policy: SizePolicy.SizePolicy,
  phases: ReadonlyArray<ReadonlyArray<Step>>,
  thrift: Thrift = {}
): Outcome => {
  const pool = new SimulatedPool(policy, thrift)
  const player = new Player(pool, thrift)
  for (const steps of phases) player.phase(steps)
  const { driverAllocations, driverFrees, heldBytes, hits, misses, peakActiveBytes, peakManagedBytes } = pool.core
  return {
    leases: hits + misses + pool.failures,
    hits,
    driverCalls: driverAllocations + driverFrees,
    peakManagedBytes,
    peakLiveBytes: peakActiveBytes,
    waste: player.wasted / player.asked,
    heldBytes,
    lastPeakLiveBytes: player.lastPeakLiveBytes,
    failures: pool.failures
  }
}
