/**
 * The free lists and the byte ledger of a pool, as one synchronous state machine.
 *
 * Every kind of pool uses it: it knows sizes and blocks, and nothing of devices, effects or leases. A bin is the set of
 * interchangeable blocks: one family (an opaque id; a buffer pool uses the usage flags) and one block size. Its owner
 * asks the driver, frees the blocks that the core detaches, and tells the core about both.
 *
 * It works as PyOpenCL's `MemoryPool` does (bins of blocks, last in first out, largest evicted first), with borrowing, a
 * limit, reservations and other orders of eviction added.
 *
 * @since 0.1.0
 */
import { maxBytes as largestByteCount } from "../data/PowersOfTwo.ts"
import * as EvictionPolicy from "./EvictionPolicy.ts"
import { HeldOrder } from "./HeldOrder.ts"
import type { IdleDecay } from "./IdleDecay.ts"
import { Outgrown, type OutgrownOptions } from "./Outgrown.ts"
import * as Padding from "./Padding.ts"
import { type Bin, PoolBins } from "./PoolBins.ts"
import { Block, notActive, type PoolBlock } from "./PoolBlock.ts"
import type { PoolCoreOptions } from "./PoolCoreOptions.ts"
import { PoolCounters, type PoolStats, snapshotOf } from "./PoolStats.ts"
import type { SizePolicy } from "./SizePolicy.ts"

export { type IdleBlock, type IdleDecay, idleDecay, type IdleDecayOptions, type IdleRule } from "./IdleDecay.ts"
export type { BlockState, PoolBin, PoolBlock } from "./PoolBlock.ts"
export type { PoolCoreOptions } from "./PoolCoreOptions.ts"

/**
 * How a core splits slabs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Slabs {
  /** Chunks and slabs have multiples of so many bytes. */
  readonly unit: number
  /** From request to slab; it takes the place of the pool's size policy. */
  readonly sizePolicy: SizePolicy
}

/**
 * What a pool needs of a core: a {@link PoolCore}, or an `ArenaCore`.
 *
 * @category models
 * @since 0.1.0
 */
export type BlockCore<A, F = number> = Pick<PoolCore<A, F>, keyof PoolCore<A, F>> & {
  /** Of a core that splits blocks: a part of one with leases, which takes no memory that an eviction could free. */
  acquireBeside?(family: F, request: number): PoolBlock<A, F> | undefined
  /** Of a core that splits blocks: makes one with leases of these parts, see `ArenaCore`. */
  addParts?(
    family: F,
    blockSize: number,
    value: A,
    parts: ReadonlyArray<{ readonly begin: number; readonly bytes: number; readonly request: number }>
  ): ReadonlyArray<PoolBlock<A, F>>
}

