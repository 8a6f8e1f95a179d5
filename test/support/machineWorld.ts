/**
 * Simulates what surrounds a pool's machine: programs that make requests, use leases and end them, a driver, handlers,
 * clocks. Each number of a sequence is one input, so that a property shrinks to few inputs.
 */
import { assert } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Exit from "effect/Exit"
import type { DeviceLimits } from "../../src/domain/device/DeviceInfo.ts"
import { DriverError, type GpuError, make as makeError, type OutOfMemory } from "../../src/domain/GpuError.ts"
import { ArenaCore } from "../../src/domain/pool/arena/ArenaCore.ts"
import { type Budget, make as makeBudget } from "../../src/domain/pool/machine/Budget.ts"
import type { LeaseCharge } from "../../src/domain/pool/machine/Charge.ts"
import { sectionsOf } from "../../src/domain/pool/machine/ExclusiveSections.ts"
import { HoldingJobs } from "../../src/domain/pool/machine/HoldingJobs.ts"
import { noOuterLimits } from "../../src/domain/pool/machine/OuterLimits.ts"
import { type Ending, PoolMachine, type PoolOutput } from "../../src/domain/pool/machine/PoolMachine.ts"
import type { MakeQueue, PoolPort } from "../../src/domain/pool/machine/PoolState.ts"
import {
  type Account,
  type Answer,
  type Asked,
  type Failure,
  type Family,
  Request,
  type RequestOwner,
  type RequestSource
} from "../../src/domain/pool/machine/Request.ts"
import { type ChargedBudget, Reservation } from "../../src/domain/pool/machine/Reservation.ts"
import { waitQueue } from "../../src/domain/pool/machine/WaitQueue.ts"
import { idleDecay, type PoolBlock, type PoolCoreOptions } from "../../src/domain/pool/PoolCore.ts"

interface Value {
  recyclable: boolean
}

type Block = PoolBlock<Value, Family>

/** A scope: the requests that wait in it, and its leases. */
class Owner implements RequestOwner {
  closed = false
  readonly awaiting = new Set<Request>()
  readonly leases = new Set<WorldLease>()

  get hasLeases(): boolean {
    return this.leases.size > 0
  }

  addAwaiting(request: Request): void {
    this.awaiting.add(request)
  }

  removeAwaiting(request: Request): void {
    this.awaiting.delete(request)
  }
}

interface WorldLease {
  hasEnded: boolean
  readonly block: Block
  readonly size: number
  readonly capacity: number
  readonly charge: LeaseCharge | undefined
  readonly owner: Owner
}

export class WorldRequest extends Request {
  declare granted: WorldLease | undefined
  isByHandler = false
  #calls = 0
  #epoch = -1

  /** Counts a driver call of the request in an epoch, and fails if there are too many. */
  countCall(epoch: number): void {
    this.#calls = this.#epoch === epoch ? this.#calls + 1 : 1
    this.#epoch = epoch
    assert.isAtMost(this.#calls, mostCallsOfOneEpoch, "calls of one epoch")
  }

  override get inHandler(): boolean {
    return this.isByHandler
  }

  override get answer(): Answer {
    return Exit.void
  }

  override get hasEnded(): boolean {
    return this.granted === undefined ? this.isOver || this.state === "failed" : this.granted.hasEnded
  }

  override get jobKeys(): ReadonlyArray<object> {
    return [this.owner]
  }

  override get memoryKeys(): ReadonlyArray<object> {
    return [this.owner]
  }
}

export interface WorldOptions {
  readonly maxBytes: number
  /** What the driver has; a call for more is refused. */
  readonly driverBytes: number
  readonly maxBypasses: number
  readonly clears: boolean
  /** Whether the memory splits slabs. */
  readonly splits: boolean
  readonly hasHandlers: boolean
  /** Whether the device has several queues, so that a held block may not suit every request. */
  readonly hasQueues: boolean
  /** Whether held blocks are limited, and freed when they are idle. */
  readonly trims: boolean
  /** Whether the pools close one by one; after that there are no new requests. */
  readonly closes: boolean
  /** The memory's queue, where every request fails at once and is under no budget. Left out, requests do all that they can. */
  readonly queueOfFailing?: MakeQueue
}

const none: ReadonlyArray<never> = []

/** All leases of a slab have one value, so that one that is not recyclable ends the use of the slab. */
const slabs = { unit: 2, slabBytes: 16, part: (slab: Value): Value => slab }

const device: DeviceLimits = {
  granularity: 1,
  maxBufferSize: Number.MAX_SAFE_INTEGER,
  maxBindingSize: Number.MAX_SAFE_INTEGER,
  memoryBytes: undefined
} as DeviceLimits

const succeeded: Ending = { isFailure: false, isInterrupted: false, reason: undefined }
const interrupted: Ending = { isFailure: true, isInterrupted: true, reason: undefined }

const driverFailed: Failure = () =>
  makeError(
    new DriverError({ backend: "world", call: "create", codeName: "Failed", code: 1, log: "", commands: [], hint: "" })
  )

/** A waiting request for one byte, in an exclusive section or in none. */
export const waiter = (section: Reservation | undefined): WorldRequest =>
  new WorldRequest({
    source: new Source({ clears: false }, 0),
    operation: "World.allocate",
    asks: undefined,
    size: 1,
    exactSize: 1,
    blockSize: 1,
    partSize: Infinity,
    family: 0,
    label: undefined,
    callSite: undefined,
    owner: new Owner(),
    waitPolicy: { onExhausted: "wait", waitAtMost: Infinity },
    budget: undefined,
    accounts: none,
    from: undefined,
    section
  })

/** The most driver calls of a request while no bytes become free. */
const mostCallsOfOneEpoch = 16

/** One of the pools that share the memory: the blocks of one family. */
class Source implements RequestSource {
  readonly service = "World"
  readonly what = undefined
  closed = false
  readonly borrows = true
  readonly clears: boolean
  readonly family: number

