/**
 * The free lists and the byte ledger of a pool, as one synchronous state machine.
 *
 * It stands behind every kind of pool: it knows sizes and blocks, and nothing of devices, effects or leases. A bin is
 * the set of interchangeable blocks: one family (an opaque id; a buffer pool uses the usage flags) and one block size.
 * The owner asks the driver, frees what the core hands back, and tells the core about both.
 *
 * The lines along which it works are those of PyOpenCL's `MemoryPool` (bins of blocks, last in first out, largest
 * evicted first), with borrowing, a limit, reservations and eviction by need added.
 *
 * @since 0.1.0
 */
import { type Bin, PoolBins } from "./PoolBins.ts"
import type { PoolStats } from "./PoolStats.ts"
import { maxBytes as largestByteCount } from "./PowersOfTwo.ts"

/**
 * Where a block is: leased (`active`), kept for reuse (`held`), handed to the owner to be freed (`detached`), or given
 * back to the driver (`freed`).
 *
 * @category models
 * @since 0.1.0
 */
export type BlockState = "active" | "held" | "detached" | "freed"

/**
 * The set of interchangeable blocks to which a block returns.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolBin<F = number> {
  /** What the blocks have in common besides their size. */
  readonly family: F
  /** The capacity of every block in the bin, in bytes. */
  readonly size: number
}

/**
 * One device allocation as the pool keeps it. Only the {@link PoolCore} that made it changes it.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolBlock<A, F = number> {
  /** What the driver made. */
  readonly value: A
  /** Its byte count. */
  readonly capacity: number
  /** The bin to which it returns, or undefined when it is freed at release. */
  readonly bin: PoolBin<F> | undefined
  /** The bytes that its present lease asked for; 0 while it is not active. */
  readonly request: number
  readonly state: BlockState
}

/**
 * How a {@link PoolCore} starts.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolCoreOptions {
  /** The limit on managed and reserved bytes together. Default: none. */
  readonly maxBytes?: number | undefined
}

class Block<A, F> implements PoolBlock<A, F> {
  readonly value: A
  readonly capacity: number
  readonly bin: Bin<Block<A, F>, F> | undefined
  request = 0
  state: BlockState = "detached"
  below: Block<A, F> | undefined = undefined

  constructor(value: A, capacity: number, bin: Bin<Block<A, F>, F> | undefined) {
    this.value = value
    this.capacity = capacity
    this.bin = bin
  }
}