/**
 * Free lists and byte ledger of one pool, generic in what the driver makes (`A`) and in what tells families of
 * interchangeable blocks apart (`F`, compared as keys of a `Map`).
 *
 * **Details**
 *
 * - A hit allocates nothing and takes the same time however many blocks are held. Blocks of a bin are reused last in,
 *   first out.
 * - A miss goes: {@link PoolCore.addPending}, then the driver, then {@link PoolCore.addActive} (or
 *   {@link PoolCore.removePending} when the driver refuses).
 * - A block that the core hands back is `detached`: its bytes stay managed until the owner has called the driver's free
 *   and then {@link PoolCore.freed}, both in the same synchronous step.
 * - A bin lasts as long as it has blocks, active or held.
 * - How much stays held is bounded by {@link PoolCore.setMaxBytes} and {@link PoolCore.setMaxHeldBytes} and, by the
 *   owner's clock, with the option `idle`. The core only says which block has to go: {@link PoolCore.release},
 *   {@link PoolCore.evictNext}, {@link PoolCore.evictOldest}, {@link PoolCore.evictIdle}, {@link PoolCore.evictOutgrown},
 *   `trim`.
 * - Under a limit, {@link PoolCore.nextPadding} says by how much a block may be larger than its request. Whoever keeps to it
 *   serves all requests that together ask for eleven twelfths of the limit.
 *
 * **Gotchas**
 *
 * The counters are plain fields: read them, and leave writing to the core (`releaseFailures`, `waiters` and
 * `reservedBytes` are the owner's to write). Releasing a block that is not active, or reporting one as freed that is
 * not detached, throws an `Error`: the owner must tell stale leases apart. Byte counts are integers from 1 to 2^53−1;
 * they are not checked again here.
 *
 * **Example** (Missing once, then hitting)
 *
 * ```ts
 * import { PoolCore } from "effect-gpu-pool/machine"
 *
 * const core = new PoolCore.PoolCore<ArrayBuffer>({ maxBytes: 1 << 20 })
 * const family = 0
 * if (core.acquire(family, 1024, 1000, 2048) === undefined && core.addPending(1024)) {
 *   const block = core.addActive(family, 1024, new ArrayBuffer(1024), 1000)
 *   core.release(block)
 * }
 * core.acquire(family, 1024, 900, 2048)?.capacity // => 1024
 * core.stats().hits // => 1
 * ```
 *
 * **Example** (Letting go of what nobody asks for)
 *
 * ```ts
 * import { PoolCore } from "effect-gpu-pool/machine"
 *
 * // The time to live is two of the owner's clock ticks.
 * const core = new PoolCore.PoolCore<string>({ idle: PoolCore.idleDecay({ steps: 2, keepBytes: 0 }) })
 * for (const value of ["a", "b"]) {
 *   core.addPending(1024)
 *   core.addHeld(0, 1024, value)
 * }
 * // The clock starts to run.
 * core.tick()
 *
 * const step = () => {
 *   core.tick()
 *   for (let block = core.evictIdle(); block !== undefined; block = core.evictIdle()) core.freed(block)
 *   return core.heldBytes
 * }
 * step() // => 1024
 * step() // => 0
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class PoolCore<A, F = number> extends PoolCounters {
  /** How it splits slabs; `undefined`, since it does not. */
  readonly slabs: Slabs | undefined = undefined
  /** The bytes that outer limits leave for managed and pending bytes together. */
  outer: { readonly leftBytes: number } | undefined = undefined

  private limit: number
  private isLimited: boolean
  /** The most bytes that may be padding. */
  private mostPadding: number
  /** Pending bytes beyond those that were requested. */
  private pendingPadding = 0
  private heldLimit: number
  private isHolding = true
  /** The capacity up to which a released block is kept; −1 when none is. */
  private keepsUpTo = Infinity
  /** Whether every released block with a bin is kept, and no order is: most releases check only this. */
  private keepsAll = true
  private readonly eviction: EvictionPolicy.EvictionPolicy
  private order: HeldOrder<Block<A, F>> | undefined = undefined
  /** The bins that hold blocks, in the order of their last use; only if `order` is kept too. */
  private uses: HeldOrder<Bin<Block<A, F>, F>> | undefined = undefined
  private decay: IdleDecay<Block<A, F>> | undefined = undefined
  private readonly outgrown: Outgrown<F> | undefined
  private readonly bins = new PoolBins<Block<A, F>, F>()

  constructor(options?: PoolCoreOptions) {
    super()
    this.limit = options?.maxBytes ?? Infinity
    this.isLimited = this.limit < Infinity
    this.mostPadding = Padding.mostOf(this.limit)
    this.outgrown = options?.outgrown && new Outgrown(options.outgrown)
    this.heldLimit = options?.maxHeldBytes ?? Infinity
    const { name, whenKnown, whenUnknown } = options?.eviction ?? EvictionPolicy.byNeed
    // A copy: the program may change its object. Not a spread one, since the members may be getters of a class.
    this.eviction = { name, whenKnown, whenUnknown }
    this.decay = options?.idle?.decay()
    if (this.evictsBy("leastRecentlyUsed")) this.uses = new HeldOrder()
    const recency = options?.recency === true || this.evictsBy("oldestFirst")
    if (recency || this.uses !== undefined || this.decay !== undefined || this.heldLimit < Infinity) {
      this.order = new HeldOrder()
    }
    this.updateKeeping()
  }

  /** The limit on managed and pending bytes together; `Infinity` for none. */
  get maxBytes(): number {
    return this.limit
  }

  /** The limit on held bytes; `Infinity` for none. */
  get maxHeldBytes(): number {
    return this.heldLimit
  }

  /** The bytes that evictions can free: the held ones. */
  get evictableBytes(): number {
    return this.heldBytes
  }

  /** The bytes of active blocks and of pending ones that were not requested. */
  get paddingBytes(): number {
    return this.managedBytes - this.heldBytes - this.activeBytes + this.pendingPadding
  }

  /**
   * By how many bytes the block of the next request may be larger than its exact size: padding stays within a twelfth of the
   * limit, and each request may have half of what is left of that. `Infinity` without a limit.
   */
  get nextPadding(): number {
    return this.isLimited ? Padding.nextOf(this.mostPadding, this.paddingBytes) : Infinity
  }

  /** What is known of the program's sizes, as the option of another core; `undefined` without the option `outgrown`. */
  get outgrownSoFar(): OutgrownOptions | undefined {
    if (this.outgrown === undefined) return undefined
    const { missedBytes, mostLeasedBytes } = this.outgrown
    return { mostLeasedBytes: Math.max(mostLeasedBytes, this.peakActiveBytes), missedBytes }
  }

  /** Whether more bytes are held than {@link PoolCore.maxHeldBytes} allows: see {@link PoolCore.evictOldest}. */
  get excessHeld(): boolean {
    return this.heldBytes > this.heldLimit
  }

  /** How many leases have ended. */
  get releases(): number {
    return this.hits + this.misses - this.activeBlocks
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
   * From now on released blocks are handed back to be freed. Held blocks stay held: see {@link PoolCore.evictAll}.
   */
  stopHolding(): void {
    this.isHolding = false
    this.updateKeeping()
  }

  /** From now on released blocks are kept again. */
  resumeHolding(): void {
    this.isHolding = true
    this.updateKeeping()
  }

  /**
   * Changes the limit on managed and pending bytes together; `Infinity` for none. Lowering it frees nothing by itself
   * (see `trim`); but while the pool is above it, released blocks are handed back to be freed.
   */
  setMaxBytes(bytes: number): void {
    this.limit = bytes
    this.isLimited = bytes < Infinity
    this.mostPadding = Padding.mostOf(bytes)
    this.updateKeeping()
  }

  /**
   * Changes the limit on held bytes; `Infinity` for none. Released blocks larger than it are handed back to be freed;
   * the owner evicts the held blocks above it: see {@link PoolCore.evictOldest}. In a pool without recency so far, the
   * held blocks count as released in the order of their sizes, the smallest first.
   */
  setMaxHeldBytes(bytes: number): void {
    this.heldLimit = bytes
    if (bytes < Infinity && this.order === undefined) this.startOrder()
    this.updateKeeping()
  }

  /**
   * A hit: a held block of the request's own bin or, failing that, the smallest held block of its family that has room
   * for it and is no larger than `borrowLimit`. It becomes active; a borrowed block still returns to its own bin.
   */
  acquire(family: F, blockSize: number, request: number, borrowLimit: number): PoolBlock<A, F> | undefined {
    return this.acquireOwn(family, blockSize, request) ?? this.borrow(family, blockSize, request, borrowLimit)
  }

  /** The first half of `acquire`: the request's own bin. */
  acquireOwn(family: F, blockSize: number, request: number): PoolBlock<A, F> | undefined {
    const bin = this.bins.find(family, blockSize)
    return bin === undefined || bin.top === undefined ? undefined : this.hit(bin, request)
  }

  /** Whether a request's own bin holds at least so many blocks. Takes none. */
  holds(family: F, blockSize: number, blocks: number): boolean {
    let block = this.bins.find(family, blockSize)?.top
    for (let left = blocks - 1; left > 0 && block !== undefined; left--) block = block.below
    return block !== undefined
  }

  /**
   * The second half of `acquire`: another bin of the family. Most are larger than the request's own; smaller
   * ones have blocks of exact sizes.
   */
  borrow(family: F, blockSize: number, request: number, borrowLimit: number): PoolBlock<A, F> | undefined {
    if (borrowLimit <= blockSize) return undefined
    const bin = this.bins.smallestOfFamily(family, request)
    if (bin === undefined || bin.size > borrowLimit) return undefined
    this.borrows++
    return this.hit(bin, request)
  }

  /**
   * As `acquire`, but takes only blocks that `accepts` returns true for, and looks only at the `among` blocks
   * of a bin that came back last.
   */
  acquireAccepted(
    family: F,
    blockSize: number,
    request: number,
    borrowLimit: number,
    accepts: (value: A) => boolean,
    among: number = Infinity
  ): PoolBlock<A, F> | undefined {
    const own = this.bins.find(family, blockSize)
    if (own !== undefined && this.raise(own, accepts, among)) return this.hit(own, request)
    if (borrowLimit <= blockSize) return undefined
    let bin = this.bins.smallestOfFamily(family, request)
    while (bin !== undefined && bin.size <= borrowLimit) {
      if (this.raise(bin, accepts, among)) {
        this.borrows++
        return this.hit(bin, request)
      }
      bin = this.bins.smallestOfFamily(family, bin.size + 1)
    }
    return undefined
  }

  /** The held blocks, those of the smallest bins first. */
  *held(): Generator<PoolBlock<A, F>, void> {
    for (const bin of this.bins.held()) {
      for (let block = bin.top; block !== undefined; block = block.below) yield block
    }
  }

  /** Makes bytes pending for a driver allocation, if the limit has them; `request` of them were requested. */
  addPending(bytes: number, request = bytes): boolean {
    if (bytes > this.availableBytes()) return false
    this.pendingBytes += bytes
    this.pendingPadding += bytes - request
    return true
  }

  /** Takes back pending bytes whose driver allocation failed. */
  removePending(bytes: number, request = bytes): void {
    this.takePending(bytes, request)
    this.updateKeeping()
  }

  /** Whether the managed and pending bytes are more than a lowered limit allows. */
  get isOverLimit(): boolean {
    return this.availableBytes() < 0
  }

  /** By how many bytes `bytes` more pending ones would exceed the limit; 0 when they fit. */
  deficit(bytes: number): number {
    return Math.min(Math.max(bytes - this.availableBytes(), 0), largestByteCount)
  }

  /** A miss: turns `blockSize` pending bytes into an active block of that capacity. */
  addActive(family: F, blockSize: number, value: A, request: number): PoolBlock<A, F> {
    this.takePending(blockSize, request)
    return this.addMiss(blockSize, this.bins.findOrMake(family, blockSize), value, request)
  }

  /** The same for a block that belongs to no bin: it is handed back to be freed when it is released. */
  addActiveUnbinned(capacity: number, value: A, request: number): PoolBlock<A, F> {
    this.takePending(capacity, request)
    return this.addMiss(capacity, undefined, value, request)
  }

  /**
   * Turns the pending bytes of a miss whose fiber was interrupted into a held block; no miss is counted. Where the pool
   * would not keep the block at release, it is detached instead (see `block.state`) and the caller must free it now.
   */
  addHeld(family: F, blockSize: number, value: A, request = blockSize): PoolBlock<A, F> {
    this.takePending(blockSize, request)
    const bin = this.bins.findOrMake(family, blockSize)
    const block = this.add(blockSize, bin, value)
    this.keep(block, bin)
    return block
  }

  /**
   * Turns the pending bytes of a miss whose fiber was interrupted into a block without a bin; no miss is counted. It is
   * detached: the caller must free it now.
   */
  addDetached(capacity: number, value: A, request = capacity): PoolBlock<A, F> {
    this.takePending(capacity, request)
    return this.add(capacity, undefined, value)
  }

  /**
   * Ends a lease. Returns undefined when the block is held now. Otherwise it is detached, and the caller must free it now:
   * because it has no bin, or is larger than {@link PoolCore.maxHeldBytes}, or the pool is not holding or above its limit.
   */
  release(block: PoolBlock<A, F>): PoolBlock<A, F> | undefined {
    const own = this.deactivate(block)
    const { bin } = own
    const isHeld = this.keepsAll && bin !== undefined ? this.push(own, bin) : this.keep(own, bin)
    return isHeld ? undefined : own
  }

  /** Ends a lease whose block must not be reused: it is detached whatever its bin, and the caller must free it now. */
  discard(block: PoolBlock<A, F>): PoolBlock<A, F> | undefined {
    return this.deactivate(block)
  }

  /**
   * Detaches the held block, of all families, that goes next by the option `eviction`, while `missing` bytes are missing, or
   * an unknown number; the caller must free it now.
   */
  evictNext(missing?: number): PoolBlock<A, F> | undefined {
    const { whenKnown, whenUnknown } = this.eviction
    switch (missing === undefined ? whenUnknown : whenKnown) {
      case "byNeed":
        return this.evict(this.covering(missing) ?? this.bins.largest())
      case "largestFirst":
        return this.evict(this.bins.largest())
      case "oldestFirst":
        return this.evictBlock(this.order?.oldest)
      case "leastRecentlyUsed":
        return this.evict(this.uses?.oldest)
    }
  }

  /**
   * Detaches the block that has been held for the longest time; the caller must free it now. To keep held bytes within
   * {@link PoolCore.maxHeldBytes}, do so while {@link PoolCore.excessHeld} says, after a block became held or that limit
   * was lowered. Needs the option `recency`.
   */
  evictOldest(): PoolBlock<A, F> | undefined {
    if (this.order === undefined) throw new Error("PoolCore: the oldest block is known only with the option recency")
    return this.evictBlock(this.order.oldest)
  }

  /**
   * One step of the time to live of idle blocks has passed. Time is counted in whole steps: the step in which a block
   * was released does not count for it, unless the owner calls this right after the release too, as it does when the
   * release starts its timer. This frees nothing: see {@link PoolCore.evictIdle}. Without the option `idle` it does
   * nothing.
   *
   * An owner whose timer is late passes how many steps have passed. Blocks that were released meanwhile count from the
   * last of these steps on, since the owner does not know in which step that was.
   */
  tick(steps = 1): void {
    if (steps === 1) this.decay?.tick()
    else this.decay?.tickLate(steps)
  }

  /**
   * Detaches the next block that has been idle for too long, if there is one; the caller must free it now. After k
   * whole ticks the share 1 − k / steps of the bytes that became idle in one tick stays, rounded up to whole blocks.
   * `keepBytes` always stay. The longest idle are freed first.
   */
  evictIdle(): PoolBlock<A, F> | undefined {
    return this.evictBlock(this.decay?.next(this.order?.oldest, this.heldBytes))
  }

  /**
   * For a miss of `size` bytes, which are pending: detaches smaller held blocks of its family, the largest of them first,
   * while the managed and pending bytes are more than 1.9 times the most bytes that leases asked for at one time; the caller
   * must free each before it asks for the next. A block from `size` to `most` bytes would have served the miss: if this method
   * detached such a block before, its bytes are allowed besides from now on. Without the option `outgrown` no block goes.
   */
  *evictOutgrown(family: F, size: number, most: number): Generator<PoolBlock<A, F>, void> {
    const { outgrown } = this
    if (outgrown === undefined) return
    outgrown.missed(family, size, most)
    const asked = this.activeBytes + this.pendingBytes - this.pendingPadding
    const allowed = outgrown.mostManaged(Math.max(asked, this.peakActiveBytes))
    while (this.managedBytes + this.pendingBytes > allowed) {
      const block = this.evict(this.bins.largestOfFamilyBelow(family, size))
      if (block === undefined) return
      outgrown.freed(family, block.capacity)
      yield block
    }
  }

  /**
   * Detaches held blocks one after the other, as {@link PoolCore.evictNext} says, until no more than `target` bytes are
   * managed, or nothing is held; the caller must free each before it asks for the next. Less than one block goes too much.
   */
  *trim(target: number): Generator<PoolBlock<A, F>, void> {
    while (this.managedBytes > target) {
      const block = this.evictNext(this.managedBytes - target)
      if (block === undefined) return
      yield block
    }
  }

  /** Detaches the held blocks one after the other, as {@link PoolCore.evictNext} says; the caller must free each. */
  *evictAll(): Generator<PoolBlock<A, F>, void> {
    for (let block = this.evictNext(); block !== undefined; block = this.evictNext()) yield block
  }

  /** Detaches the held blocks of the families for which `isMeant` holds, one after the other; the caller must free each. */
  *evictFamilies(isMeant: (family: F) => boolean): Generator<PoolBlock<A, F>, void> {
    for (let block = this.evict(this.bins.anyOf(isMeant)); block !== undefined;) {
      yield block
      block = this.evict(this.bins.anyOf(isMeant))
    }
  }

  /** Detaches the held blocks for which `isMeant` holds, one after the other; the caller must free each. */
  *evictWhich(isMeant: (value: A) => boolean): Generator<PoolBlock<A, F>, void> {
    for (const bin of Array.from(this.bins.held())) {
      while (this.raise(bin, isMeant, Infinity)) yield this.evict(bin)!
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
    this.updateKeeping()
    if (own.bin !== undefined) this.bins.leave(own.bin)
  }

  /** A snapshot of the counters. */
  stats(): PoolStats {
    return snapshotOf(this)
  }

  // Sums stay exact because no limit is above 2^53−1.
  private availableBytes(): number {
    const outerBytes = this.outer?.leftBytes ?? Infinity
    return Math.min(this.limit, outerBytes, largestByteCount) - this.managedBytes - this.pendingBytes
  }

  private evictsBy(order: EvictionPolicy.EvictionOrder): boolean {
    return this.eviction.whenKnown === order || this.eviction.whenUnknown === order
  }

  /** Not called by a hit and its release: only by a change that can end or begin an excess. */
  private updateKeeping(): void {
    this.keepsUpTo = this.isHolding && this.availableBytes() >= 0 ? this.heldLimit : -1
    const keepsAll = this.keepsUpTo === Infinity && this.order === undefined
    // Written only when it changes, so that the engine may treat it as a constant.
    if (keepsAll !== this.keepsAll) this.keepsAll = keepsAll
  }

  private takePending(bytes: number, request: number): void {
    if (bytes > this.pendingBytes) {
      throw new Error(`PoolCore: ${bytes} bytes are used or given back, but only ${this.pendingBytes} are pending`)
    }
    this.pendingBytes -= bytes
    // An owner may leave `request` out of `addPending`: then nothing counts as padding until it is leased.
    this.pendingPadding = Math.max(0, this.pendingPadding - (bytes - request))
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
    const blocks = this.activeBlocks + 1
    const bytes = this.activeBytes + request
    this.activeBlocks = blocks
    this.activeBytes = bytes
    if (blocks > this.peakActiveBlocks) this.peakActiveBlocks = blocks
    if (bytes > this.peakActiveBytes) this.peakActiveBytes = bytes
  }

  private deactivate(block: PoolBlock<A, F>): Block<A, F> {
    const own = block as Block<A, F>
    if (own.state !== "active") throw notActive(own)
    this.activeBlocks--
    this.activeBytes -= own.request
    own.request = 0
    own.state = "detached"
    return own
  }

  /** Makes a block held, if it has a bin and may be kept now. */
  private keep(block: Block<A, F>, bin: Bin<Block<A, F>, F> | undefined): boolean {
    if (bin === undefined || block.capacity > this.keepsUpTo) return false
    this.push(block, bin)
    if (this.order !== undefined) this.enter(block, bin)
    return true
  }

  private push(block: Block<A, F>, bin: Bin<Block<A, F>, F>): true {
    block.state = "held"
    block.below = bin.top
    if (bin.top === undefined) this.bins.fill(bin)
    bin.top = block
    this.heldBlocks++
    this.heldBytes += bin.size
    return true
  }

  private pop(bin: Bin<Block<A, F>, F>, isUse: boolean): Block<A, F> {
    const block = bin.top!
    if (this.order !== undefined) this.leave(block, bin, isUse)
    bin.top = block.below
    block.below = undefined
    this.heldBlocks--
    this.heldBytes -= bin.size
    return block
  }

  /** Enters a block, which is on top of its bin's stack, in the order. */
  private enter(block: Block<A, F>, bin: Bin<Block<A, F>, F>): void {
    if (block.below === undefined) {
      this.uses?.add(bin)
    } else {
      block.below.above = block
      this.uses?.renew(bin)
    }
    this.order?.add(block)
    this.decay?.add(block)
  }

  /** Takes a block, which is on top of its bin's stack, out of the order. An eviction is no use of its bin. */
  private leave(block: Block<A, F>, bin: Bin<Block<A, F>, F>, isUse: boolean): void {
    if (block.below === undefined) {
      this.uses?.remove(bin)
    } else {
      block.below.above = undefined
      if (isUse) this.uses?.renew(bin)
    }
    this.decay?.remove(block)
    this.order?.remove(block)
  }

  /** Takes all blocks out, the largest first, and puts them back in reverse, so the bins are as before. */
  private startOrder(): void {
    const blocks = [...this.evictAll()] as Array<Block<A, F>>
    this.order = new HeldOrder()
    for (let block = blocks.pop(); block !== undefined; block = blocks.pop()) {
      this.push(block, block.bin!)
      this.enter(block, block.bin!)
    }
  }

  /** The smallest bin that holds blocks no smaller than what is missing. */
  private covering(missing: number | undefined): Bin<Block<A, F>, F> | undefined {
    return missing === undefined || missing > largestByteCount ? undefined : this.bins.smallest(Math.max(missing, 1))
  }

  private evict(bin: Bin<Block<A, F>, F> | undefined): Block<A, F> | undefined {
    if (bin === undefined) return undefined
    const block = this.pop(bin, false)
    block.state = "detached"
    return block
  }

  /** The same for a block that may lie anywhere in its bin's stack, in a pool that keeps an order. */
  private evictBlock(block: Block<A, F> | undefined): Block<A, F> | undefined {
    if (block === undefined) return undefined
    this.lift(block, block.bin!)
    return this.evict(block.bin)
  }

  /** Puts the first of a bin's blocks that `accepts` returns true for on top of its stack, if the first `among` have one. */
  private raise(bin: Bin<Block<A, F>, F>, accepts: (value: A) => boolean, among: number): boolean {
    let over: Block<A, F> | undefined
    let block = bin.top
    for (let left = among; left > 0 && block !== undefined; left--) {
      if (accepts(block.value)) {
        this.liftFrom(over, block, bin)
        return true
      }
      over = block
      block = block.below
    }
    return false
  }

  private liftFrom(over: Block<A, F> | undefined, block: Block<A, F>, bin: Bin<Block<A, F>, F>): void {
    if (over === undefined) return
    if (this.order !== undefined) return this.lift(block, bin)
    over.below = block.below
    block.below = bin.top
    bin.top = block
  }

  /** Puts a block on top of its bin's stack. */
  private lift(block: Block<A, F>, bin: Bin<Block<A, F>, F>): void {
    const { above, below } = block
    if (above === undefined) return
    above.below = below
    if (below !== undefined) below.above = above
    block.above = undefined
    block.below = bin.top
    bin.top!.above = block
    bin.top = block
  }

  private hit(bin: Bin<Block<A, F>, F>, request: number): Block<A, F> {
    this.hits++
    const block = this.pop(bin, true)
    this.activate(block, request)
    return block
  }
}
