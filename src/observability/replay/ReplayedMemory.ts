/**
 * A recorded memory, made again: the pool's own machine on blocks that are numbers alone.
 *
 * @internal
 */
import type { DeviceLimits } from "../../domain/device/DeviceInfo.ts"
import { DeviceLost, type GpuError, make as makeError, type Released } from "../../domain/GpuError.ts"
import type { Budget } from "../../domain/pool/machine/Budget.ts"
import { HandlerCredit } from "../../domain/pool/machine/HandlerCredit.ts"
import { IdleSchedule } from "../../domain/pool/machine/IdleSchedule.ts"
import { PoolMachine } from "../../domain/pool/machine/PoolMachine.ts"
import type { PoolObserver } from "../../domain/pool/machine/PoolObserver.ts"
import type { Evidence, PoolPort } from "../../domain/pool/machine/PoolState.ts"
import type { AccountHandlers, Family } from "../../domain/pool/machine/Request.ts"
import type { ChargedBudget, Origin } from "../../domain/pool/machine/Reservation.ts"
import type { PoolCore } from "../../domain/pool/PoolCore.ts"
import * as CallSite from "../../services/calls/CallSite.ts"
import type { ToldMemory } from "../events/EventMaker.ts"
import type { EventRow } from "../recording/EventRow.ts"
import type { RecordedBlock, RecordedBudget, RecordedFamily, RecordingFacts } from "../recording/Recording.ts"
import { keyOfFamily } from "../recording/RecordingFacts.ts"
import type { MachineRequest, Told } from "./MachineRequest.ts"
import { RecordedJobs } from "./RecordedJobs.ts"
import {
  FamilySizes,
  Placeholder,
  type ReplayedBlock,
  ReplayedLease,
  ReplayedPool,
  ReplayedSource
} from "./ReplayedSource.ts"
import { deviceOf, type MemoryPlan, memoryUnder } from "./ReplayOptions.ts"
import type { MemoryTrace } from "./Trace.ts"
import type { VirtualTime } from "./VirtualTime.ts"

/** What the events of pools call the queue that a device opens with. */
const firstQueue = "queue 1"

/** What a memory asks of its replay. */
export interface MemoryReplay<T extends Told> {
  readonly isSame: boolean
  /** Whether the recording decides when memory is back: files of other tools do not tell. */
  readonly tellsReclaims: boolean
  readonly time: VirtualTime
  /** What it is to tell next, as long as it does what was recorded. */
  readonly toldNext: EventRow | undefined
  /** Whether handlers are there for the request that goes on now. */
  hasHandlers(memory: number): boolean
  granted(replayed: T, block: ReplayedBlock): void
  /** Nobody waits for the handlers of a pool any more, or of any. */
  handlersOver(memory: ReplayedMemory<T>, pool: ReplayedPool | undefined): void
}

/** One that waits until the driver has back so many blocks that were freed: a request, or the program or its clock. */
export interface Reclaiming<T extends Told> {
  readonly replayed: T | undefined
  readonly frees: number
}

/** A block that existed before the first event, and its lease. */
interface Restored {
  readonly block: ReplayedBlock
  readonly lease: ReplayedLease | undefined
}

/** Told of what a memory tells: hits and ends of leases pass its machine by. */
export interface MemoryObserver extends PoolObserver {
  hit(replayed: Told, lease: ReplayedLease, block: ReplayedBlock, from: Origin): void
  released(lease: ReplayedLease, block: ReplayedBlock, why: Released["why"]): void
}

