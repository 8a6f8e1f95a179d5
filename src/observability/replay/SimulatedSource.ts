/**
 * Where a replayed pool gets its blocks: they are numbers alone, and no device has memory for them.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { GpuError, Released } from "../../domain/GpuError.ts"
import * as SizePolicy from "../../domain/pool/SizePolicy.ts"
import { type Block, type Family, type Giver, type Leasable, Lease } from "../../services/lease/Lease.ts"
import type { PoolSource } from "../../services/lease/PoolSource.ts"
import type { RecordedFamily } from "../recording/Recording.ts"

/** A block, as far as the pool sees it. */
export class SimulatedBlock implements Leasable {
  label: string | undefined = undefined
  recyclable = true
  pooledBy: Giver | undefined = undefined
  /** The number of the block of the recording that it stands for, where it is the same. */
  recorded = -1
  /** The queue of its last lease. */
  queue: string | undefined = undefined

  get wholeMemory(): object {
    return this
  }
}

export class SimulatedLease extends Lease<SimulatedBlock> {
  get what(): Released["what"] {
    return undefined
  }
}

/** From a size: the size rounded up, the block size, and the largest block to borrow. */
export interface Sizes {
  readonly borrows: boolean
  exactSize(size: number): number
  blockSize(size: number, maxBytes: number): number
  mostBorrowed(blockSize: number): number
}

const nothingNoted = { exactSize: undefined, blockSize: undefined }

/** The sizes of the policy that was recorded. */
export class RecordedSizes implements Sizes {
  readonly borrows: boolean
  readonly #sizes = new Map<number, { readonly exactSize: number; readonly blockSize: number }>()
  readonly #mostBorrowed = new Map<number, number>()
  /** By how much of itself a request may borrow more, as far as the recorded sizes tell. */
  #share = 0

  constructor({ sizes }: RecordedFamily) {
    for (const [size, exactSize, blockSize, mostBorrowed] of sizes) {
      this.#sizes.set(size, { exactSize, blockSize })
      this.#mostBorrowed.set(blockSize, mostBorrowed)
      this.#share = Math.max(this.#share, mostBorrowed / blockSize - 1)
    }
    this.borrows = this.#share > 0
  }

  exactSize(size: number): number {
    return this.#of(size).exactSize ?? size
  }

  /** A policy's block that is over the limit is none: the pool then asks for the size alone. */
  blockSize(size: number, maxBytes: number): number {
    const { blockSize, exactSize } = this.#of(size)
    if (blockSize === undefined) return size
    return blockSize <= maxBytes ? blockSize : exactSize
  }

  mostBorrowed(blockSize: number): number {
    return this.#mostBorrowed.get(blockSize) ?? Math.floor(blockSize + blockSize * this.#share)
  }

  #of(size: number): { readonly exactSize: number; readonly blockSize: number } | typeof nothingNoted {
    return this.#sizes.get(size) ?? nothingNoted
  }
}

/** The largest power of two, up to 256, of which all recorded sizes are multiples. */
const granularityOf = ({ sizes }: RecordedFamily): number => {
  if (sizes.every(([size, exactSize]) => size === exactSize)) return 1
  let granularity = 256
  while (sizes.some(([, exactSize]) => exactSize % granularity !== 0)) granularity /= 2
  return granularity
}

/** The sizes of another policy. */
export class PolicySizes implements Sizes {
  readonly borrows: boolean
  readonly exactSize: (size: number) => number
  readonly #policy: SizePolicy.SizePolicy
  readonly #granularity: number
  #ofLimit: { readonly maxBytes: number; readonly blockSize: (size: number) => number } | undefined = undefined

  constructor(policy: SizePolicy.SizePolicy, family: RecordedFamily) {
    this.#policy = policy
    this.#granularity = granularityOf(family)
    this.borrows = policy.borrow > 0
    this.exactSize = SizePolicy.forDevice(SizePolicy.exact, {
      granularity: this.#granularity,
      maxBlockBytes: Infinity
    })
  }

  blockSize(size: number, maxBytes: number): number {
    if (this.#ofLimit?.maxBytes !== maxBytes) {
      const blockSize = SizePolicy.forDevice(this.#policy, { granularity: this.#granularity, maxBlockBytes: maxBytes })
      this.#ofLimit = { maxBytes, blockSize }
    }
    return this.#ofLimit.blockSize(size)
  }

  mostBorrowed(blockSize: number): number {
    return SizePolicy.borrowLimit(this.#policy, blockSize)
  }
}

/** What a source asks of the replay: the driver's answer, and the memory that it has back. */
export interface SimulatedDriver {
  readonly create: (capacity: number) => Effect.Effect<SimulatedBlock, GpuError>
  readonly reclaim: Effect.Effect<void, GpuError>
}

/** One of the pools on a memory: its families close together. */
export class SimulatedPool {
  closed = false
  readonly over = Deferred.makeUnsafe<void>()
  readonly inFlight = new Set<Fiber.Fiber<SimulatedBlock, GpuError>>()
  readonly families = new Set<string>()
}

/** The blocks of one recorded family. */
export class SimulatedSource implements PoolSource<string, SimulatedBlock, SimulatedLease> {
  readonly service: string
  readonly what = undefined
  readonly largest = Infinity
  readonly borrows: boolean
  readonly clears = false
  index = 0
  readonly reclaim: Effect.Effect<void, GpuError>
  readonly name: string
  readonly #pool: SimulatedPool
  readonly #sizes: Sizes
  readonly #driver: SimulatedDriver
  #maxBytes: number

  constructor(
    family: RecordedFamily,
    pool: SimulatedPool,
    sizes: Sizes,
    driver: SimulatedDriver,
    maxBytes: number
  ) {
    this.service = family.pool
    this.#pool = pool
    pool.families.add(family.family)
    this.name = family.family
    this.#sizes = sizes
    this.borrows = sizes.borrows
    this.#driver = driver
    this.reclaim = driver.reclaim
    this.#maxBytes = maxBytes
  }

  get closed(): boolean {
    return this.#pool.closed
  }

  set closed(isClosed: boolean) {
    this.#pool.closed = isClosed
  }

  get over(): Deferred.Deferred<void> {
    return this.#pool.over
  }

  get inFlight(): Set<Fiber.Fiber<SimulatedBlock, GpuError>> {
    return this.#pool.inFlight
  }

  blockSize(size: number): number {
    return this.#sizes.blockSize(size, this.#maxBytes)
  }

  exactSize(size: number): number {
    return this.#sizes.exactSize(size)
  }

  mostBorrowed(blockSize: number): number {
    return this.#sizes.mostBorrowed(blockSize)
  }

  limitTo(maxBytes: number): void {
    this.#maxBytes = maxBytes
  }

  family(): string {
    return this.name
  }

  owns(family: Family): boolean {
    return this.#pool.families.has(String(family))
  }

  isUsual(): boolean {
    return true
  }

  problem(): undefined {
    return undefined
  }

  limitProblem(): undefined {
    return undefined
  }

  create(_wanted: string, capacity: number): Effect.Effect<SimulatedBlock, GpuError> {
    return this.#driver.create(capacity)
  }

  destroyUnsafe(): Exit.Exit<void> {
    return Exit.void
  }

  clearUnsafe(): Exit.Exit<void> {
    return Exit.void
  }

  lease(
    block: Block<SimulatedBlock> | undefined,
    size: number,
    _wanted: string,
    label: string | undefined,
    sequence: number
  ): SimulatedLease {
    return new SimulatedLease(block, size, label, sequence)
  }
}
