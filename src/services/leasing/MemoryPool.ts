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
import {
  type GpuError,
  type LimitOwner,
  make as makeError,
  OutOfMemory,
  type Released,
  type Rung,
  type WaitingJob
} from "../../domain/GpuError.ts"
import { type PoolBlock, PoolCore } from "../../domain/PoolCore.ts"
import * as SizePolicy from "../../domain/SizePolicy.ts"
import type { Allocator } from "../Allocator.ts"
import * as CallSite from "../CallSite.ts"
import type { CommandQueue } from "../CommandQueue.ts"
import type { DeviceBuffer } from "../DeviceBuffer.ts"
import type { DeviceContext } from "../DeviceContext.ts"
import { PooledBuffer } from "../PooledBuffer.ts"
import type { PoolSettings } from "../PoolOptions.ts"
import { admit, type Entrance, type Gate } from "./Admission.ts"
import { Budget, type Origin } from "./Budget.ts"
import { InHandler, isWithin } from "./Handlers.ts"
import { JobTurns } from "./JobTurns.ts"
import { climb } from "./Ladder.ts"
import { LastResort } from "./LastResort.ts"
import { LeaseAccount } from "./LeaseAccount.ts"
import { LeasePool } from "./LeasePool.ts"
import { drawMore, goesFirst, isCertain, type LeaseRequest, unavailable, undraw } from "./LeaseRequest.ts"
import * as Serving from "./Serving.ts"
import type { SetAside } from "./SetAside.ts"
import { StandstillWatch } from "./Standstill.ts"
import { Trimming } from "./Trimming.ts"
import { type Outcome, WaitLine, WaitLines } from "./WaitLine.ts"

/** @internal */
export class MemoryPool implements Gate {
  readonly core: PoolCore<DeviceBuffer, BufferUsage.BufferUsage>
  readonly leases: LeasePool
  readonly allocator: Allocator["Service"]
  readonly status: DeviceContext["Service"]["status"]
  readonly limits: DeviceLimits
  readonly settings: PoolSettings
  readonly #owner: LimitOwner
  /** Driver allocations under way. */
  readonly inFlight = new Set<Fiber.Fiber<DeviceBuffer, GpuError>>()
  readonly lines: WaitLines
  /** The reservations of effects that run now. */
  readonly reservations = new Set<SetAside>()
  readonly #watch: StandstillWatch
  readonly turns: JobTurns
  readonly lastResort: LastResort
  /** What keeps held memory small, if the pool has such options. */
  readonly trimming: Trimming | undefined
  /** Whether a held block can be leased in one step: no request waits, and nothing has to be cleared. */
  #mayHit: boolean
  /** The block sizes under the limit of now. */
  sizeOf: (request: number) => number
  readonly exactSizeOf: (request: number) => number
  readonly #driver: CommandQueue["Service"]["driver"]
  readonly line: WaitLine
  readonly #entrance: Entrance
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
  /** What came back of attempts that ended as they began. */
  #retracted = 0
  /** Blocks that went from one lease to the next in one step. */
  #handedOver = 0
  /** Leases that handlers took while others waited. */
  #toHandlers = 0

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
    this.#owner = { kind: "pool", name: settings.label }
    this.limits = device.info.limits
    this.allocator = allocator
    this.status = device.status
    this.#driver = driver
    this.core = new PoolCore({ maxBytes, maxHeldBytes, idle })
    this.lines = new WaitLines(this.core, scheduler)
    this.#entrance = { pool: this.lines, ended: (request) => this.problem(request) }
    this.leases = new LeasePool(device.info, this.core, allocator)
    this.#inTurn = new Set([...this.searchRungs, "wait"])
    this.#mayHit = !settings.clear
    this.sizeOf = this.#sizes(settings.sizePolicy)
    this.exactSizeOf = SizePolicy.forDevice(SizePolicy.exact, {
      granularity: this.limits.granularity,
      maxBlockBytes: Infinity
    })
    const watch = new StandstillWatch(this, run)
    this.#watch = watch
    this.lines.onFilled = () => watch.start()
    this.line = new WaitLine({
      countedBytes: () => {
        const { heldBytes, managedBytes, reservedBytes, setAsideBytes } = this.core
        return managedBytes - heldBytes + reservedBytes + setAsideBytes
      },
      returned: () => this.#returnedSoFar,
      standstill: (request, jobs) => this.#outOfMemory(request, waitRungs, undefined, jobs),
      lines: this.lines,
      maxOvertakes: settings.maxOvertakes,
      mayServe: (line) => Serving.mayServe(this, line),
      serve: (waiter) => Serving.serve(this, waiter),
      given: Serving.given,
      ended: (request) => this.ended(request),
      onFilled: (filled) => this.#queueing(filled)
    })
    this.turns = new JobTurns({
      lines: this.lines,
      ended: (request) => this.ended(request),
      returned: () => this.#returnedSoFar,
      standstill: (request, jobs) => this.#outOfMemory(request, waitRungs, undefined, jobs),
      evidence: (...evidence) => this.#outOfMemory(...evidence),
      over: this.#over
    })
    this.lastResort = new LastResort({
      pool: this.lines,
      line: this.line,
      room: () => this.#free + this.core.reservedBytes,
      served: () => this.core.hits + this.core.misses - this.#toHandlers,
      evidence: (...evidence) => this.#outOfMemory(...evidence),
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
    return releases - this.#handedOver + driverFrees + driverAllocations - misses + this.#givenUp - this.#retracted
  }

  /**
   * The driver refused a request, in a call that began when so many had been refused. Where another was refused
   * meanwhile, it may have been for the memory that this call had in its hands.
   */
  refused(before: number): void {
    if (this.refusals !== before) this.#givenUp++
    this.refusals++
  }

  /** An attempt gave so many blocks back that it had taken itself: they are no reason for other requests to try again. */
  retract(times: number): void {
    this.#retracted += times
  }

  /** Whether a held block can be leased in one step, and with all of what is held. */
  get mayHit(): boolean {
    return this.#mayHit && this.core.setAsideBytes === 0
  }

  get #returnedSoFar(): number {
    return this.core.releases + this.core.driverFrees + this.#limitChanges
  }

