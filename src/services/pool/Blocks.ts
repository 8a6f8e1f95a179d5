/**
 * The blocks of a memory: their ledger, their leases, and how many bytes a request may have. Every change here is one
 * synchronous step, so no interruption can come in between.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { DeviceInfo, DeviceLimits } from "../../domain/device/DeviceInfo.ts"
import type { GpuError, Released } from "../../domain/GpuError.ts"
import { PoolCore, type PoolCoreOptions } from "../../domain/pool/PoolCore.ts"
import type { FreeReason } from "../../domain/pool/PoolEvent.ts"
import type { ReusePolicy } from "../../domain/pool/ReusePolicy.ts"
import * as CallSite from "../calls/CallSite.ts"
import * as KnownQueues from "../device/queues/KnownQueues.ts"
import type { Reuse } from "../device/queues/KnownQueues.ts"
import type { Block, Family, Leasable, Lease, LeaseOwner } from "../lease/Lease.ts"
import { allOf, LeaseTable, together } from "../lease/LeaseTable.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import { LeaseAccount } from "./LeaseAccount.ts"
import type { ChargedBudget, Origin } from "./waiting/Charge.ts"
import type { Emitter } from "./waiting/Emitter.ts"
import { isCertain, type LeaseRequest } from "./waiting/LeaseRequest.ts"
import type { SetAside } from "./waiting/SetAside.ts"
import type { Share } from "./waiting/SharedLimit.ts"

/** What is left of a reservation, and of those around it: their effects end only after its own requests. */
const leftOf = (from: SetAside | undefined): number => {
  let left = 0
  for (let next = from; next !== undefined; next = next.parent) left += next.left
  return left
}

/** The budgets that it is charged to. */
const chainOf = ({ budget }: LeaseRequest): ReadonlyArray<ChargedBudget> => budget?.chain ?? []

/** A request asks for the block of its policy, again when the driver has back what was freed, and then for its own size alone. */
const callsOfOneTry = 3

export class Blocks implements LeaseOwner {
  readonly device: DeviceInfo
  readonly limits: DeviceLimits
  readonly core: PoolCore<Leasable, Family>
  readonly leases: LeaseTable
  /** What the queues of the device are to it; `undefined` where there can be one alone. */
  readonly queues: Reuse | undefined
  /** What its pools lease. */
  readonly sources = new Set<PoolSource>()
  #sourcesAdded = 0
  closed = false
  /** Told what happens to the blocks, while somebody listens. */
  events: Emitter | undefined = undefined
  /** Told of ends of leases. */
  leaseEvents: Emitter | undefined = undefined
  /** In the limits of the allocator that its blocks come from. */
  shares: ReadonlyArray<Share> = []
  /** Called when a block comes back; `undefined` while no request waits and nothing is trimmed. */
  onReturn: ((block: Block) => Effect.Effect<void> | undefined) | undefined = undefined
  /** The block that comes back in this step. */
  returning: Block | undefined = undefined
  /** Driver calls that ended without a block. */
  refusals = 0
  /** Leases that handlers took while others waited. */
  toHandlers = 0
  /** Driver calls that were refused while another call had memory. */
  #givenUp = 0
  /** Blocks that came back from attempts that failed, or that were evicted for a request of another memory. */
  #retracted = 0
  /** Blocks that went from one lease to the next in one step. */
  #handedOver = 0
  /** The count of freed blocks whose memory the driver really has. */
  #reclaimed = 0

  constructor(device: DeviceInfo, options: PoolCoreOptions, reuse?: ReusePolicy) {
    this.device = device
    this.queues = KnownQueues.of(device)?.reuse(reuse)
    this.limits = device.limits
    this.core = new PoolCore(options)
    this.leases = new LeaseTable(this)
  }

  add(source: PoolSource): void {
    source.index = this.#sourcesAdded++
    this.sources.add(source)
  }

  /** The pool of a source has closed. */
  remove(source: PoolSource): void {
    source.closed = true
    Deferred.doneUnsafe(source.over, Exit.void)
    this.sources.delete(source)
  }

