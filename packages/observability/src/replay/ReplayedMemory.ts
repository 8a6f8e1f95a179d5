/**
 * A replayed memory: the pool's own machine on blocks without device memory.
 *
 * @internal
 */
import * as Budget from "effect-gpu-pool/Budget"
import * as CallSite from "effect-gpu-pool/CallSite"
import type { DeviceLimits } from "effect-gpu-pool/DeviceInfo"
import * as ExclusiveSections from "effect-gpu-pool/ExclusiveSections"
import type { GpuError, Released } from "effect-gpu-pool/GpuError"
import type { OuterLimits } from "effect-gpu-pool/OuterLimits"
import type { BlockCore } from "effect-gpu-pool/PoolCore"
import type { PoolInputs } from "effect-gpu-pool/PoolInputs"
import { PoolMachine } from "effect-gpu-pool/PoolMachine"
import type { PoolObserver } from "effect-gpu-pool/PoolObserver"
import type { Evidence, PoolPort } from "effect-gpu-pool/PoolState"
import type { Asked, Failure, Family } from "effect-gpu-pool/Request"
import { type ChargedBudget, type Origin, Reservation } from "effect-gpu-pool/Reservation"
import { defaultPolicy } from "effect-gpu-pool/SizePolicy"
import { waitQueue } from "effect-gpu-pool/WaitQueue"
import { ByPlace } from "../ByPlace.ts"
import type { EventMemory } from "../events/EventMaker.ts"
import type { RecordedBlock, RecordedBudget, RecordedFamily, RecordingFacts } from "../recording/Recording.ts"
import { keyOfFamily } from "../recording/RecordingFacts.ts"
import { MachineRequest, type ReplayedRequest } from "./MachineRequest.ts"
import {
  FamilySizes,
  Placeholder,
  type ReplayedBlock,
  ReplayedLease,
  ReplayedPool,
  ReplayedSource,
  type Sizes,
  SlabSizes
} from "./ReplayedSource.ts"
import { deviceOf, type MemoryPlan, memoryUnder } from "./ReplayOptions.ts"

/** The name that events have for the first queue of a device. */
export const firstQueue = "queue 1"

/** A block that existed before the first event, with its leases by their offsets, and the facts of it. */
interface Restored {
  readonly block: ReplayedBlock
  readonly leases: ReadonlyArray<readonly [offset: number, lease: ReplayedLease]>
  readonly recorded: RecordedBlock
}

/** What a recording states of a memory. */
export interface MemoryContent {
  readonly families: ReadonlyArray<RecordedFamily>
  readonly budgets: ReadonlyArray<RecordedBudget>
  /** The blocks before the first event. */
  readonly blocks: ReadonlyArray<RecordedBlock>
}

const nothing: MemoryContent = { families: [], budgets: [], blocks: [] }

/** What a recording states of each memory, by its number. */
export const contentsOf = (
  { blocks, budgets, families }: MemoryContent
): (memory: number) => MemoryContent => {
  const contents = new Map<number, { [K in keyof MemoryContent]: Array<MemoryContent[K][number]> }>()
  const of = ({ memory }: { readonly memory: number }) => {
    const content = contents.get(memory) ?? { families: [], budgets: [], blocks: [] }
    contents.set(memory, content)
    return content
  }
  for (const family of families) of(family).families.push(family)
  for (const budget of budgets) of(budget).budgets.push(budget)
  for (const block of blocks) of(block).blocks.push(block)
  return (memory) => contents.get(memory) ?? nothing
}

/** Observes a memory: its machine, and also hits and ends of leases, which bypass the machine. */
export interface MemoryObserver extends PoolObserver {
  /** Wraps the inputs of the machine, to observe them too. */
  inputsOf(inputs: PoolInputs): PoolInputs
  hit(replayed: ReplayedRequest, lease: ReplayedLease, block: ReplayedBlock, from: Origin): void
  released(lease: ReplayedLease, block: ReplayedBlock, why: Released["why"]): void
}

