/**
 * The memory of one pool, or of several that share a limit: its blocks, its waiting line, and the changes of its limit
 * and its life. `Leasing` has the way of a single request.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scheduler from "effect/Scheduler"
import { line } from "../../domain/arguments/ShownValue.ts"
import * as BufferRequest from "../../domain/BufferRequest.ts"
import { type DeviceInfo, format } from "../../domain/device/DeviceInfo.ts"
import { place } from "../../domain/ErrorStack.ts"
import {
  type GpuError,
  isGpuError,
  type LimitOwner,
  make as makeError,
  OutOfMemory,
  type Released,
  type Rung,
  type WaitingJob
} from "../../domain/GpuError.ts"
import type { PoolCore } from "../../domain/pool/PoolCore.ts"
import type { QueueStats } from "../../domain/pool/QueueStats.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { Queue } from "../device/queues/Queue.ts"
import type { Block, Family, Leasable } from "../lease/Lease.ts"
import { allOf, type LeaseTable } from "../lease/LeaseTable.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import { Blocks } from "./Blocks.ts"
import type { EventHub, Heard } from "./EventHub.ts"
import type { MemorySettings } from "./PoolOptions.ts"
import * as Serving from "./Serving.ts"
import { Trimming } from "./Trimming.ts"
import type { Gate } from "./waiting/Admission.ts"
import { Budget } from "./waiting/Budget.ts"
import type { Emitter } from "./waiting/Emitter.ts"
import { JobTurns } from "./waiting/JobTurns.ts"
import { LastResort } from "./waiting/LastResort.ts"
import { hasGot, type LeaseRequest, unavailable, undraw } from "./waiting/LeaseRequest.ts"
import type { SetAside } from "./waiting/SetAside.ts"
import type { Member, SharedLimit } from "./waiting/SharedLimit.ts"
import { StandstillWatch, type Watched } from "./waiting/Standstill.ts"
import type { Answer } from "./waiting/Waiter.ts"
import { type Waiter, WaitLine, WaitLines } from "./waiting/WaitLine.ts"

let lastNumber = 0

const reasonOf = ({ cause }: Exit.Failure<unknown, unknown>): GpuError["reason"]["_tag"] | undefined => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return isGpuError(error) ? error.reason._tag : undefined
}

export class Memory implements Gate, Member, Heard {
  readonly number = ++lastNumber
  readonly blocks: Blocks
  readonly core: PoolCore<Leasable, Family>
  readonly leases: LeaseTable
  readonly status: DeviceContext["Service"]["status"]
  readonly settings: MemorySettings
  readonly #owner: LimitOwner
  readonly lines: WaitLines
  /** The reservations of effects that run now. */
  readonly reservations = new Set<SetAside>()
  readonly #watch: StandstillWatch
  readonly turns: JobTurns
  readonly line: WaitLine
  readonly lastResort: LastResort
  /** Trims held memory, if the pool has such options. */
  readonly trimming: Trimming | undefined
  #mayHit = true
  #isFilled = false
  readonly #stopListening: (() => void) | undefined
  readonly #leaveHub: () => void
  #limitChanges = 0

  constructor(
    settings: MemorySettings,
    device: Pick<DeviceContext["Service"], "info" | "status">,
    run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>,
    scheduler: Scheduler.Scheduler,
    hub: EventHub
  ) {
    const { eviction, idle, maxBytes, maxHeldBytes, maxOvertakes, outgrown, reuse, suspectAfterMillis } = settings
    this.settings = settings
    this.#owner = { kind: settings.kind, name: settings.label }
    this.status = device.status
    this.blocks = new Blocks(device.info, { maxBytes, maxHeldBytes, idle, eviction, outgrown }, reuse)
    this.#stopListening = this.blocks.queues?.onSeveral(() => this.#updateMayHit())
    this.core = this.blocks.core
    this.leases = this.blocks.leases
    this.lines = new WaitLines(this.core, (request) => this.#ended(request), scheduler, this)
    this.line = new WaitLine(this, this.lines, maxOvertakes)
    this.lastResort = new LastResort(this, this.line, this.lines)
    const outOfMemory: Memory["outOfMemory"] = (...evidence) => this.outOfMemory(...evidence)
    this.turns = new JobTurns(this.lines, outOfMemory, () => this.returned())
    this.#watch = new StandstillWatch(this, suspectAfterMillis, run)
    this.lines.onFilled = () => this.#watch.start()
    this.trimming = idle === undefined && maxHeldBytes === Infinity
      ? undefined
      : new Trimming(this.blocks, settings, () => this.line.serve(), run)
    this.listen()
    this.#leaveHub = hub.join(this)
  }

  /** Its blocks come from an allocator with these limits. */
  join(limits: ReadonlyArray<SharedLimit>): void {
    this.blocks.shares = limits.map((limit) => limit.join(this))
    // Of limits within limits the outermost has all members.
    this.leases.order = limits.at(-1)?.order ?? this.leases.order
    this.listen()
  }

  /** Itself, and the others that stand under one limit with it. */
  get peers(): ReadonlyArray<Watched> {
    return [this, ...new Set(this.blocks.shares.flatMap(({ others }) => others.map(({ member }) => member)))]
  }

  get isTelling(): boolean {
    return this.blocks.shares.some(({ limit }) => limit.isTelling)
  }

  get heldBytes(): number {
    return this.core.heldBytes
  }

  get progress(): number {
    return this.blocks.ownProgress
  }

  get news(): number {
    return this.blocks.ownNews
  }

  evict(bytes: number): Effect.Effect<void> {
    return this.blocks.retracting(() => this.blocks.freeAll(this.core.trim(this.core.managedBytes - bytes), "evicted"))
  }

  tellOthers(): void {
    for (const { limit } of this.blocks.shares) limit.tell()
  }

  get closed(): boolean {
    return this.blocks.closed
  }

  /** Whether a held block can be leased in one step: no request waits, and nothing is set aside. */
  get mayHit(): boolean {
    return this.#mayHit && this.core.setAsideBytes === 0
  }

  /** Whether requests wait for the pool's own memory. */
  get hasWaiters(): boolean {
    return this.line.length > 0
  }

  mayServe(line: WaitLine): boolean {
    return Serving.mayServe(this.blocks, line)
  }

  serve(waiter: Waiter): Answer | undefined {
    return Serving.serve(this.blocks, this.line, waiter)
  }

  given(request: LeaseRequest): Answer | undefined {
    return Serving.given(request)
  }

  countedBytes(): number {
    const { heldBytes, managedBytes, reservedBytes, setAsideBytes } = this.core
    const elsewhere = this.line.isRefused ? this.blocks.bytesElsewhere : 0
    return managedBytes - heldBytes + reservedBytes + setAsideBytes + elsewhere
  }

  returned(): number {
    return this.core.releases + this.core.driverFrees + this.#limitChanges + this.blocks.progressElsewhere
  }

  room(): number {
    return this.blocks.freeBytes + this.core.reservedBytes
  }

  served(): number {
    return this.core.hits + this.core.misses - this.blocks.toHandlers
  }

  queueing(filled: boolean): void {
    this.#isFilled = filled
    this.#updateMayHit()
    this.listen()
    for (const { limit } of this.blocks.shares) limit.listen()
  }

  get label(): string | undefined {
    return this.settings.label
  }

  get device(): string {
    return format(this.blocks.device)
  }

  get deviceInfo(): DeviceInfo {
    return this.blocks.device
  }

  get activeBytes(): number {
    return this.core.activeBytes
  }

  hear(emitter: Emitter | undefined, ofLeases: Emitter | undefined): void {
    this.blocks.events = emitter
    this.blocks.leaseEvents = ofLeases
    this.lines.events = emitter
  }

  /** On a device with several queues a hit has more to look at. */
  #updateMayHit(): void {
    this.#mayHit = !this.#isFilled && this.blocks.queues?.several !== true
  }

  /** A memory that nobody waits for, and without anything to trim, pays nothing for that. */
  listen(): void {
    const isHeard = this.hasWaiters || this.trimming !== undefined ||
      this.blocks.shares.some(({ limit }) => limit.hasWaiters)
    this.blocks.onReturn = isHeard && !this.closed ? this.#returned : undefined
  }

  readonly #returned = (block: Block): Effect.Effect<void> | undefined => {
    const failed = this.trimming?.trimExcess()
    this.blocks.returning = block
    this.line.serve()
    this.blocks.returning = undefined
    this.tellOthers()
    return failed
  }

  hasAdmitted({ asks }: LeaseRequest): boolean {
    return asks!.isOpen
  }

  tryAdmit(request: LeaseRequest): boolean {
    return this.blocks.setAside(request)
  }

  /** Under the limit, without what the driver may still get back. */
  missing(request: LeaseRequest): number {
    const { drawn, exactSize } = request
    const missing = Math.max(0, exactSize - drawn - this.blocks.freeBytes)
    return request.asks !== undefined || this.core.setAsideBytes > 0 ? missing : this.core.deficit(exactSize)
  }

  mayWait(request: LeaseRequest, refused = false): boolean {
    return this.blocks.mayRecover(request, refused) || this.line.hasOthersTrying(request)
  }

  /** Cleans up after a request that has ended: its place in line, its reserved bytes, and a lease that no fiber got. */
  letGo(request: LeaseRequest, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> | undefined {
    const { charge, granted, reserved, waiter } = request
    if (Exit.isFailure(exit) && !hasGot(request)) this.#giveUp(request, exit)
    if (waiter !== undefined) {
      waiter.take()
      waiter.line.leave(waiter)
    }
    if (reserved > 0) {
      request.reserved = 0
      this.core.unreserve(reserved, request.size)
    }
    const ended = Exit.isFailure(exit) && granted?.list !== undefined && granted.list === request.list
      ? this.blocks.endUnsafe(granted, "scopeClosed")
      : undefined
    charge?.refund()
    request.isOver = true
    if (request.from !== undefined) this.#giveBack(request)
    // Waiters behind it in a budget's line may have waited only for this request.
    if (waiter !== undefined && waiter.line !== this.line) waiter.line.serve()
    if (waiter !== undefined || reserved > 0) this.line.serve()
    return ended
  }

  /** It was interrupted before it had what it asked for, or its scope has closed, or it could not use what it was given in line. */
  #giveUp(request: LeaseRequest, exit: Exit.Failure<unknown, unknown>): void {
    if (this.lines.events === undefined || request.gaveUp) return
    if (Exit.hasInterrupts(exit)) this.lines.giveUp(request, "interrupted")
    else if (request.list.closed) this.lines.giveUp(request, "scopeClosed")
    else if (reasonOf(exit) === "LimitExceeded" && this.#neverFits(request) !== undefined) {
      this.lines.giveUp(request, "limitExceeded")
    } else if (request.waiter?.wasServed === true && reasonOf(exit) !== "OutOfMemory") {
      this.lines.giveUp(request, "failed")
    }
  }

  /** Gives back the bytes that a request which has ended drew from its reservation. */
  #giveBack(request: LeaseRequest): void {
    // The driver's answer says what becomes of the bytes that it was asked for.
    if (!request.calling) this.blocks.unuse(request)
    const returns = request.drawn > 0
    undraw(request)
    // Requests of the same reservation may wait for them in any line.
    if (returns) this.lines.serve()
  }

  /** Gives blocks back until no more than `bytes` are managed, or nothing is held. */
  trimTo(bytes: number): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => this.#trim(this.core.trim(bytes), bytes))
  }

  readonly freeHeld: Effect.Effect<void, GpuError> = Effect.suspend(() => this.#trim(this.core.evictAll()))

  /** The same for those that one queue of the device used last. */
  freeHeldOf(queue: Queue | undefined): Effect.Effect<void, GpuError> {
    const { queues } = this.blocks
    if (queues === undefined || queue === undefined) return this.freeHeld
    return this.#trim(this.core.evictWhich((value) => queues.isOf(value, queue)), undefined, queue)
  }

  statsOf(queue: Queue | undefined): QueueStats {
    const { core, blocks: { queues } } = this
    if (queues !== undefined && queue !== undefined) return queues.statsOf(core, queue)
    const { heldBlocks, heldBytes, hits } = core
    return { label: "queue 1", heldBlocks, heldBytes, leases: hits, waits: 0 }
  }

  /** Blocks are detached one by one, as they are freed. */
  #trim(blocks: Iterable<Block>, to?: number, queue?: Queue): Effect.Effect<void, GpuError> {
    this.blocks.events?.trimAsked(to, queue?.label)
    const failures = this.blocks.freeAll(blocks, "trimmed")
    this.lines.serve()
    return Effect.andThen(failures, this.blocks.reclaim)
  }

  readonly stopHolding: Effect.Effect<void, GpuError> = Effect.suspend(() => {
    this.core.stopHolding()
    this.blocks.events?.holdingChanged(false)
    return this.freeHeld
  })

  /** After the device was lost, or the pool closed, no block is held any more. */
  readonly resumeHolding: Effect.Effect<void> = Effect.sync(() => {
    if (this.closed || this.status.error !== undefined) return
    this.core.resumeHolding()
    this.blocks.events?.holdingChanged(true)
  })

  /** A limit within this memory, or within another budget of it. */
  budget(kind: Budget["owner"]["kind"], limit: number, parent: Budget | undefined, label: string | undefined): Budget {
    return new Budget({ kind, name: label }, limit, parent, this.leases, this.lines, this.settings.maxOvertakes)
  }

  /** A lower limit frees as many held blocks as needed; leases stay. */
  setMaxBytes(bytes: number): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => {
      const lowered = bytes < this.core.maxBytes
      this.#limitChanges++
      this.blocks.events?.limitChanged(undefined, this.core.maxBytes, bytes)
      this.core.setMaxBytes(bytes)
      for (const source of this.blocks.sources) source.limitTo(bytes)
      this.lines.end()
      if (lowered) return this.trimTo(Math.max(0, bytes - this.core.reservedBytes))
      this.lines.serve()
      return Exit.void
    })
  }

  /** Why no request may wait for a lease any more. */
  problem(request: LeaseRequest): GpuError | undefined {
    const why = this.#closedFor(request)
    return this.status.error ?? (why === undefined ? this.#neverFits(request) : unavailable(request, why))
  }

  /** The same for those in line, who may be very many: an error is made only when its request hears of it. */
  #ended(request: LeaseRequest): Effect.Effect<never, GpuError> | undefined {
    const why = this.#closedFor(request)
    return this.status.error ??
      (why === undefined ? this.#neverFits(request) : Effect.suspend(() => unavailable(request, why)))
  }

  #closedFor({ list, source }: LeaseRequest): Released["why"] | undefined {
    return source.closed ? "poolClosed" : list.closed ? "scopeClosed" : undefined
  }

  /** LimitExceeded for a request that can never fit as it is made: those who listen hear of it, and it goes no further. */
  tooLarge(request: LeaseRequest): GpuError | undefined {
    const { label, operation } = request
    const problem = this.#neverFits(request, label === undefined ? operation : `${operation}, "${line(label)}"`)
    if (problem === undefined) return undefined
    this.lines.giveUp(request, "limitExceeded")
    return place(problem, operation, request.callSite)
  }

  /** LimitExceeded for a request that can never fit: no single block is larger than the device allows. */
  #neverFits(
    { asks, budget, exactSize, operation, source }: LeaseRequest,
    where: string = operation
  ): GpuError | undefined {
    const problem = asks === undefined
      ? source.limitProblem(where, exactSize)
      : BufferRequest.deviceLimitProblem(where, exactSize, this.blocks.limits, "memoryBytes")
    return problem ??
      BufferRequest.limitProblem(where, exactSize, "maxBytes", this.core.maxBytes, this.#owner) ??
      budget?.limitProblem(where, exactSize)
  }

  /** Driver calls under way. */
  #inFlight(): ReadonlyArray<Fiber.Fiber<Leasable, GpuError>> {
    return Array.from(this.blocks.sources).flatMap(({ inFlight }) => Array.from(inFlight))
  }

  /** One of several pools closes: its requests, its leases and what is held for it end. */
  closePool(source: PoolSource, leased: Budget): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.blocks.events?.closing(source, leased)
      this.blocks.remove(source)
      this.lines.end()
      // No request can be made under them any more: what they have set aside is for the other pools.
      for (const one of this.reservations) if (one.budgets.includes(leased)) one.close()
      const ended = this.leases.endAll("poolClosed", ({ account }) => account?.budgets.includes(leased) === true)
      const freed = this.blocks.freeAll(this.core.evictFamilies((family) => source.owns(family)), "closed")
      this.lines.serve()
      return Effect.andThen(allOf([ended, freed]), Fiber.interruptAll(source.inFlight))
    })
  }

  /** The device is lost: held blocks cannot be used again, and no request needs to wait for the driver. */
  drop(): Effect.Effect<void> {
    this.blocks.events?.lost()
    this.core.stopHolding()
    for (const { over } of this.blocks.sources) Deferred.doneUnsafe(over, Exit.void)
    this.lines.end()
    for (const running of this.#inFlight()) running.interruptUnsafe()
    return this.blocks.freeAll(this.core.evictAll(), "lost")
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.blocks.events?.closing(undefined, undefined)
    const closed = this.blocks.close()
    for (const { over } of this.blocks.sources) Deferred.doneUnsafe(over, Exit.void)
    this.lines.end()
    for (const share of this.blocks.shares) share.limit.leave(share)
    this.trimming?.stop()
    this.#stopListening?.()
    this.blocks.events?.closed()
    this.#leaveHub()
    this.#watch.stop()
    return Effect.andThen(closed, Fiber.interruptAll(this.#inFlight()))
  })

  outOfMemory(
    request: LeaseRequest,
    rungs: ReadonlySet<Rung>,
    waitedMillis?: number,
    standstill: ReadonlyArray<WaitingJob> = []
  ): GpuError {
    this.blocks.events?.ranOut(request, rungs)
    const error = makeError(
      new OutOfMemory({
        requested: request.size,
        blockSize: request.blockSize,
        pooled: true,
        limitName: "maxBytes",
        ...(this.settings.label === undefined ? {} : { limitLabel: this.settings.label }),
        ...this.core.evidence,
        rungs: [...rungs],
        waitedMillis,
        standstill,
        ...this.leases.evidence(this.core.releases)
      })
    )
    return place(error, request.operation, request.callSite)
  }
}
