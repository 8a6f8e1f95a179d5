/**
 * One request for memory, as the pool's machine knows it: what it asks for, and its state.
 *
 * @since 0.1.0
 */
import type * as Exit from "effect/Exit"
import { type FallbackStep, type GpuError, make as makeError, Released, type WaitingJob } from "../../GpuError.ts"
import { Charge } from "./Charge.ts"
import type { Key } from "./Deadlock.ts"
import type { HandlerCredit } from "./HandlerCredit.ts"
import type { AdmittedJobs, Asking } from "./HoldingJobs.ts"
import type { ChargedBudget, Reservation } from "./Reservation.ts"

/**
 * - `new`: was made, and passes its accounts, or has just come to the memory.
 * - `searching`: looks for memory in the steps of the fallback.
 * - `reclaiming`: waits until the driver has got back what was freed for it.
 * - `asking`: has a driver call under way.
 * - `refused`: was refused by the driver, and its fiber does not know yet.
 * - `queued`: waits in a queue until it is served.
 * - `withHandlers`: waits in a queue while handlers of the program free memory for it.
 * - `granted`: has what it asked for, whether or not its fiber knows. A reservation for several leases searches again when the
 *   driver has no memory for one of them.
 * - `failed`: gets nothing, whether or not its fiber knows.
 * - `abandoned`: its fiber has ended, and its driver call is still under way.
 * - `over`: nothing of it is left.
 *
 * @category models
 * @since 0.1.0
 */
export type RequestState =
  | "new"
  | "searching"
  | "reclaiming"
  | "asking"
  | "refused"
  | "queued"
  | "withHandlers"
  | "granted"
  | "failed"
  | "abandoned"
  | "over"

/**
 * What may come after each state. The page docs/machine.md draws it.
 *
 * @category functions
 * @since 0.1.0
 */
export const transitions: Readonly<Record<RequestState, ReadonlyArray<RequestState>>> = {
  new: ["searching", "queued", "withHandlers", "granted", "failed", "over"],
  searching: ["reclaiming", "asking", "queued", "withHandlers", "granted", "failed", "over"],
  reclaiming: ["searching", "failed", "over"],
  asking: ["searching", "refused", "granted", "failed", "abandoned"],
  refused: ["searching", "over"],
  queued: ["new", "searching", "withHandlers", "granted", "failed", "over"],
  withHandlers: ["new", "searching", "queued", "granted", "failed", "over"],
  granted: ["searching", "over"],
  failed: ["over"],
  abandoned: ["over"],
  over: []
}

/** Whether a request looks for memory by itself; if it is in a queue, it keeps its place meanwhile. */
const isAtWork = (state: RequestState): boolean =>
  state === "searching" || state === "reclaiming" || state === "asking" || state === "refused"

/**
 * What blocks must have in common to be interchangeable.
 *
 * @category models
 * @since 0.1.0
 */
export type Family = number | string

/**
 * What the machine must know of the kind of memory that a request is for.
 *
 * @category models
 * @since 0.1.0
 */
export interface RequestSource {
  /** The name of the service in errors. */
  readonly service: string
  readonly what: Released["what"]
  /** Whether its pool has closed. */
  readonly closed: boolean
  /** Whether a request may get a block larger than its block size. */
  readonly borrows: boolean
  /** Whether blocks are cleared before each lease. */
  readonly clears: boolean
  /** The size of the largest block that a request of this block size may borrow. */
  mostBorrowed(blockSize: number): number
  /** LimitExceeded for a request that the device can never serve. */
  limitProblem(operation: string, bytes: number): GpuError | undefined
}

/**
 * The scope that will own the lease.
 *
 * @category models
 * @since 0.1.0
 */
export interface RequestOwner {
  readonly closed: boolean
  /** Whether it is a scope that has leases. */
  readonly hasLeases: boolean
  addAwaiting(request: Request): void
  removeAwaiting(request: Request): void
}

/**
 * Why a request gets nothing.
 *
 * @category models
 * @since 0.1.0
 */
export type Failure = () => GpuError | Exit.Exit<never, GpuError>