  constructor({ clears }: Pick<WorldOptions, "clears">, family: number) {
    this.clears = clears
    this.family = family
  }

  mostBorrowed(blockSize: number): number {
    return 2 * blockSize
  }

  limitProblem(): undefined {
    return undefined
  }

  owns(family: Family): boolean {
    return family === this.family
  }
}

export class World implements PoolPort<Value> {
  readonly machine: PoolMachine<Value>
  readonly options: WorldOptions
  readonly budgets: ReadonlyArray<Budget>
  readonly owners: Array<Owner> = [new Owner(), new Owner(), new Owner()]
  readonly leases = new Set<WorldLease>()
  /** Requests that wait for a driver call. */
  readonly calls = new Set<WorldRequest>()
  readonly reclaims = new Set<WorldRequest>()
  readonly handling = new Set<WorldRequest>()
  readonly waiting = new Set<WorldRequest>()
  /** Reservations whose effects run. */
  readonly open = new Set<WorldRequest>()
  #tasks: Array<() => void> = []
  /** Bytes that the driver has allocated and not freed, by its own count. */
  #driverBytes = 0
  /** Bytes that no eviction frees, after the last input. */
  #firm = 0
  #isLost = false
  /** Whether a limit may have been below what was used or reserved. */
  #wasLowered = false
  /**
   * Set after a deadlock: the job that was let through may get into another one, which this world does not search for.
   */
  #hasDeadlocks = false
  inputs = 0
  /** What the machine said, in order. */
  readonly outputs: Array<PoolOutput> = []
  readonly counts = { granted: 0, failed: 0, interrupted: 0, timedOut: 0, refusedCalls: 0 }
  /** The pools of the memory, each with the limit that is its own. */
  readonly #pools: ReadonlyArray<{ readonly source: Source; readonly limit: Budget }>