export class ReplayedMemory<T extends Told> implements PoolPort<Placeholder> {
  readonly plan: MemoryPlan
  readonly trace: MemoryTrace
  readonly machine: PoolMachine<Placeholder>
  readonly core: PoolCore<Placeholder, Family>
  /** Why its device is lost. */
  error: GpuError | undefined = undefined
  readonly hasSeveralQueues: boolean
  /** Those of blocks that existed before the first event, by their recorded numbers. */
  readonly earlyLeases = new Map<number, ReplayedLease>()
  /** The requests that have the blocks of the recording, by the numbers of these. */
  readonly holders = new Map<number, number>()
  /** Events of no request: those that the recording has told, and those that the replay has. */
  heardOfNone = 0
  toldOfNone = 0
  /** A trim that was asked for with a limit or the end of holding follows. */
  trimFollows = false
  readonly reclaiming = new Set<Reclaiming<T>>()
  /** The requests that ask handlers, in the order in which they began to. */
  readonly asking = new Set<T>()
  #observer: MemoryObserver | undefined = undefined
  /** The budgets by the numbers that they have here, with those of the recording. */
  readonly recordedBudgets = new Map<number, number>()
  readonly #replay: MemoryReplay<T>
  readonly #limits: DeviceLimits
  /** The live leases, and those of them that end first, in order, when several do. */
  readonly #leases = new Set<ReplayedLease>()
  #endFirst: ReadonlyArray<ReplayedLease> = []
  /** The blocks before the first event, with the numbers that they have here. */
  readonly #earlyBlocks: ReadonlyArray<RecordedBlock>
  readonly #handlers: AccountHandlers
  #jobs: RecordedJobs | undefined = undefined
  readonly #idle: IdleSchedule
  #idleClock: "stopped" | "starts" | "runs" = "stopped"
  /** The limits that were made so far, by the numbers of the recording. */
  readonly #budgets = new Map<number, Budget>()
  readonly #recorded: ReadonlyMap<number, RecordedBudget>
  readonly #families: ReadonlyMap<string, RecordedFamily>
  readonly #pools = new Map<string | number, ReplayedPool>()
  readonly #sources = new Map<string, ReplayedSource>()
  /** The source of the last request: mostly the next one has the same. */
  #lastKey = ""
  #lastSource: ReplayedSource | undefined = undefined