export abstract class ReplayedMemory implements PoolPort<Placeholder>, EventMemory {
  readonly plan: MemoryPlan
  readonly number: number
  readonly label: string | undefined
  readonly device: string
  readonly machine: PoolMachine<Placeholder>
  /** The inputs of the machine, perhaps wrapped by an observer. */
  inputs: PoolInputs
  readonly core: BlockCore<Placeholder, Family>
  /** Why its device is lost. */
  error: GpuError | undefined = undefined
  abstract readonly hasSeveralQueues: boolean
  /** Whether its device has several queues now, so that events name them. */
  namesQueues = false
  /** The leases of blocks that existed before the first event, by the recorded numbers of the blocks. */
  readonly earlyLeases = new ByPlace<ReplayedLease>()
  protected observer: MemoryObserver | undefined = undefined
  /** The recorded number of each budget, by its number here. */
  readonly recordedBudgets = new Map<number, number>()
  readonly #limits: DeviceLimits
  /** The live leases, by their blocks. */
  protected readonly leases = new ByPlace<ReplayedLease>()
  #leased = 0
  /** The families whose blocks are split. */
  readonly #splitFamilies = new Set<Family>()
  /** The blocks before the first event, with the numbers that they have here. */
  #earlyBlocks: ReadonlyArray<RecordedBlock> = []
  readonly #blocksBefore: ReadonlyArray<RecordedBlock>
  /** The limits made so far, by recorded number. */
  readonly #budgets = new Map<number, Budget.Budget>()
  readonly #recorded: ReadonlyMap<number, RecordedBudget>
  readonly #families: ReadonlyMap<string, RecordedFamily>
  protected readonly pools = new Map<string | number, ReplayedPool>()
  readonly #sources = new Map<string, ReplayedSource>()
  /** The source of the last request: mostly the next one has the same. */
  #lastKey = ""
  #lastSource: ReplayedSource | undefined = undefined

