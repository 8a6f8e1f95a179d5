/**
 * The reference model of PoolCore: one array of blocks, linear scans, BigInt bytes.
 */
import * as EvictionPolicy from "../../src/domain/pool/EvictionPolicy.ts"
import type { IdleDecayOptions } from "../../src/domain/pool/IdleDecay.ts"
import type { PoolCoreOptions } from "../../src/domain/pool/PoolCore.ts"
import type { PoolStats } from "../../src/domain/pool/PoolStats.ts"

export const largest = Number.MAX_SAFE_INTEGER

type State = "active" | "held" | "gone"

export interface ModelBlock {
  readonly id: number
  readonly family: string
  readonly binned: boolean
  readonly capacity: bigint
  request: bigint
  state: State
  heldAt: number
  /** The tick in which it became idle. */
  idleSince: number
  /** When its bin last became non-empty: of two bins of one size, the later is evicted first. */
  binFilledAt: number
}

type BigStats = Record<keyof PoolStats, bigint>

const noStats = (): BigStats => ({
  heldBlocks: 0n,
  activeBlocks: 0n,
  managedBlocks: 0n,
  heldBytes: 0n,
  fragmentedBytes: 0n,
  activeBytes: 0n,
  managedBytes: 0n,
  pendingBytes: 0n,
  peakActiveBytes: 0n,
  peakActiveBlocks: 0n,
  peakManagedBytes: 0n,
  peakManagedBlocks: 0n,
  hits: 0n,
  borrows: 0n,
  misses: 0n,
  driverAllocations: 0n,
  driverFrees: 0n,
  releaseFailures: 0n,
  waiters: 0n,
  reservedBytes: 0n
})

const bigMax = (a: bigint, b: bigint): bigint => a > b ? a : b

const sum = (blocks: ReadonlyArray<ModelBlock>, bytes: (block: ModelBlock) => bigint): bigint =>
  blocks.reduce((total, block) => total + bytes(block), 0n)

export class Model {
  blocks: Array<ModelBlock> = []
  holding = true
  limit: number
  maxHeld: number
  /** Whether it knows how long its blocks have been held. */
  ordered: boolean
  releases = 0n
  readonly idle: IdleDecayOptions | undefined
  private clock = 0
  private now = 0
  /** When a block of each bin was last leased or released. */
  private readonly uses = new Map<string, number>()
  private readonly eviction: EvictionPolicy.EvictionPolicy
  /** The bytes that became idle in each tick and still were when it ended. */
  private readonly idled = new Map<number, bigint>()
  private readonly totals = noStats()
  /** The requested sizes within the pending bytes. */
  private pendingRequests = 0n
  private readonly freesOutgrown: boolean
  private mostLeased: bigint
  private missed: bigint
  /** Blocks that were freed as outgrown, and that no request has needed since. */
  private outgrown: Array<Pick<ModelBlock, "family" | "capacity">> = []

  constructor(options: PoolCoreOptions) {
    this.limit = options.maxBytes ?? Infinity
    this.maxHeld = options.maxHeldBytes ?? Infinity
    this.idle = options.idle
    this.freesOutgrown = options.outgrown !== undefined
    this.mostLeased = BigInt(options.outgrown?.mostLeasedBytes ?? 0)
    this.missed = BigInt(options.outgrown?.missedBytes ?? 0)
    this.eviction = options.eviction ?? EvictionPolicy.byNeed
    const byAge = [this.eviction.whenKnown, this.eviction.whenUnknown]
      .some((order) => order === "oldestFirst" || order === "leastRecentlyUsed")
    this.ordered = options.recency === true || options.idle !== undefined || this.maxHeld < Infinity || byAge
  }

  held(family?: string): Array<ModelBlock> {
    return this.blocks.filter((block) => block.state === "held" && (family === undefined || block.family === family))
  }

  active(): Array<ModelBlock> {
    return this.blocks.filter((block) => block.state === "active")
  }

  available(): bigint {
    const limit = BigInt(Math.min(this.limit, largest))
    return limit - sum(this.blocks, (block) => block.capacity) - this.totals.pendingBytes
  }

  deficit(bytes: number): bigint {
    const missing = bigMax(BigInt(bytes) - this.available(), 0n)
    return missing > BigInt(largest) ? BigInt(largest) : missing
  }

  addPending(bytes: number, request: number): boolean {
    const fits = BigInt(bytes) <= this.available()
    if (!fits) return false
    this.totals.pendingBytes += BigInt(bytes)
    this.pendingRequests += BigInt(request)
    return true
  }

  removePending(bytes: number, request: number): void {
    this.totals.pendingBytes -= BigInt(bytes)
    this.pendingRequests -= BigInt(request)
  }