/**
 * Free lists and byte ledger of one pool, generic in what the driver makes (`A`) and in what tells families of
 * interchangeable blocks apart (`F`, compared as keys of a `Map`).
 *
 * **Details**
 *
 * - A hit allocates nothing and takes the same time however many blocks are held. Blocks of a bin are reused last in,
 *   first out.
 * - A miss goes: {@link PoolCore.reserve}, then the driver, then {@link PoolCore.addActive} (or
 *   {@link PoolCore.unreserve} when the driver refuses).
 * - A block that the core hands back is `detached`: its bytes stay managed until the owner has called the driver's free
 *   and then {@link PoolCore.freed}, both in the same synchronous step.
 * - A bin lasts as long as it has blocks, active or held.
 *
 * **Gotchas**
 *
 * The counters are plain fields: read them, and leave writing to the core (`releaseFailures` and `maxBytes` are the
 * owner's to write). Releasing a block that is not active, or reporting one as freed that is not detached, throws an
 * `Error`: telling stale leases apart is the owner's job. Byte counts are integers from 1 to 2^53−1; they are not
 * checked again here.
 *
 * **Example** (Missing once, then hitting)
 *
 * ```ts
 * import { PoolCore } from "effect-gpu-pool"
 *
 * const core = new PoolCore.PoolCore<ArrayBuffer>({ maxBytes: 1 << 20 })
 * const family = 0
 * if (core.acquire(family, 1024, 1000, 2048) === undefined && core.reserve(1024)) {
 *   const block = core.addActive(family, 1024, new ArrayBuffer(1024), 1000)
 *   core.release(block)
 * }
 * core.acquire(family, 1024, 900, 2048)?.capacity // => 1024
 * core.stats().hits // => 1
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class PoolCore<A, F = number> {
  /** The limit on managed and reserved bytes together; `Infinity` for none. Lowering it frees nothing by itself. */
  maxBytes: number

  /** Blocks kept for reuse. */
  heldBlocks = 0
  /** Blocks leased out. */
  activeBlocks = 0
  /** Blocks that the driver has not got back. */
  managedBlocks = 0
  /** Capacity of the held blocks, in bytes. */
  heldBytes = 0
  /** Bytes that the active leases asked for. */
  activeBytes = 0
  /** Capacity of the managed blocks, in bytes. */
  managedBytes = 0
  /** Bytes of driver allocations under way. */
  reservedBytes = 0
  /** The most `activeBytes` so far. */
  peakActiveBytes = 0
  /** The most `activeBlocks` so far. */
  peakActiveBlocks = 0
  /** The most `managedBytes` so far. */
  peakManagedBytes = 0
  /** The most `managedBlocks` so far. */
  peakManagedBlocks = 0
  /** Leases served from a held block. */
  hits = 0
  /** Hits served from a larger bin than the request's own. */
  borrows = 0
  /** Leases that needed the driver. */
  misses = 0
  /** Blocks that the driver made. */
  driverAllocations = 0
  /** Blocks that the driver got back. */
  driverFrees = 0
  /** Driver errors while a block was released or freed; counted by the owner. */
  releaseFailures = 0

  private isHolding = true
  private readonly bins = new PoolBins<Block<A, F>, F>()

  constructor(options?: PoolCoreOptions) {
    this.maxBytes = options?.maxBytes ?? Infinity
  }

  /** Whether released blocks are kept for reuse. */
  get holding(): boolean {
    return this.isHolding
  }

  /** The capacity of the largest held block in bytes, 0 when none is held. */
  get largestHeld(): number {
    return this.bins.largest()?.size ?? 0
  }

  /**
   * From now on released blocks are handed back to be freed. What is held stays held: see {@link PoolCore.evictAll}.
   */
  stopHolding(): void {
    this.isHolding = false
  }

  /** From now on released blocks are kept again. */
  resumeHolding(): void {
    this.isHolding = true
  }

  /**
   * A hit: a held block of the request's own bin or, failing that, the smallest held block of its family that is no
   * larger than `borrowLimit`. It becomes active; a borrowed block still returns to its own bin.
   */
  acquire(family: F, blockSize: number, request: number, borrowLimit: number): PoolBlock<A, F> | undefined {
    return this.acquireOwn(family, blockSize, request) ?? this.borrow(family, blockSize, request, borrowLimit)
  }

  /** The first half of {@link PoolCore.acquire}: the request's own bin. */
  acquireOwn(family: F, blockSize: number, request: number): PoolBlock<A, F> | undefined {
    const bin = this.bins.find(family, blockSize)
    return bin === undefined || bin.top === undefined ? undefined : this.hit(bin, request)
  }

  /** The second half of {@link PoolCore.acquire}: a larger bin of the family. */
  borrow(family: F, blockSize: number, request: number, borrowLimit: number): PoolBlock<A, F> | undefined {
    if (borrowLimit <= blockSize) return undefined
    const bin = this.bins.smallestOfFamily(family, blockSize + 1)
    if (bin === undefined || bin.size > borrowLimit) return undefined
    this.borrows++
    return this.hit(bin, request)
  }

  /** Reserves bytes for a driver allocation, if the limit allows them. */
  reserve(bytes: number): boolean {
    if (bytes > this.availableBytes()) return false
    this.reservedBytes += bytes
    return true
  }

  /** Gives back a reservation whose driver allocation failed. */
  unreserve(bytes: number): void {
    if (bytes > this.reservedBytes) {
      throw new Error(`PoolCore: ${bytes} bytes are used or given back, but only ${this.reservedBytes} are reserved`)
    }
    this.reservedBytes -= bytes
  }

  /** By how many bytes a reservation of `bytes` would exceed the limit; 0 when it fits. */
  deficit(bytes: number): number {
    return Math.min(Math.max(bytes - this.availableBytes(), 0), largestByteCount)
  }

  /** A miss: turns a reservation of `blockSize` bytes into an active block of that capacity. */
  addActive(family: F, blockSize: number, value: A, request: number): PoolBlock<A, F> {
    this.unreserve(blockSize)
    return this.addMiss(blockSize, this.bins.findOrMake(family, blockSize), value, request)
  }

  /** The same for a block that belongs to no bin: it is handed back to be freed when it is released. */
  addActiveUnbinned(capacity: number, value: A, request: number): PoolBlock<A, F> {
    this.unreserve(capacity)
    return this.addMiss(capacity, undefined, value, request)
  }

  /**
   * Turns the reservation of a miss that nobody waits for any more into a held block; no miss is counted. When the pool
   * is not holding, the block is detached instead (`block.state` says so) and the caller must free it now.
   */
  addHeld(family: F, blockSize: number, value: A): PoolBlock<A, F> {
    this.unreserve(blockSize)
    const block = this.add(blockSize, this.bins.findOrMake(family, blockSize), value)
    if (this.isHolding) this.hold(block)
    return block
  }

  /**
   * Turns the reservation of a miss that nobody waits for any more into a block of no bin; no miss is counted. It is
   * detached: the caller must free it now.
   */
  addDetached(capacity: number, value: A): PoolBlock<A, F> {
    this.unreserve(capacity)
    return this.add(capacity, undefined, value)
  }

  /**
   * Ends a lease. True when the block is held now; false when it is detached, because it has no bin or the pool is not
   * holding, and the caller must free it now.
   */
  release(block: PoolBlock<A, F>): boolean {
    const own = this.deactivate(block)
    if (!this.isHolding || own.bin === undefined) return false
    this.hold(own)
    return true
  }

  /** Ends a lease whose block must not be reused: it is detached whatever its bin, and the caller must free it now. */
  discard(block: PoolBlock<A, F>): void {
    this.deactivate(block)
  }

  /** Detaches the largest held block of all families; the caller must free it now. */
  evictLargest(): PoolBlock<A, F> | undefined {
    return this.evict(this.bins.largest())
  }

  /**
   * Detaches the smallest held block of all families that covers a deficit, or else the largest one; the caller must
   * free it now.
   */
  evictCovering(deficit: number): PoolBlock<A, F> | undefined {
    const covering = deficit > largestByteCount ? undefined : this.bins.smallest(Math.max(deficit, 1))
    return this.evict(covering ?? this.bins.largest())
  }

  /** Detaches the held blocks one after the other, largest first; the caller must free each. */
  *evictAll(): Generator<PoolBlock<A, F>, void> {
    let block = this.evictLargest()
    while (block !== undefined) {
      yield block
      block = this.evictLargest()
    }
  }

  /** Says that the driver's free was called for a detached block: its bytes are no longer managed. */
  freed(block: PoolBlock<A, F>): void {
    const own = block as Block<A, F>
    if (own.state !== "detached") {
      throw new Error(`PoolCore: only a detached block can be freed, this one is ${own.state}`)
    }
    own.state = "freed"
    this.managedBlocks--
    this.managedBytes -= own.capacity
    this.driverFrees++
    if (own.bin !== undefined) this.bins.leave(own.bin)
  }

  /** A snapshot of the counters. */
  stats(): PoolStats {
    return {
      heldBlocks: this.heldBlocks,
      activeBlocks: this.activeBlocks,
      managedBlocks: this.managedBlocks,
      heldBytes: this.heldBytes,
      activeBytes: this.activeBytes,
      managedBytes: this.managedBytes,
      reservedBytes: this.reservedBytes,
      peakActiveBytes: this.peakActiveBytes,
      peakActiveBlocks: this.peakActiveBlocks,
      peakManagedBytes: this.peakManagedBytes,
      peakManagedBlocks: this.peakManagedBlocks,
      hits: this.hits,
      borrows: this.borrows,
      misses: this.misses,
      driverAllocations: this.driverAllocations,
      driverFrees: this.driverFrees,
      releaseFailures: this.releaseFailures
    }
  }

  // Sums stay exact because no limit is above 2^53−1.
  private availableBytes(): number {
    return Math.min(this.maxBytes, largestByteCount) - this.managedBytes - this.reservedBytes
  }

  private addMiss(capacity: number, bin: Bin<Block<A, F>, F> | undefined, value: A, request: number): Block<A, F> {
    const block = this.add(capacity, bin, value)
    this.misses++
    this.activate(block, request)
    return block
  }

  private add(capacity: number, bin: Bin<Block<A, F>, F> | undefined, value: A): Block<A, F> {
    if (bin !== undefined) bin.blocks++
    this.managedBlocks++
    this.managedBytes += capacity
    if (this.managedBlocks > this.peakManagedBlocks) this.peakManagedBlocks = this.managedBlocks
    if (this.managedBytes > this.peakManagedBytes) this.peakManagedBytes = this.managedBytes
    this.driverAllocations++
    return new Block(value, capacity, bin)
  }

  private activate(block: Block<A, F>, request: number): void {
    block.state = "active"
    block.request = request
    this.activeBlocks++
    this.activeBytes += request
    if (this.activeBlocks > this.peakActiveBlocks) this.peakActiveBlocks = this.activeBlocks
    if (this.activeBytes > this.peakActiveBytes) this.peakActiveBytes = this.activeBytes
  }

  private deactivate(block: PoolBlock<A, F>): Block<A, F> {
    const own = block as Block<A, F>
    if (own.state !== "active") {
      throw new Error(`PoolCore: only an active block can be released, this one is ${own.state}`)
    }
    this.activeBlocks--
    this.activeBytes -= own.request
    own.request = 0
    own.state = "detached"
    return own
  }

  private hold(block: Block<A, F>): void {
    const bin = block.bin!
    block.state = "held"
    block.below = bin.top
    if (bin.top === undefined) this.bins.fill(bin)
    bin.top = block
    this.heldBlocks++
    this.heldBytes += bin.size
  }

  private pop(bin: Bin<Block<A, F>, F>): Block<A, F> {
    const block = bin.top!
    bin.top = block.below
    block.below = undefined
    this.heldBlocks--
    this.heldBytes -= bin.size
    return block
  }

  private evict(bin: Bin<Block<A, F>, F> | undefined): Block<A, F> | undefined {
    if (bin === undefined) return undefined
    const block = this.pop(bin)
    block.state = "detached"
    return block
  }

  private hit(bin: Bin<Block<A, F>, F>, request: number): Block<A, F> {
    this.hits++
    const block = this.pop(bin)
    this.activate(block, request)
    return block
  }
}
