/**
 * The memory of one pool: its blocks and their ledger, its limit, its waiting line, and everything but the hit itself
 * that can be done with them.
 *
 * @internal
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scheduler from "effect/Scheduler"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { DeviceLimits } from "../../domain/DeviceInfo.ts"
import { type GpuError, make as makeError, OutOfMemory, type Rung } from "../../domain/GpuError.ts"
import { type PoolBlock, PoolCore } from "../../domain/PoolCore.ts"
import * as SizePolicy from "../../domain/SizePolicy.ts"
import type { Allocator } from "../Allocator.ts"
import * as CallSite from "../CallSite.ts"
import type { CommandQueue } from "../CommandQueue.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"
import type { DeviceContext } from "../DeviceContext.ts"
import { PooledBuffer } from "../PooledBuffer.ts"
import type { PoolSettings } from "../PoolOptions.ts"
import { Budget, type Origin } from "./Budget.ts"
import { InHandler, isWithin } from "./Handlers.ts"
import { climb } from "./Ladder.ts"
import { LastResort } from "./LastResort.ts"
import { LeasePool } from "./LeasePool.ts"
import { type LeaseRequest, unavailable } from "./LeaseRequest.ts"
import * as Serving from "./Serving.ts"
import { Trimming } from "./Trimming.ts"
import { type Outcome, WaitLine, WaitLines } from "./WaitLine.ts"

const operation = "BufferPool.allocate"

/** @internal */
export class MemoryPool {
  readonly core: PoolCore<DeviceBuffer, BufferUsage.BufferUsage>
  readonly leases: LeasePool
  readonly allocator: Allocator["Service"]
  readonly status: DeviceContext["Service"]["status"]
  readonly limits: DeviceLimits
  readonly settings: PoolSettings
  /** Driver allocations under way. */
  readonly inFlight = new Set<Fiber.Fiber<DeviceBuffer, GpuError>>()
  readonly lines: WaitLines
  readonly lastResort: LastResort
  /** What keeps held memory small, if the pool has such options. */
  readonly trimming: Trimming | undefined
  /** Whether a held block can be leased in one step: nobody waits, and nothing has to be cleared. */
  mayHit: boolean
  /** The block sizes under the limit of now. */
  sizeOf: (request: number) => number
  readonly exactSizeOf: (request: number) => number
  readonly #driver: CommandQueue["Service"]["driver"]
  readonly line: WaitLine
  /** Done when the pool has closed or its device is lost. */
  readonly #over = Deferred.makeUnsafe<void>()
  #limitChanges = 0
  /** What a request has tried that waits behind others. */
  readonly #inTurn: ReadonlySet<Rung>
  /** The count of freed blocks up to which the driver has really got everything back. */
  #reclaimed = 0
  /** The block that comes back in this step. */
  #returning: PoolBlock<DeviceBuffer> | undefined = undefined
  /** Driver calls that ended without a block. */
  refusals = 0
  #givenUp = 0
  /** Blocks that went from one lease to the next in one step. */
  #handedOver = 0

  constructor(
    settings: PoolSettings,
    device: DeviceContext["Service"],
    allocator: Allocator["Service"],
    driver: CommandQueue["Service"]["driver"],
    run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>,
    scheduler: Scheduler.Scheduler
  ) {
    const { idle, maxBytes, maxHeldBytes } = settings
    this.settings = settings
    this.limits = device.info.limits
    this.allocator = allocator
    this.status = device.status
    this.#driver = driver
    this.core = new PoolCore({ maxBytes, maxHeldBytes, idle })
    this.lines = new WaitLines(this.core, scheduler)
    this.leases = new LeasePool(device.info, this.core, allocator)
    this.#inTurn = new Set([...this.searchRungs, "wait"])
    this.mayHit = !settings.clear
    this.sizeOf = this.#sizes(settings.sizePolicy)
    this.exactSizeOf = SizePolicy.forDevice(SizePolicy.exact, {
      granularity: this.limits.granularity,
      maxBlockBytes: Infinity
    })
    this.line = new WaitLine({
      lines: this.lines,
      maxOvertakes: settings.maxOvertakes,
      mayServe: (line) => Serving.mayServe(this, line),
      serve: (waiter) => Serving.serve(this, waiter),
      ended: (request) => this.problem(request),
      onFilled: (filled) => this.#queueing(filled)
    })
    this.lastResort = new LastResort({
      pool: this.lines,
      line: this.line,
      returned: () => this.core.releases + this.core.driverFrees + this.#limitChanges,
      progress: () => this.progress,
      evidence: (...evidence) => this.#outOfMemory(...evidence),
      ended: (request) => this.problem(request),
      over: this.#over
    })
    this.trimming = idle === undefined && maxHeldBytes === Infinity ? undefined : new Trimming(this, run)
    this.#queueing(false)
  }