/**
 * What the fiber of a request that waited is resumed with: void to ask the machine what is next, or the failure.
 *
 * @category models
 * @since 0.1.0
 */
export type Answer = Exit.Exit<void> | ReturnType<Failure>

/**
 * What a request does when nothing fits.
 *
 * @category models
 * @since 0.1.0
 */
export interface WaitPolicy {
  readonly onExhausted: "fail" | "wait"
  /** How long it waits at most, in milliseconds. */
  readonly waitAtMost: number
  /** Whether it is a part of another request, which asks the handlers in its place. */
  readonly isPart?: boolean
}

/**
 * What a waiting request got: its lease or error, admission to the account, pending bytes, or one try of its own.
 *
 * @category models
 * @since 0.1.0
 */
export type Served = "answered" | "admitted" | "given" | "try"

/**
 * A limit that must admit a request, with the queue of those that wait for it: the memory itself, a budget within it, or the exclusive
 * sections of its programs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Account {
  /** 0 for the memory, below 0 for its exclusive sections; each budget has one of its own, above 0. */
  readonly number: number
  readonly queue: Queue
  /** Whether the program has registered handlers here. The machine decides when to ask them; its shell asks. */
  hasHandlers: boolean
  /** Whether it has admitted the request. */
  hasAdmitted(request: Request): boolean
  /** Admits a request if there is room for it now. */
  tryAdmit(request: Request): boolean
  /** Whether any waiter in the queue could be served. Cheap, since every release calls it while a request waits. */
  mayServe(): boolean
  /** Serves one waiter, if it can. */
  serve(request: Request): Served | undefined
  /** Whether a request has what it waits for here, even if its fiber does not know yet: it must not be served again. */
  hasServed(request: Request): boolean
  /** How many bytes are missing for the request now. */
  missing(request: Request): number
  /** Whether anything that is in use now may come back. */
  mayWait(request: Request): boolean
  /** Bytes that may come back to the queue: leased, pending, reserved or charged. */
  countedBytes(): number
  /** Grows with everything that comes back, and changes with the limit. */
  returned(): number
  /** The bytes of the limit that no lease uses. A handler that takes memory and gives it back does not change them. */
  room(): number
  /** How many leases were granted, except to handlers. */
  served(): number
  /** The error of a request that gets nothing here: its time is over, nothing may come back, or it is in a deadlock. */
  outOfMemory(request: Request, waitedMillis?: number, deadlock?: ReadonlyArray<WaitingJob>): GpuError
  /** Called when the queue gets its first waiter and when it loses its last. */
  queueing?(): void
}

/**
 * A queue, as its account and its requests know it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Queue {
  /** Whether the driver has refused a request of this queue since the queue was last empty. */
  readonly isRefused: boolean
  readonly length: number
  readonly account: Account
  enter(request: Request, state: "queued" | "withHandlers", refusedAt?: number): boolean
  tryNow(request: Request): boolean
  serve(): void
  served(request: Request): void
  keepPlace(request: Request): void
  countAtWork(more: number): void
  leave(request: Request): void
  parked(): ReadonlyArray<Request>
  /** The jobs that have what it waits for, while their number is limited after a deadlock. */
  jobs: AdmittedJobs | undefined
  readonly atWork: number
  /** No request in the queue is for fewer bytes. */
  readonly leastBytes: number
  hasOthersAtWork(request: Request): boolean
  holdsBack(request: Request): boolean
  limitJobs(jobs: AdmittedJobs): void
  changes(): number
  hasRoomFor(request: Request): boolean
  promote(request: Request): void
  end(): void
  endRequest(request: Request): void
}

/**
 * What a request asks for, and for whom.
 *
 * @category models
 * @since 0.1.0
 */
