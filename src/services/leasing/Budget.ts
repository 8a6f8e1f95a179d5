/**
 * A limit within a pool: a ledger of its own on the pool's blocks. What is leased under it is charged with the capacity
 * of its blocks, here and to every budget around it, before the pool is asked for memory.
 *
 * @internal
 */
import type * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import {
  type GpuError,
  type LimitOwner,
  make as makeError,
  OutOfMemory,
  type Rung,
  type WaitingJob
} from "../../domain/GpuError.ts"
import type { PoolStats } from "../../domain/PoolStats.ts"
import type { Gate } from "./Admission.ts"
import { LastResort } from "./LastResort.ts"
import type { LeasePool } from "./LeasePool.ts"
import { drawMore, type LeaseRequest } from "./LeaseRequest.ts"
import { type Answer, passed, type Waiter, WaitLine, type WaitLines } from "./WaitLine.ts"

/** Whether a block was held, of the request's own bin or of a larger one, or came from the driver. */
export type Origin = "held" | "borrowed" | "driver"

/**
 * What one request uses of the budgets that it is made under, from the innermost out.
 *
 * @internal
 */
export class Charge {
  /** Bytes at each budget that is charged. */
  bytes = 0
  readonly #charged: Array<Budget> = []
  /** The budgets that a reservation is charged to, and how much of it this request has drawn: so much less it pays there. */
  #coveredBudgets: ReadonlyArray<Budget> = []
  #covered = 0

  /** The block may have so many bytes now. */
  get allowance(): number {
    let allowance = Infinity
    for (const budget of this.#charged) allowance = Math.min(allowance, budget.free)
    return this.bytes + Math.max(allowance, 0)
  }

  has(budget: Budget): boolean {
    return this.#charged.includes(budget)
  }

  /** What it costs a budget to be charged with so many bytes. */
  #cost(budget: Budget, bytes: number): number {
    return this.#coveredBudgets.includes(budget) ? bytes - this.#covered : bytes
  }

  /** What it has charged a budget with so far. */
  charged(budget: Budget): number {
    return this.has(budget) ? this.#cost(budget, this.bytes) : 0
  }

