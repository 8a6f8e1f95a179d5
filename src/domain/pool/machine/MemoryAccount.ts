/**
 * The limit of a memory, and who gets its blocks and bytes: held blocks, pending bytes, reservations. Every decision here is one
 * synchronous step, so no interruption can come in between.
 *
 * @since 0.1.0
 */
import type { DeviceLimits } from "../../device/DeviceInfo.ts"
import type { GpuError, LimitOwner, WaitingJob } from "../../GpuError.ts"
import type { BlockCore, PoolBlock } from "../PoolCore.ts"
import type { FreeReason } from "../PoolEvent.ts"
import { LeaseCharge } from "./Charge.ts"
import { noOuterLimits, type OuterLimits } from "./OuterLimits.ts"
import type { PoolState, Reusable } from "./PoolState.ts"
import type { Account, Family, Queue, Request, RequestSource, Served } from "./Request.ts"
import { leftOfAll, type Origin } from "./Reservation.ts"

/**
 * The limit of a memory as the account of its requests: its ledger, its queue and what may be evicted.
 *
 * @category models
 * @since 0.1.0
 */
export class MemoryAccount<A extends Reusable = Reusable> implements Account {
  readonly number = 0
  readonly queue: Queue
  hasHandlers = false
  readonly core: BlockCore<A, Family>
  readonly owner: LimitOwner
  /** The block whose lease ends in this step. */
  returning: PoolBlock<A, Family> | undefined = undefined
  readonly #state: PoolState<A>
  readonly #limits: DeviceLimits
  /** Leases that were granted to handlers. */
  #toHandlers = 0
  /** How many freed blocks the driver has really got back. */
  #reclaimed = 0
  #limitChanges = 0
  /** Held blocks whose last lease ended without a new epoch. When the driver gets such a block back the epoch does not grow either. */
  readonly #retracted = new WeakSet<PoolBlock<A, Family>>()

  constructor(state: PoolState<A>, limits: DeviceLimits, owner: LimitOwner, queueOf: (account: Account) => Queue) {
    this.queue = queueOf(this)
    this.#state = state
    this.#limits = limits
    this.core = state.core
    this.owner = owner
  }