  /**
   * Blocks that came back so far: by a release, by the driver's free, or from a request that nobody waits for any more.
   * Where it has not grown, asking the driver again is of no use. A block that goes to a waiter in the step in which it
   * came back is none that the others could have.
   */
  get progress(): number {
    const { driverAllocations, driverFrees, misses, releases } = this.core
    return releases - this.#handedOver + driverFrees + driverAllocations - misses + this.#givenUp
  }

  /**
   * The driver refused a request, in a call that began when so many had been refused. Where another was refused
   * meanwhile, it may have been for the memory that this call had in its hands.
   */
  refused(before: number): void {
    if (this.refusals !== before) this.#givenUp++
    this.refusals++
  }

  /** Whether anything is leased, or asked of the driver, that may come back. */
  get mayRecover(): boolean {
    return this.core.activeBlocks > 0 || this.core.reservedBytes > 0
  }

  /** What comes before the driver. */
  get searchRungs(): ReadonlyArray<Rung> {
    return this.settings.sizePolicy.borrow > 0 ? ["bin", "borrow"] : ["bin"]
  }

  blockUsage(usage: BufferUsage.BufferUsage): BufferUsage.BufferUsage {
    return this.settings.clear ? usage | BufferUsage.copyDst : usage
  }

  /** A held block for a request, active now. */
  takeHeld(size: number, blockSize: number, usage: BufferUsage.BufferUsage): PoolBlock<DeviceBuffer> | undefined {
    return this.core.acquireOwn(usage, blockSize, size) ??
      this.core.borrow(usage, blockSize, size, SizePolicy.borrowLimit(this.settings.sizePolicy, blockSize))
  }

  /** Whether requests wait for the pool's own memory. */
  get hasWaiters(): boolean {
    return this.line.length > 0
  }

  /** The whole way to a lease but the hit in one step. Whoever starts it also calls {@link MemoryPool.letGo}. */
  lease(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    return this.hasWaiters ? this.#leaseInTurn(request) : this.#leaseAtOnce(request)
  }

