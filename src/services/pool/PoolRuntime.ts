/**
 * The shell of a memory's machine, for one pool or for several that share the memory: leases, driver calls, handlers, timers, changes of
 * the limit, and the end. It decides nothing.
 *
 * @internal
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import type * as Scheduler from "effect/Scheduler"
import { type DeviceInfo, format } from "../../domain/device/DeviceInfo.ts"
import type { GpuError, Released } from "../../domain/GpuError.ts"
import type { Budget } from "../../domain/pool/machine/Budget.ts"
import { noOuterLimits, type OuterLimits } from "../../domain/pool/machine/OuterLimits.ts"
import type { PoolInputs } from "../../domain/pool/machine/PoolInputs.ts"
import { PoolMachine, type PoolOutput } from "../../domain/pool/machine/PoolMachine.ts"
import type { MakeQueue, PoolPort } from "../../domain/pool/machine/PoolState.ts"
import type { Account, Failure, Family } from "../../domain/pool/machine/Request.ts"
import type { Around, Member, SharedLimit } from "../../domain/pool/machine/SharedLimit.ts"
import type { BlockCore } from "../../domain/pool/PoolCore.ts"
import type { PoolCoreOptions } from "../../domain/pool/PoolCoreOptions.ts"
import type { MemorySettings } from "../../domain/pool/PoolOptions.ts"
import type { QueueStats } from "../../domain/pool/PoolStats.ts"
import type { PoolStrategy } from "../../domain/pool/PoolStrategy.ts"
import * as CallSite from "../calls/CallPlaces.ts"
import type { Warn } from "../calls/Warnings.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import * as KnownQueues from "../device/queues/KnownQueues.ts"
import type { Queue } from "../device/queues/Queue.ts"
import type { Block, Leasable, Lease, LeaseOwner } from "../lease/Lease.ts"
import { LeaseTable } from "../lease/LeaseTable.ts"
import type { PoolSource } from "../lease/PoolSource.ts"
import { CurrentDeferred } from "./CurrentReservations.ts"
import type { Watched } from "./DeadlockView.ts"
import type { EventHub, ObservedMemory, Publisher } from "./EventHub.ts"
import type { Handlers } from "./Handlers.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"

/** Runs effects of a memory, with the context of its layer. */
type Run = (effect: Effect.Effect<void>) => Fiber.Fiber<void>

/** How requests of a memory wait, ask handlers, and are watched for deadlocks meanwhile. */
export interface Waits {
  readonly wait: (pool: PoolRuntime, request: LeaseRequest) => Effect.Effect<void, GpuError>
  readonly askHandlers: (pool: PoolRuntime, request: LeaseRequest) => Effect.Effect<PoolOutput, GpuError>
  readonly watch: (pool: Watched, deadlockTimeoutMillis: number, run: Run) => Timer
}

/** Runs only while a memory needs it. */
interface Timer {
  start(): void
  stop(): void
}

/** The parts of a memory that its layer chooses. */
export interface PoolParts {
  readonly warn: Warn
  readonly queue: MakeQueue
  /** Left out where no request waits, and there are no handlers. */
  readonly waits?: Waits
  /** Left out where idle blocks stay. */
  readonly idleClock?: (memory: PoolRuntime, run: Run) => Timer
  /** Left out where the memory keeps blocks. */
  readonly core?: ((memory: PoolRuntime, options: PoolCoreOptions) => BlockCore<Leasable, Family>) | undefined
  /** How requests that should be apart from something search a memory that splits slabs. */
  readonly searchApart?: PoolStrategy["searchApart"]
}

let lastNumber = 0

/** Works without the class, which most programs do not load. */
const isShared = (limit: object): limit is SharedLimit => "join" in limit