  /** A reservation, which these budgets are charged with, pays for so many more bytes of it. */
  cover(budgets: ReadonlyArray<Budget>, bytes: number): void {
    this.#coveredBudgets = budgets
    this.#covered += bytes
    for (const budget of this.#charged) if (budgets.includes(budget)) budget.charge(-bytes)
  }

  /** Charges one more budget, if the block fits it, or else the exact size. */
  add(budget: Budget, { blockSize, exactSize }: Pick<LeaseRequest, "blockSize" | "exactSize">): boolean {
    if (this.#charged.length === 0) this.bytes = blockSize
    if (budget.free < this.#cost(budget, this.bytes)) {
      const least = this.#cost(budget, exactSize)
      if (least > 0 && budget.free < least) return false
      this.resize(exactSize)
    }
    this.#charged.push(budget)
    budget.charge(this.#cost(budget, this.bytes))
    return true
  }

  /** The block will have so many bytes. Those that are given back may be what others wait for. */
  resize(bytes: number): void {
    const more = bytes - this.bytes
    this.bytes = bytes
    for (const budget of this.#charged) budget.charge(more)
    if (more >= 0) return
    for (const budget of this.#charged) budget.line.serve()
  }

  /** From now on it is the lease that is charged, with the block that it got. */
  settle(request: LeaseRequest, capacity: number, from: Origin): void {
    this.resize(capacity)
    for (const budget of this.#charged) budget.granted(request, capacity, from)
    this.settled()
  }

  /** From now on it is something else that is charged with the same bytes. */
  settled(): void {
    this.#charged.length = 0
    this.#coveredBudgets = []
    this.#covered = 0
  }

  /** The request came to nothing. */
  refund(): void {
    const charged = this.#charged.slice()
    for (const budget of charged) budget.charge(-this.#cost(budget, this.bytes))
    this.settled()
    for (const budget of charged) budget.line.serve()
  }
}

/** @internal */
export interface BudgetOptions {
  readonly limit: number
  /** What errors call it. */
  readonly label: string | undefined
  readonly parent: Budget | undefined
  readonly leases: LeasePool
  readonly lines: WaitLines
  readonly maxOvertakes: number
  /** Why nobody should wait for a lease any more. */
  readonly ended: (request: LeaseRequest) => Effect.Effect<never, GpuError> | undefined
  /** Done when the pool has closed or its device is lost. */
  readonly over: Deferred.Deferred<void>
}

/** @internal */
export class Budget implements Gate {
  limit: number
  readonly label: string | undefined
  /** As errors have it, made once. */
  readonly owner: LimitOwner
  /** Itself, and then the budgets around it, from the innermost out. */
  readonly chain: ReadonlyArray<Budget>
  readonly line: WaitLine
  readonly lastResort: LastResort
  /** Capacity of the active leases and of the requests under way, and what is set aside. */
  chargedBytes = 0
  /** What reservations are charged with, and do not use at this moment. */
  setAsideBytes = 0
  /** Grows with every lease that ends and every change of the limit. */
  #returned = 0
  /** Leases that handlers took while others waited. */
  #toHandlers = 0
  readonly #lines: WaitLines
  readonly #leases: LeasePool
  readonly #counters = {
    activeBlocks: 0,
    activeBytes: 0,
    managedBytes: 0,
    peakActiveBytes: 0,
    peakActiveBlocks: 0,
    peakManagedBytes: 0,
    hits: 0,
    borrows: 0,
    misses: 0
  }

  constructor(options: BudgetOptions) {
    this.#lines = options.lines
    this.limit = options.limit
    this.label = options.label
    this.owner = { kind: "budget", name: options.label }
    this.chain = [this, ...(options.parent?.chain ?? [])]
    this.#leases = options.leases
    this.line = new WaitLine({
      countedBytes: () => this.chargedBytes,
      returned: () => this.#returned,
      standstill: (request, jobs) => this.#outOfMemory(request, new Set<Rung>(["wait"]), undefined, jobs),
      lines: options.lines,
      maxOvertakes: options.maxOvertakes,
      mayServe: ({ leastBytes }) => this.free >= leastBytes,
      serve: (waiter) => this.#serve(waiter),
      given: ({ charge }) => charge!.has(this) ? passed : undefined,
      ended: options.ended
    })
    this.lastResort = new LastResort({
      pool: options.lines,
      line: this.line,
      room: () => this.limit - this.#counters.managedBytes - this.setAsideBytes,
      served: () => this.#counters.hits + this.#counters.misses - this.#toHandlers,
      evidence: (...evidence) => this.#outOfMemory(...evidence),
      over: options.over
    })
  }

  get free(): number {
    return this.limit - this.chargedBytes
  }

  /** The policy's block, or the exact size where that would be over the limit of this or a budget around it. */
  blockSize(blockSize: number, exactSize: number): number {
    for (const { limit } of this.chain) if (blockSize > limit) return exactSize
    return blockSize
  }

  charge(bytes: number): void {
    this.chargedBytes += bytes
  }

  granted({ inHandler, size }: LeaseRequest, capacity: number, from: Origin): void {
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

  /** A lease that was acquired under it is over, here and in the budgets around it; their lines are still to be served. */
  leaseEnded(size: number, capacity: number): void {
    for (const budget of this.chain) {
      budget.#counters.activeBlocks--
      budget.#counters.activeBytes -= size
      budget.#counters.managedBytes -= capacity
      budget.#returned++
      budget.charge(-capacity)
    }
  }

  serveChain(): void {
    for (const budget of this.chain) budget.line.serve()
  }

  /** What is leased under it. It owns no blocks: what is held, and what the driver did, are the pool's affair. */
  stats(): PoolStats {
    return {
      ...this.#counters,
      managedBlocks: this.#counters.activeBlocks,
      peakManagedBlocks: this.#counters.peakActiveBlocks,
      reservedBytes: this.chargedBytes - this.setAsideBytes - this.#counters.managedBytes,
      heldBlocks: 0,
      heldBytes: 0,
      driverAllocations: 0,
      driverFrees: 0,
      releaseFailures: 0,
      waiters: this.line.length,
      setAsideBytes: this.setAsideBytes
    }
  }

  hasAdmitted({ charge }: LeaseRequest): boolean {
    return charge!.has(this)
  }

  tryAdmit(request: LeaseRequest): boolean {
    return request.charge!.add(this, request)
  }

  missing({ exactSize }: LeaseRequest): number {
    return Math.max(0, exactSize - this.free)
  }

  mayWait(): boolean {
    return true
  }

  /** LimitExceeded for a request that can never fit it, or a budget around it. */
  limitProblem(operation: string, bytes: number): GpuError | undefined {
    for (const { limit, owner } of this.chain) {
      const problem = BufferRequest.limitProblem(operation, bytes, "budget", limit, owner)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** A limit below what is charged takes nothing away: it keeps new leases out. */
  setLimit(limit: number): void {
    this.limit = limit
    this.#returned++
    // Those who wait for a budget within this one may never fit any more either.
    this.#lines.end()
    this.#lines.serve()
  }

  #serve({ request }: Waiter): Answer | undefined {
    drawMore(request)
    return this.tryAdmit(request) ? passed : undefined
  }

  #outOfMemory(
    request: LeaseRequest,
    rungs: ReadonlySet<Rung>,
    waitedMillis?: number,
    standstill: ReadonlyArray<WaitingJob> = []
  ): GpuError {
    const { activeBytes, managedBytes, reservedBytes, setAsideBytes } = this.stats()
    return makeError(
      new OutOfMemory({
        requested: request.size,
        blockSize: request.blockSize,
        pooled: true,
        limitName: "budget",
        ...(this.label === undefined ? {} : { limitLabel: this.label }),
        limit: this.limit,
        activeBytes,
        heldBytes: 0,
        managedBytes,
        reservedBytes,
        setAsideBytes,
        largestHeldBytes: 0,
        rungs: [...rungs],
        waitedMillis,
        standstill,
        holders: this.#leases.largestHolders(3, this)
      })
    )
  }
}
