/**
 * The life of a memory: hits, ends of leases, its limit, trimming, and how pools, the device and the memory itself end.
 *
 * @since 0.1.0
 */
import { line } from "../../arguments/Format.ts"
import * as BufferRequest from "../../BufferRequest.ts"
import type { DeviceLimits } from "../../device/DeviceInfo.ts"
import { place } from "../../ErrorStack.ts"
import type { GpuError, LimitOwner, Released } from "../../GpuError.ts"
import { type BlockCore, type PoolBlock, PoolCore, type PoolCoreOptions } from "../PoolCore.ts"
import type { Budget } from "./Budget.ts"
import type { LeaseCharge } from "./Charge.ts"
import { MemoryAccount } from "./MemoryAccount.ts"
import { type MakeQueue, type PoolPort, PoolState, type Reusable } from "./PoolState.ts"
import { type Failure, type Family, type Request, type RequestSource, unavailable } from "./Request.ts"

/**
 * What a machine is made with.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolMachineOptions<A extends Reusable = Reusable> extends PoolCoreOptions {
  readonly limits: DeviceLimits
  readonly owner: LimitOwner
  readonly maxBypasses: number
  /** How the requests of the memory wait: `WaitQueue.waitQueue`. */
  readonly queue: MakeQueue
  /** Whether held memory is trimmed, by its own limit or by the clock. */
  readonly trims: boolean
  /** Makes its core. Default: a `PoolCore`. */
  readonly makeCore?: ((options: PoolCoreOptions) => BlockCore<A, Family>) | undefined
}

/**
 * A request source that also knows the sizes of its blocks.
 *
 * @category models
 * @since 0.1.0
 */
export interface SizedSource extends RequestSource {
  blockSize(size: number, family: Family): number
  exactSize(size: number): number
}

/**
 * The part of a machine that is not about single requests.
 *
 * @category models
 * @since 0.1.0
 */
export class PoolLife<A extends Reusable = Reusable> {
  readonly core: BlockCore<A, Family>
  readonly state: PoolState<A>
  readonly memory: MemoryAccount<A>
  /** How often later requests may bypass one that waits, in any queue of the memory. */
  readonly maxBypasses: number
  readonly #limits: DeviceLimits
  readonly #trims: boolean
  /** Whether the end of a lease must be looked at: requests wait for its block, or it may have to be trimmed. */
  listens = false
  #hitsAtOnce = true
  #isRetracting = false

  constructor(options: PoolMachineOptions<A>, port: PoolPort<A>) {
    const { limits, maxBypasses, owner, queue, trims } = options
    this.#limits = limits
    this.maxBypasses = maxBypasses
    this.#trims = trims
    this.core = options.makeCore?.(options) ?? new PoolCore(options)
    this.state = new PoolState(
      this.core,
      port,
      (request) => this.#whyEnded(request),
      (request) => this.#neverFits(request) !== undefined
    )
    this.memory = new MemoryAccount(this.state, limits, owner, (account) => queue(account, this.state, maxBypasses))
  }

  get closed(): boolean {
    return this.state.closed
  }

  /** Whether a held block can be leased in one step: no request waits, nothing is reserved, and the device has one queue. */
  get mayHit(): boolean {
    return this.#hitsAtOnce && this.core.reservedBytes === 0
  }

  /** The block size that a request for so many bytes looks for first, where nothing is reserved and no budget limits it. */
  hitSize(source: SizedSource, size: number, family: Family): number {
    const padding = this.memory.paddingOf(source)
    const blockSize = source.blockSize(size, family)
    // Mostly padding is not scarce, and the exact size does not matter.
    if (blockSize - size <= padding) return blockSize
    const exactSize = source.exactSize(size)
    return blockSize > exactSize + padding ? exactSize : blockSize
  }

  /** Takes a held block, of this size or borrowed, for a request that needs no driver and no queue. Only where `mayHit`. */
  tryHit(source: SizedSource, family: Family, size: number, blockSize: number): PoolBlock<A, Family> | undefined {
    return this.core.acquireOwn(family, blockSize, size) ??
      this.core.borrow(
        family,
        blockSize,
        size,
        Math.min(source.mostBorrowed(blockSize), source.exactSize(size) + this.memory.paddingOf(source))
      )
  }