  /** Bytes of active blocks and of pending driver calls beyond the requested sizes. */
  get padding(): bigint {
    const { active, held } = this.sums()
    const capacity = sum(this.blocks, (block) => block.capacity) - held.bytes
    return capacity - active.bytes + this.totals.pendingBytes - this.pendingRequests
  }

  /** The largest padding of the next request's block. */
  get nextPadding(): bigint | undefined {
    return this.limit === Infinity ? undefined : bigMax(BigInt(this.limit) / 12n - this.padding, 0n) / 2n
  }

  /** Records a miss that a block of `size` to `most` bytes would have avoided. */
  miss(family: string, size: number, most: number): void {
    const again = this.outgrown
      .filter((one) => one.family === family && one.capacity >= BigInt(size) && one.capacity <= BigInt(most))
      .sort((a, b) => a.capacity < b.capacity ? -1 : 1)[0]
    if (again === undefined) return
    this.missed += again.capacity
    this.outgrown = this.outgrown.filter((one) => one !== again)
  }

  /** The next outgrown block to free, at a miss of `size` bytes. */
  nextOutgrown(family: string, size: number): ModelBlock | undefined {
    if (!this.freesOutgrown) return undefined
    const leased = this.sums().active.bytes + this.pendingRequests
    this.mostLeased = bigMax(this.mostLeased, bigMax(leased, this.totals.peakActiveBytes))
    const managed = sum(this.blocks, (block) => block.capacity) + this.totals.pendingBytes
    const allowed = 2n * this.mostLeased - (this.mostLeased + 9n) / 10n + this.missed
    if (managed <= (allowed > BigInt(largest) ? BigInt(largest) : allowed)) return undefined
    return this.held(family)
      .filter(({ capacity }) => capacity < BigInt(size))
      .sort((a, b) => a.capacity === b.capacity ? b.heldAt - a.heldAt : a.capacity < b.capacity ? 1 : -1)[0]
  }

  freedOutgrown({ capacity, family }: ModelBlock): void {
    this.outgrown.push({ capacity, family })
  }

  add(id: number, family: string, capacity: number, binned: boolean, request: number): ModelBlock {
    this.removePending(capacity, request)
    const block: ModelBlock = {
      id,
      family,
      binned,
      capacity: BigInt(capacity),
      request: 0n,
      state: "gone",
      heldAt: 0,
      idleSince: 0,
      binFilledAt: 0
    }
    this.blocks.push(block)
    this.totals.driverAllocations++
    this.peaks()
    return block
  }

  activate(block: ModelBlock, request: number): void {
    block.state = "active"
    block.request = BigInt(request)
    this.peaks()
  }

  serve(block: ModelBlock, request: number): void {
    this.totals.misses++
    this.activate(block, request)
  }

  acquire(family: string, blockSize: number, request: number, limit: number): ModelBlock | undefined {
    const fitting = this.held(family)
      .filter((block) =>
        block.capacity === BigInt(blockSize) ||
        (limit > blockSize && block.capacity >= BigInt(request) && block.capacity <= BigInt(limit))
      )
      .sort((a, b) => a.capacity === b.capacity ? b.heldAt - a.heldAt : a.capacity < b.capacity ? -1 : 1)
    const block = fitting.find((block) => block.capacity === BigInt(blockSize)) ?? fitting[0]
    if (block === undefined) return undefined
    this.totals.hits++
    if (block.capacity !== BigInt(blockSize)) this.totals.borrows++
    this.use(block)
    this.activate(block, request)
    return block
  }

  /** Returns false if the block must be freed. */
  release(block: ModelBlock): boolean {
    this.end(block)
    return this.keep(block)
  }

  end(block: ModelBlock): void {
    this.releases++
    block.state = "gone"
    block.request = 0n
  }

  keep(block: ModelBlock): boolean {
    const excess = this.available() < 0n || Number(block.capacity) > this.maxHeld
    if (!this.holding || !block.binned || excess) return false
    this.hold(block)
    return true
  }

  setMaxHeld(bytes: number): void {
    this.maxHeld = bytes
    if (this.ordered || bytes === Infinity) return
    this.ordered = true
    const blocks = this.held().sort((a, b) => -largestFirst(a, b))
    for (const block of blocks) block.state = "gone"
    for (const block of blocks) this.hold(block)
  }

  oldest(): ModelBlock | undefined {
    return this.held().sort((a, b) => a.heldAt - b.heldAt)[0]
  }

  /** Of several ticks, blocks may have become idle only in the last one. */
  tick(ticks: number): void {
    const became = this.held().filter((block) => block.idleSince === this.now)
    this.now += ticks - 1
    for (const block of became) block.idleSince = this.now
    this.idled.set(this.now, sum(became, (block) => block.capacity))
    this.now++
  }

