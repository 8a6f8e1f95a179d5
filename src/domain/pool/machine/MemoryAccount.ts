/**
 * The limit of a memory, and who gets its blocks and its bytes: held blocks, bytes for the driver, reservations. Every decision here
 * is one synchronous step, so no interruption can come in between.
 *
 * @since 0.1.0
 */
import type { DeviceLimits } from "../../device/DeviceInfo.ts"
import type { GpuError, LimitOwner, WaitingJob } from "../../GpuError.ts"
import type { PoolBlock, PoolCore } from "../PoolCore.ts"
import type { FreeReason } from "../PoolEvent.ts"
import { LeaseCharge } from "./Charge.ts"
import { noOuterLimits, type OuterLimits } from "./OuterLimits.ts"
import type { PoolState, Reusable } from "./PoolState.ts"
import type { Account, Family, Request, RequestSource, Served } from "./Request.ts"
import { leftOfAll, type Origin } from "./Reservation.ts"
import { WaitQueue } from "./WaitQueue.ts"

/**
 * The limit of a memory as the account of its requests: its ledger, its queue and what may be evicted.
 *
 * @category models
 * @since 0.1.0
 */
export class MemoryAccount<A extends Reusable = Reusable> implements Account {
  readonly number = 0
  readonly queue: WaitQueue
  hasHandlers = false
  readonly core: PoolCore<A, Family>
  readonly owner: LimitOwner
  /** The block that comes back in this step. */
  returning: PoolBlock<A, Family> | undefined = undefined
  readonly #state: PoolState<A>
  readonly #limits: DeviceLimits
  /** Leases that handlers took while others waited. */
  #toHandlers = 0
  /** The count of freed blocks whose memory the driver really has. */
  #reclaimed = 0
  #limitChanges = 0
  /** Held blocks whose last leases ended in no epoch. No epoch grows either when the driver gets such a block back. */
  readonly #retracted = new WeakSet<PoolBlock<A, Family>>()

  constructor(state: PoolState<A>, limits: DeviceLimits, owner: LimitOwner, maxBypasses: number) {
    this.queue = new WaitQueue(this, state, maxBypasses)
    this.#state = state
    this.#limits = limits
    this.core = state.core
    this.owner = owner
  }