  /** A lease from a held block, if there is one now that a budget has room for. */
  search(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> | undefined {
    const { charge, exactSize, size } = request
    const allowance = charge?.allowance ?? Infinity
    const blockSize = request.blockSize <= allowance ? request.blockSize : exactSize
    const usage = this.blockUsage(request.usage)
    const own = this.core.acquireOwn(usage, blockSize, size)
    if (own !== undefined) return this.handOut(request, own, "held")
    const most = Math.min(SizePolicy.borrowLimit(this.settings.sizePolicy, blockSize), allowance)
    const borrowed = this.core.borrow(usage, blockSize, size, most)
    return borrowed === undefined ? undefined : this.handOut(request, borrowed, "borrowed")
  }

  /** Turns an active block into a lease. */
  handOut(
    request: LeaseRequest,
    block: PoolBlock<DeviceBuffer>,
    from: Origin
  ): Effect.Effect<PooledBuffer, GpuError> {
    const { budget, charge, label, list, size, usage, waiter } = request
    if (this.settings.clear) {
      // A failing fill is the new owner's, not the last one's.
      block.value.label = label
      const cleared = this.#driver.fillUnsafe(block.value, 0, block.capacity, 0)
      if (Exit.isFailure(cleared)) {
        block.value.recyclable = false
        return Effect.andThen(this.leases.recycle(block) ?? Exit.void, Exit.failCause(cleared.cause))
      }
    }
    const lease = budget === undefined
      ? this.leases.grant(list, block, size, usage, label)
      : this.leases.grantUnder(budget, list, block, size, usage, label)
    if (block === this.#returning) this.#handedOver++
    request.granted = lease
    charge?.settle(size, block.capacity, from)
    waiter?.line.served(waiter)
    CallSite.note(lease, request.callSite)
    return Exit.succeed(lease)
  }

  /** What is left of a request that has ended: its place in line, its reservations, and a lease that nobody saw. */
  letGo(request: LeaseRequest, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> | undefined {
    const { charge, granted, reserved, waiter } = request
    if (waiter !== undefined) {
      waiter.take()
      waiter.line.leave(waiter)
    }
    if (reserved > 0) {
      request.reserved = 0
      this.core.unreserve(reserved)
    }
    const ended = Exit.isFailure(exit) && granted?.list !== undefined && granted.list === request.list
      ? granted.list.pool.endUnsafe(granted, "scopeClosed")
      : undefined
    charge?.refund()
    // It may be only this one that those behind it in a budget's line were kept waiting by.
    if (waiter !== undefined && waiter.line !== this.line) waiter.line.serve()
    if (waiter !== undefined || reserved > 0) this.line.serve()
    return ended
  }

  /**
   * Under the byte limit the deficit is known: evicts the smallest held block that covers it, else the largest ones
   * until it is covered. Nothing is evicted when even everything held would not do; the answer is then `undefined`.
   */
  makeRoom(bytes: number): { readonly evicted: boolean; readonly failures: Effect.Effect<void> } | undefined {
    const deficit = this.core.deficit(bytes)
    if (deficit > this.core.heldBytes) return undefined
    if (deficit === 0) return { evicted: false, failures: Exit.void }
    return { evicted: true, failures: this.leases.freeAll(this.core.trim(this.core.managedBytes - deficit)) }
  }

  /** Waits until the driver has what was freed: or real memory would grow beyond the limit. */
  readonly reclaim: Effect.Effect<void, GpuError> = Effect.suspend(() => {
    const freed = this.core.driverFrees
    return Effect.andThen(
      this.allocator.reclaim,
      Effect.sync(() => {
        this.#reclaimed = Math.max(this.#reclaimed, freed)
      })
    )
  })

  /** Whether the driver may not have got back yet what was freed. */
  get freesAreLate(): boolean {
    return this.core.driverFrees > this.#reclaimed
  }

  /** Somebody gave back what others may wait for. */
  serve(): void {
    this.line.serve()
  }

  /** Gives blocks back until no more than `bytes` are managed, or nothing is held. */
  trimTo(bytes: number): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => this.#given(this.leases.freeAll(this.core.trim(bytes))))
  }

  readonly freeHeld: Effect.Effect<void, GpuError> = Effect.suspend(() =>
    this.#given(this.leases.freeAll(this.core.evictAll()))
  )

  /** After the device was lost, or the pool closed, nothing is held any more. */
  resumeHolding(): void {
    if (!this.leases.closed && this.status.error === undefined) this.core.resumeHolding()
  }

  /** A limit within this pool, or within another budget of it. */
  budget(limit: number, parent: Budget | undefined): Budget {
    return new Budget({
      limit,
      parent,
      leases: this.leases,
      lines: this.lines,
      maxOvertakes: this.settings.maxOvertakes,
      ended: (request) => this.problem(request),
      over: this.#over
    })
  }

  /** Lowering it gives held blocks back, as many as it takes; leases stay. */
  setMaxBytes(bytes: number): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => {
      const lowered = bytes < this.core.maxBytes
      this.#limitChanges++
      this.core.setMaxBytes(bytes)
      this.sizeOf = this.#sizes(this.settings.sizePolicy)
      this.lines.end()
      if (lowered) return this.trimTo(bytes - this.core.reservedBytes)
      this.lines.serve()
      return Exit.void
    })
  }