  /**
   * Bytes that are neither leased nor pending nor reserved, out of the least of three: the memory's limit, what the limits around it
   * leave if other memories give up what they hold, and the device's memory.
   */
  get freeBytes(): number {
    return this.freeIn(this.#outer.attainableBytes)
  }

  /** The same if the limits around the memory left `outerBytes` to it. */
  freeIn(outerBytes: number): number {
    const { evictableBytes, managedBytes, maxBytes, pendingBytes, reservedBytes } = this.core
    const capacity = Math.min(maxBytes, outerBytes, this.#limits.memoryBytes ?? Infinity, Number.MAX_SAFE_INTEGER)
    return capacity - (managedBytes - evictableBytes) - pendingBytes - reservedBytes
  }

  get #outer(): OuterLimits {
    return this.#state.port.outer
  }

  /** How many bytes a request may get without those reserved for others. Without `outerBytes`, other memories keep what they hold. */
  roomFor(request: Request, outerBytes?: number): number {
    if (this.core.reservedBytes === 0) return Infinity
    const free = this.freeIn(outerBytes ?? this.#outer.leftBytes)
    // A lowered limit takes nothing from a reservation: its request gets the reserved bytes all the same.
    return Math.max(free + request.drawn, request.isCertain ? request.exactSize : 0)
  }

  /** By how much the next block may be larger than the request that gets it. */
  paddingOf({ borrows }: RequestSource): number {
    return borrows ? this.core.nextPadding : Infinity
  }

  /** How large the block of a request may be now. */
  allowance(request: Request): number {
    const { exactSize, source } = request
    const room = Math.min(this.roomFor(request), exactSize + this.paddingOf(source))
    return Math.min(room, allowanceOf(request))
  }

  /** The policy's block size; or the exact size, if a limit, a budget or reservations leave no room for that. */
  wantedBlock(request: Request): number {
    return request.isExactOnly || this.allowance(request) < request.blockSize ? request.exactSize : request.blockSize
  }

  /** Whether so many bytes would fit beside the reserved ones if all held blocks were evicted, those of other memories too. */
  mayFit(request: Request, bytes: number): boolean {
    const { attainableBytes } = this.#outer
    return this.#fits(bytes, attainableBytes) && bytes <= this.roomFor(request, attainableBytes)
  }

  #fits(bytes: number, outerBytes: number): boolean {
    const { evictableBytes, managedBytes, maxBytes, pendingBytes } = this.core
    const capacity = Math.min(maxBytes, outerBytes, Number.MAX_SAFE_INTEGER)
    return bytes <= capacity - (managedBytes - evictableBytes) - pendingBytes
  }

  /** How many bytes must be evicted before so many can become pending. */
  deficit(request: Request, bytes: number): number {
    return Math.max(this.core.deficit(bytes), bytes - this.roomFor(request))
  }

  /** Serves a request from a held block, if there is one now that fits its budgets. */
  search(request: Request): boolean {
    const { exactSize, family, partSize, size, source } = request
    if (exactSize > this.roomFor(request)) return this.#searchBeside(request)
    const allowance = this.allowance(request)
    const blockSize = request.blockSize <= allowance ? request.blockSize : exactSize
    const most = Math.min(source.mostBorrowed(blockSize), allowance)
    const chosen = this.#state.port.choose(request, blockSize, most)
    const block = chosen === "any"
      ? this.core.acquireOwn(family, blockSize, size) ?? this.core.borrow(family, blockSize, size, most)
      : chosen
    // Where a slab for its part would be too large, parts beside leases have not been looked at.
    if (block === undefined) return chosen === "any" && most <= partSize && this.#searchBeside(request)
    // A part of a slab fits its request, so it is not borrowed.
    this.handOut(request, block, partSize < Infinity || block.capacity === blockSize ? "held" : "borrowed")
    return true
  }

  /** Free chunks beside leases are no bytes that a reservation could get. */
  #searchBeside(request: Request): boolean {
    const { family, from, partSize, size } = request
    if (from !== undefined || allowanceOf(request) < partSize || this.#state.port.hasSeveralQueues) return false
    const block = this.core.acquireBeside?.(family, size)
    if (block !== undefined) this.handOut(request, block, "held")
    return block !== undefined
  }

  /** Makes a lease on an active block. If the last owner's bytes cannot be cleared, fails the request and releases the block. */
  handOut(request: Request, block: PoolBlock<A, Family>, from: Origin): void {
    const { port } = this.#state
    port.handOver(request, block)
    const failure = request.source.clears ? port.clear(request, block) : undefined
    if (failure !== undefined) {
      request.undoUse()
      request.queue?.served(request)
      request.fail(failure)
      // Observers must learn of a new block before they learn that it is freed.
      if (from === "driver") this.#state.observer?.kept(request, block)
      this.recycle(block)
      return
    }
    // The new owner's queue waits for the clearing, as it waits for the commands of the last owner.
    if (request.source.clears) port.handOver(request, block)
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
    const { core } = this
    const gone = block.value.recyclable ? core.release(block) : core.discard(block)
    if (gone !== undefined) this.free(gone, "notKept")
  }

  /** A lease has ended and its block has come back; with `isRetracted`, without a new epoch. */
  cameIn({ whole }: PoolBlock<A, Family>, isRetracted: boolean): void {
    if (isRetracted && whole.state === "held") this.#retracted.add(whole)
    else this.#retracted.delete(whole)
  }

  /** Frees a detached block. */
  free(block: PoolBlock<A, Family>, why: FreeReason): void {
    const failed = this.#state.port.free(block)
    this.core.freed(block)
    if (this.#retracted.delete(block)) this.#state.correct(-1)
    if (failed) this.core.releaseFailures++
    this.#state.observer?.freed(block, why)
  }

  /** Frees detached blocks one after the other. The iterable evicts each only after the one before it was freed. */
  freeAll(blocks: Iterable<PoolBlock<A, Family>>, why: FreeReason): void {
    for (const block of blocks) this.free(block, why)
  }

  /**
   * Under the byte limit the deficit is known: evicts held blocks, in the order of the policy, until it is covered. If even all
   * held blocks would not cover it, evicts nothing and returns `undefined`.
   */
  makeRoom(request: Request, bytes: number): "evicted" | "free" | undefined {
    if (!this.mayFit(request, bytes)) return undefined
    const deficit = this.deficit(request, bytes)
    if (deficit <= 0) return "free"
    this.#state.observer?.roomNeeded(request, deficit)
    this.freeAll(this.core.trim(this.core.managedBytes - this.core.deficit(bytes)), "evicted")
    this.#outer.evict(() => this.deficit(request, bytes))
    // Decorators of the allocator add bytes to a block, which come back only with it: evicts until the deficit is covered.
    while (this.deficit(request, bytes) > 0) {
      const block = this.core.evictNext()
      if (block === undefined) return undefined
      this.free(block, "evicted")
    }
    return "evicted"
  }

  /** The driver refused, so the deficit is unknown: evicts the policy's next block, if that can help. */
  evictNext(request: Request): boolean {
    const { memoryBytes } = this.#limits
    const activeCapacity = this.core.managedBytes - this.core.evictableBytes
    if (memoryBytes !== undefined && activeCapacity + request.capacity > memoryBytes) return false
    const block = this.core.evictNext()
    if (block === undefined) return this.#evictOthers(request)
    this.#state.observer?.roomNeeded(request, 0)
    this.free(block, "evicted")
    return true
  }

  /** Other memories evict as many bytes, which must be reclaimed before the driver is asked again. */
  #evictOthers(request: Request): boolean {
    const outer = this.#outer
    const target = outer.heldByOthers - request.capacity
    if (!outer.evict(() => outer.heldByOthers - target)) return false
    request.reclaimedAt = -1
    return true
  }

  /** Frees held blocks that the program has outgrown. Called when the driver is about to be asked for `bytes`, which are pending. */
  freeOutgrown({ blockSize, exactSize, family, isAlone, source }: Request, bytes: number): void {
    // Without borrowing a block serves its own size alone, so a program needs one of each size.
    if (source.borrows) {
      this.freeAll(
        this.core.evictOutgrown(family, bytes, isAlone ? exactSize : source.mostBorrowed(blockSize)),
        "heldLimit"
      )
    }
  }

  /** Makes bytes pending for a driver call, if the limit has them and they are not reserved for others. */
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
    // Other memories must not lease what is reserved here, so they evict it now. This memory evicts its own held blocks later.
    const evicted = missing > 0 && this.#outer.evict(() => missing - this.freeIn(this.#outer.leftBytes))
    // Reclaims before the reservation is used: this memory does not know what others have freed.
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

  /** Whether a request that the driver refused is trying again, here or in another memory under the same limits. Only one may at a time. */
  get #isAtWork(): boolean {
    return this.queue.atWork > 0 || this.#outer.othersAtWork
  }