export class PoolRuntime implements PoolPort, LeaseOwner, Member, ObservedMemory {
  readonly number = ++lastNumber
  readonly settings: MemorySettings
  readonly device: string
  readonly deviceInfo: DeviceInfo
  readonly status: DeviceContext["Service"]["status"]
  readonly machine: PoolMachine<Leasable>
  /** Where the shell puts inputs: the machine, or the recorder in front of it. */
  inputs: PoolInputs<Leasable>
  readonly core: BlockCore<Leasable, Family>
  readonly leases: LeaseTable
  /** Which blocks go to which queue of the device; `undefined` if the device can have only one queue. */
  readonly queues: KnownQueues.QueueReuse | undefined
  /** The sources of its pools. */
  readonly sources = new Set<PoolSource>()
  #sourcesAdded = 0
  /** Called with hits and ends of leases, while someone observes these. */
  leaseEvents: Publisher | undefined = undefined
  #publisher: Publisher | undefined = undefined
  /** The limits of the allocator that its blocks come from. */
  limits: Around | undefined = undefined
  /** Whether a task is scheduled that serves its queue, since memory came back to another one. */
  isPublishing = false
  /** The handlers of each account, to which a program adds its own. */
  readonly handlers = new Map<Account, Handlers>()
  readonly #run: Run
  readonly #tasks: Scheduler.SchedulerDispatcher
  readonly waits: Waits | undefined
  readonly warn: Warn
  readonly #watch: Timer | undefined
  readonly #searchApart: PoolParts["searchApart"]
  readonly #idleClock: Timer | undefined
  readonly #forgetQueues: (() => void) | undefined
  readonly #leaveHub: () => void

  constructor(
    settings: MemorySettings,
    device: Pick<DeviceContext["Service"], "info" | "status">,
    run: Run,
    scheduler: Scheduler.Scheduler,
    hub: EventHub,
    { core, idleClock, queue, searchApart, waits, warn }: PoolParts
  ) {
    const { idle, kind, label, maxHeldBytes, reuse, deadlockTimeoutMillis } = settings
    this.settings = settings
    this.deviceInfo = device.info
    this.device = format(device.info)
    this.status = device.status
    this.#run = run
    // The pool's own scheduler resumes waiting fibers: a fiber's own may be slow.
    this.#tasks = scheduler.makeDispatcher()
    this.queues = KnownQueues.of(device.info)?.reuse(reuse)
    this.machine = new PoolMachine(
      {
        ...settings,
        limits: device.info.limits,
        makeCore: core && ((options) => core(this, options)),
        owner: { kind, name: label },
        queue,
        trims: idle !== undefined || maxHeldBytes < Infinity
      },
      this
    )
    this.inputs = this.machine
    this.core = this.machine.core
    this.leases = new LeaseTable(this)
    this.waits = waits
    this.#searchApart = searchApart
    this.warn = warn
    this.#watch = waits?.watch(this, deadlockTimeoutMillis, run)
    this.#idleClock = idleClock?.(this, run)
    this.#forgetQueues = this.queues?.onSeveral(() => this.listen())
    this.listen()
    this.#leaveHub = hub.join(this)
  }

  get label(): string | undefined {
    return this.settings.label
  }

  get closed(): boolean {
    return this.machine.closed
  }

  get activeBytes(): number {
    return this.core.activeBytes
  }

  get heldBytes(): number {
    return this.core.heldBytes
  }

  add(source: PoolSource): void {
    source.index = this.#sourcesAdded++
    this.sources.add(source)
  }

  /** Joins the limits of the allocator that its blocks come from. */
  join(known: ReadonlyArray<object>): void {
    const shared = known.filter(isShared)
    if (shared.length === 0) return
    const limits = shared[0]!.join(this, shared)
    this.limits = limits
    this.core.outer = limits
    this.leases.order = limits.order
    this.listen()
  }

  get outer(): OuterLimits {
    return this.limits ?? noOuterLimits
  }

  observe(publisher: Publisher | undefined, ofLeases: Publisher | undefined): void {
    this.machine.state.observer = publisher
    this.#publisher = publisher
    this.inputs = publisher?.inputsOf?.(this.machine) ?? this.machine
    this.leaseEvents = ofLeases
  }

