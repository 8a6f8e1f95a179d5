/**
 * A recorded memory, made again: the pool's own code on blocks that are numbers alone.
 *
 * @internal
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import { DeviceStatus } from "../../../domain/device/DeviceStatus.ts"
import type { Budget } from "../../../domain/pool/machine/Budget.ts"
import type { Patience } from "../../../domain/pool/machine/Request.ts"
import type { OfRequest, Released } from "../../../domain/pool/PoolEvent.ts"
import * as CallSite from "../../../services/calls/CallSite.ts"
import type { OpenQueues } from "../../../services/device/queues/Queue.ts"
import type { Block, Lease } from "../../../services/lease/Lease.ts"
import { type Emitter, EventHub, type Heard } from "../../../services/pool/EventHub.ts"
import type { Handlers } from "../../../services/pool/Handlers.ts"
import { PoolRequests } from "../../../services/pool/PoolRequests.ts"
import { PoolRuntime } from "../../../services/pool/PoolRuntime.ts"
import type { RecordedBlock, RecordedBudget, RecordedFamily, RecordingFacts } from "../../recording/Recording.ts"
import { keyOfFamily } from "../../recording/RecordingFacts.ts"
import { deviceOf, type MemoryPlan, memoryUnder } from "../ReplayOptions.ts"
import type { MemoryScript } from "../Script.ts"
import { fireAll, type Timer, type VirtualTime } from "../VirtualTime.ts"
import * as SimulatedQueues from "./SimulatedQueues.ts"
import {
  FamilySizes,
  SimulatedBlock,
  type SimulatedDriver,
  type SimulatedLease,
  SimulatedPool,
  SimulatedSource
} from "./SimulatedSource.ts"

/** Rounded, it is nothing. */
const littleOfStep = 1e-6

export type Requests = PoolRequests<string, SimulatedBlock, SimulatedLease>

/** A block that existed before the first event, and its lease. */
interface Restored {
  readonly block: Block
  readonly lease: SimulatedLease | undefined
}

export class SimulatedMemory {
  readonly plan: MemoryPlan
  readonly memory: PoolRuntime
  readonly status = new DeviceStatus("recorded")
  /** In which its requests are made. */
  readonly context: Context.Context<Scope.Scope>
  /** Those of blocks that existed before the first event, by their recorded numbers. */
  readonly earlyLeases = new Map<number, SimulatedLease>()
  /** The blocks before the first event, with the numbers that they have here. */
  readonly #earlyBlocks: ReadonlyArray<RecordedBlock>
  /** The timers of the idle clock, and where it goes on after them. */
  readonly #sleeps = new Set<Timer>()
  readonly #clockTasks: Array<() => void> = []
  /** The time of the idle clock. */
  #idleMillis = 0
  /** The limits that were made so far, by the numbers of the recording, and these by their numbers here. */
  readonly #budgets = new Map<number, Budget>()
  readonly recordedBudgets = new Map<number, number>()
  readonly #families: ReadonlyMap<string, RecordedFamily>
  readonly #driver: SimulatedDriver
  readonly #handlers: Handlers
  readonly #pools = new Map<string | number, SimulatedPool>()
  readonly #sources = new Map<string, SimulatedSource>()
  readonly #requests = new Map<string, Requests>()
  readonly #recordedBudgets: ReadonlyMap<number, RecordedBudget>
  readonly #queues: OpenQueues | undefined
  readonly #patiences = new Map<number, Patience>()