  /** The blocks grouped by their idle time in whole ticks, the longest first; in a group, the oldest first. */
  cohorts(
    steps: number
  ): ReadonlyArray<{ readonly idle: number; readonly staying: bigint; blocks: Array<ModelBlock> }> {
    const idleFor = (block: ModelBlock) => Math.min(Math.max(this.now - 1 - block.idleSince, 0), steps)
    return Array.from({ length: steps }, (_, n) => steps - n).map((idle) => {
      const idled = this.idled.get(this.now - 1 - idle) ?? 0n
      const left = BigInt(steps - idle)
      return {
        idle,
        staying: (idled * left + BigInt(steps) - 1n) / BigInt(steps),
        blocks: this.held().filter((block) => idleFor(block) === idle).sort((a, b) => a.heldAt - b.heldAt)
      }
    })
  }

  nextIdle(): ModelBlock | undefined {
    if (this.idle === undefined) return undefined
    const spare = sum(this.held(), (block) => block.capacity) - BigInt(this.idle.keepBytes)
    const going = this.cohorts(this.idle.steps).find(({ blocks, staying }) => {
      const over = sum(blocks, (block) => block.capacity) - staying
      return blocks.length > 0 && blocks[0]!.capacity <= (over < spare ? over : spare)
    })
    return going?.blocks[0]
  }

  largest(): ModelBlock | undefined {
    return this.held().sort(largestFirst)[0]
  }

  /** The block to evict next, while a known or unknown number of bytes is missing. */
  next(missing: number | undefined): ModelBlock | undefined {
    switch (missing === undefined ? this.eviction.whenUnknown : this.eviction.whenKnown) {
      case "byNeed":
        return missing === undefined ? this.largest() : this.covering(missing) ?? this.largest()
      case "largestFirst":
        return this.largest()
      case "oldestFirst":
        return this.oldest()
      case "leastRecentlyUsed":
        return this.held().sort((a, b) => this.usedAt(a) - this.usedAt(b) || b.heldAt - a.heldAt)[0]
    }
  }

  private covering(deficit: number): ModelBlock | undefined {
    return this.held()
      .filter((block) => block.capacity >= BigInt(deficit))
      .sort((a, b) => a.capacity === b.capacity ? evictionOrder(a, b) : a.capacity < b.capacity ? -1 : 1)[0]
  }

  private use({ capacity, family }: ModelBlock): void {
    this.uses.set(`${family} ${capacity}`, ++this.clock)
  }

  private usedAt({ capacity, family }: ModelBlock): number {
    return this.uses.get(`${family} ${capacity}`)!
  }

  free(block: ModelBlock): void {
    this.blocks = this.blocks.filter((other) => other !== block)
    this.totals.driverFrees++
  }

  stats(): BigStats {
    const { active, held } = this.sums()
    return {
      ...this.totals,
      heldBlocks: held.blocks,
      activeBlocks: active.blocks,
      managedBlocks: BigInt(this.blocks.length),
      heldBytes: held.bytes,
      activeBytes: active.bytes,
      managedBytes: sum(this.blocks, (block) => block.capacity)
    }
  }

  private hold(block: ModelBlock): void {
    const others = this.held(block.family).filter((other) => other.capacity === block.capacity)
    this.use(block)
    block.heldAt = this.clock
    block.idleSince = this.now
    block.binFilledAt = others[0]?.binFilledAt ?? this.clock
    block.state = "held"
  }

  private sums() {
    const held = this.held()
    const active = this.active()
    return {
      held: { blocks: BigInt(held.length), bytes: sum(held, (block) => block.capacity) },
      active: { blocks: BigInt(active.length), bytes: sum(active, (block) => block.request) }
    }
  }

  private peaks(): void {
    const { active } = this.sums()
    const managed = sum(this.blocks, (block) => block.capacity)
    const totals = this.totals
    totals.peakActiveBytes = bigMax(totals.peakActiveBytes, active.bytes)
    totals.peakActiveBlocks = bigMax(totals.peakActiveBlocks, active.blocks)
    totals.peakManagedBytes = bigMax(totals.peakManagedBytes, managed)
    totals.peakManagedBlocks = bigMax(totals.peakManagedBlocks, BigInt(this.blocks.length))
  }
}

const evictionOrder = (a: ModelBlock, b: ModelBlock): number =>
  a.family === b.family ? b.heldAt - a.heldAt : b.binFilledAt - a.binFilledAt

const largestFirst = (a: ModelBlock, b: ModelBlock): number =>
  a.capacity === b.capacity ? evictionOrder(a, b) : a.capacity > b.capacity ? -1 : 1