  /**
   * Bytes that are neither leased nor pending nor reserved: of the limit, of what the limits around the memory leave to it if other
   * memories give up what they hold, or of what the device has, whichever is least.
   */
  get freeBytes(): number {
    return this.freeIn(this.#outer.attainableBytes)
  }

  /** The same if the limits around the memory left so many bytes to it. */
  freeIn(outerBytes: number): number {
    const { heldBytes, managedBytes, maxBytes, pendingBytes, reservedBytes } = this.core
    const capacity = Math.min(maxBytes, outerBytes, this.#limits.memoryBytes ?? Infinity, Number.MAX_SAFE_INTEGER)
    return capacity - (managedBytes - heldBytes) - pendingBytes - reservedBytes
  }

  get #outer(): OuterLimits {
    return this.#state.port.outer
  }

  /** How many bytes a request may get without touching what is reserved for others; without `outerBytes` others give nothing up. */
  roomFor(request: Request, outerBytes?: number): number {
    if (this.core.reservedBytes === 0) return Infinity
    const free = this.freeIn(outerBytes ?? this.#outer.leftBytes)
    // A lowered limit takes nothing from reservations: the bytes that are reserved go to them.
    return Math.max(free + request.drawn, request.isCertain ? request.exactSize : 0)
  }

  /** By how much the next block may be larger than the request that gets it. */
  paddingOf({ borrows }: RequestSource): number {
    return borrows ? this.core.nextPadding : Infinity
  }

  /** How large its block may be now. */
  allowance(request: Request): number {
    const { charge, exactSize, source } = request
    return Math.min(charge?.allowance ?? Infinity, this.roomFor(request), exactSize + this.paddingOf(source))
  }

  /** The policy's block, unless a limit, a budget, or what is reserved for others, leaves no room for it. */
  wantedBlock(request: Request): number {
    return request.isExactOnly || this.allowance(request) < request.blockSize ? request.exactSize : request.blockSize
  }

  /** Whether so many bytes would fit if all held blocks were evicted, those of other memories too, without the bytes that are reserved. */
  mayFit(request: Request, bytes: number): boolean {
    const { attainableBytes } = this.#outer
    return this.#fits(bytes, attainableBytes) && bytes <= this.roomFor(request, attainableBytes)
  }

  #fits(bytes: number, outerBytes: number): boolean {
    const { heldBytes, managedBytes, maxBytes, pendingBytes } = this.core
    const capacity = Math.min(maxBytes, outerBytes, Number.MAX_SAFE_INTEGER)
    return bytes <= capacity - (managedBytes - heldBytes) - pendingBytes
  }

  /** How many bytes must be evicted before so many can become pending. */
  deficit(request: Request, bytes: number): number {
    return Math.max(this.core.deficit(bytes), bytes - this.roomFor(request))
  }

  /** Answers a request from a held block, if there is one now that a budget has room for. */
  search(request: Request): boolean {
    const { exactSize, family, size, source } = request
    if (exactSize > this.roomFor(request)) return false
    const allowance = this.allowance(request)
    const blockSize = request.blockSize <= allowance ? request.blockSize : exactSize
    const most = Math.min(source.mostBorrowed(blockSize), allowance)
    if (this.#state.port.hasSeveralQueues) {
      const block = this.#state.port.acquireForQueue(request, blockSize, most)
      if (block !== undefined) this.handOut(request, block, block.capacity === blockSize ? "held" : "borrowed")
      return block !== undefined
    }
    const own = this.core.acquireOwn(family, blockSize, size)
    const block = own ?? this.core.borrow(family, blockSize, size, most)
    if (block !== undefined) this.handOut(request, block, block === own ? "held" : "borrowed")
    return block !== undefined
  }

  /** Turns an active block into a lease; or fails the request, when the last owner's bytes cannot be cleared, and gives the block back. */
  handOut(request: Request, block: PoolBlock<A, Family>, from: Origin): void {
    const { port } = this.#state
    port.handOver(block)
    const failure = request.source.clears ? port.clear(request, block) : undefined
    if (failure !== undefined) {
      request.unuse()
      request.queue?.served(request)
      request.fail(failure)
      // A block that is told of nowhere must not be told to be freed.
      if (from === "driver") this.#state.observer?.kept(request, block)
      this.recycle(block)
      return
    }
    // The new owner's queue waits for the clearing as for an owner before.
    if (request.source.clears) port.handOver(block)
    if (request.from !== undefined) request.use()
    if (block === this.returning) this.#state.correct(-1)
    if (request.inHandler) this.#toHandlers++
    request.granted = port.grant(request, block)
    request.used = 0
    request.charge?.settle(request, block.capacity, from)
    request.queue?.served(request)
    request.become("granted")
    this.#state.observer?.leased(request, block, from)
  }

  /** What the lease of a request is charged to. */
  chargeOf({ budget, from, used }: Request): LeaseCharge | undefined {
    return budget === undefined && used === 0 ? undefined : new LeaseCharge(budget, from, used)
  }

  /** Makes an active block held, or frees it. */
  recycle(block: PoolBlock<A, Family>): void {
    if (!block.value.recyclable) this.core.discard(block)
    else if (this.core.release(block)) return
    this.free(block, "notKept")
  }

  /** A block has come back to the pool, in an epoch or in none. */
  cameIn(block: PoolBlock<A, Family>, isRetracted: boolean): void {
    if (isRetracted && block.state === "held") this.#retracted.add(block)
    else this.#retracted.delete(block)
  }

  /** Frees a detached block, in this step. */
  free(block: PoolBlock<A, Family>, why: FreeReason): void {
    const failed = this.#state.port.free(block)
    this.core.freed(block)
    if (this.#retracted.delete(block)) this.#state.correct(-1)
    if (failed) this.core.releaseFailures++
    this.#state.observer?.freed(block, why)
  }

  /** Frees detached blocks one after the other; each is evicted only when the one before it is gone. */
  freeAll(blocks: Iterable<PoolBlock<A, Family>>, why: FreeReason): void {
    for (const block of blocks) this.free(block, why)
  }

  /**
   * Under the byte limit the deficit is known: evicts held blocks, in the order of the policy, until it is
   * covered. Nothing is evicted when even everything held would not do; the answer is then `undefined`.
   */
  makeRoom(request: Request, bytes: number): "evicted" | "free" | undefined {
    if (!this.mayFit(request, bytes)) return undefined
    const deficit = this.deficit(request, bytes)
    if (deficit <= 0) return "free"
    this.#state.observer?.roomNeeded(request, deficit)
    this.freeAll(this.core.trim(this.core.managedBytes - this.core.deficit(bytes)), "evicted")
    this.#outer.evict(() => this.deficit(request, bytes))
    // With its own blocks comes back what a decorator of the allocator has added to them.
    while (this.deficit(request, bytes) > 0) {
      const block = this.core.evictNext()
      if (block === undefined) return undefined
      this.free(block, "evicted")
    }
    return "evicted"
  }

  /** The driver lacks memory by an unknown amount: evicts one block, the policy's next, and only while it can help. */
  evictNext(request: Request): boolean {
    const { memoryBytes } = this.#limits
    const activeCapacity = this.core.managedBytes - this.core.heldBytes
    if (memoryBytes !== undefined && activeCapacity + request.capacity > memoryBytes) return false
    const block = this.core.evictNext()
    if (block === undefined) return this.#evictOthers(request)
    this.#state.observer?.roomNeeded(request, 0)
    this.free(block, "evicted")
    return true
  }

  /** Other memories give up as many bytes, which the driver must have back before it is asked again. */
  #evictOthers(request: Request): boolean {
    const outer = this.#outer
    const target = outer.heldByOthers - request.capacity
    if (!outer.evict(() => outer.heldByOthers - target)) return false
    request.reclaimedAt = -1
    return true
  }

  /** Before the driver is asked for so many bytes, which are pending: frees held blocks that the program has outgrown. */
  freeOutgrown({ blockSize, family, source }: Request, bytes: number): void {
    // Where a block serves its own size alone, a program needs one of each size.
    if (source.borrows) {
      this.freeAll(this.core.evictOutgrown(family, bytes, source.mostBorrowed(blockSize)), "heldLimit")
    }
  }

  /** Makes bytes of the limit pending for what the driver is asked for, if they are not reserved for others. */
  makePending(request: Request, bytes: number): boolean {
    if (bytes > this.roomFor(request) || !this.core.addPending(bytes, request.size)) return false
    request.pending = bytes
    request.use()
    return true
  }

  /** Reserves the bytes that a request asks for, if they are free under the limit; held blocks are evicted later. */
  tryAdmit(request: Request): boolean {
    const { asks, charge, drawn, exactSize } = request
    const missing = exactSize - drawn
    if (missing > 0 && missing > this.freeBytes) return false
    // What is reserved must not be leased meanwhile in other memories; this one keeps it for its reservations.
    const evicted = missing > 0 && this.#outer.evict(() => missing - this.freeIn(this.#outer.leftBytes))
    // The driver must have it back before the reservation is used: the memory's own requests would not know of it.
    if (evicted) request.reclaimsFirst = true
    request.drawn = 0
    charge?.settled()
    asks!.open(exactSize, drawn)
    this.#state.observer?.reserved(request)
    request.queue?.served(request)
    return true
  }

  hasAdmitted({ asks }: Request): boolean {
    return asks!.isOpen
  }

  mayServe(): boolean {
    const { isRefused, leastBytes, length } = this.queue
    if (this.#state.closed || length === 0) return false
    if (this.core.heldBytes >= leastBytes) return true
    return !(isRefused && this.#isAtWork) && this.#fits(leastBytes, this.#outer.attainableBytes)
  }

  /** Whether a request that the driver refused tries again, of this memory or of another one under its limits: then no other one may. */
  get #isAtWork(): boolean {
    return this.queue.atWork > 0 || this.#outer.othersAtWork
  }

  serve(request: Request): Served | undefined {
    if (request.from === undefined) return this.#tryServe(request)
    request.drawMore()
    const served = this.#tryServe(request)
    if (served === undefined) request.rest()
    return served
  }

  #tryServe(request: Request): Served | undefined {
    const { asks } = request
    // One that has its bytes already, and was refused by the driver for what it takes of them, tries as others do.
    if (asks?.isOpen === true) return !this.#isAtWork && this.#mayRetry(request) ? "try" : undefined
    if (asks !== undefined) return this.tryAdmit(request) ? "admitted" : undefined
    if (this.search(request)) return "answered"
    // Where the driver refuses, free bytes under the limit do not help.
    if (!this.queue.isRefused) return this.#give(request) ? "given" : undefined
    // One request at a time, or all would ask the driver for the memory of one release.
    if (this.#isAtWork || !this.mayFit(request, request.exactSize)) return undefined
    return this.#mayRetry(request) ? "try" : undefined
  }

  /** One that handlers work for looks for itself, when they have ended, whether anything is left to wait for. */
  #mayRetry(request: Request): boolean {
    if (!request.wasRefused || request.seen !== this.#state.epoch) return true
    return request.state !== "withHandlers" && !this.mayRecover(request, true)
  }

  /** Bytes for the request alone, through the asynchronous evictions and the driver's call. */
  #give(request: Request): boolean {
    for (const bytes of this.#blockSizes(request)) {
      const room = this.makeRoom(request, bytes)
      if (room === undefined || !this.makePending(request, bytes)) continue
      request.charge?.resize(bytes)
      request.capacity = bytes
      request.isRefused = false
      request.reclaimsFirst = room === "evicted" || this.freesAreLate
      if (room === "evicted") request.tried("evict")
      return true
    }
    return false
  }

  /** What the driver may be asked for: the policy's block unless a limit forbids it, else the size without slack. */
  #blockSizes(request: Request): ReadonlyArray<number> {
    const { blockSize, exactSize } = request
    if (request.isExactOnly || this.allowance(request) < blockSize) return [exactSize]
    return blockSize === exactSize ? [blockSize] : [blockSize, exactSize]
  }

