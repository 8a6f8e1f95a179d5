/**
 * The reference model of PoolCore: one array of blocks, linear scans, BigInt bytes.
 */
import type { PoolStats } from "../../src/domain/PoolStats.ts"

export const largest = Number.MAX_SAFE_INTEGER

// The reference model: one array of blocks, linear scans, BigInt bytes.

type State = "active" | "held" | "gone"

export interface ModelBlock {
  readonly id: number
  readonly family: string
  readonly binned: boolean
  readonly capacity: bigint
  request: bigint
  state: State
  heldAt: number
  /** When its bin last became non-empty: of two bins of one size, the later is evicted first. */
  binFilledAt: number
}

type BigStats = Record<keyof PoolStats, bigint>

const noStats = (): BigStats => ({
  heldBlocks: 0n,
  activeBlocks: 0n,
  managedBlocks: 0n,
  heldBytes: 0n,
  activeBytes: 0n,
  managedBytes: 0n,
  reservedBytes: 0n,
  peakActiveBytes: 0n,
  peakActiveBlocks: 0n,
  peakManagedBytes: 0n,
  peakManagedBlocks: 0n,
  hits: 0n,
  borrows: 0n,
  misses: 0n,
  driverAllocations: 0n,
  driverFrees: 0n,
  releaseFailures: 0n
})

const bigMax = (a: bigint, b: bigint): bigint => a > b ? a : b

const sum = (blocks: ReadonlyArray<ModelBlock>, bytes: (block: ModelBlock) => bigint): bigint =>
  blocks.reduce((total, block) => total + bytes(block), 0n)

export class Model {
  blocks: Array<ModelBlock> = []
  holding = true
  limit: number = Infinity
  private clock = 0
  private readonly totals = noStats()

  held(family?: string): Array<ModelBlock> {
    return this.blocks.filter((block) => block.state === "held" && (family === undefined || block.family === family))
  }

  active(): Array<ModelBlock> {
    return this.blocks.filter((block) => block.state === "active")
  }

  available(): bigint {
    const limit = BigInt(Math.min(this.limit, largest))
    return limit - sum(this.blocks, (block) => block.capacity) - this.totals.reservedBytes
  }

  deficit(bytes: number): bigint {
    const missing = bigMax(BigInt(bytes) - this.available(), 0n)
    return missing > BigInt(largest) ? BigInt(largest) : missing
  }

  reserve(bytes: number): boolean {
    const fits = BigInt(bytes) <= this.available()
    if (fits) this.totals.reservedBytes += BigInt(bytes)
    return fits
  }

  unreserve(bytes: number): void {
    this.totals.reservedBytes -= BigInt(bytes)
  }

  add(id: number, family: string, capacity: number, binned: boolean): ModelBlock {
    this.unreserve(capacity)
    const block: ModelBlock = {
      id,
      family,
      binned,
      capacity: BigInt(capacity),
      request: 0n,
      state: "gone",
      heldAt: 0,
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

  miss(block: ModelBlock, request: number): void {
    this.totals.misses++
    this.activate(block, request)
  }

  acquire(family: string, blockSize: number, request: number, limit: number): ModelBlock | undefined {
    const fitting = this.held(family)
      .filter((block) =>
        block.capacity === BigInt(blockSize) ||
        (block.capacity > BigInt(blockSize) && block.capacity <= BigInt(limit))
      )
      .sort((a, b) => a.capacity === b.capacity ? b.heldAt - a.heldAt : a.capacity < b.capacity ? -1 : 1)
    const block = fitting[0]
    if (block === undefined) return undefined
    this.totals.hits++
    if (block.capacity !== BigInt(blockSize)) this.totals.borrows++
    this.activate(block, request)
    return block
  }

  /** False when the block has to be freed. */
  release(block: ModelBlock): boolean {
    block.state = "gone"
    block.request = 0n
    return this.keep(block)
  }

  keep(block: ModelBlock): boolean {
    if (!this.holding || !block.binned) return false
    const others = this.held(block.family).filter((other) => other.capacity === block.capacity)
    this.clock++
    block.heldAt = this.clock
    block.binFilledAt = others[0]?.binFilledAt ?? this.clock
    block.state = "held"
    return true
  }

  largest(): ModelBlock | undefined {
    return this.held().sort((a, b) =>
      a.capacity === b.capacity ? evictionOrder(a, b) : a.capacity > b.capacity ? -1 : 1
    )[0]
  }

  covering(deficit: number): ModelBlock | undefined {
    const covering = this.held()
      .filter((block) => block.capacity >= BigInt(deficit))
      .sort((a, b) => a.capacity === b.capacity ? evictionOrder(a, b) : a.capacity < b.capacity ? -1 : 1)
    return covering[0] ?? this.largest()
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
