/**
 * A limit within a pool: a ledger of its own on the pool's blocks. What is leased under it is charged with the capacity
 * of its blocks, here and to every budget around it, before the pool is asked for memory.
 *
 * @internal
 */
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import { type GpuError, make as makeError, OutOfMemory, type Rung } from "../../domain/GpuError.ts"
import type { PoolStats } from "../../domain/PoolStats.ts"
import { InHandler, isWithin } from "./Handlers.ts"
import { LastResort } from "./LastResort.ts"
import type { LeasePool } from "./LeasePool.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"
import { type Waiter, WaitLine, type WaitLines } from "./WaitLine.ts"

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

  /** The block may have so many bytes now. */
  get allowance(): number {
    let allowance = Infinity
    for (const budget of this.#charged) allowance = Math.min(allowance, budget.free)
    return this.bytes + Math.max(allowance, 0)
  }

  has(budget: Budget): boolean {
    return this.#charged.includes(budget)
  }

  /** Charges one more budget, if the block fits it, or else the exact size. */
  add(budget: Budget, { blockSize, exactSize }: Pick<LeaseRequest, "blockSize" | "exactSize">): boolean {
    if (this.#charged.length === 0) this.bytes = blockSize
    if (budget.free < this.bytes) {
      if (budget.free < exactSize) return false
      this.resize(exactSize)
    }
    this.#charged.push(budget)
    budget.charge(this.bytes)
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
  settle(size: number, capacity: number, from: Origin): void {
    this.resize(capacity)
    for (const budget of this.#charged) budget.granted(size, capacity, from)
    this.#charged.length = 0
  }

  /** The request came to nothing. */
  refund(): void {
    const charged = this.#charged.splice(0)
    for (const budget of charged) budget.charge(-this.bytes)
    for (const budget of charged) budget.line.serve()
  }
}

/** @internal */
export interface BudgetOptions {
  readonly limit: number
  readonly parent: Budget | undefined
  readonly leases: LeasePool
  readonly lines: WaitLines
  readonly maxOvertakes: number
  /** Why nobody should wait for a lease any more. */
  readonly ended: (request: LeaseRequest) => GpuError | undefined
  /** Done when the pool has closed or its device is lost. */
  readonly over: Deferred.Deferred<void>
}

/** @internal */
export class Budget {
  limit: number
  /** Itself, and then the budgets around it, from the innermost out. */
  readonly chain: ReadonlyArray<Budget>
  readonly line: WaitLine
  readonly lastResort: LastResort
  /** Capacity of the active leases and of the requests under way. */
  chargedBytes = 0
  /** Grows with every lease that ends and every change of the limit. */
  #returned = 0
  readonly #lines: WaitLines
  readonly #leases: LeasePool
  readonly #ended: BudgetOptions["ended"]
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
    this.#ended = options.ended
    this.limit = options.limit
    this.chain = [this, ...(options.parent?.chain ?? [])]
    this.#leases = options.leases
    this.line = new WaitLine({
      lines: options.lines,
      maxOvertakes: options.maxOvertakes,
      mayServe: ({ leastBytes }) => this.free >= leastBytes,
      serve: (waiter) => this.#serve(waiter),
      ended: options.ended
    })
    this.lastResort = new LastResort({
      pool: options.lines,
      line: this.line,
      returned: () => this.#returned,
      progress: () => this.#returned,
      evidence: (...evidence) => this.#outOfMemory(...evidence),
      ended: options.ended,
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

  granted(size: number, capacity: number, from: Origin): void {
    const counters = this.#counters
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

  /** A lease that was acquired under it is over, here and in the budgets around it. */
  leaseEnded(size: number, capacity: number): void {
    for (const budget of this.chain) {
      budget.#counters.activeBlocks--
      budget.#counters.activeBytes -= size
      budget.#counters.managedBytes -= capacity
      budget.#returned++
      budget.charge(-capacity)
    }
    for (const budget of this.chain) budget.line.serve()
  }

  /** What is leased under it. It owns no blocks: what is held, and what the driver did, are the pool's affair. */
  stats(): PoolStats {
    return {
      ...this.#counters,
      managedBlocks: this.#counters.activeBlocks,
      peakManagedBlocks: this.#counters.peakActiveBlocks,
      reservedBytes: this.chargedBytes - this.#counters.managedBytes,
      heldBlocks: 0,
      heldBytes: 0,
      driverAllocations: 0,
      driverFrees: 0,
      releaseFailures: 0,
      waiters: this.line.length
    }
  }

  /** Charges a request, or waits until it can. Whoever made the request refunds what is charged if it fails. */
  admit(request: LeaseRequest): Effect.Effect<void, GpuError> {
    const charge = request.charge!
    for (const budget of this.chain) {
      if (budget.line.length > 0 || !charge.add(budget, request)) {
        return admitSlowly(request, this.chain, this.#lines, this.#ended)
      }
    }
    return Exit.void
  }

  /** LimitExceeded for a request that can never fit it, or a budget around it. */
  limitProblem(bytes: number): GpuError | undefined {
    for (const { limit } of this.chain) {
      const problem = BufferRequest.limitProblem("BufferPool.allocate", bytes, "budget", limit)
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

  #serve({ request }: Waiter): Effect.Effect<undefined> | undefined {
    return request.charge!.add(this, request) ? Exit.succeed(undefined) : undefined
  }

  #outOfMemory(request: LeaseRequest, rungs: ReadonlySet<Rung>, waitedMillis?: number): GpuError {
    const { activeBytes, managedBytes, reservedBytes } = this.stats()
    return makeError(
      new OutOfMemory({
        requested: request.size,
        blockSize: request.blockSize,
        pooled: true,
        limitName: "budget",
        limit: this.limit,
        activeBytes,
        heldBytes: 0,
        managedBytes,
        reservedBytes,
        largestHeldBytes: 0,
        rungs: [...rungs],
        waitedMillis,
        holders: this.#leases.largestHolders(3, this)
      })
    )
  }
}

/** Budget by budget: the inner ones stay charged while it waits for an outer one, and no two wait for each other. */
const admitSlowly = Effect.fnUntraced(function*(
  request: LeaseRequest,
  chain: ReadonlyArray<Budget>,
  lines: WaitLines,
  ended: BudgetOptions["ended"]
): Effect.fn.Return<void, GpuError> {
  const charge = request.charge!
  const rungs = new Set<Rung>()
  const inHandler = isWithin(yield* InHandler, lines)
  for (const budget of chain) {
    while (!charge.has(budget)) {
      const problem = ended(request)
      if (problem !== undefined) return yield* problem
      if ((budget.line.length === 0 || inHandler) && charge.add(budget, request)) continue
      const answer = budget.line.tryNow(request)
      if (answer !== undefined) {
        yield* answer
        continue
      }
      yield* budget.lastResort.take({
        request,
        rungs,
        missing: () => Math.max(0, request.exactSize - budget.free),
        refusal: undefined,
        mayWait: () => true
      })
    }
  }
})
