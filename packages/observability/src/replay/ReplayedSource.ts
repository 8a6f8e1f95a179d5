/**
 * What a replayed memory leases: blocks without device memory.
 *
 * @internal
 */
import type { LeaseCharge } from "effect-gpu-pool/Charge"
import type { DeviceLimits } from "effect-gpu-pool/DeviceInfo"
import { type GpuError, limitExceeded, type Released } from "effect-gpu-pool/GpuError"
import type { PoolBlock, PoolCore, Slabs } from "effect-gpu-pool/PoolCore"
import type { Family, RequestSource } from "effect-gpu-pool/Request"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import type { RecordedFamily } from "../recording/Recording.ts"

/** Stands for the device memory of a block. */
export class Placeholder {
  recyclable = true
  readonly pooledBy: ReplayedSource
  /** Of a part: the slab that it is a part of, and where it begins in that. */
  readonly slab: Placeholder | undefined
  readonly begin: number
  #queue: string | undefined

  constructor(pooledBy: ReplayedSource, slab?: Placeholder, begin: number = 0) {
    this.pooledBy = pooledBy
    this.slab = slab
    this.begin = begin
    this.#queue = slab?.queue
  }

  /** The queue of its last lease; of a slab, that of the last lease in it. */
  get queue(): string | undefined {
    return this.#queue
  }

  set queue(queue: string | undefined) {
    this.#queue = queue
    if (this.slab !== undefined) this.slab.queue = queue
  }
}

export type ReplayedBlock = PoolBlock<Placeholder, Family>

export class ReplayedLease {
  readonly label: string | undefined
  readonly size: number
  /** The account that it is charged to. */
  readonly account: LeaseCharge | undefined
  /** How many leases its memory had granted before it. */
  readonly sequence: number
  /** Its block while it is live. */
  block: ReplayedBlock | undefined