export interface Asked {
  /** The kind of memory that it is for. */
  readonly source: RequestSource
  /** The call that made it, for its errors. */
  readonly operation: string
  /** The reservation or exclusive section that it asks for instead of a lease; all its sizes are then the bytes of that. */
  readonly asks: Reservation | undefined
  readonly size: number
  /** The requested size, rounded up to the device's granularity. */
  readonly exactSize: number
  /** The block size that the size policy chooses for it; that of a slab, if it may get a part of one. */
  readonly blockSize: number
  /** The bytes of its part of a slab: its size in whole units. `Infinity` where blocks are not split, and for a reservation. */
  readonly partSize: number
  /** The family of its block; without meaning for a reservation. */
  readonly family: Family
  readonly label: string | undefined
  /** Where it was made, while call sites are tracked. */
  readonly callSite: string | undefined
  readonly owner: RequestOwner
  readonly waitPolicy: WaitPolicy
  /** The budget that it is made under. */
  readonly budget: ChargedBudget | undefined
  /** The accounts that must admit it before it comes to the memory. For a reservation the memory is the last of them. */
  readonly accounts: ReadonlyArray<Account>
  /** The reservation that it is made under. */
  readonly from: Reservation | undefined
  /** The exclusive section in which it is made. */
  readonly section: Reservation | undefined
  /** Allocations that its memory should not be in, if another is free, or one more is possible. */
  readonly apart?: ReadonlyArray<object> | undefined
}

const none: ReadonlyArray<never> = []

let lastNumber = 0

/**
 * The next number of a request.
 *
 * @category functions
 * @since 0.1.0
 */
export const nextNumber = (): number => ++lastNumber

/**
 * The number of a request or a reservation, assigned at the first call.
 *
 * @category functions
 * @since 0.1.0
 */
export const numberOf = (numbered: { number: number }): number =>
  numbered.number === 0 ? numbered.number = nextNumber() : numbered.number

/**
 * One request: what it asks for, and its state.
 *
 * @category models
 * @since 0.1.0
 */
export abstract class Request implements Asking {
  declare readonly source: Asked["source"]
  declare readonly operation: Asked["operation"]
  declare readonly asks: Asked["asks"]
  declare readonly size: Asked["size"]
  declare readonly exactSize: Asked["exactSize"]
  declare readonly blockSize: Asked["blockSize"]
  declare readonly partSize: Asked["partSize"]
  declare readonly family: Asked["family"]
  declare readonly label: Asked["label"]
  declare readonly callSite: Asked["callSite"]
  declare readonly owner: Asked["owner"]
  declare readonly waitPolicy: Asked["waitPolicy"]
  declare readonly budget: Asked["budget"]
  declare readonly accounts: Asked["accounts"]
  declare readonly from: Asked["from"]
  declare readonly section: Asked["section"]
  declare apart: Asked["apart"]
  /** What it uses of its budget and of those around it. */
  declare readonly charge: Charge | undefined
  /** 0 until an observer asks for it. A reservation has a number of its own, besides that of its request. */
  number = 0
  #state: RequestState = "new"
  /** Why it failed. The error is made only when the fiber resumes, since very many may fail together. */
  failure: Failure | undefined = undefined
  /** What it has been granted. */
  granted: unknown = undefined
  /** Whether observers were told that it ends without what it asked for. */
  gaveUp = false

  /** How many of its accounts have admitted it, and whether it has come to the memory behind them. */
  passed = 0
  arrived = false
  /** Bytes of its reservation that it has drawn, and that still count as reserved. */
  drawn = 0
  /** How many of them its queue has added to `PoolState.drawnByWaiting`. */
  waitsWith = 0
  /** Bytes of its reservation that count as pending or leased by now. */
  used = 0
  /** Pending bytes that it owns until the driver is asked; from then on the driver call owns them. */
  pending = 0
  /** Whether it must reclaim what was evicted for it before it asks the driver. */
  reclaimsFirst = false

