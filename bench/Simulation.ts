/** A trace on the synchronous core of a pool, without a device: what a size policy makes of it. */
import { type EvictionPolicy, SizePolicy } from "effect-gpu-pool"
import { PoolCore } from "effect-gpu-pool/machine"
import type { Step } from "./Traces.ts"

/** The core counts calls of the driver; requested and wasted bytes are counted here. */
export interface Outcome {
  readonly leases: number
  readonly hits: number
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

type Block = PoolCore.PoolBlock<undefined>

const family = 0
const granularity = 4

/** How a simulated pool limits its memory. */
export interface Thrift {
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

/**
 * A pool with the fallback of the buffer pool: own bin, larger bins, the driver, eviction by need, and the exact size
 * near a limit.
 */
class SimulatedPool {
  readonly core: PoolCore.PoolCore<undefined>
  failures = 0
  /** Capacity of the live blocks. */
  capacity = 0
  readonly #policy: SizePolicy.SizePolicy
  readonly #sizeOf: (request: number) => number

  constructor(policy: SizePolicy.SizePolicy, { eviction, idleSteps, maxBytes = Infinity, maxHeldBytes }: Thrift) {
    this.core = new PoolCore.PoolCore({
      maxBytes,
      maxHeldBytes,
      eviction,
      idle: idleSteps === undefined ? undefined : { steps: ticks, keepBytes: 0 },
      outgrown: policy.borrow === 0 || maxHeldBytes !== undefined ? undefined : { mostLeasedBytes: 0, missedBytes: 0 }
    })
    this.#policy = policy
    this.#sizeOf = SizePolicy.forDevice(policy, { granularity, maxBlockBytes: maxBytes })
  }

  allocate(size: number): Block | undefined {
    const most = this.#policy.borrow === 0 ? Infinity : size + this.core.nextPadding
    const policySize = this.#sizeOf(size)
    const blockSize = policySize > most ? size : policySize
    const limit = SizePolicy.borrowLimit(this.#policy, blockSize)
    const block = this.core.acquire(family, blockSize, size, Math.min(limit, most)) ??
      this.#miss(blockSize, size, limit)
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

  #miss(blockSize: number, size: number, limit: number): Block | undefined {
    const capacity = [blockSize, size].find((bytes) => this.#makeRoom(bytes, size))
    if (capacity === undefined) return undefined
    for (const block of this.core.evictOutgrown(family, capacity, limit)) this.core.freed(block)
    return capacity === blockSize || this.#policy.borrow > 0
      ? this.core.addActive(family, capacity, undefined, size)
      : this.core.addActiveUnbinned(capacity, undefined, size)
  }

  #makeRoom(bytes: number, size: number): boolean {
    if (this.core.deficit(bytes) > this.core.heldBytes) return false
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
  #steps = 0

  constructor(pool: SimulatedPool, stepsPerTick: number) {
    this.pool = pool
    this.#stepsPerTick = stepsPerTick
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
    this.#live[slot] = size === 0 ? undefined : this.pool.allocate(size)
    this.wasted += this.pool.capacity - core.activeBytes
    this.asked += core.activeBytes
    this.lastPeakLiveBytes = Math.max(this.lastPeakLiveBytes, core.activeBytes)
    if (++this.#steps % this.#stepsPerTick === 0) this.pool.tick()
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
  const player = new Player(pool, thrift.idleSteps === undefined ? Infinity : Math.ceil(thrift.idleSteps / ticks))
  for (const steps of phases) player.phase(steps)
  const { heldBytes, hits, misses, peakActiveBytes, peakManagedBytes } = pool.core
  return {
    leases: hits + misses + pool.failures,
    hits,
    peakManagedBytes,
    peakLiveBytes: peakActiveBytes,
    waste: player.wasted / player.asked,
    heldBytes,
    lastPeakLiveBytes: player.lastPeakLiveBytes,
    failures: pool.failures
  }
}