  endUnsafe(lease: Lease, why: Released["why"]): void {
    lease.ended = why
    lease.list?.remove(lease)
    const { account, attached, block, size } = lease
    if (block === undefined) return
    // Before another owner can get the block: attachments may record commands on it as they end.
    if (attached !== undefined && this.#hasFailed(attached.endAll(why), block)) this.core.releaseFailures++
    lease.block = undefined
    this.leaseEvents?.released(lease, block, why)
    this.machine.released(block, size, account)
  }

  free(block: Block): boolean {
    return this.#hasFailed(block.value.pooledBy!.destroyUnsafe(block.value), block)
  }

  #hasFailed(exit: Exit.Exit<void, GpuError>, block: Block): boolean {
    if (Exit.isSuccess(exit)) return false
    const what = block.value.pooledBy?.service ?? "pool"
    const told = Effect.catch(exit, (error) => this.warn(`A block of the ${what} could not be freed: ${error.message}`))
    // Warns with the context of the fiber that freed it, which may differ from that of the pool's layer.
    const context = Fiber.getCurrent()?.context
    if (context === undefined) this.#run(told)
    else Effect.runForkWith(context)(told)
    return true
  }

  clear({ label, source }: LeaseRequest, { capacity, value }: Block): Failure | undefined {
    // A failing fill belongs to the new owner, not to the last one.
    value.label = label
    const cleared = source.clearUnsafe(value, capacity)
    if (Exit.isSuccess(cleared)) return undefined
    value.recyclable = false
    this.#publisher?.found?.("clearFailed", 0)
    return () => Exit.failCause(cleared.cause)
  }

  grant(request: LeaseRequest, block: Block): Lease {
    const { callSite, collect, label, maker, owner, size, source, wanted } = request
    const lease = this.leases.grant(source, owner, block, size, wanted, label)
    lease.account = this.machine.memory.chargeOf(request)
    if (owner.scope === undefined) lease.borrowerId = maker.id
    collect?.push(lease)
    CallSite.note(lease, callSite)
    return lease
  }

  get hasSeveralQueues(): boolean {
    return this.queues?.several === true
  }

  choose(request: LeaseRequest, blockSize: number, most: number): Block | "any" | undefined {
    const block = this.hasSeveralQueues
      ? this.queues!.acquire(this.core, request.maker.context, request.family, blockSize, request.size, most)
      // A device with several queues can read beside writes.
      : request.apart === undefined || this.#searchApart === undefined
      ? "any"
      : this.#searchApart(this.machine.memory, request, blockSize, most)
    if (block !== "any") this.#publisher?.found?.("acquired", block?.whole.number ?? 0, block?.begin)
    return block
  }

  handOver({ maker }: LeaseRequest, block: Block): void {
    this.queues?.handOver(block.value, maker.context)
  }

  schedule(task: () => void): void {
    this.#tasks.scheduleTask(task, 0)
  }

  watch(): void {
    this.#watch?.start()
  }

  startIdleClock(): void {
    this.#idleClock?.start()
  }

  /** Whether requests wait decides whether the end of a lease is looked at, here and in other memories under one limit. */
  queueing(): void {
    this.listen()
    this.limits?.listen()
  }

  listen(): void {
    this.machine.listen(this.limits?.hasWaiters === true)
  }

  serveSoon(): void {
    if (this.isPublishing) return
    this.isPublishing = true
    this.schedule(this.#serve)
  }

  readonly #serve = (): void => {
    this.isPublishing = false
    if (!this.closed) this.inputs.serve(this.machine.memory.queue)
  }

  evidence(budget: Budget | undefined): ReturnType<LeaseTable["evidence"]> {
    return this.leases.evidence(budget?.gone ?? this.core.releases, budget)
  }

  endLeases(why: Released["why"], budget: Budget | undefined): void {
    if (budget === undefined) this.leases.endAll(why)
    else this.leases.endAll(why, ({ account }) => account?.budgets.includes(budget) === true)
    this.#done()
  }