  /** Whether anything is leased, set aside for others or asked of the driver, that may come back. */
  mayRecover({ asks, drawn }: LeaseRequest): boolean {
    const { activeBlocks, reservedBytes, setAsideBytes } = this.core
    return activeBlocks > 0 || reservedBytes > 0 || setAsideBytes > drawn + (asks?.left ?? 0)
  }

  /** How many bytes a request may get without touching what is set aside for others. */
  room(request: LeaseRequest): number {
    if (this.core.setAsideBytes === 0) return Infinity
    // A lowered limit takes nothing from what is certain: what the pool has of it goes to those it was promised to.
    return Math.max(this.#free + request.drawn, isCertain(request) ? request.exactSize : 0)
  }

  /** How large its block may be now. */
  allowance(request: LeaseRequest): number {
    return Math.min(request.charge?.allowance ?? Infinity, this.room(request))
  }

  /** Whether so many bytes could be had under the limit, if everything held that is not set aside were evicted. */
  mayFit(request: LeaseRequest, bytes: number): boolean {
    return this.core.deficit(bytes) <= this.core.heldBytes && bytes <= this.room(request)
  }

  /** Bytes that are neither leased nor reserved nor set aside, of the limit or of what the device has if that is less. */
  get #free(): number {
    const { heldBytes, managedBytes, maxBytes, reservedBytes, setAsideBytes } = this.core
    const capacity = Math.min(maxBytes, this.limits.memoryBytes ?? Infinity, Number.MAX_SAFE_INTEGER)
    return capacity - (managedBytes - heldBytes) - reservedBytes - setAsideBytes
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

  /** The whole way to a lease but the hit in one step. The caller also calls {@link MemoryPool.letGo} at its end. */
  lease(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    drawMore(request)
    const { budget } = request
    if (budget === undefined) return this.#lease(request)
    return Effect.flatMap(admit(request, budget.chain, this.#entrance), () => this.#lease(request))
  }

  /** The whole way to a turn, with the same duty. */
  awaitTurn(request: LeaseRequest): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => admit(request, [this.turns], this.#entrance))
  }

  /** The whole way to a reservation, with the same duty. */
  setAside(request: LeaseRequest): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => {
      drawMore(request)
      return admit(request, [...request.budget?.chain ?? [], this], this.#entrance)
    })
  }

  hasAdmitted({ asks }: LeaseRequest): boolean {
    return asks!.isOpen
  }

  /** Sets the bytes aside that a request asks for, if they are free under the limit: evicting what is held may wait. */
  tryAdmit(request: LeaseRequest): boolean {
    const { asks, charge, drawn, exactSize, waiter } = request
    const missing = exactSize - drawn
    if (missing > 0 && missing > this.#free) return false
    request.drawn = 0
    charge?.settled()
    asks!.open(exactSize, drawn)
    waiter?.line.served(waiter)
    return true
  }

  /** Under the limit, without what the driver may still get back. */
  missing(request: LeaseRequest): number {
    const { drawn, exactSize } = request
    const missing = Math.max(0, exactSize - drawn - this.#free)
    return request.asks !== undefined || this.core.setAsideBytes > 0 ? missing : this.core.deficit(exactSize)
  }

  mayWait(request: LeaseRequest): boolean {
    return this.mayRecover(request) || this.line.hasOthersTrying(request)
  }

  /** Reserves bytes of the limit for what the driver is asked for, if they are not set aside for others. */
  reserve(request: LeaseRequest, bytes: number): boolean {
    if (bytes > this.room(request) || !this.core.reserve(bytes)) return false
    request.reserved = bytes
    this.#use(request)
    return true
  }

  /** What a request has drawn is used by now. */
  #use(request: LeaseRequest): void {
    const { drawn, from } = request
    if (drawn === 0) return
    from?.use(drawn)
    request.used += drawn
    request.drawn = 0
  }

  /** The driver, or the queue that clears, gave nothing for it: what it has drawn is set aside again. */
  unuse(request: LeaseRequest): void {
    const { from, used } = request
    if (used === 0) return
    from?.use(-used)
    request.drawn += used
    request.used = 0
  }

  #account(request: LeaseRequest): LeaseAccount | undefined {
    const { budget, from } = request
    if (from !== undefined) this.#use(request)
    const { used } = request
    if (budget === undefined && used === 0) return undefined
    request.used = 0
    return new LeaseAccount(budget, from, used)
  }

  /** A lease from a held block, if there is one now that a budget has room for. */
  search(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> | undefined {
    const { exactSize, size } = request
    if (exactSize > this.room(request)) return undefined
    const allowance = this.allowance(request)
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
    const { charge, label, list, size, usage, waiter } = request
    const problem = this.settings.clear ? this.#clear(request, block) : undefined
    if (problem !== undefined) return problem
    const account = this.#account(request)
    const lease = account === undefined
      ? this.leases.grant(list, block, size, usage, label)
      : this.leases.grantOn(account, list, block, size, usage, label)
    if (block === this.#returning) this.#handedOver++
    if (list.scope === undefined) lease.borrowerId = request.fiberId
    if (request.inHandler) this.#toHandlers++
    request.granted = lease
    request.collect?.push(lease)
    charge?.settle(request, block.capacity, from)
    waiter?.line.served(waiter)
    CallSite.note(lease, request.callSite)
    return Exit.succeed(lease)
  }

  /** Whatever the last owner left in a block goes; or the error of that, and the block goes back. */
  #clear(request: LeaseRequest, block: PoolBlock<DeviceBuffer>): Effect.Effect<never, GpuError> | undefined {
    // A failing fill is the new owner's, not the last one's.
    block.value.label = request.label
    const cleared = this.#driver.fillUnsafe(block.value, 0, block.capacity, 0)
    if (Exit.isSuccess(cleared)) return undefined
    block.value.recyclable = false
    this.unuse(request)
    return Effect.andThen(this.leases.recycle(block) ?? Exit.void, Exit.failCause(cleared.cause))
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
    request.isOver = true
    if (request.from !== undefined) this.#giveBack(request)
    // It may be only this one that those behind it in a budget's line were kept waiting by.
    if (waiter !== undefined && waiter.line !== this.line) waiter.line.serve()
    if (waiter !== undefined || reserved > 0) this.line.serve()
    return ended
  }

  /** What a request that was let go has of its reservation. */
  #giveBack(request: LeaseRequest): void {
    // The driver's answer says what becomes of the bytes that it was asked for.
    if (!request.calling) this.unuse(request)
    const returns = request.drawn > 0
    undraw(request)
    // Requests of the same reservation may wait for them in any line.
    if (returns) this.lines.serve()
  }

  /**
   * Under the byte limit the deficit is known: evicts the smallest held block that covers it, else the largest ones
   * until it is covered. Nothing is evicted when even everything held would not do; the answer is then `undefined`.
   */
  makeRoom(
    request: LeaseRequest,
    bytes: number
  ): { readonly evicted: boolean; readonly failures: Effect.Effect<void> } | undefined {
    if (!this.mayFit(request, bytes)) return undefined
    const deficit = this.core.deficit(bytes)
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
  budget(limit: number, parent: Budget | undefined, label: string | undefined): Budget {
    return new Budget({
      limit,
      label,
      parent,
      leases: this.leases,
      lines: this.lines,
      maxOvertakes: this.settings.maxOvertakes,
      ended: (request) => this.ended(request),
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
    const why = this.#closed(request)
    return this.status.error ?? (why === undefined ? this.#neverFits(request) : unavailable(request, why))
  }

  /** The same for those in line, who may be very many: an error is made only when its request hears of it. */
  ended(request: LeaseRequest): Effect.Effect<never, GpuError> | undefined {
    const why = this.#closed(request)
    return this.status.error ??
      (why === undefined ? this.#neverFits(request) : Effect.suspend(() => unavailable(request, why)))
  }

  #neverFits(request: LeaseRequest): GpuError | undefined {
    const { asks, exactSize, operation } = request
    return this.limitProblem(operation, exactSize, asks) ?? request.budget?.limitProblem(operation, exactSize)
  }

  /** LimitExceeded for a request that can never fit: no single buffer is larger than the device allows. */
  limitProblem(operation: string, exactSize: number, asks: LeaseRequest["asks"]): GpuError | undefined {
    const problem = asks === undefined
      ? BufferRequest.deviceProblem(operation, exactSize, this.limits)
      : BufferRequest.deviceLimitProblem(operation, exactSize, this.limits, "memoryBytes")
    return problem ?? BufferRequest.limitProblem(operation, exactSize, "maxBytes", this.core.maxBytes, this.#owner)
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
    this.#watch.stop()
    return Effect.andThen(closed, Fiber.interruptAll(this.inFlight))
  })

  #closed({ list }: LeaseRequest): Released["why"] | undefined {
    return this.leases.closed ? "poolClosed" : list.closed ? "scopeClosed" : undefined
  }

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
      request.inHandler = isWithin(fiber.getRef(InHandler), this.lines)
      if (request.inHandler) return this.#leaseAtOnce(request)
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

  #lease(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    return this.hasWaiters && !goesFirst(request) ? this.#leaseInTurn(request) : this.#leaseAtOnce(request)
  }

  #leaseAtOnce(request: LeaseRequest): Effect.Effect<PooledBuffer, GpuError> {
    return this.problem(request) ?? this.search(request) ?? climb(this, request, undefined)
  }

  /** A pool without waiters and without anything to trim pays nothing for them. */
  #queueing(filled: boolean): void {
    this.#mayHit = !filled && !this.settings.clear
    this.leases.onReturn = filled || this.trimming !== undefined ? this.#returned : undefined
  }

  readonly #returned = (block: PoolBlock<DeviceBuffer>): Effect.Effect<void> | undefined => {
    const failed = this.trimming?.trimExcess()
    this.#returning = block
    this.line.serve()
    this.#returning = undefined
    return failed
  }

  #outOfMemory(
    request: LeaseRequest,
    rungs: ReadonlySet<Rung>,
    waitedMillis?: number,
    standstill: ReadonlyArray<WaitingJob> = []
  ): GpuError {
    const { core } = this
    return makeError(
      new OutOfMemory({
        requested: request.size,
        blockSize: request.blockSize,
        pooled: true,
        limitName: "maxBytes",
        ...(this.settings.label === undefined ? {} : { limitLabel: this.settings.label }),
        ...core.evidence,
        rungs: [...rungs],
        waitedMillis,
        standstill,
        holders: this.leases.largestHolders(3)
      })
    )
  }
}

const exhausted = Exit.succeed("exhausted" as const)

const waitRungs: ReadonlySet<Rung> = new Set(["wait"])
