/**
 * Where a replayed pool gets its blocks: they are numbers alone, and no device has memory for them.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as BufferRequest from "../../../domain/BufferRequest.ts"
import type { DeviceLimits } from "../../../domain/device/DeviceInfo.ts"
import type { GpuError, Released } from "../../../domain/GpuError.ts"
import type { Family } from "../../../domain/pool/machine/Request.ts"
import * as SizePolicy from "../../../domain/pool/SizePolicy.ts"
import { type Block, type Giver, type Leasable, Lease } from "../../../services/lease/Lease.ts"
import type { PoolSource } from "../../../services/lease/PoolSource.ts"
import type { RecordedFamily } from "../../recording/Recording.ts"

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

type NotedSizes = RecordedFamily["sizes"][number]

/** The largest power of two, up to 256, of which all recorded sizes are multiples. */
const granularityOf = ({ sizes }: RecordedFamily): number => {
  if (sizes.every(([size, exactSize]) => size === exactSize)) return 1
  let granularity = 256
  while (sizes.some(([, exactSize]) => exactSize % granularity !== 0)) granularity /= 2
  return granularity
}

/** From the requested sizes of a family to those of blocks: those that were recorded, or those of another policy. */
export class FamilySizes {
  readonly borrows: boolean
  readonly #policy: SizePolicy.SizePolicy | undefined
  readonly #granularity: number
  readonly #noted = new Map<number, NotedSizes>()
  readonly #mostBorrowed = new Map<number, number>()
  /** By how much of itself a request may borrow more, as far as the recorded sizes tell. */
  #share = 0

  constructor(family: RecordedFamily, policy: SizePolicy.SizePolicy | undefined) {
    this.#policy = policy
    this.#granularity = granularityOf(family)
    for (const [size, exactSize, blockSize, mostBorrowed] of family.sizes) {
      if (policy !== undefined) {
        this.#of(size)
        continue
      }
      // Whatever a file says: a block is as large as its request at least.
      const least = Math.max(size, exactSize)
      this.#note([size, least, Math.max(least, blockSize), mostBorrowed])
    }
    this.borrows = policy === undefined ? this.#share > 0 : policy.borrow > 0
  }

  /** As a recording states them. */
  get noted(): ReadonlyArray<NotedSizes> {
    return Array.from(this.#noted.values())
  }

  exactSize(size: number): number {
    return this.#of(size)?.[1] ?? size
  }

  /** The policy's block, or the request's own size where that block is larger than the limit or than the device makes. */
  blockSize(size: number, maxBytes: number): number {
    const noted = this.#of(size)
    if (noted === undefined) return size
    const [, exactSize, blockSize] = noted
    return blockSize <= maxBytes ? blockSize : exactSize
  }

  mostBorrowed(blockSize: number): number {
    if (this.#policy !== undefined) return SizePolicy.borrowLimit(this.#policy, blockSize)
    return this.#mostBorrowed.get(blockSize) ?? Math.floor(blockSize + blockSize * this.#share)
  }

  #note(noted: NotedSizes): NotedSizes {
    const [size, , blockSize, mostBorrowed] = noted
    this.#noted.set(size, noted)
    this.#mostBorrowed.set(blockSize, mostBorrowed)
    if (blockSize > 0) this.#share = Math.max(this.#share, mostBorrowed / blockSize - 1)
    return noted
  }

  /** Undefined of a size that the recording does not state. */
  #of(size: number): NotedSizes | undefined {
    const policy = this.#policy
    const known = this.#noted.get(size)
    if (known !== undefined || policy === undefined) return known
    const device = { granularity: this.#granularity, maxBlockBytes: Infinity }
    const blockSize = SizePolicy.forDevice(policy, device)(size)
    const exactSize = SizePolicy.forDevice(SizePolicy.exact, device)(size)
    return this.#note([size, exactSize, blockSize, SizePolicy.borrowLimit(policy, blockSize)])
  }
}

/** What a source asks of the replay: the driver's answer, and the memory that it has back. */
export interface SimulatedDriver {
  readonly create: (capacity: number) => Effect.Effect<SimulatedBlock, GpuError>
  readonly reclaim: Effect.Effect<void, GpuError>
}

/** One of the pools on a memory: its families have one limit, and close together. */
export class SimulatedPool {
  closed = false
  readonly sources: Array<SimulatedSource> = []
  maxBytes: number
  readonly over = Deferred.makeUnsafe<void>()
  readonly inFlight = new Set<Fiber.Fiber<SimulatedBlock, GpuError>>()
  readonly families = new Set<string>()

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }
}

/** The blocks of one recorded family. */
export class SimulatedSource implements PoolSource<string, SimulatedBlock, SimulatedLease> {
  readonly service: string
  readonly what = undefined
  readonly largest: number
  readonly borrows: boolean
  readonly clears = false
  index = 0
  readonly reclaim: Effect.Effect<void, GpuError>
  readonly name: string
  readonly #pool: SimulatedPool
  readonly sizes: FamilySizes
  readonly #driver: SimulatedDriver

  constructor(
    family: RecordedFamily,
    pool: SimulatedPool,
    sizes: FamilySizes,
    driver: SimulatedDriver,
    { maxBufferSize, memoryBytes = Infinity }: DeviceLimits
  ) {
    this.largest = family.pool === "ImagePool" ? memoryBytes : Math.min(maxBufferSize, memoryBytes)
    this.service = family.pool
    this.#pool = pool
    pool.families.add(family.family)
    pool.sources.push(this)
    this.name = family.family
    this.sizes = sizes
    this.borrows = sizes.borrows
    this.#driver = driver
    this.reclaim = driver.reclaim
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
    return this.sizes.blockSize(size, Math.min(this.#pool.maxBytes, this.largest))
  }

  exactSize(size: number): number {
    return this.sizes.exactSize(size)
  }

  mostBorrowed(blockSize: number): number {
    return this.sizes.mostBorrowed(blockSize)
  }

  limitTo(maxBytes: number): void {
    this.#pool.maxBytes = maxBytes
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

  limitProblem(operation: string, bytes: number): GpuError | undefined {
    return BufferRequest.limitProblem(operation, bytes, "the device's limit", this.largest, { kind: "device" })
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