  constructor(
    block: ReplayedBlock,
    size: number,
    label: string | undefined,
    account: LeaseCharge | undefined,
    sequence: number
  ) {
    this.sequence = sequence
    this.block = block
    this.size = size
    this.label = label
    this.account = account
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

/** Maps the requested sizes of a family to sizes of blocks. */
export interface Sizes {
  readonly borrows: boolean
  /** The sizes as a recording has them. */
  readonly noted: ReadonlyArray<NotedSizes>
  exactSize(size: number): number
  /** The bytes of its part of a slab; `Infinity` for blocks. */
  partSize(size: number): number
  /** The block that is wanted, or the request's own size where that exceeds the limit or the device's largest buffer. */
  blockSize(size: number, maxBytes: number): number
  mostBorrowed(blockSize: number): number
}

/** The sizes of slabs, which change with what a memory manages. */
export class SlabSizes implements Sizes {
  readonly borrows = true
  readonly #policy: SizePolicy.SizePolicy
  readonly #unit: number
  readonly #granularity: number
  readonly #exact: ReadonlyMap<number, number>
  readonly #noted = new Map<number, NotedSizes>()

  constructor(family: RecordedFamily, { sizePolicy, unit }: Slabs, granularity: number = granularityOf(family)) {
    this.#policy = sizePolicy
    this.#unit = unit
    this.#granularity = granularity
    this.#exact = new Map(family.sizes.map(([size, exactSize]) => [size, exactSize]))
  }

  get noted(): ReadonlyArray<NotedSizes> {
    return Array.from(this.#noted.values())
  }

  exactSize(size: number): number {
    const exactSize = this.#exact.get(size) ?? Math.ceil(size / this.#granularity) * this.#granularity
    // Even if a file says otherwise, it has room for the request. A part may be smaller than what the recorded device allocates.
    return Math.min(Math.max(size, exactSize), this.partSize(size))
  }

  partSize(size: number): number {
    return Math.ceil(size / this.#unit) * this.#unit
  }

  blockSize(size: number, maxBytes: number): number {
    const exactSize = this.exactSize(size)
    const wanted = this.#policy.blockSize(size)
    const blockSize = wanted >= exactSize && wanted <= maxBytes ? wanted : exactSize
    // Of several sizes of slabs the largest is kept, as in a recording.
    if (blockSize > (this.#noted.get(size)?.[2] ?? 0)) {
      this.#noted.set(size, [size, exactSize, blockSize, this.mostBorrowed(blockSize)])
    }
    return blockSize
  }

  mostBorrowed(blockSize: number): number {
    return SizePolicy.borrowLimit(this.#policy, blockSize)
  }
}

/** Sizes that are recorded, or those of another policy. */
export class FamilySizes implements Sizes {
  readonly borrows: boolean
  readonly #policy: SizePolicy.SizePolicy | undefined
  readonly #granularity: number
  readonly #noted = new Map<number, NotedSizes>()
  readonly #mostBorrowed = new Map<number, number>()
  /** The share of its block size by which a request may borrow more, as far as the recorded sizes say. */
  #share = 0

  constructor(family: RecordedFamily, policy: SizePolicy.SizePolicy | undefined, granularity?: number) {
    this.#policy = policy
    this.#granularity = granularity ?? granularityOf(family)
    for (const [size, exactSize, blockSize, mostBorrowed] of family.sizes) {
      if (policy !== undefined) {
        this.#of(size)
        continue
      }
      // Even if a file says otherwise, a block is at least as large as its request.
      const least = Math.max(size, exactSize)
      this.#note([size, least, Math.max(least, blockSize), mostBorrowed])
    }
    this.borrows = policy === undefined ? this.#share > 0 : policy.borrow > 0
  }

  /** The sizes as a recording has them. */
  get noted(): ReadonlyArray<NotedSizes> {
    return Array.from(this.#noted.values())
  }

  exactSize(size: number): number {
    return this.#of(size)?.[1] ?? size
  }

  partSize(): number {
    return Infinity
  }

  /** The policy's block size, or the request's own size where that exceeds the limit or the device's largest buffer. */
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

  /** Undefined for a size that the recording does not have. */
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

/** One of the pools on a memory: its families share one limit, and close together. */
export class ReplayedPool {
  closed = false
  readonly memory: Pick<PoolCore<unknown>, "maxBytes">
  readonly families = new Set<string>()
  readonly sources: Array<ReplayedSource> = []
  /** Functions that interrupt its driver calls when the pool closes. */
  readonly calls = new Set<() => void>()

  constructor(memory: Pick<PoolCore<unknown>, "maxBytes">) {
    this.memory = memory
  }
}

/** The blocks of one recorded family. */
export class ReplayedSource implements RequestSource {
  readonly service: string
  readonly what: Released["what"] = undefined
  readonly clears: boolean
  readonly borrows: boolean
  /** The bytes above which the device can never serve a request. */
  readonly largest: number
  readonly family: string
  readonly pool: ReplayedPool
  readonly sizes: Sizes

  constructor(
    { clears, family, pool: service }: RecordedFamily,
    pool: ReplayedPool,
    sizes: Sizes,
    { maxBufferSize, memoryBytes = Infinity }: DeviceLimits
  ) {
    this.service = service
    this.clears = clears
    this.largest = service === "ImagePool" ? memoryBytes : Math.min(maxBufferSize, memoryBytes)
    this.family = family
    this.pool = pool
    this.sizes = sizes
    this.borrows = sizes.borrows
    pool.families.add(family)
    pool.sources.push(this)
  }

  get closed(): boolean {
    return this.pool.closed
  }

  blockSize(size: number): number {
    return this.sizes.blockSize(size, Math.min(this.pool.memory.maxBytes, this.largest))
  }

  exactSize(size: number): number {
    return this.sizes.exactSize(size)
  }

  partSize(size: number): number {
    return this.sizes.partSize(size)
  }

  mostBorrowed(blockSize: number): number {
    return this.sizes.mostBorrowed(blockSize)
  }

  /** Whether a family belongs to its pool. */
  owns(family: Family): boolean {
    return this.pool.families.has(String(family))
  }

  limitProblem(operation: string, bytes: number): GpuError | undefined {
    if (bytes <= this.largest) return undefined
    const limit = { limitName: "the device's limit", limit: this.largest, owner: { kind: "device" } } as const
    return limitExceeded({ operation, requested: bytes, ...limit })
  }
}