  constructor(
    plan: MemoryPlan,
    { blocks, budgets, families, queues }: MemoryScript,
    isSame: boolean,
    time: VirtualTime,
    scheduler: Scheduler.Scheduler,
    driver: SimulatedDriver,
    handlers: Handlers
  ) {
    this.plan = plan
    this.#handlers = handlers
    this.#driver = driver
    this.#families = new Map(families.map((one) => [keyOfFamily(one), one]))
    this.#recordedBudgets = new Map(budgets.map((one) => [one.number, one]))
    const clock = time.clockOf((timer) => void this.#sleeps.add(timer))
    const base = Context.empty().pipe(Context.add(Clock.Clock, clock), Context.add(Scheduler.Scheduler, scheduler))
    const told = Context.empty().pipe(
      Context.add(Clock.Clock, { ...clock, currentTimeMillis: Effect.sync(() => this.#idleMillis) }),
      Context.add(Scheduler.Scheduler, this.#whenTold)
    )
    this.context = Context.add(base, Scope.Scope, Scope.makeUnsafe())
    const info = deviceOf(plan.memory)
    if (queues.size > 1) this.#queues = SimulatedQueues.add(info, isSame)
    // What existed before has no limit to pass.
    this.memory = new PoolRuntime(
      { ...plan.settings, maxBytes: Infinity },
      { info, status: this.status },
      Effect.runForkWith(isSame ? told : base),
      scheduler,
      new EventHub()
    )
    this.memory.setHandlers(this.memory.machine.memory, handlers)
    this.memory.leases.namesHolders = false
    this.status.onLost(() => this.run(this.memory.drop()))
    // PoolRuntime that was freed comes back also before the first request.
    this.sourceOf("", "", undefined)
    // One of no bytes is none.
    const restored = blocks
      .filter(({ capacity }) => capacity > 0)
      .map((recorded) => ({ recorded, ...this.#restore(recorded) }))
    for (const { lease, recorded: { block } } of restored) if (lease !== undefined) this.earlyLeases.set(block, lease)
    this.#limitTo(plan.settings.maxBytes)
    this.#earlyBlocks = restored
      .filter(({ block, lease }) => lease !== undefined || block.state === "held")
      .map(({ block, recorded }) => ({ ...recorded, block: block.number }))
  }

  /** What a recording of the replay states besides its events. */
  get facts(): Pick<RecordingFacts, "blocks" | "families" | "memories"> {
    const families = new Map(this.#families)
    for (const [key, { name, service: pool, sizes }] of this.#sources) {
      const recorded = this.#families.get(key) ?? { memory: this.plan.memory.number, pool, family: name, clears: false }
      if (sizes.noted.length > 0 && !name.startsWith(" ")) families.set(key, { ...recorded, sizes: sizes.noted })
    }
    return {
      memories: [memoryUnder(this.plan)],
      families: Array.from(families.values()),
      blocks: this.#earlyBlocks
    }
  }

  /** As the pool knows it, with the number and the name of the recording. */
  get heard(): Heard {
    const { memory, plan: { memory: { device, label, number } } } = this
    return {
      number,
      label,
      device,
      deviceInfo: memory.deviceInfo,
      settings: memory.settings,
      core: memory.core,
      leases: memory.leases,
      get activeBytes() {
        return memory.activeBytes
      },
      get heldBytes() {
        return memory.heldBytes
      },
      hear: (emitter, ofLeases) => memory.hear(emitter, ofLeases)
    }
  }

  /** What the memory does by the clock goes on when the recording tells a step. */
  get #whenTold(): Scheduler.Scheduler {
    const scheduleTask = (task: () => void): void => void this.#clockTasks.push(task)
    const dispatcher = { scheduleTask, flush: () => {} }
    return { executionMode: "sync", shouldYield: () => false, makeDispatcher: () => dispatcher }
  }

  /** The next steps of the idle clock have come in the recording, which has read it at another moment than that of the event. */
  wakeIdle(steps: number): boolean {
    const task = this.#clockTasks.shift()
    if (task !== undefined) {
      task()
      return true
    }
    this.#idleMillis += (steps + littleOfStep) * this.plan.settings.stepMillis
    return fireAll(this.#sleeps)
  }

  run<A, E>(effect: Effect.Effect<A, E, Scope.Scope>, context = this.context): Fiber.Fiber<A, E> {
    return Effect.runForkWith(context)(effect)
  }

  hear(emitter: Emitter): void {
    this.memory.hear(emitter, emitter)
  }

  /** Blocks that the limit has no room for are not held. */
  #limitTo(maxBytes: number): void {
    const { core, machine } = this.memory
    core.setMaxBytes(maxBytes)
    for (const pool of this.#pools.values()) pool.maxBytes = maxBytes
    machine.memory.freeAll(core.trim(maxBytes), "trimmed")
    machine.trimExcess()
  }

  /** Makes a block that existed before the first event. */
  #restore({ block, capacity, family, lease, pool }: RecordedBlock): Restored {
    const { core, leases } = this.memory
    const source = this.sourceOf(
      family ?? (lease === undefined ? this.#onlyFamilyOf(pool) : undefined) ?? "",
      pool,
      undefined
    )
    const value = new SimulatedBlock()
    value.pooledBy = source
    value.recorded = block
    core.reserve(capacity, lease?.size)
    if (lease === undefined) {
      return { block: core.addHeld(source.name, capacity, value), lease: undefined }
    }
    const { callSite, label, size } = lease
    const active = family === undefined
      ? core.addActiveUnbinned(capacity, value, size)
      : core.addActive(family, capacity, value, size)
    const granted = leases.grant(source, leases.loans, active, size, source.name, label)
    CallSite.note(granted, callSite)
    return { block: active, lease: granted }
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
    const recorded = this.#recordedBudgets.get(number)
    if (recorded === undefined) return undefined
    const { kind, label, maxBytes, parent } = recorded
    const budget = this.memory.machine.budget(kind, maxBytes, this.budgetOf(parent), label)
    this.memory.setHandlers(budget, this.#handlers)
    this.#nameBudget(number, budget)
    return budget
  }

  #nameBudget(number: number, budget: Budget): void {
    this.#budgets.set(number, budget)
    this.recordedBudgets.set(budget.number, number)
  }

  /** The number of the pool's own limit, where several share the memory. */
  #poolNumberOf(budget: number | undefined): number | undefined {
    const recorded = budget === undefined ? undefined : this.#recordedBudgets.get(budget)
    return recorded?.kind === "pool" ? recorded.number : recorded && this.#poolNumberOf(recorded.parent)
  }

  sourceOf(family: string, pool: string, budget: number | undefined): SimulatedSource {
    const poolKey = this.#poolNumberOf(budget) ?? pool
    const memory = this.plan.memory.number
    // A reservation is for requests of any family of its pool.
    const name = family === "" ? ` ${poolKey}` : family
    const key = keyOfFamily({ memory, pool, family: name })
    const known = this.#sources.get(key)
    if (known !== undefined) return known
    const { settings: { maxBytes }, sizePolicy } = this.plan
    const recorded = this.#families.get(key) ?? { memory, pool, family: name, clears: false, sizes: [] }
    const sizes = new FamilySizes(recorded, pool === "ImagePool" ? undefined : sizePolicy)
    const { closed, core, deviceInfo: { limits } } = this.memory
    const group = this.#pools.get(poolKey) ?? new SimulatedPool(core.maxBytes || maxBytes)
    this.#pools.set(poolKey, group)
    const source = new SimulatedSource(recorded, group, sizes, this.#driver, limits)
    this.#sources.set(key, source)
    // What a memory does to a pool concerns all families of it.
    if (group.sources.length === 1) this.memory.add(source)
    if (closed) source.closed = true
    return source
  }

  /** What makes a request as this one was made, but for the reservation that it is made under. */
  requestsFor({ budgetNumber, family, pool, waitAtMost }: OfRequest): Requests {
    const key = `${waitAtMost} ${budgetNumber ?? ""} ${pool} ${family}`
    const known = this.#requests.get(key)
    if (known !== undefined) return known
    const terms = { from: undefined, patience: this.#patienceOf(waitAtMost), label: undefined }
    const source = this.sourceOf(family, pool, budgetNumber)
    const made = new PoolRequests(this.memory, source, terms, this.budgetOf(budgetNumber))
    this.#requests.set(key, made)
    return made
  }

  #patienceOf(waitAtMost: number): Patience {
    const known = this.#patiences.get(waitAtMost)
    if (known !== undefined) return known
    const patience: Patience = { onExhausted: waitAtMost === 0 ? "fail" : "wait", waitAtMost }
    this.#patiences.set(waitAtMost, patience)
    return patience
  }

  /** Ends a lease of it. */
  endLease(lease: Lease, why: Released["why"]): void {
    this.memory.endUnsafe(lease, why)
  }

  /** Of all leases these end first when they end together, in this order. */
  putFirst(leases: ReadonlyArray<Lease>): void {
    const { loans } = this.memory.leases
    for (let at = leases.length - 1; at >= 0; at--) {
      const lease = leases[at]!
      lease.list?.remove(lease)
      loans.add(lease)
    }
  }

  /** Frees held blocks until so many bytes are managed, or all of them, or those that were leased on one queue last. */
  trim(to: number | undefined, queue: string | undefined): void {
    const { memory } = this
    if (to !== undefined) this.run(memory.trimTo(to))
    else if (queue === undefined || this.#queues === undefined) this.run(memory.freeHeld)
    else this.run(memory.freeHeldOf(SimulatedQueues.queueNamed(queue, this.#queues)))
  }

  /** Whether requests wait that others may meet when they come. */
  get hasWaiters(): boolean {
    return this.memory.machine.state.queues.size > 0
  }

  /** Whether no request and no lease goes on. */
  get isIdle(): boolean {
    const { core, machine: { state } } = this.memory
    return core.activeBlocks === 0 && core.reservedBytes === 0 && state.reservations.size === 0 && !this.hasWaiters
  }

  get hasQueues(): boolean {
    return this.#queues !== undefined
  }

  /** One of several pools closes, or the whole memory. */
  close(pool: string | undefined, budget: number | undefined): void {
    if (pool === undefined) {
      this.run(this.memory.close)
      return
    }
    const limit = this.budgetOf(budget) ?? this.memory.machine.budget("pool", Infinity, undefined, undefined)
    if (budget !== undefined) this.#nameBudget(budget, limit)
    const source = this.#pools.get(budget ?? pool)?.sources[0] ?? this.sourceOf(`none of ${budget}`, pool, budget)
    this.run(this.memory.closePool(source, limit))
  }
}