  hasServed({ granted, pending }: Request): boolean {
    return granted !== undefined || pending > 0
  }

  /** Under the limit, without what the driver may still get back. */
  missing(request: Request): number {
    const { asks, drawn, exactSize, isRefused } = request
    if (isRefused) return 0
    const missing = Math.max(0, exactSize - drawn - this.freeBytes)
    return asks !== undefined || this.core.reservedBytes > 0 ? missing : this.core.deficit(exactSize)
  }

  mayWait(request: Request): boolean {
    return this.mayRecover(request, request.isRefused) || this.queue.hasOthersAtWork(request)
  }

  /**
   * Whether anything is leased, reserved for others or asked of the driver, that may come back; for a request that was
   * refused, also to others.
   */
  mayRecover(request: Request, wasRefused: boolean): boolean {
    const { asks, drawn, exactSize, from } = request
    const { activeBlocks, pendingBytes, reservedBytes } = this.core
    const ofOthers = reservedBytes - drawn - leftOfAll(asks ?? from)
    return activeBlocks > 0 || pendingBytes > 0 || (ofOthers > 0 && ofOthers > this.#drawnByWaiting(request)) ||
      ((wasRefused || exactSize - drawn <= this.freeIn(Infinity)) && this.#outer.mayComeBack)
  }

  /**
   * The bytes that other waiting requests have drawn from reservations which have ended. These requests give them back only after they
   * were served, so nobody can wait for them. While the effect of any reservation runs, the queues are served when it ends.
   */
  #drawnByWaiting({ waitsWith }: Request): number {
    const { drawnByWaiting, reservations } = this.#state
    return reservations.size > 0 ? 0 : drawnByWaiting - waitsWith
  }

  countedBytes(): number {
    const { heldBytes, managedBytes, pendingBytes, reservedBytes } = this.core
    return managedBytes - heldBytes + pendingBytes + reservedBytes
  }

  returned(): number {
    return this.core.releases + this.core.driverFrees + this.#limitChanges + this.#outer.epoch
  }

  room(): number {
    return this.freeBytes + this.core.pendingBytes
  }

  served(): number {
    return this.core.hits + this.core.misses - this.#toHandlers
  }

  queueing(): void {
    this.#state.port.queueing()
  }

  /** Something has come back that its queue may want, or those of other memories. */
  cameBack(): void {
    this.queue.serve()
    this.#outer.tell()
  }

  setLimit(bytes: number): void {
    this.#limitChanges++
    this.#state.observer?.limitChanged(undefined, this.core.maxBytes, bytes)
    this.core.setMaxBytes(bytes)
  }

  /** Whether the driver may not have got back yet what was freed. */
  get freesAreLate(): boolean {
    return this.core.driverFrees > this.#reclaimed
  }

  /** The driver has back the first blocks that were freed, so many of them. */
  reclaimed(frees: number): void {
    this.#reclaimed = Math.max(this.#reclaimed, frees)
    this.#state.observer?.reclaimed()
  }

  outOfMemory(request: Request, waitedMillis?: number, deadlock?: ReadonlyArray<WaitingJob>): GpuError {
    const { bytesOfOthers, maxBytes } = this.#outer
    const others = this.#outer === noOuterLimits ? undefined : { shared: { maxBytes, bytesOfOthers } }
    const facts = { ...this.core.evidence, ...others, limitName: "maxBytes", limitLabel: this.owner.name } as const
    return this.#state.outOfMemory(request, facts, undefined, waitedMillis, deadlock)
  }
}