  /** Its queue, or the last one that it was in. */
  queue: Queue | undefined = undefined
  inQueue = false
  previous: Request | undefined = undefined
  next: Request | undefined = undefined
  /** Its position in the order in which requests came to wait. */
  arrival = 0
  /** How often later requests have bypassed it, those that try to now included. */
  bypasses = 0
  /** It looks for memory by itself, and is counted already as bypassing those before it. */
  isBypassing = false
  /** The queue has served it, and counted it as bypassing those before it. */
  wasServed = false
  /** The driver refused it, so bytes under the limit alone do not help it. */
  wasRefused = false
  /** The epoch in which the driver refused it. */
  seen = 0
  /** Its job has memory while the number of such jobs is limited: it waits ahead of jobs that have none. */
  isOfHolder = false
  /** It has to wait until a job that has memory ends. */
  isHeldBack = false
  /** Resumes its waiting fiber. */
  resume: ((answer: Answer) => void) | undefined = undefined
  /** When it began to wait, in milliseconds, if its wait policy bounds the time. */
  waitingSince: number | undefined = undefined

  /** What was tried, in order. */
  steps: ReadonlyArray<FallbackStep> = none
  /** The block size that the driver is asked for next; 0 until it is chosen. */
  capacity = 0
  /** The policy's block is over a limit of the allocator: only the exact size is asked for. */
  isExactOnly = false
  /** The driver had no memory, and nothing has been freed since. */
  isRefused = false
  /** The epoch in which it last asked the driver, and that of the last call which found no memory. */
  askedAt = -1
  refusedAt = -1
  /** The epoch in which it had tried everything, if the driver refused it in that epoch. */
  exhaustedAt: number | undefined = undefined
  /** The bytes of its driver call under way. */
  asking = 0
  /** The pool's count of freed blocks when memory was last reclaimed for it. */
  reclaimedAt = -1
  /** What the account's handlers have done for it so far. */
  credit: HandlerCredit | undefined = undefined

  constructor(asked: Asked) {
    // One by one: Object.assign would make each waiting request a tenth slower.
    this.source = asked.source
    this.operation = asked.operation
    this.asks = asked.asks
    this.size = asked.size
    this.exactSize = asked.exactSize
    this.blockSize = asked.blockSize
    this.partSize = asked.partSize
    this.family = asked.family
    this.label = asked.label
    this.callSite = asked.callSite
    this.owner = asked.owner
    this.waitPolicy = asked.waitPolicy
    this.budget = asked.budget
    this.accounts = asked.accounts
    this.from = asked.from
    this.section = asked.section
    this.apart = asked.apart
    this.charge = asked.budget === undefined ? undefined : new Charge()
  }

  /**
   * Whether its lease is alone in a slab of its exact size: one of a reservation is. The memory of others beside it would keep the
   * slab, and so the reserved bytes, when it ends; and a part would have more bytes than it draws.
   */
  get isAlone(): boolean {
    return this.partSize < Infinity && this.from !== undefined
  }

  /** The bytes that its lease has of a block that the driver makes. */
  bytesOf(capacity: number): number {
    return Math.min(capacity, this.partSize)
  }

  /** Whether a handler made it, which works for a waiting request: it may neither wait nor ask handlers. */
  abstract get inHandler(): boolean
  /** Whether it and its lease have ended, so that its job no longer has memory through them. */
  abstract get hasEnded(): boolean
  /** What its fiber is resumed with. */
  abstract get answer(): Answer
  /** The keys of the job that waits while it does. */
  abstract get jobKeys(): ReadonlyArray<Key>
  /** The keys of the job that will have the memory of its lease. */
  abstract get memoryKeys(): ReadonlyArray<Key>

  get state(): RequestState {
    return this.#state
  }

  /** Changes the state. Throws for a transition that the table does not have; does nothing if the state is the same. */
  become(state: RequestState): void {
    const before = this.#state
    if (before === state) return
    if (!transitions[before].includes(state)) {
      throw new Error(`PoolMachine: a request that is ${before} becomes ${state}`)
    }
    this.#state = state
    if (this.inQueue) this.queue!.countAtWork(Number(isAtWork(state)) - Number(isAtWork(before)))
  }

  fail(failure: Failure): void {
    this.failure = failure
    this.become("failed")
  }

  /** Whether it waits in a queue to be served. */
  get isWaiting(): boolean {
    return this.#state === "queued" || this.#state === "withHandlers"
  }