  constructor(plan: MemoryPlan, trace: MemoryTrace, replay: MemoryReplay<T>) {
    const { settings, memory: { number } } = plan
    const { blocks, budgets, families, queues } = trace
    this.plan = plan
    this.trace = trace
    this.#replay = replay
    this.#families = new Map(families.map((one) => [keyOfFamily(one), one]))
    this.#recorded = new Map(budgets.map((one) => [one.number, one]))
    this.hasSeveralQueues = queues.size > 1
    this.#limits = deviceOf(plan.memory).limits
    this.#handlers = {
      get isEmpty() {
        return !replay.hasHandlers(number)
      },
      creditOf: (account) => new HandlerCredit(account)
    }
    this.machine = new PoolMachine(
      {
        ...settings,
        // What existed before has no limit to pass.
        maxBytes: Infinity,
        limits: this.#limits,
        owner: { kind: settings.kind, name: settings.label },
        maxBypasses: settings.maxOvertakes,
        trims: settings.idle !== undefined || settings.maxHeldBytes < Infinity
      },
      this
    )
    this.core = this.machine.core
    this.#idle = new IdleSchedule(this.machine, settings.idle, settings.stepMillis)
    this.machine.memory.handlers = this.#handlers
    this.machine.listen(false)
    // One of no bytes is none.
    const restored = blocks
      .filter(({ capacity }) => capacity > 0)
      .map((recorded) => ({ recorded, ...this.#restore(recorded) }))
    for (const { lease, recorded: { block } } of restored) if (lease !== undefined) this.earlyLeases.set(block, lease)
    this.#limitTo(settings.maxBytes)
    this.#earlyBlocks = restored
      .filter(({ block, lease }) => lease !== undefined || block.state === "held")
      .map(({ block, recorded }) => ({ ...recorded, block: block.number }))
  }

  /** What a recording of the replay states besides its events. */
  get facts(): Pick<RecordingFacts, "blocks" | "families" | "memories"> {
    const families = new Map(this.#families)
    for (const [key, { family, service: pool, sizes }] of this.#sources) {
      const recorded = this.#families.get(key) ?? { memory: this.plan.memory.number, pool, family, clears: false }
      if (sizes.noted.length > 0 && !family.startsWith(" ")) families.set(key, { ...recorded, sizes: sizes.noted })
    }
    return {
      memories: [memoryUnder(this.plan)],
      families: Array.from(families.values()),
      blocks: this.#earlyBlocks
    }
  }

  /** Blocks that the limit has no room for are not held. */
  #limitTo(maxBytes: number): void {
    const { core, machine } = this
    core.setMaxBytes(maxBytes)
    for (const pool of this.#pools.values()) pool.maxBytes = maxBytes
    machine.memory.freeAll(core.trim(maxBytes), "trimmed")
    machine.trimExcess()
  }

  /** Makes a block that existed before the first event. */
  #restore({ block, capacity, family, lease, pool }: RecordedBlock): Restored {
    const { core } = this
    const ofFamily = family ?? (lease === undefined ? this.#onlyFamilyOf(pool) : undefined) ?? ""
    const source = this.sourceOf(ofFamily, pool, undefined)
    const value = new Placeholder(source, block)
    core.reserve(capacity, lease?.size)
    if (lease === undefined) return { block: core.addHeld(source.family, capacity, value), lease: undefined }
    const { callSite, label, size } = lease
    const active = family === undefined
      ? core.addActiveUnbinned(capacity, value, size)
      : core.addActive(family, capacity, value, size)
    return { block: active, lease: this.#lease(active, size, label, callSite, undefined) }
  }

  #lease(
    block: ReplayedBlock,
    size: number,
    label: string | undefined,
    callSite: string | undefined,
    account: ReplayedLease["account"]
  ): ReplayedLease {
    const lease = new ReplayedLease(block, size, label, account)
    CallSite.note(lease, callSite)
    this.#leases.add(lease)
    return lease
  }

  /** What ends with a free names no family: it has that of its pool, if there is one alone. */
  #onlyFamilyOf(pool: string): string | undefined {
    const [only, ...others] = Array.from(this.#families.values()).filter((family) => family.pool === pool)
    return others.length === 0 ? only?.family : undefined
  }

  /** The limit that a number of the recording names; the budgets around it are made first. */
  budgetOf(number: number | undefined): Budget | undefined {
    if (number === undefined) return undefined
    const known = this.#budgets.get(number)
    if (known !== undefined) return known
    const recorded = this.#recorded.get(number)
    if (recorded === undefined) return undefined
    const { kind, label, maxBytes, parent } = recorded
    return this.#addBudget(number, this.machine.budget(kind, maxBytes, this.budgetOf(parent), label))
  }

  #addBudget(number: number, budget: Budget): Budget {
    budget.handlers = this.#handlers
    if (this.#jobs !== undefined) budget.queue.limitJobs(this.#jobs)
    this.#budgets.set(number, budget)
    this.recordedBudgets.set(budget.number, number)
    return budget
  }

  /** The number of the pool's own limit, where several share the memory. */
  #poolNumberOf(budget: number | undefined): number | undefined {
    const recorded = budget === undefined ? undefined : this.#recorded.get(budget)
    return recorded?.kind === "pool" ? recorded.number : recorded && this.#poolNumberOf(recorded.parent)
  }

  sourceOf(family: string, pool: string, budget: number | undefined): ReplayedSource {
    const poolKey = this.#poolNumberOf(budget) ?? pool
    const memory = this.plan.memory.number
    // A reservation is for requests of any family of its pool.
    const name = family === "" ? ` ${poolKey}` : family
    const key = keyOfFamily({ memory, pool, family: name })
    if (key === this.#lastKey) return this.#lastSource!
    const source = this.#sources.get(key) ?? this.#addSource(key, name, pool, poolKey)
    this.#lastKey = key
    this.#lastSource = source
    return source
  }

  #addSource(key: string, family: string, pool: string, poolKey: string | number): ReplayedSource {
    const { memory: { number: memory }, settings: { maxBytes }, sizePolicy } = this.plan
    const recorded = this.#families.get(key) ?? { memory, pool, family, clears: false, sizes: [] }
    const sizes = new FamilySizes(recorded, pool === "ImagePool" ? undefined : sizePolicy)
    const group = this.#pools.get(poolKey) ?? new ReplayedPool(this.core.maxBytes || maxBytes)
    this.#pools.set(poolKey, group)
    const source = new ReplayedSource(recorded, group, sizes, this.#limits)
    this.#sources.set(key, source)
    if (this.machine.closed) group.closed = true
    return source
  }

  /** Jobs have waited for each other: from now on those alone may have memory that had it in the recording. */
  limitJobs(): void {
    if (this.#jobs !== undefined) return
    const jobs = this.#jobs = new RecordedJobs(() => this.#replay.toldNext, this.machine.memory)
    for (const queue of [this.machine.memory.queue, ...Array.from(this.#budgets.values(), (budget) => budget.queue)]) {
      if (queue.jobs === undefined) queue.limitJobs(jobs)
    }
  }

  /** As events name it. */
  get told(): ToldMemory {
    const { core, plan: { memory: { device, label, number } } } = this
    return {
      device,
      label,
      number,
      get activeBytes() {
        return core.activeBytes
      },
      get heldBytes() {
        return core.heldBytes
      }
    }
  }

  /** A hit, in one step. */
  hit(replayed: T, source: ReplayedSource): ReplayedLease | undefined {
    const { machine } = this
    const { callSite, label, size } = replayed.asked
    if (!machine.mayHit) return undefined
    const blockSize = machine.hitSize(source, size)
    const block = machine.tryHit(source, source.family, size, blockSize)
    if (block === undefined) return undefined
    const lease = this.#lease(block, size, label, callSite, undefined)
    this.#replay.granted(replayed, block)
    this.#observer?.hit(replayed, lease, block, block.capacity === blockSize ? "held" : "borrowed")
    return lease
  }

  /** From now on it tells what it does. */
  observe(observer: MemoryObserver): void {
    this.#observer = observer
    this.machine.state.observer = observer
  }

  /** Ends a lease of it. */
  endLease(lease: ReplayedLease, why: Released["why"]): void {
    const { account, block, size } = lease
    if (block === undefined) return
    lease.block = undefined
    this.#leases.delete(lease)
    this.#observer?.released(lease, block, why)
    this.machine.released(block, size, account)
  }

  /** Waits until the driver has what was freed, for no request. */
  #reclaim(): void {
    if (this.error !== undefined) return
    const reclaiming = { replayed: undefined, frees: this.core.driverFrees }
    if (this.#replay.tellsReclaims) this.reclaiming.add(reclaiming)
    else this.machine.reclaimed(reclaiming.frees)
  }

  /** Frees held blocks until so many bytes are managed, or all of them, or those that were leased on one queue last. */
  trim(to: number | undefined, queue: string | undefined): void {
    const { core } = this
    if (to !== undefined) this.#trim(core.trim(to), to)
    else if (queue === undefined || !this.hasSeveralQueues) this.#trim(core.evictAll())
    else this.#trim(core.evictWhich((value) => (value.queue ?? firstQueue) === queue), undefined, queue)
  }

  #trim(blocks: Iterable<ReplayedBlock>, to?: number, queue?: string): void {
    this.machine.trim(blocks, to, queue)
    this.#reclaim()
  }

  setHolding(holds: boolean): void {
    this.machine.setHolding(holds)
    if (!holds) this.#trim(this.core.evictAll())
  }

  setMaxBytes(bytes: number): void {
    for (const pool of this.#pools.values()) pool.maxBytes = bytes
    if (!this.machine.setMaxBytes(bytes)) return
    const to = Math.max(0, bytes - this.core.reservedBytes)
    this.#trim(this.core.trim(to), to)
  }

  /** Its device is lost. */
  lose(): void {
    if (this.error !== undefined) return
    this.error = makeError(new DeviceLost({ backend: "recorded", detail: "as recorded" }))
    this.machine.loseDevice()
  }

  /** One of several pools closes, or the whole memory. Its leases end in this order, and then those that are not in it. */
  close(name: string | undefined, budget: number | undefined, leases: ReadonlyArray<ReplayedLease>): void {
    const { machine } = this
    this.#endFirst = leases
    if (name === undefined) {
      machine.close()
      this.#idleClock = "stopped"
      machine.state.observer?.closed()
      this.interruptCalls()
    } else {
      const limit = this.budgetOf(budget) ?? machine.budget("pool", Infinity, undefined, undefined)
      if (budget !== undefined) this.#addBudget(budget, limit)
      const source = this.#pools.get(budget ?? name)?.sources[0] ?? this.sourceOf(`none of ${budget}`, name, budget)
      machine.closePool(source, limit)
      this.#interruptCalls(source.pool)
    }
    this.#endFirst = []
  }

  /** The idle clock has taken so many steps in the recording, which has read it at another moment than that of the event. */
  idleStep(steps: number): boolean {
    if (this.#idleClock === "stopped") return false
    if (this.#idleClock === "starts") this.#beginIdle()
    else if (this.#idle.step(steps)) this.#reclaim()
    this.#goOnIdle()
    return true
  }

  #beginIdle(): void {
    this.#idleClock = "runs"
    this.#idle.begin(this.#replay.time.now)
  }

  #goOnIdle(): void {
    if (!this.#idle.goesOn) this.#idleClock = "stopped"
    else if (!this.#replay.isSame) this.#replay.time.after(this.#idle.wait, this.#wakeIdle)
  }

  readonly #wakeIdle = (): void => {
    if (this.#idleClock === "stopped") return
    if (this.#idle.wake(this.#replay.time.now)) this.#reclaim()
    this.#goOnIdle()
  }

  /** Whether requests wait that others may meet when they come. */
  get hasWaiters(): boolean {
    return this.machine.state.queues.size > 0
  }

  /** Whether no request and no lease goes on. */
  get isIdle(): boolean {
    const { core, machine: { state } } = this
    return core.activeBlocks === 0 && core.reservedBytes === 0 && state.reservations.size === 0 && !this.hasWaiters
  }

  // What the machine does in the same step.

  free(): boolean {
    return false
  }

  clear(): undefined {
    return undefined
  }

  grant(request: MachineRequest<T>, block: ReplayedBlock): ReplayedLease {
    const { callSite, label, size, replayed } = request
    this.#replay.granted(replayed, block)
    return this.#lease(block, size, label, callSite, this.machine.memory.chargeOf(request))
  }

  acquireForQueue(
    { family, size, replayed: { asked, outcome } }: MachineRequest,
    blockSize: number,
    most: number
  ): ReplayedBlock | undefined {
    const acquire = (accepts: (value: Placeholder) => boolean): ReplayedBlock | undefined =>
      this.core.acquireAccepted(family, blockSize, size, most, accepts)
    // What a recorded request got was free for it then, and nothing else was.
    if (this.#replay.isSame) return acquire(({ recorded }) => recorded === outcome.block)
    const { queue = firstQueue } = asked
    const own = acquire((value) => (value.queue ?? firstQueue) === queue)
    return own ?? (this.plan.settings.reuse?.ofOtherQueues === "never" ? undefined : acquire(() => true))
  }

  handOver(): void {
    // Which commands are under way is not known.
  }

  schedule(task: () => void): void {
    this.#replay.time.add(task)
  }

  watch(): void {
    // The recording says when a deadlock was ended.
  }

  queueing(): void {
    this.machine.listen(false)
  }

  tellOthers(): void {
    // No memory of a recording knows of others under one limit.
  }

  startIdleClock(): void {
    if (this.#idleClock !== "stopped" || !this.#idle.hasIdle) return
    this.#idleClock = "starts"
    if (this.#replay.isSame) return
    this.#replay.time.add(() => {
      if (this.machine.closed) return
      this.#beginIdle()
      this.#goOnIdle()
    })
  }

  endLeases(why: Released["why"], budget: ChargedBudget | undefined): void {
    const isMeant = ({ account }: ReplayedLease): boolean =>
      budget === undefined || account?.budgets.includes(budget) === true
    for (const lease of this.#endFirst) if (isMeant(lease)) this.endLease(lease, why)
    const newestFirst = Array.from(this.#leases)
    for (let at = newestFirst.length - 1; at >= 0; at--) {
      if (isMeant(newestFirst[at]!)) this.endLease(newestFirst[at]!, why)
    }
  }

  endGranted({ granted }: MachineRequest): void {
    if (granted !== undefined) this.endLease(granted, "scopeClosed")
  }

  closeSources(): void {
    for (const pool of this.#pools.values()) pool.closed = true
  }

  over(source: ReplayedSource | undefined): void {
    if (source !== undefined) source.pool.closed = true
    this.#replay.handlersOver(this, source?.pool)
  }

  interruptCalls(): void {
    this.#interruptCalls(undefined)
  }

  #interruptCalls(pool: ReplayedPool | undefined): void {
    const calls = pool?.calls ?? Array.from(this.#pools.values()).flatMap((one) => Array.from(one.calls))
    for (const interrupt of Array.from(calls)) interrupt()
  }

  lost(): GpuError | undefined {
    return this.error
  }

  /** Nobody reads the errors of a replay, and it may have as many as leases. */
  evidence(_budget: ChargedBudget | undefined): Evidence {
    return noEvidence
  }

  epochElsewhere(): number {
    return 0
  }

  uncontestedElsewhere(): number {
    return 0
  }

  bytesElsewhere(): number {
    return 0
  }
}

const noEvidence: Evidence = { holders: [], holderGroups: [] }