  /**
   * Ends a live lease, its attachments first; its block is held again, or freed. A failing free is counted here, and
   * the returned effect, if any, logs it.
   */
  endUnsafe(lease: Lease, why: Released["why"]): Effect.Effect<void> | undefined {
    lease.ended = why
    if (lease.list !== undefined) lease.list.remove(lease)
    const block = lease.block
    if (block === undefined) return undefined
    // Before another owner can get the block: the attachments that end here may still record commands on it.
    const left = lease.attached === undefined ? undefined : this.#failed(lease.attached.endAll(why), block)
    lease.block = undefined
    const { account, size } = lease
    this.leaseEvents?.released(lease, block, why)
    const recycled = this.recycle(block)
    const failed = left === undefined ? recycled : together(left, recycled)
    if (account !== undefined) account.end(size, block.capacity)
    return this.onReturn === undefined ? failed : together(failed, this.onReturn(block))
  }

  /** Makes an active block held, or frees it. */
  recycle(block: Block): Effect.Effect<void> | undefined {
    if (block.value.recyclable) return this.core.release(block) ? undefined : this.free(block, "notKept")
    this.core.discard(block)
    return this.free(block, "notKept")
  }

  /** Frees a detached block, in this step. */
  free(block: Block, why: FreeReason): Effect.Effect<void> | undefined {
    const exit = block.value.pooledBy!.destroyUnsafe(block.value)
    this.core.freed(block)
    this.events?.freed(block, why)
    return this.#failed(exit, block)
  }

  /** Frees detached blocks one after the other; each is evicted only when the one before it is gone. */
  freeAll(blocks: Iterable<Block>, why: FreeReason): Effect.Effect<void> {
    const failures: Array<Effect.Effect<void> | undefined> = []
    for (const block of blocks) failures.push(this.free(block, why))
    return allOf(failures)
  }

  /** Ends everything: the leases first, then the held blocks. */
  close(): Effect.Effect<void> {
    this.closed = true
    for (const source of this.sources) source.closed = true
    this.core.stopHolding()
    this.onReturn = undefined
    const ended = this.leases.endAll("poolClosed")
    return Effect.andThen(ended, this.freeAll(this.core.evictAll(), "closed"))
  }