  serve(request: Request): Served | undefined {
    if (request.from === undefined) return this.#tryServe(request)
    request.drawMore()
    const served = this.#tryServe(request)
    if (served === undefined) request.releaseBeforeWait()
    return served
  }

  #tryServe(request: Request): Served | undefined {
    const { asks } = request
    // A reservation that is open, and for whose leases the driver had no memory, tries again as other requests do.
    if (asks?.isOpen === true) return !this.#isAtWork && this.#mayRetry(request) ? "try" : undefined
    if (asks !== undefined) return this.tryAdmit(request) ? "admitted" : undefined
    if (this.search(request)) return "answered"
    // Where the driver refuses, free bytes under the limit do not help.
    if (!this.queue.isRefused) return this.#give(request) ? "given" : undefined
    // One request at a time: otherwise all would ask the driver for the memory of one release.
    if (this.#isAtWork || !this.mayFit(request, request.exactSize)) return undefined
    return this.#mayRetry(request) ? "try" : undefined
  }

  /** Whether a request may try again. One with handlers decides itself, when they have ended, whether it can still wait. */
  #mayRetry(request: Request): boolean {
    if (!request.wasRefused || request.seen !== this.#state.epoch) return true
    return request.state !== "withHandlers" && !this.mayRecover(request, true)
  }

