/**
 * A limit within a memory, with a ledger of its own. The capacity of every lease under it is charged to it, and to every budget
 * around it, before the memory is asked.
 *
 * @since 0.1.0
 */
import * as BufferRequest from "../../BufferRequest.ts"
import type { GpuError, LimitOwner, WaitingJob } from "../../GpuError.ts"
import { PoolCounters, type PoolStats } from "../PoolStats.ts"
import type { PoolState } from "./PoolState.ts"
import type { Account, Request, Served } from "./Request.ts"
import type { Charged, ChargedBudget, Origin } from "./Reservation.ts"
import { WaitQueue } from "./WaitQueue.ts"

/**
 * How many budgets may be within each other: each request is charged to all of them.
 *
 * @category functions
 * @since 0.1.0
 */
export const mostNested = 256

let lastNumber = 0

/**
 * A limit within a memory, with the bytes of the leases and requests under it.
 *
 * @category models
 * @since 0.1.0
 */
export class Budget implements Account, ChargedBudget {
  readonly queue: WaitQueue
  hasHandlers = false
  /** Unique among the budgets of the program. */
  readonly number = ++lastNumber
  limit: number
  /** What errors call it: a budget, or one of several pools that share a memory. Its name is the label. */
  readonly owner: LimitOwner
  readonly limitName: "budget" | "maxBytes"
  /** Itself, and then the budgets around it, from the innermost out. */
  readonly chain: ReadonlyArray<Budget>
  /** Capacity of the active leases and of the requests under way, and what is reserved. */
  chargedBytes = 0
  /** Bytes charged for reservations that no request or lease uses now. */
  reservedBytes = 0
  /** Grows with every lease that ends and every change of the limit. */
  #returned = 0
  /** Leases that were granted to handlers. */
  #toHandlers = 0
  readonly #state: PoolState
  readonly #counters = new PoolCounters()

  constructor(state: PoolState, owner: LimitOwner, limit: number, parent: Budget | undefined, maxBypasses: number) {
    this.queue = new WaitQueue(this, state, maxBypasses)
    this.#state = state
    this.limit = limit
    this.owner = owner
    this.limitName = owner.kind === "budget" ? "budget" : "maxBytes"
    this.chain = [this, ...(parent?.chain ?? [])]
  }

  get free(): number {
    return this.limit - this.chargedBytes
  }

  /** The policy's block, or the exact size where that would be over the limit of this or a budget around it. */
  blockSize(blockSize: number, exactSize: number): number {
    return this.chain.some(({ limit }) => blockSize > limit) ? exactSize : blockSize
  }

  charge(bytes: number): void {
    this.chargedBytes += bytes
  }

  /** Counts a lease that is charged to it. */
  granted({ inHandler, size }: Charged, capacity: number, from: Origin): void {
    const counters = this.#counters
    if (inHandler) this.#toHandlers++
    counters.activeBlocks++
    counters.activeBytes += size
    counters.managedBytes += capacity
    counters.peakActiveBlocks = Math.max(counters.peakActiveBlocks, counters.activeBlocks)
    counters.peakActiveBytes = Math.max(counters.peakActiveBytes, counters.activeBytes)
    counters.peakManagedBytes = Math.max(counters.peakManagedBytes, counters.managedBytes)
    if (from === "driver") counters.misses++
    else counters.hits++
    if (from === "borrowed") counters.borrows++
  }

  /** A lease under it has ended, here and in the budgets around it. The caller then serves their queues. */
  leaseEnded(size: number, capacity: number): void {
    for (const budget of this.chain) {
      budget.#counters.activeBlocks--
      budget.#counters.activeBytes -= size
      budget.#counters.managedBytes -= capacity
      budget.#returned++
      budget.charge(-capacity)
    }
  }

  /** The counters of its leases. It owns no blocks: held blocks and driver calls belong to the memory. */
  stats(): PoolStats {
    return {
      ...this.#counters,
      managedBlocks: this.#counters.activeBlocks,
      peakManagedBlocks: this.#counters.peakActiveBlocks,
      pendingBytes: this.chargedBytes - this.reservedBytes - this.#counters.managedBytes,
      waiters: this.queue.length,
      reservedBytes: this.reservedBytes
    }
  }

  hasAdmitted({ charge }: Request): boolean {
    return charge!.has(this)
  }

  tryAdmit(request: Request): boolean {
    return request.charge!.add(this, request)
  }

  missing({ exactSize }: Request): number {
    return Math.max(0, exactSize - this.free)
  }

  mayWait(): boolean {
    return true
  }

  /** LimitExceeded for a request that can never fit this budget, or one around it. */
  limitProblem(operation: string, bytes: number): GpuError | undefined {
    for (const { limit, owner, limitName } of this.chain) {
      const problem = BufferRequest.limitProblem(operation, bytes, limitName, limit, owner)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** A limit below the charged bytes takes nothing away: it only stops new leases. */
  setLimit(limit: number): void {
    this.#state.observer?.limitChanged(this, this.limit, limit)
    this.limit = limit
    this.#returned++
    // Requests that wait at budgets within this one may never fit any more either.
    this.#state.endWaits()
    this.#state.serveAll()
  }

  mayServe(): boolean {
    return this.free >= this.queue.leastBytes
  }

  serve(request: Request): Served | undefined {
    request.drawMore()
    return this.tryAdmit(request) ? "admitted" : undefined
  }

  hasServed(request: Request): boolean {
    return this.hasAdmitted(request)
  }

  countedBytes(): number {
    return this.chargedBytes
  }

  returned(): number {
    return this.#returned
  }

  room(): number {
    return this.limit - this.#counters.managedBytes - this.reservedBytes
  }

  served(): number {
    return this.#counters.hits + this.#counters.misses - this.#toHandlers
  }

  /** How many leases have ended. */
  get gone(): number {
    const { activeBlocks, hits, misses } = this.#counters
    return hits + misses - activeBlocks
  }

  outOfMemory(request: Request, waitedMillis?: number, deadlock?: ReadonlyArray<WaitingJob>): GpuError {
    const { limit, limitName, owner: { name: limitLabel } } = this
    const facts = { limit, limitName, limitLabel, largestHeldBytes: 0 }
    return this.#state.outOfMemory(request, this.stats(), facts, this, waitedMillis, deadlock)
  }
}

/**
 * The machine of a memory, as far as its budgets need it.
 *
 * @category models
 * @since 0.1.0
 */
export interface BudgetedMemory {
  readonly state: PoolState
  readonly maxBypasses: number
}

/**
 * Makes a limit within a memory, or within another budget of it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  { maxBypasses, state }: BudgetedMemory,
  kind: LimitOwner["kind"],
  limit: number,
  parent: Budget | undefined,
  label: string | undefined
): Budget => new Budget(state, { kind, name: label }, limit, parent, maxBypasses)