  #failed(exit: Exit.Exit<void, GpuError>, block: Block): Effect.Effect<void> | undefined {
    if (Exit.isSuccess(exit)) return undefined
    this.core.releaseFailures += 1
    const what = block.value.pooledBy?.service ?? "pool"
    return Effect.catch(
      exit,
      (error) => Effect.logWarning(`A block of the ${what} could not be freed: ${error.message}`)
    )
  }

  /** A lease from a held block, if there is one now that a budget has room for. */
  search(request: LeaseRequest): Effect.Effect<Lease, GpuError> | undefined {
    const { exactSize, size, source } = request
    if (exactSize > this.room(request)) return undefined
    const allowance = this.allowance(request)
    const blockSize = request.blockSize <= allowance ? request.blockSize : exactSize
    const family = source.family(request.wanted)
    if (this.queues?.several === true) return this.#searchForQueue(this.queues, request, family, blockSize, allowance)
    const own = this.core.acquireOwn(family, blockSize, size)
    if (own !== undefined) return this.handOut(request, own, "held")
    const borrowed = this.core.borrow(family, blockSize, size, Math.min(source.mostBorrowed(blockSize), allowance))
    return borrowed === undefined ? undefined : this.handOut(request, borrowed, "borrowed")
  }

  /** The same on a device with several queues. */
  #searchForQueue(
    queues: Reuse,
    request: LeaseRequest,
    family: Family,
    blockSize: number,
    allowance: number
  ): Effect.Effect<Lease, GpuError> | undefined {
    const { maker, size, source } = request
    const most = Math.min(source.mostBorrowed(blockSize), allowance)
    const block = queues.acquire(this.core, maker.context, family, blockSize, size, most)
    if (block === undefined) return undefined
    return this.handOut(request, block, block.capacity === blockSize ? "held" : "borrowed")
  }

  /** Turns an active block into a lease. */
  handOut(request: LeaseRequest, block: Block, from: Origin): Effect.Effect<Lease, GpuError> {
    const { charge, label, list, size, source, waiter, wanted } = request
    this.queues?.handOver(block.value)
    const problem = source.clears ? this.#clear(request, block) : undefined
    if (problem !== undefined) return problem
    const account = this.#account(request)
    const lease = this.leases.grant(source, list, block, size, wanted, label)
    lease.account = account
    if (block === this.returning) this.#handedOver++
    if (list.scope === undefined) lease.borrowerId = request.fiberId
    if (request.inHandler) this.toHandlers++
    request.granted = lease
    request.collect?.push(lease)
    charge?.settle(request, block.capacity, from)
    waiter?.line.served(waiter)
    CallSite.note(lease, request.callSite)
    this.events?.leased(request, block, from)
    return Exit.succeed(lease)
  }

  /** Clears the bytes of the last owner; where that fails, returns the error and gives the block back. */
  #clear(request: LeaseRequest, block: Block): Effect.Effect<never, GpuError> | undefined {
    // A failing fill belongs to the new owner, not to the last one.
    block.value.label = request.label
    const cleared = request.source.clearUnsafe(block.value, block.capacity)
    // The new owner's queue waits for the clearing as for an owner before.
    this.queues?.handOver(block.value)
    if (Exit.isSuccess(cleared)) return undefined
    block.value.recyclable = false
    this.unuse(request)
    return Effect.andThen(this.recycle(block) ?? Exit.void, Exit.failCause(cleared.cause))
  }

  #account(request: LeaseRequest): LeaseAccount | undefined {
    const { budget, from } = request
    if (from !== undefined) this.#use(request)
    const { used } = request
    if (budget === undefined && used === 0) return undefined
    request.used = 0
    return new LeaseAccount(budget, from, used)
  }

  /** Bytes that are neither leased nor reserved nor set aside, of the limit or of what the device has if that is less. */
  get freeBytes(): number {
    const { heldBytes, managedBytes, maxBytes, reservedBytes, setAsideBytes } = this.core
    const capacity = Math.min(maxBytes, this.limits.memoryBytes ?? Infinity, Number.MAX_SAFE_INTEGER)
    return capacity - (managedBytes - heldBytes) - reservedBytes - setAsideBytes
  }

  /** How many bytes a request may get without touching what is set aside for others. */
  room(request: LeaseRequest): number {
    if (this.core.setAsideBytes === 0) return Infinity
    // A lowered limit takes nothing from reservations: the bytes that are set aside go to them.
    return Math.max(this.freeBytes + request.drawn, isCertain(request) ? request.exactSize : 0)
  }

  /** How large its block may be now. */
  allowance(request: LeaseRequest): number {
    const { charge, exactSize, source } = request
    const largest = source.borrows ? exactSize + this.core.nextPadding : Infinity
    return Math.min(charge?.allowance ?? Infinity, this.room(request), largest)
  }

  /**
   * Whether so many bytes would fit under the limit if all held blocks were evicted, without the bytes that are set
   * aside.
   */
  mayFit(request: LeaseRequest, bytes: number): boolean {
    return this.core.deficit(bytes) <= this.core.heldBytes && bytes <= this.room(request)
  }

  /**
   * Under the byte limit the deficit is known: evicts held blocks, in the order of the policy, until it is
   * covered. Nothing is evicted when even everything held would not do; the answer is then `undefined`.
   */
  makeRoom(
    request: LeaseRequest,
    bytes: number
  ): { readonly evicted: boolean; readonly failures: Effect.Effect<void> } | undefined {
    if (!this.mayFit(request, bytes)) return undefined
    const deficit = this.core.deficit(bytes)
    if (deficit === 0) return { evicted: false, failures: Exit.void }
    this.events?.roomNeeded(request, deficit)
    return { evicted: true, failures: this.freeAll(this.core.trim(this.core.managedBytes - deficit), "evicted") }
  }

  /** Before the driver is asked for so many bytes, which are reserved: frees held blocks that the program has outgrown. */
  freeOutgrown({ blockSize, source, wanted }: LeaseRequest, bytes: number): Effect.Effect<void> {
    // Where a block serves its own size alone, a program needs one of each size.
    if (!source.borrows) return Exit.void
    return this.freeAll(
      this.core.evictOutgrown(source.family(wanted), bytes, source.mostBorrowed(blockSize)),
      "heldLimit"
    )
  }

  /** Reserves bytes of the limit for what the driver is asked for, if they are not set aside for others. */
  reserve(request: LeaseRequest, bytes: number): boolean {
    if (bytes > this.room(request) || !this.core.reserve(bytes, request.size)) return false
    request.reserved = bytes
    this.#use(request)
    return true
  }

  /** Sets the bytes aside that a request asks for, if they are free under the limit; held blocks are evicted later. */
  setAside(request: LeaseRequest): boolean {
    const { asks, charge, drawn, exactSize, waiter } = request
    const missing = exactSize - drawn
    if (missing > 0 && missing > this.freeBytes) return false
    request.drawn = 0
    charge?.settled()
    asks!.open(exactSize, drawn)
    this.events?.reserved(request)
    waiter?.line.served(waiter)
    return true
  }

  /** The bytes that a request has drawn are now reserved or leased. */
  #use(request: LeaseRequest): void {
    const { drawn, from } = request
    if (drawn === 0) return
    from?.use(drawn, chainOf(request))
    request.used += drawn
    request.drawn = 0
  }

  /** The driver refused, or the queue failed to clear: the bytes that the request has drawn are set aside again. */
  unuse(request: LeaseRequest): void {
    const { from, used } = request
    if (used === 0) return
    from?.use(-used, chainOf(request))
    request.drawn += used
    request.used = 0
  }

  /**
   * Blocks that came back so far: by a release, by a free, or from a request that was interrupted. While it does not
   * grow, asking the driver again is useless. A block that goes to a waiter in the step in which it came back does not
   * count, since no other request could have it.
   */
  get progress(): number {
    return this.ownProgress + this.progressElsewhere
  }

  /** What came back to others under the limits of the allocator. */
  get progressElsewhere(): number {
    return this.shares.reduce((sum, { progress }) => sum + progress, 0)
  }

  /** What came back in this memory. */
  get ownProgress(): number {
    return this.ownNews + this.#givenUp
  }

  /** The same without what refused calls had in their hands. */
  get ownNews(): number {
    const { driverAllocations, driverFrees, misses, releases } = this.core
    return releases - this.#handedOver + driverFrees + driverAllocations - misses - this.#retracted
  }

  /** Of this memory and of others under the limits of the allocator. */
  get news(): number {
    return this.shares.reduce((sum, { news }) => sum + news, this.ownNews)
  }

  /**
   * The driver refused a request, in a call that began when so many had been refused. Where another was refused
   * meanwhile, it may have been for the memory that this call had in its hands. What it asks for after a whole try for no
   * news is none to others: they would ask for each other without an end.
   */
  refused(before: number, { callsAtNews }: LeaseRequest): void {
    if (this.refusals !== before && callsAtNews <= callsOfOneTry) this.#givenUp++
    this.refusals++
  }

  /** What comes back now is no progress: it gives other requests no reason to try again. */
  retracting<A>(giveBack: () => A): A {
    const before = this.ownProgress
    const left = giveBack()
    this.#retracted += this.ownProgress - before
    return left
  }

  /**
   * Whether anything is leased, set aside for others or asked of the driver, that may come back; for a request that was
   * refused, also to others.
   */
  mayRecover({ asks, drawn, from }: LeaseRequest, refused: boolean): boolean {
    const { activeBlocks, reservedBytes, setAsideBytes } = this.core
    const ofOthers = setAsideBytes - drawn - leftOf(asks ?? from)
    return activeBlocks > 0 || reservedBytes > 0 || ofOthers > 0 || (refused && this.bytesElsewhere > 0)
  }

  /** Bytes of others under the limits of the allocator, which concern only requests that the allocator has refused. */
  get bytesElsewhere(): number {
    // Of limits within limits the outermost has the bytes of all.
    return this.shares.reduce((bytes, { bytesOfOthers }) => Math.max(bytes, bytesOfOthers), 0)
  }

  /** Waits until the driver has what was freed: or real memory would grow beyond the limit. */
  readonly reclaim: Effect.Effect<void, GpuError> = Effect.suspend(() => {
    const freed = this.core.driverFrees
    const reclaims = Array.from(new Set(Array.from(this.sources, ({ reclaim }) => reclaim)))
    const reclaimed = reclaims.length === 1 ? reclaims[0]! : Effect.all(reclaims, { discard: true })
    return Effect.andThen(
      reclaimed,
      Effect.sync(() => {
        this.#reclaimed = Math.max(this.#reclaimed, freed)
        this.events?.reclaimed()
      })
    )
  })

  /** Whether the driver may not have got back yet what was freed. */
  get freesAreLate(): boolean {
    return this.core.driverFrees > this.#reclaimed
  }
}