  /** Makes bytes pending for the request, which no other can take during the reclaim and the driver call. */
  #give(request: Request): boolean {
    for (const bytes of this.#blockSizes(request)) {
      const room = this.makeRoom(request, bytes)
      if (room === undefined || !this.makePending(request, bytes)) continue
      request.charge?.resize(request.bytesOf(bytes))
      request.capacity = bytes
      request.isRefused = false
      request.reclaimsFirst = room === "evicted" || this.freesAreLate
      if (room === "evicted") request.tried("evict")
      return true
    }
    return false
  }

  /** The block sizes to ask the driver for, in order: the policy's unless a limit forbids it, then the exact size. */
  #blockSizes(request: Request): ReadonlyArray<number> {
    const { blockSize, exactSize } = request
    if (request.isExactOnly || this.allowance(request) < blockSize) return [exactSize]
    return blockSize === exactSize ? [blockSize] : [blockSize, exactSize]
  }

  hasServed({ granted, pending }: Request): boolean {
    return granted !== undefined || pending > 0
  }

  /** The bytes missing under the limit; 0 where the driver refused. */
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
   * Whether anything may come back: leased, pending or reserved for others. For a request that the driver refused, memory that comes
   * back to other memories counts too.
   */
  mayRecover(request: Request, wasRefused: boolean): boolean {
    const { asks, drawn, exactSize, from } = request
    const { activeBlocks, pendingBytes, reservedBytes } = this.core
    const ofOthers = reservedBytes - drawn - leftOfAll(asks ?? from)
    return activeBlocks > 0 || pendingBytes > 0 || (ofOthers > 0 && ofOthers > this.#drawnByWaiting(request)) ||
      ((wasRefused || exactSize - drawn <= this.freeIn(Infinity)) && this.#outer.mayComeBack)
  }

  /**
   * The bytes that other waiting requests have drawn from reservations that have ended. These requests release them only after they
   * were served, so no request can wait for them. 0 while any reservation runs: its end serves the queues.
   */
  #drawnByWaiting({ waitsWith }: Request): number {
    const { drawnByWaiting, reservations } = this.#state
    return reservations.size > 0 ? 0 : drawnByWaiting - waitsWith
  }

  countedBytes(): number {
    const { evictableBytes, managedBytes, pendingBytes, reservedBytes } = this.core
    return managedBytes - evictableBytes + pendingBytes + reservedBytes
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

  /** Memory has come back: serves its queue, and lets other memories serve theirs. */
  cameBack(): void {
    this.queue.serve()
    this.#outer.publish()
  }

  setLimit(bytes: number): void {
    this.#limitChanges++
    this.#state.observer?.limitChanged(undefined, this.core.maxBytes, bytes)
    this.core.setMaxBytes(bytes)
  }

  /** Whether blocks were freed that the driver may not have got back yet. */
  get freesAreLate(): boolean {
    return this.core.driverFrees > this.#reclaimed
  }

  /** The driver has got back the first `frees` blocks that were ever freed. */
  reclaimed(frees: number): void {
    this.#reclaimed = Math.max(this.#reclaimed, frees)
    this.#state.observer?.reclaimed()
  }

  outOfMemory(request: Request, waitedMillis?: number, deadlock?: ReadonlyArray<WaitingJob>): GpuError {
    const { bytesOfOthers, maxBytes } = this.#outer
    const others = this.#outer === noOuterLimits ? undefined : { shared: { maxBytes, bytesOfOthers } }
    const { largestHeld: largestHeldBytes, maxBytes: limit } = this.core
    const facts = { limit, largestHeldBytes, ...others, limitName: "maxBytes", limitLabel: this.owner.name } as const
    return this.#state.outOfMemory(request, this.core, facts, undefined, waitedMillis, deadlock)
  }
}

/** How large its block may be for its budgets and its reservation: any slab of which its budgets have room for its part. */
const allowanceOf = ({ charge, exactSize, isAlone, partSize }: Request): number => {
  if (isAlone) return exactSize
  return charge === undefined || partSize <= charge.allowance ? Infinity : charge.allowance
}