  /** Publishes that other code has run within a step of the machine, which now continues. */
  #done(some = false): void {
    this.#publisher?.found?.("done", Number(some))
  }

  endGranted({ granted, owner }: LeaseRequest): void {
    if (granted?.list === owner) this.endUnsafe(granted, "scopeClosed")
    this.#done()
  }

  over(source: PoolSource | undefined): void {
    if (source !== undefined) {
      source.closed = true
      this.sources.delete(source)
    }
    for (const { over } of source === undefined ? this.sources : [source]) Deferred.doneUnsafe(over, Exit.void)
    this.#done()
  }

  closeSources(): void {
    for (const source of this.sources) source.closed = true
  }

  #calls(): ReadonlyArray<Fiber.Fiber<Leasable, GpuError>> {
    return Array.from(this.sources).flatMap(({ inFlight }) => Array.from(inFlight))
  }

  interruptCalls(): void {
    for (const call of this.#calls()) call.interruptUnsafe()
    this.#done()
  }

  lost(): GpuError | undefined {
    return this.status.error
  }

  /** Itself, and the memories under one limit with it. */
  get peers(): ReadonlyArray<Watched> {
    // The members of a limit are memories.
    return [this, ...(this.limits?.others ?? []) as ReadonlyArray<PoolRuntime>]
  }

  /**
   * Waits until the driver has got back what was freed: otherwise real memory would exceed the limit, as it does for a while where a
   * request must not wait.
   */
  readonly reclaim: Effect.Effect<void, GpuError> = Effect.withFiber(({ context }) => {
    if (Context.get(context, CurrentDeferred)) return Effect.void
    const frees = this.core.driverFrees
    const reclaims = Array.from(new Set(Array.from(this.sources, ({ reclaim }) => reclaim)))
    const reclaimed = reclaims.length === 1 ? reclaims[0]! : Effect.forEach(reclaims, identity, { discard: true })
    return Effect.andThen(reclaimed, Effect.sync(() => this.inputs.reclaimed(frees)))
  })

  /** Frees held blocks until no more than `bytes` are managed, or nothing is held. */
  trimTo(bytes: number): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => this.#trim(this.core.trim(bytes), bytes))
  }

  readonly freeHeld: Effect.Effect<void, GpuError> = Effect.suspend(() => this.#trim(this.core.evictAll()))

  /** The same for the blocks that one queue of the device used last. */
  freeHeldOf(queue: Queue | undefined): Effect.Effect<void, GpuError> {
    const { queues } = this
    if (queues === undefined || queue === undefined) return this.freeHeld
    return Effect.suspend(() =>
      this.#trim(this.core.evictWhich((value) => queues.isOf(value, queue)), undefined, queue)
    )
  }

  statsOf(queue: Queue | undefined): QueueStats {
    const { core, queues } = this
    if (queues !== undefined && queue !== undefined) return queues.statsOf(core, queue)
    const { heldBlocks, heldBytes, hits } = core
    return { label: "queue 1", heldBlocks, heldBytes, leases: hits, waits: 0 }
  }

  #trim(blocks: Iterable<Block>, to?: number, queue?: Queue): Effect.Effect<void, GpuError> {
    this.inputs.trim(blocks, to, queue?.label)
    return this.reclaim
  }

  readonly stopHolding: Effect.Effect<void, GpuError> = Effect.suspend(() => {
    this.inputs.setHolding(false)
    return this.freeHeld
  })

  readonly resumeHolding: Effect.Effect<void> = Effect.sync(() => this.inputs.setHolding(true))

  /** A lower limit frees as many held blocks as needed; leases stay. */
  setMaxBytes(bytes: number): Effect.Effect<void, GpuError> {
    return Effect.suspend(() => {
      for (const source of this.sources) source.limitTo(bytes)
      return this.inputs.setMaxBytes(bytes) ? this.trimTo(Math.max(0, bytes - this.core.pendingBytes)) : Exit.void
    })
  }

  /** One of several pools closes: ends its requests and its leases, and frees its held blocks. */
  closePool(source: PoolSource, limit: Budget): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.inputs.closePool(source, limit)
      return Fiber.interruptAll(source.inFlight)
    })
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.inputs.close()
    this.#idleClock?.stop()
    this.#forgetQueues?.()
    this.machine.state.observer?.closed()
    this.#leaveHub()
    this.#watch?.stop()
    // A driver call may not be interruptible: its bytes count under the outer limits until it has ended.
    return Effect.andThen(Fiber.interruptAll(this.#calls()), Effect.sync(() => this.limits?.leave()))
  })

  evict(bytes: number): void {
    this.inputs.evictForOthers(bytes)
  }

  evicted(some: boolean): void {
    this.#done(some)
  }
}
