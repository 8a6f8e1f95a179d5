/**
 * A limit within a pool: a ledger of its own on the pool's blocks. The capacity of every lease under it is charged,
 * here and to every budget around it, before the pool is asked for memory.
 *
 * @internal
 */
import * as BufferRequest from "../../../domain/BufferRequest.ts"
import { place } from "../../../domain/ErrorStack.ts"
import {
  type GpuError,
  type LimitOwner,
  make as makeError,
  OutOfMemory,
  type Rung,
  type WaitingJob
} from "../../../domain/GpuError.ts"
import type { PoolStats } from "../../../domain/pool/PoolStats.ts"
import type { LeaseTable } from "../../lease/LeaseTable.ts"
import type { Gate } from "./Admission.ts"
import type { Charged, ChargedBudget, Origin } from "./Charge.ts"
import { LastResort } from "./LastResort.ts"
import { drawMore, type LeaseRequest } from "./LeaseRequest.ts"
import { type Answer, passed } from "./Waiter.ts"
import { type Waiter, WaitLine, type WaitLines } from "./WaitLine.ts"

/** How many budgets there may be from one out, itself among them: each request is charged to all of them. */
export const mostNested = 256

let lastNumber = 0

export class Budget implements Gate, ChargedBudget {
  /** Tells it from all other budgets of the program. */
  readonly number = ++lastNumber
  limit: number
  /** As errors have it: a budget, or one of several pools that share a memory. */
  readonly owner: LimitOwner
  readonly limitName: "budget" | "maxBytes"
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
  readonly #leases: LeaseTable
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

  constructor(
    owner: LimitOwner,
    limit: number,
    parent: Budget | undefined,
    leases: LeaseTable,
    lines: WaitLines,
    maxOvertakes: number
  ) {
    this.#lines = lines
    this.#leases = leases
    this.limit = limit
    this.owner = owner
    this.limitName = owner.kind === "budget" ? "budget" : "maxBytes"
    this.chain = [this, ...(parent?.chain ?? [])]
    this.line = new WaitLine(this, lines, maxOvertakes)
    this.lastResort = new LastResort(this, this.line, lines)
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

  /** The counters of its leases. It owns no blocks: held blocks and driver calls belong to the pool. */
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
    for (const { limit, owner, limitName } of this.chain) {
      const problem = BufferRequest.limitProblem(operation, bytes, limitName, limit, owner)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  /** A limit below the charged bytes takes nothing away: it only stops new leases. */
  setLimit(limit: number): void {
    this.#lines.events?.limitChanged(this, this.limit, limit)
    this.limit = limit
    this.#returned++
    // Those who wait for a budget within this one may never fit any more either.
    this.#lines.end()
    this.#lines.serve()
  }

  mayServe({ leastBytes }: WaitLine): boolean {
    return this.free >= leastBytes
  }

  serve({ request }: Waiter): Answer | undefined {
    drawMore(request)
    return this.tryAdmit(request) ? passed : undefined
  }

  given(request: LeaseRequest): Answer | undefined {
    return this.hasAdmitted(request) ? passed : undefined
  }

  countedBytes(): number {
    return this.chargedBytes
  }

  returned(): number {
    return this.#returned
  }

  room(): number {
    return this.limit - this.#counters.managedBytes - this.setAsideBytes
  }

  served(): number {
    return this.#counters.hits + this.#counters.misses - this.#toHandlers
  }

  /** Leases that have ended. */
  get #gone(): number {
    const { activeBlocks, hits, misses } = this.#counters
    return hits + misses - activeBlocks
  }

  outOfMemory(
    request: LeaseRequest,
    rungs: ReadonlySet<Rung>,
    waitedMillis?: number,
    standstill: ReadonlyArray<WaitingJob> = []
  ): GpuError {
    const { activeBytes, managedBytes, reservedBytes, setAsideBytes } = this.stats()
    this.#lines.events?.ranOut(request, rungs)
    const error = makeError(
      new OutOfMemory({
        requested: request.size,
        blockSize: request.blockSize,
        pooled: true,
        limitName: this.limitName,
        ...(this.owner.name === undefined ? {} : { limitLabel: this.owner.name }),
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
        ...this.#leases.evidence(this.#gone, this)
      })
    )
    return place(error, request.operation, request.callSite)
  }
}