  /** A lease ends. Its budgets and its reservation get its bytes back. */
  released(block: PoolBlock<A, Family>, size: number, charge: LeaseCharge | undefined): void {
    // A part of a slab may become a part of a larger one when it is recycled.
    const { capacity } = block
    this.memory.recycle(block)
    charge?.end(size, capacity)
    if (this.#isRetracting) this.memory.cameIn(block, true)
    if (this.listens) this.#returned(block)
  }

  #returned(block: PoolBlock<A, Family>): void {
    if (!this.#isRetracting) this.memory.cameIn(block, false)
    this.trimExcess()
    this.memory.returning = block
    this.memory.cameBack()
    this.memory.returning = undefined
  }

  /**
   * Called when requests begin or cease to wait, here or in other memories under the same limits, and when the device gets further
   * queues. A memory for which no request waits, and that trims nothing, pays nothing at the end of a lease.
   */
  listen(othersWait: boolean): void {
    const { jobs, length } = this.memory.queue
    this.#hitsAtOnce = length === 0 && jobs === undefined && !this.state.port.hasSeveralQueues
    this.listens = !this.closed && (length > 0 || this.#trims || othersWait)
  }

  /** After a block became held: frees the longest held ones above the limit of what is held. */
  trimExcess(): void {
    if (!this.#trims) return
    this.state.port.startIdleClock()
    while (this.core.excessHeld) {
      const oldest = this.core.evictOldest()
      if (oldest === undefined) return
      this.memory.free(oldest, "heldLimit")
    }
  }

  /** The clock of idle blocks starts: the idle time of blocks that are held now begins here. */
  startIdleClock(): void {
    this.core.tick()
    this.state.observer?.idleStep(1)
  }

  /** Steps of the clock of idle blocks have passed. Returns whether any block was freed. */
  idleStep(steps: number): boolean {
    const { core } = this
    core.tick(steps)
    this.state.observer?.idleStep(steps)
    const frees = core.driverFrees
    for (let block = core.evictIdle(); block !== undefined; block = core.evictIdle()) this.memory.free(block, "idle")
    if (core.driverFrees === frees) return false
    this.memory.cameBack()
    return true
  }

  /**
   * Ends leases, by `giveBack`, without a new epoch, so that no other request tries again because of them. When the driver gets their
   * blocks back the epoch does not grow either: the driver then has no more memory than before it was asked for them.
   */
  retracting(giveBack: () => void): void {
    const { state } = this
    const before = state.ownEpoch
    this.#isRetracting = true
    giveBack()
    this.#isRetracting = false
    state.correct(before - state.ownEpoch)
  }

  /** Frees held blocks for a request of another memory under the same limits. The epoch does not grow. */
  evictForOthers(bytes: number): void {
    this.retracting(() => this.memory.freeAll(this.core.trim(this.core.managedBytes - bytes), "evicted"))
  }

  /** Frees held blocks until no more than `to` bytes are managed, or nothing is held. Blocks are detached one by one, as they are freed. */
  trim(blocks: Iterable<PoolBlock<A, Family>>, to: number | undefined, queue: string | undefined): void {
    this.state.observer?.trimAsked(to, queue)
    this.memory.freeAll(blocks, "trimmed")
    this.state.serveAll()
  }

  /** Whether released blocks are kept from now on. It stays off after the device was lost or the memory closed. */
  setHolding(holds: boolean): void {
    if (holds && (this.closed || this.state.port.lost() !== undefined)) return
    if (holds) this.core.resumeHolding()
    else this.core.stopHolding()
    this.state.observer?.holdingChanged(holds)
  }

  /** Changes the limit. Returns whether the caller must now free held blocks for it; leases stay. */
  setMaxBytes(bytes: number): boolean {
    const isLower = bytes < this.core.maxBytes
    this.memory.setLimit(bytes)
    this.state.endWaits()
    if (!isLower) this.state.serveAll()
    return isLower
  }

  /** One of several pools closes: ends its requests and its leases, and frees its held blocks. */
  closePool(source: RequestSource & { owns(family: Family): boolean }, limit: Budget): void {
    const { port } = this.state
    this.state.observer?.closing(source, limit)
    port.over(source)
    this.state.endWaits()
    // No request can be made under these reservations any more: their bytes are for the other pools.
    for (const one of this.state.reservations) if (one.budgets.includes(limit)) one.close()
    port.endLeases("poolClosed", limit)
    this.memory.freeAll(this.core.evictFamilies((family) => source.owns(family)), "closed")
    this.state.serveAll()
  }

  /** The device is lost: held blocks cannot be used again, and no request needs to wait for the driver. */
  loseDevice(): void {
    this.state.observer?.lost()
    this.core.stopHolding()
    this.state.port.over(undefined)
    this.state.endWaits()
    this.state.port.interruptCalls()
    this.memory.freeAll(this.core.evictAll(), "lost")
  }

  /** Ends everything: the leases first, then the held blocks, then the waiting requests. */
  close(): void {
    this.state.observer?.closing(undefined, undefined)
    this.state.closed = true
    this.state.port.closeSources()
    this.core.stopHolding()
    this.listens = false
    this.state.port.endLeases("poolClosed", undefined)
    this.memory.freeAll(this.core.evictAll(), "closed")
    this.state.port.over(undefined)
    this.state.endWaits()
  }

  /** Why a request may wait no longer; undefined while it may. */
  #whyEnded(request: Request): Failure | undefined {
    const lost = this.state.port.lost()
    if (lost !== undefined) return failing(lost)
    const why = closedFor(request)
    if (why !== undefined) return closing(request, why)
    const problem = this.#neverFits(request)
    return problem === undefined ? undefined : failing(problem)
  }

  /** LimitExceeded for a new request that can never fit. Observers are told that it gave up. */
  tooLarge(request: Request): GpuError | undefined {
    const { label, operation } = request
    const problem = this.#neverFits(request, label === undefined ? operation : `${operation}, "${line(label)}"`)
    if (problem === undefined) return undefined
    this.state.giveUp(request, "limitExceeded")
    return place(problem, operation, request.callSite)
  }

  /** LimitExceeded for a request that can never fit the device, the memory, the limits around it, or its budgets. */
  #neverFits(request: Request, where: string = request.operation): GpuError | undefined {
    const { asks, budget, exactSize, source } = request
    const problem = asks === undefined
      ? source.limitProblem(where, exactSize)
      : BufferRequest.deviceLimitProblem(where, exactSize, this.#limits, "memoryBytes")
    return problem ??
      BufferRequest.limitProblem(where, exactSize, "maxBytes", this.core.maxBytes, this.memory.owner) ??
      BufferRequest.limitProblem(where, exactSize, "maxBytes", this.state.port.outer.maxBytes, allocator) ??
      budget?.limitProblem(where, exactSize)
  }
}

const allocator: LimitOwner = { kind: "allocator" }

// Outside of `#whyEnded`, which every waiting request calls and which mostly finds nothing: closures in it would cost each call.
const failing = (why: GpuError): Failure => () => why

const closing = (request: Request, why: Released["why"]): Failure => () => unavailable(request, why)

const closedFor = ({ owner, source }: Request): Released["why"] | undefined =>
  source.closed ? "poolClosed" : owner.closed ? "scopeClosed" : undefined