  constructor(options: WorldOptions) {
    this.options = options
    const { hasQueues, maxBypasses, maxBytes, queueOfFailing: queue = waitQueue, splits, trims } = options
    this.hasSeveralQueues = hasQueues
    const trimming = trims
      ? { maxHeldBytes: Math.ceil(maxBytes / 2), idle: idleDecay({ steps: 3, keepBytes: 10 }) }
      : {}
    const makeCore = splits ? (given: PoolCoreOptions) => new ArenaCore({ ...given, ...slabs }) : undefined
    this.machine = new PoolMachine<Value>(
      { maxBytes, limits: device, owner: { kind: "pool" }, maxBypasses, queue, trims, ...trimming, makeCore },
      this
    )
    this.machine.listen(false)
    this.#pools = [0, 1].map((family) => ({
      source: new Source(options, family),
      limit: makeBudget(this.machine, "pool", maxBytes, undefined, `pool ${family}`)
    }))
    const outer = makeBudget(this.machine, "budget", Math.ceil(maxBytes / 2), undefined, "outer")
    const inner = makeBudget(this.machine, "budget", Math.ceil(maxBytes / 3), outer, "inner")
    this.budgets = [outer, inner, ...this.#pools.map(({ limit }) => limit)]
    this.machine.setHandlers(this.machine.memory, options.hasHandlers)
  }

  free({ capacity }: Block): boolean {
    this.#driverBytes -= capacity
    return false
  }

  clear(): Failure | undefined {
    return this.inputs % 17 === 0 ? driverFailed : undefined
  }

  grant(request: WorldRequest, block: Block): WorldLease {
    const owner = request.owner as Owner
    const lease = {
      hasEnded: false,
      block,
      size: request.size,
      capacity: block.capacity,
      charge: this.machine.memory.chargeOf(request),
      owner
    }
    owner.leases.add(lease)
    this.leases.add(lease)
    return lease
  }

  readonly hasSeveralQueues: boolean
  readonly outer = noOuterLimits

  /** Returns any of the suitable blocks, or none, as if the queues were at any point. */
  choose({ family, size }: WorldRequest, blockSize: number, most: number): Block | "any" | undefined {
    if (!this.hasSeveralQueues) return "any"
    const accepts = this.inputs % 3
    let looked = 0
    return this.machine.core.acquireAccepted(family, blockSize, size, most, () => looked++ >= accepts)
  }

  handOver(): void {}

  schedule(task: () => void): void {
    this.#tasks.push(task)
  }

  watch(): void {}
  startIdleClock(): void {}

  queueing(): void {
    this.machine.listen(false)
  }

  endLeases(_why: unknown, budget: ChargedBudget | undefined): void {
    for (const lease of this.leases) {
      if (budget === undefined || lease.charge?.budgets.includes(budget) === true) this.#end(lease)
    }
  }

  endGranted({ granted }: WorldRequest): void {
    if (granted !== undefined && this.leases.has(granted)) this.#end(granted)
  }

  closeSources(): void {
    for (const { source } of this.#pools) source.closed = true
  }

  over(source: RequestSource | undefined): void {
    for (const pool of this.#pools) if (pool.source === source) pool.source.closed = true
  }

  interruptCalls(): void {}

  lost(): GpuError | undefined {
    return this.#isLost ? driverFailed() as GpuError : undefined
  }

  evidence(): Pick<OutOfMemory, "holderGroups" | "holders"> {
    return { holders: none, holderGroups: none }
  }

  #end(lease: WorldLease): void {
    this.leases.delete(lease)
    lease.hasEnded = true
    lease.owner.leases.delete(lease)
    this.machine.released(lease.block, lease.size, lease.charge)
  }

  /** Does what the machine says for a request. */
  #perform(request: WorldRequest, output: PoolOutput): void {
    this.outputs.push(output)
    switch (output) {
      case "Granted":
        this.counts.granted++
        if (request.asks === undefined) this.machine.ended(request, succeeded)
        else this.open.add(request)
        return
      case "Failed": {
        this.counts.failed++
        const failure = request.failure!()
        const reason = "reason" in failure ? failure.reason._tag : undefined
        this.#over(request, { isFailure: true, isInterrupted: false, reason })
        return
      }
      case "AskDriver":
        this.machine.driverAsked(request)
        request.countCall(this.machine.state.epoch)
        this.calls.add(request)
        return
      case "Reclaim":
        this.reclaims.add(request)
        return
      case "AskHandlers":
        this.handling.add(request)
        return
      case "Wait":
        this.waiting.add(request)
        request.resume = () => {
          this.waiting.delete(request)
          this.#perform(request, this.machine.advance(request))
        }
    }
  }

  #over(request: WorldRequest, ending: Ending): void {
    if (request.asks === undefined) this.machine.ended(request, ending)
    else this.machine.reservationEnded(request, ending)
  }

  #ask(pick: (below: number) => number): void {
    const { machine } = this
    const size = 1 + pick(Math.max(1, Math.ceil(this.options.maxBytes / 3)))
    const isPlain = this.options.queueOfFailing !== undefined
    const kind = isPlain ? 0 : pick(10)
    const pool = this.#pools[pick(2)]!
    const { source } = pool
    if (source.closed) return
    const inside = kind === 3 && this.open.size > 0 ? nth(this.open, pick(this.open.size)) : undefined
    const from = inside?.asks
    const budget = isPlain
      ? undefined
      : from === undefined
      ? [undefined, undefined, this.budgets[0], this.budgets[1], pool.limit][pick(5)]
      : inside?.budget as Budget
    const isReservation = kind === 1
    const isSection = kind === 2
    const asks = isReservation || isSection
      ? new Reservation({
        owner: this,
        memory: machine.state,
        parent: from,
        budgets: isSection ? none : budget?.chain ?? none,
        label: undefined,
        fiberId: 0,
        sequence: 0
      })
      : undefined
    const bytes = isSection ? 0 : size
    const isLease = !isReservation && !isSection
    const { maxBytes, slabs } = machine.core
    // Powers of two, so that blocks are used again.
    const policySize = slabs?.sizePolicy.blockSize(size) ?? 2 ** Math.ceil(Math.log2(size))
    const blockSize = isLease && policySize <= maxBytes ? policySize : bytes
    const partSize = isLease && slabs !== undefined ? Math.ceil(bytes / slabs.unit) * slabs.unit : Infinity
    const chain = isSection ? undefined : budget
    const accounts: ReadonlyArray<Account> = isSection
      ? [sectionsOf(machine)]
      : isReservation
      ? [...(budget?.chain ?? none), machine.memory]
      : budget?.chain ?? none
    const asked: Asked = {
      source,
      operation: "World.allocate",
      asks,
      size: bytes,
      exactSize: bytes,
      blockSize: chain === undefined || partSize < Infinity ? blockSize : chain.blockSize(blockSize, bytes),
      partSize,
      family: source.family,
      label: undefined,
      callSite: undefined,
      owner: this.owners[pick(this.owners.length)]!,
      waitPolicy: { onExhausted: isPlain || pick(4) === 0 ? "fail" : "wait", waitAtMost: pick(3) === 0 ? 5 : Infinity },
      budget: chain,
      accounts,
      from,
      section: undefined
    }
    const request = new WorldRequest(asked)
    if (machine.tooLarge(request) === undefined) this.#perform(request, machine.ask(request))
  }

  #answerDriver(request: WorldRequest, pick: (below: number) => number): void {
    this.calls.delete(request)
    const { asking: capacity } = request
    const wasAbandoned = request.state === "abandoned"
    if (this.#driverBytes + capacity > this.options.driverBytes) {
      this.counts.refusedCalls++
      this.machine.driverRefused(request, "OutOfMemory", driverFailed)
    } else if (pick(20) === 0) this.machine.driverRefused(request, "DriverError", driverFailed)
    else {
      this.#driverBytes += capacity
      this.machine.driverAnswered(request, { recyclable: pick(10) !== 1 })
    }
    if (!wasAbandoned) this.#perform(request, this.machine.advance(request))
  }

  #answerHandlers(request: WorldRequest, helped: boolean): void {
    this.handling.delete(request)
    if (helped && this.leases.size > 0) this.#end(nth(this.leases, 0))
    const freed = helped && this.machine.believes(request)
    this.machine.handlersEnded(request, freed, false)
    this.#perform(request, this.machine.handlersAnswered(request, freed))
  }

  #interrupt(request: WorldRequest): void {
    this.counts.interrupted++
    this.#interruptWithin(request)
    for (const set of [this.reclaims, this.handling, this.waiting, this.open]) set.delete(request)
    this.#over(request, interrupted)
  }

  #timeOut(request: WorldRequest): void {
    if (request.waitPolicy.waitAtMost === Infinity || !request.isWaiting) return
    this.counts.timedOut++
    this.waiting.delete(request)
    request.resume = undefined
    this.#perform(request, this.machine.timedOut(request, 5))
  }

  #closeOwner(index: number): void {
    const owner = this.owners[index]!
    owner.closed = true
    for (const request of owner.awaiting) request.queue!.endRequest(request)
    for (const lease of owner.leases) this.#end(lease)
    for (const { queue } of [this.machine.memory, ...this.budgets]) queue.serve()
    this.owners[index] = new Owner()
  }

  /** The fibers of an effect end before it does. */
  #interruptWithin({ asks }: WorldRequest): void {
    if (asks === undefined) return
    for (const set of [this.calls, this.reclaims, this.handling, this.waiting, this.open]) {
      for (const request of set) if (request.from === asks && !request.isOver) this.#interrupt(request)
    }
  }

  /** Closes a reservation; fibers that its effect has started may run on. */
  #closeReservation(request: WorldRequest, outlived: boolean): void {
    if (!outlived) this.#interruptWithin(request)
    this.open.delete(request)
    this.#over(request, succeeded)
  }

  /** Ends a deadlock: one waiting job fails, another is served first, and fewer jobs may have memory. */
  #endDeadlock(pick: (below: number) => number): void {
    const waiting = nth(this.waiting, pick(this.waiting.size))
    const { queue } = waiting
    if (waiting.state !== "queued" || queue === undefined) return
    const jobs = new HoldingJobs()
    for (const owner of this.owners) if (owner.hasLeases) jobs.deadlocked([owner], Array.from(owner.leases), false)
    jobs.countsReservations = pick(2) === 0
    jobs.limit.deadlocked(2)
    const first = nth(this.waiting, 0)
    if (first.queue === queue && first.state === "queued" && first.owner.hasLeases) this.machine.promote(first)
    this.#hasDeadlocks = true
    if (queue.jobs === undefined) queue.limitJobs(jobs)
    if (waiting.state === "queued") this.machine.failDeadlocked(waiting, [])
  }

  /** No bytes became free for a while, so more jobs may have memory. */
  #raiseJobs(): void {
    for (const queue of Array.from(this.machine.state.queues)) {
      this.machine.raiseJobs(queue)
      if (queue.jobs !== undefined) queue.serve()
    }
  }

  #closePool(index: number): void {
    const { limit, source } = this.#pools[index]!
    if (!source.closed) this.machine.closePool(source, limit)
  }

  #runTasks(): void {
    const tasks = this.#tasks
    this.#tasks = []
    for (const task of tasks) task()
  }

  /** Takes one input. */
  step(choice: number): void {
    this.inputs++
    let left = choice
    const pick = (below: number): number => {
      const picked = left % below
      left = Math.floor(left / below)
      return picked
    }
    const { machine } = this
    const of = <A>(set: ReadonlySet<A>, f: (one: A) => void): void => {
      if (set.size > 0) f(nth(set, pick(Math.min(set.size, 64))))
    }
    switch (pick(26)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        return this.#ask(pick)
      case 6:
      case 7:
      case 8:
      case 9:
        return of(this.calls, (request) => this.#answerDriver(request, pick))
      case 10:
      case 11:
        return of(this.reclaims, (request) => {
          this.reclaims.delete(request)
          machine.reclaimed(machine.core.driverFrees)
          this.#perform(request, machine.reclaimedFor(request))
        })
      case 12:
        return of(this.handling, (request) => this.#answerHandlers(request, pick(2) === 0))
      case 13:
      case 14:
      case 15:
      case 16:
        return of(this.leases, (lease) => this.#end(lease))
      case 17:
        return this.#closeOwner(pick(this.owners.length))
      case 18: {
        const sets = [this.reclaims, this.handling, this.waiting, this.open, this.calls]
        return of(sets[pick(sets.length)]!, (request) => {
          if (!request.isOver) this.#interrupt(request)
        })
      }
      case 19:
        return of(this.waiting, (request) => this.#timeOut(request))
      case 20: {
        this.#wasLowered = true
        if (pick(4) === 0) {
          const budget = this.budgets[pick(2)]!
          return budget.setLimit(Math.ceil(budget.limit * [0.75, 1, 1.5][pick(3)]!))
        }
        const bytes = Math.ceil(this.options.maxBytes * [1, 1, 0.75, 1.5][pick(4)]!)
        if (machine.setMaxBytes(bytes)) {
          machine.trim(machine.core.trim(Math.max(0, bytes - machine.core.pendingBytes)), bytes, undefined)
        }
        return
      }
      case 21:
        if (pick(2) === 0) return machine.setHolding(pick(2) === 0)
        return machine.trim(machine.core.trim(pick(this.options.maxBytes)), 0, undefined)
      case 22:
        return of(this.open, (request) => this.#closeReservation(request, pick(2) === 0))
      case 23:
        if (pick(2) === 0) return of(this.waiting, () => this.#endDeadlock(pick))
        return this.#raiseJobs()
      case 24: {
        if (this.options.closes && pick(10) === 0) return this.#closePool(pick(2))
        if (this.options.trims) machine.idleStep(1 + pick(3))
        return
      }
      default:
        return this.#runTasks()
    }
  }

  /** Closes the memory or loses its device, whatever is under way. */
  end(how: "close" | "lose"): void {
    if (how === "close") return this.machine.close()
    this.#isLost = true
    this.machine.loseDevice()
  }

  /** Ends everything that is under way, and checks that no request is left. */
  drain(): void {
    for (let rounds = 0; this.#isBusy; rounds++) {
      strictEqual(rounds < 10_000, true, "rounds until all requests are over")
      this.#runTasks()
      for (const request of this.calls) this.#answerDriver(request, () => 1)
      for (const request of this.reclaims) {
        this.reclaims.delete(request)
        this.machine.reclaimed(this.machine.core.driverFrees)
        this.#perform(request, this.machine.reclaimedFor(request))
      }
      for (const request of this.handling) this.#answerHandlers(request, false)
      for (const request of this.open) this.#closeReservation(request, false)
      for (const lease of this.leases) this.#end(lease)
      this.#raiseJobs()
      const [first, ...others] = this.waiting
      if (this.#hasDeadlocks && first?.state === "queued" && others.length > 0) this.machine.failDeadlocked(first, [])
    }
  }

  get #isBusy(): boolean {
    return this.#tasks.length > 0 ||
      [this.calls, this.reclaims, this.handling, this.waiting, this.open, this.leases].some(({ size }) => size > 0)
  }

  /** Checks what must hold after every input. */
  check(): void {
    const { machine, machine: { core, memory, state } } = this
    const requests = new Set([...this.calls, ...this.reclaims, ...this.handling, ...this.waiting, ...this.open])
    let pending = 0
    let reserved = 0
    for (const request of requests) {
      pending += request.pending + (request.isCalling ? request.asking : 0)
      reserved += request.drawn
    }
    for (const { left } of state.reservations) reserved += left
    let activeBytes = 0
    for (const { size } of this.leases) activeBytes += size
    const waiters = [memory, sectionsOf(machine), ...this.budgets].reduce((sum, { queue }) => sum + queue.length, 0)
    deepStrictEqual(
      [core.activeBlocks, core.activeBytes, core.pendingBytes, core.reservedBytes, core.waiters],
      [this.leases.size, activeBytes, pending, reserved, waiters]
    )
    strictEqual(core.managedBytes, this.#driverBytes)
    const leased = sum(this.leases, ({ capacity }) => capacity)
    // Free memory of a slab that may not exist is not held.
    if (this.options.splits) strictEqual(core.managedBytes - core.heldBytes >= leased, true, "leases are not held")
    else strictEqual(core.managedBytes - core.heldBytes, leased)
    const firm = core.managedBytes - core.evictableBytes + core.pendingBytes + core.reservedBytes
    strictEqual(
      firm <= Math.max(core.maxBytes, this.#firm),
      true,
      "what no eviction frees does not grow above the limit"
    )
    this.#firm = firm
    for (const budget of this.budgets) {
      const ofLeases = sum(this.leases, ({ capacity, charge }) => charge?.budgets.includes(budget) ? capacity : 0)
      strictEqual(budget.stats().managedBytes, ofLeases)
      strictEqual(budget.chargedBytes >= ofLeases, true, "a budget is charged with its leases")
      strictEqual(this.#wasLowered || budget.chargedBytes <= budget.limit, true, "a budget is not exceeded")
    }
    if (this.#wasLowered || this.counts.refusedCalls > 0) return
    for (const { drawn, exactSize, from, isWaiting } of this.waiting) {
      const covered = from?.isOpen === true ? from.left + drawn : -1
      strictEqual(isWaiting && covered >= exactSize, false, "a request that its reservation covers does not wait")
    }
  }

  /** Checks that nothing is left. */
  checkEmpty(): void {
    this.check()
    const { machine, machine: { core } } = this
    deepStrictEqual([core.activeBytes, core.pendingBytes, core.reservedBytes, core.waiters], [0, 0, 0, 0])
    for (const { chargedBytes, reservedBytes } of this.budgets) deepStrictEqual([chargedBytes, reservedBytes], [0, 0])
    machine.close()
    deepStrictEqual([core.managedBytes, core.driverAllocations - core.driverFrees], [0, 0])
  }
}

const nth = <A>(set: ReadonlySet<A>, index: number): A => {
  let at = 0
  for (const one of set) if (at++ === index) return one
  throw new Error(`there is no element ${index} of ${set.size}`)
}

const sum = <A>(all: Iterable<A>, of: (one: A) => number): number => {
  let total = 0
  for (const one of all) total += of(one)
  return total
}