  /** Whether it looks for memory by itself. */
  get isAtWork(): boolean {
    return isAtWork(this.#state)
  }

  /** Whether its fiber has ended. */
  get isOver(): boolean {
    return this.#state === "over" || this.#state === "abandoned"
  }

  /** Whether a driver call for it is under way. */
  get isCalling(): boolean {
    return this.#state === "asking" || this.#state === "abandoned"
  }

  /** Whether it has what it asks for, even if its fiber does not know yet. */
  get hasGot(): boolean {
    return this.granted !== undefined || this.asks?.hasBegun === true
  }

  /** Whether its reservation covers all its bytes, so that it need not wait for others. */
  get isCertain(): boolean {
    return this.from !== undefined && this.drawn >= this.exactSize
  }

  /**
   * Whether it skips every queue, and waits only at the head of one: its reservation covers it, or it is made in the running
   * exclusive section, whose effect may have the memory that the queue waits for.
   */
  get goesFirst(): boolean {
    return this.isCertain || this.section?.isOpen === true
  }

  /**
   * Whether it waits at the head of a queue. With a reservation, what it lacks may come back to that at any time, and those behind
   * it may wait for that reservation to end. A reservation that still waits for the driver is open already.
   */
  get waitsFirst(): boolean {
    return this.isOfHolder || this.goesFirst || this.from?.isOpen === true || this.asks?.isOpen === true
  }

  tried(step: FallbackStep): void {
    if (!this.steps.includes(step)) this.steps = [...this.steps, step]
  }

  /** Something was or may have been freed: every step may be tried again. */
  restart(): void {
    this.isRefused = false
    this.capacity = 0
    this.reclaimedAt = -1
  }

  /** Falls back from the policy's block size to the exact size. Returns false if that was tried already, or is the same. */
  shrinkToExact(): boolean {
    if (this.exactSize === this.capacity) return false
    this.capacity = this.exactSize
    this.tried("exact")
    return true
  }

  /**
   * Whether the limit of jobs does not hold it back: its job has memory, never waits while it has some, or reserved beforehand what
   * it needs.
   */
  isExempt(countsReservations: boolean): boolean {
    return this.waitPolicy.onExhausted === "fail" || (this.asks !== undefined && !countsReservations) ||
      this.from?.isOpen === true || this.section?.isOpen === true || this.inHandler || this.exactSize === 0 ||
      this.owner.hasLeases
  }

  /**
   * Draws the bytes that it still lacks from its reservation, as far as that has them. It keeps them for the step that serves it, or
   * while budgets are charged with the rest.
   */
  drawMore(): void {
    const { from } = this
    if (from === undefined || !from.isOpen || this.used > 0) return
    const drawn = from.draw(this.exactSize - this.drawn)
    if (drawn === 0) return
    this.drawn += drawn
    this.charge?.cover(from.budgets, drawn)
  }

  /** Returns the drawn bytes before it waits, so that other requests of its reservation can use them; not while it is charged to budgets. */
  releaseBeforeWait(): void {
    if (this.charge === undefined) this.releaseDrawn()
  }

  /** Returns the drawn bytes that it has not used to its reservation. */
  releaseDrawn(): void {
    const { drawn } = this
    if (drawn === 0) return
    this.drawn = 0
    this.from?.releaseDrawn(drawn)
  }

  /** Counts the drawn bytes as pending or leased from now on. */
  use(): void {
    const { drawn } = this
    if (drawn === 0) return
    this.from?.use(drawn, this.budget?.chain ?? none)
    this.used += drawn
    this.drawn = 0
  }

  /** Undoes `use`, after the driver refused or the block could not be cleared: the bytes count as reserved again. */
  undoUse(): void {
    const { used } = this
    if (used === 0) return
    this.from?.use(-used, this.budget?.chain ?? none)
    this.drawn += used
    this.used = 0
  }
}

/**
 * The error of a request in a closed scope or pool.
 *
 * @category functions
 * @since 0.1.0
 */
export const unavailable = (
  { label, operation, size, source }: Pick<Asked, "label" | "operation" | "size"> & {
    readonly source: Pick<RequestSource, "what">
  },
  why: Released["why"]
): GpuError => makeError(new Released({ operation, label, size, why, what: source.what }))