  constructor(plan: MemoryPlan, { blocks, budgets, families }: MemoryContent) {
    const { memory, settings } = plan
    this.plan = plan
    this.number = memory.number
    this.label = memory.label
    this.device = memory.device
    this.#families = new Map(families.map((one) => [keyOfFamily(one), one]))
    this.#recorded = new Map(budgets.map((one) => [one.number, one]))
    this.#limits = deviceOf(memory).limits
    this.machine = new PoolMachine(
      {
        ...settings,
        // No limit applies to the blocks that existed before.
        maxBytes: Infinity,
        limits: this.#limits,
        makeCore: settings.strategy && ((options) => settings.strategy!.core(options, this.#splitMemory)),
        owner: { kind: settings.kind, name: settings.label },
        maxBypasses: settings.maxBypasses,
        queue: waitQueue,
        trims: settings.idle !== undefined || settings.maxHeldBytes < Infinity
      },
      this
    )
    this.inputs = this.machine
    this.core = this.machine.core
    this.#blocksBefore = blocks
  }

  /** Makes the blocks and leases that existed before the first event. */
  begin(): void {
    const { machine, plan: { settings } } = this
    machine.listen(false)
    // A pool has no block of 0 bytes.
    const restored = this.#blocksBefore
      .filter(({ capacity }) => capacity > 0)
      .flatMap((recorded) => this.#restore(recorded))
    for (const { block: { number }, leases, recorded: { block } } of restored) {
      this.restored(number, block)
      for (const [offset, lease] of leases) this.earlyLeases.set(block, offset, lease)
    }
    this.#limitTo(settings.maxBytes)
    this.#earlyBlocks = restored
      .filter(({ block, leases }) => leases.length > 0 || block.state === "held")
      .map(({ block, recorded }) => ({ ...recorded, block: block.number }))
  }

  /** Parts are placeholders too. */
  readonly #splitMemory = {
    alignment: 1,
    splits: (family: Family): boolean => this.#splitFamilies.has(family),
    part: (slab: Placeholder, begin: number): Placeholder => new Placeholder(slab.pooledBy, slab, begin)
  }

  /** What a recording of the replay states besides its events. */
  get facts(): Pick<RecordingFacts, "blocks" | "families" | "memories"> {
    const families = new Map(this.#families)
    for (const [key, { family, service: pool, sizes }] of this.#sources) {
      const recorded = this.#families.get(key) ?? { memory: this.number, pool, family, clears: false }
      if (sizes.noted.length > 0 && !family.startsWith(" ")) families.set(key, { ...recorded, sizes: sizes.noted })
    }
    return {
      memories: [memoryUnder(this.plan)],
      families: Array.from(families.values()),
      blocks: this.#earlyBlocks
    }
  }

  /** Is called for each block that existed before the first event, with its number here and in the recording. */
  protected restored(_own: number, _recorded: number): void {
    // Events of the recording have the recorded number.
  }

  /** The budgets of the recording that were made so far. */
  get budgets(): ReadonlyArray<Budget.Budget> {
    return Array.from(this.#budgets.values())
  }

  /** The held blocks to free: until only `to` bytes are managed, or all, or those that were last leased on one queue. */
  trimmed(to: number | undefined, queue: string | undefined): Iterable<ReplayedBlock> {
    const { core } = this
    if (to !== undefined) return core.trim(to)
    return queue === undefined ? core.evictAll() : core.evictWhich((value) => this.isOfQueue(value, queue))
  }

  protected isOfQueue({ queue = firstQueue }: Placeholder, name: string): boolean {
    return queue === name
  }

  /** One of several pools on the memory, by its service and its limit's number. */
  poolOf(
    name: string,
    budget: number | undefined
  ): { readonly source: ReplayedSource; readonly limit: Budget.Budget } {
    const limit = this.budgetOf(budget) ?? Budget.make(this.machine, "pool", Infinity, undefined, undefined)
    if (budget !== undefined) this.addBudget(budget, limit)
    const source = this.pools.get(budget ?? name)?.sources[0] ?? this.sourceOf(`none of ${budget}`, name, budget)
    return { limit, source }
  }

  /** Sets the limit, and frees the held blocks that it has no room for. */
  #limitTo(maxBytes: number): void {
    const { core, machine } = this
    core.setMaxBytes(maxBytes)
    machine.memory.freeAll(core.trim(maxBytes), "trimmed")
    machine.trimExcess()
  }

  /** Makes a block that existed before the first event: a slab with its parts, or a block for each part where slabs are not split. */
  #restore(recorded: RecordedBlock): ReadonlyArray<Restored> {
    const { family, lease, parts = [], pool } = recorded
    const { core } = this
    const ofFamily = family ?? (lease === undefined ? this.#onlyFamilyOf(pool) : undefined) ?? ""
    const source = this.sourceOf(ofFamily, pool, undefined)
    const value = new Placeholder(source)
    const { capacity } = recorded
    if (parts.length > 0) return this.#restoreParts(recorded, source, value)
    core.addPending(capacity, lease?.size)
    if (lease === undefined) return [{ block: core.addHeld(source.family, capacity, value), leases: [], recorded }]
    const { callSite, label, size } = lease
    const active = family === undefined
      ? core.addActiveUnbinned(capacity, value, size)
      : core.addActive(family, capacity, value, size)
    const own = this.#lease(active, size, label, callSite, undefined)
    return [{ block: active.whole, leases: [[0, own]], recorded }]
  }

  #restoreParts(recorded: RecordedBlock, source: ReplayedSource, slab: Placeholder): ReadonlyArray<Restored> {
    const { core } = this
    const { capacity } = recorded
    const parts = Array.from(recorded.parts ?? []).sort((one, other) => one.offset - other.offset)
    if (source.sizes instanceof SlabSizes && core.addParts !== undefined) {
      core.addPending(capacity)
      const places = parts.map(({ offset, partBytes, size }) => ({ begin: offset, bytes: partBytes, request: size }))
      const leases = core.addParts(source.family, capacity, slab, places).map((block, at) => {
        const { callSite, label, offset, size } = parts[at]!
        return [offset, this.#lease(block, size, label, callSite, undefined)] as const
      })
      return [{ block: leases[0]![1].block!.whole, leases, recorded }]
    }
    return parts.map(({ callSite, label, offset, partBytes, size }) => {
      core.addPending(partBytes, size)
      const block = core.addActive(source.family, partBytes, new Placeholder(source), size)
      const lease = this.#lease(block, size, label, callSite, undefined)
      const own = { ...recorded, capacity: partBytes, lease: { size, label, callSite }, parts: undefined }
      return { block, leases: [[offset, lease]], recorded: own }
    })
  }

  #lease(
    block: ReplayedBlock,
    size: number,
    label: string | undefined,
    callSite: string | undefined,
    account: ReplayedLease["account"]
  ): ReplayedLease {
    const lease = new ReplayedLease(block, size, label, account, this.#leased++)
    CallSite.note(lease, callSite)
    this.leases.set(block.whole.number, block.begin, lease)
    return lease
  }

  /** A block whose only event is a free names no family: it gets that of its pool, if the pool has only one. */
  #onlyFamilyOf(pool: string): string | undefined {
    const [only, ...others] = Array.from(this.#families.values()).filter((family) => family.pool === pool)
    return others.length === 0 ? only?.family : undefined
  }

  /** The limit with a recorded number; the budgets around it are made first. */
  budgetOf(number: number | undefined): Budget.Budget | undefined {
    if (number === undefined) return undefined
    const known = this.#budgets.get(number)
    if (known !== undefined) return known
    const recorded = this.#recorded.get(number)
    if (recorded === undefined) return undefined
    const { kind, label, maxBytes, parent } = recorded
    return this.addBudget(number, Budget.make(this.machine, kind, maxBytes, this.budgetOf(parent), label))
  }

  protected addBudget(number: number, budget: Budget.Budget): Budget.Budget {
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
    const memory = this.number
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
    const recorded = this.#families.get(key) ?? { memory: this.number, pool, family, clears: false, sizes: [] }
    const sizes = this.#sizesOf(recorded)
    if (sizes instanceof SlabSizes) this.#splitFamilies.add(family)
    const group = this.pools.get(poolKey) ?? new ReplayedPool(this.core)
    this.pools.set(poolKey, group)
    const source = new ReplayedSource(recorded, group, sizes, this.#limits)
    this.#sources.set(key, source)
    if (this.machine.closed) group.closed = true
    return source
  }

  #sizesOf(family: RecordedFamily): Sizes {
    const { core: { slabs }, plan: { memory: { strategy }, sizePolicy } } = this
    // As in a program, where images are not split, nor is staging memory on some devices.
    const { splits: maySplit = family.pool !== "ImagePool" && family.pool !== "StagingPool" } = family
    if (slabs !== undefined && maySplit) return new SlabSizes(family, slabs, strategy?.granularity)
    if (family.pool === "ImagePool") return new FamilySizes(family, undefined)
    // A pool of blocks would not have asked for the recorded sizes of slabs.
    return strategy === undefined || !maySplit
      ? new FamilySizes(family, sizePolicy)
      : new FamilySizes(family, sizePolicy ?? defaultPolicy, strategy.granularity)
  }

  get activeBytes(): number {
    return this.core.activeBytes
  }

  get heldBytes(): number {
    return this.core.heldBytes
  }

  /** The machine's request for a recorded one: for a lease, for a reservation, or for an exclusive section. */
  requestOf(
    replayed: ReplayedRequest,
    what: "lease" | "reservation" | "section",
    under: Pick<Asked, "from" | "waitPolicy" | "section">
  ): MachineRequest {
    const { asked: { budgetNumber, callSite, family, label, pool, size } } = replayed
    const { machine } = this
    const source = this.sourceOf(family, pool, budgetNumber)
    const budget = this.budgetOf(budgetNumber)
    const budgets = budget?.chain ?? []
    const facts = { source, size, label, callSite, owner: replayed, budget, ...under }
    if (what === "lease") {
      const exactSize = source.exactSize(size)
      const ofPolicy = source.blockSize(size)
      const partSize = source.partSize(size)
      const isPlain = budget === undefined || partSize < Infinity
      const blockSize = isPlain ? ofPolicy : budget.blockSize(ofPolicy, exactSize)
      const sizes = { exactSize, blockSize, partSize, family: source.family, accounts: budgets }
      return new MachineRequest(replayed, { ...facts, ...sizes, operation: "allocate", asks: undefined })
    }
    const isSection = what === "section"
    const parent = isSection ? under.section : under.from
    const of = { owner: source.pool, memory: machine.state, parent, budgets, label, fiberId: 0, sequence: 0 }
    const accounts = isSection ? [ExclusiveSections.sectionsOf(machine)] : [...budgets, machine.memory]
    const sizes = { exactSize: size, blockSize: size, partSize: Infinity, family: "", accounts }
    return new MachineRequest(replayed, { ...facts, ...sizes, operation: "reserve", asks: new Reservation(of) })
  }

  /** A hit, in one step. */
  hit(replayed: ReplayedRequest, source: ReplayedSource): ReplayedLease | undefined {
    const { machine } = this
    const { callSite, label, size } = replayed.asked
    const blockSize = machine.hitSize(source, size, source.family)
    const block = machine.tryHit(source, source.family, size, blockSize)
    if (block === undefined) return undefined
    const lease = this.#lease(block, size, label, callSite, undefined)
    block.value.queue = replayed.asked.queue
    replayed.granted()
    const isOwn = block.capacity === blockSize || source.partSize(size) < Infinity
    this.observer?.hit(replayed, lease, block, isOwn ? "held" : "borrowed")
    return lease
  }

  /** Publishes to `observer` from now on. */
  observe(observer: MemoryObserver): void {
    this.observer = observer
    this.machine.state.observer = observer
  }

  /** Publishes that it has closed, after everything else that closing does. */
  publishClosed(): void {
    this.observer?.closed()
  }

  /** Ends a lease of it. */
  endLease(lease: ReplayedLease, why: Released["why"]): void {
    const { account, block, size } = lease
    if (block === undefined) return
    lease.block = undefined
    this.leases.delete(block.whole.number, block.begin)
    this.observer?.released(lease, block, why)
    this.machine.released(block, size, account)
  }

  /** Whether requests wait in its queues. */
  get hasWaiters(): boolean {
    return this.machine.state.queues.size > 0
  }

  /** Whether it has no open request and no lease. */
  get isIdle(): boolean {
    const { core, machine: { state } } = this
    return core.activeBlocks === 0 && core.pendingBytes === 0 && state.reservations.size === 0 && !this.hasWaiters
  }

  // What the machine calls synchronously.

  free(): boolean {
    return false
  }

  clear(_request: MachineRequest, _block: ReplayedBlock): Failure | undefined {
    return undefined
  }

  grant(request: MachineRequest, block: ReplayedBlock): ReplayedLease {
    const { callSite, label, size, replayed } = request
    block.value.queue = replayed.asked.queue
    replayed.granted()
    return this.#lease(block, size, label, callSite, this.machine.memory.chargeOf(request))
  }

  handOver(): void {
    // A recording does not say which commands are under way.
  }

  watch(): void {
    // Jobs are not recorded, so no deadlock is looked for.
  }

  lost(): GpuError | undefined {
    return this.error
  }

  queueing(): void {
    this.machine.listen(false)
  }

  closeSources(): void {
    for (const pool of this.pools.values()) pool.closed = true
  }

  /** None: nobody reads the errors of a replay, and it may have as many errors as leases. */
  evidence(_budget: ChargedBudget | undefined): Evidence {
    return noEvidence
  }

  abstract choose(request: MachineRequest, blockSize: number, most: number): ReplayedBlock | "any" | undefined
  abstract schedule(task: () => void): void
  abstract startIdleClock(): void
  abstract endLeases(why: Released["why"], budget: ChargedBudget | undefined): void
  abstract endGranted(request: MachineRequest): void
  abstract over(source: ReplayedSource | undefined): void
  abstract interruptCalls(): void
  abstract readonly outer: OuterLimits
}

const noEvidence: Evidence = { holders: [], holderGroups: [] }