  /** Why nobody should wait for a lease any more. */
  problem(request: LeaseRequest): GpuError | undefined {
    if (this.status.error !== undefined) return this.status.error
    if (this.leases.closed) return unavailable(request, "poolClosed")
    if (request.list.closed) return unavailable(request, "scopeClosed")
    return this.limitProblem(request.exactSize) ?? request.budget?.limitProblem(request.exactSize)
  }

  /** LimitExceeded for a request that can never fit. */
  limitProblem(bytes: number): GpuError | undefined {
    return BufferRequest.deviceProblem(operation, bytes, this.limits) ??
      BufferRequest.limitProblem(operation, bytes, "maxBytes", this.core.maxBytes)
  }

  /** The device is lost: nothing that is held can be used again, and nobody needs to wait for its driver. */
  drop(): Effect.Effect<void> {
    this.core.stopHolding()
    Deferred.doneUnsafe(this.#over, Exit.void)
    this.lines.end()
    for (const running of this.inFlight) running.interruptUnsafe()
    return this.leases.freeAll(this.core.evictAll())
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    const closed = this.leases.close()
    Deferred.doneUnsafe(this.#over, Exit.void)
    this.lines.end()
    this.trimming?.stop()
    return Effect.andThen(closed, Fiber.interruptAll(this.inFlight))
  })

  #sizes(policy: SizePolicy.SizePolicy): (request: number) => number {
    const { granularity, maxBufferSize } = this.limits
    return SizePolicy.forDevice(policy, {
      granularity,
      maxBlockBytes: Math.min(maxBufferSize, this.core.maxBytes)
    })
  }

  #given(failures: Effect.Effect<void>): Effect.Effect<void, GpuError> {
    this.lines.serve()
    return Effect.andThen(failures, this.reclaim)
  }

  /** With others waiting, a request takes its place behind them, and may pass them as far as the bound allows. */
  #leaseInTurn(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    return Effect.withFiber((fiber) => {
      // It asks for the one that waits for it.
      if (isWithin(fiber.getRef(InHandler), this.lines)) return this.#leaseAtOnce(request)
      const waits = request.patience.onExhausted === "wait" && this.lastResort.handlers.isEmpty
      const given: Effect.Effect<Outcome | "exhausted", GpuError> = waits
        ? this.lastResort.wait(request, this.#inTurn, undefined)
        : this.line.tryNow(request) ?? exhausted
      return Effect.flatMap(
        given,
        (outcome) => outcome instanceof PooledBuffer ? Exit.succeed(outcome) : climb(this, request, outcome)
      )
    })
  }

  #leaseAtOnce(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    return this.problem(request) ?? this.search(request) ?? climb(this, request, undefined)
  }

  /** A pool without waiters and without anything to trim pays nothing for them. */
  #queueing(filled: boolean): void {
    this.mayHit = !filled && !this.settings.clear
    this.leases.onReturn = filled || this.trimming !== undefined ? this.#returned : undefined
  }

  readonly #returned = (block: PoolBlock<DeviceBuffer>): Effect.Effect<void> | undefined => {
    const failed = this.trimming?.trimExcess()
    this.#returning = block
    this.line.serve()
    this.#returning = undefined
    return failed
  }

  #outOfMemory(request: LeaseRequest, rungs: ReadonlySet<Rung>, waitedMillis?: number): GpuError {
    const { core } = this
    return makeError(
      new OutOfMemory({
        requested: request.size,
        blockSize: request.blockSize,
        pooled: true,
        limitName: "maxBytes",
        ...core.evidence,
        rungs: [...rungs],
        waitedMillis,
        holders: this.leases.largestHolders(3)
      })
    )
  }
}

const exhausted = Exit.succeed("exhausted" as const)
