/**
 * One request for memory, as the pool's machine knows it: what it asks for, and the one state that it is in.
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
 * - `new`: made; it passes its accounts, or has just come to the memory.
 * - `searching`: looks for memory in the steps of the fallback.
 * - `reclaiming`: waits until the driver has back what was freed for it.
 * - `asking`: the driver works on a call for it.
 * - `refused`: the driver had no memory, and its fiber does not know yet.
 * - `queued`: waits in a queue until it is served.
 * - `withHandlers`: waits in a queue while handlers of the program free memory for it.
 * - `granted`: has what it asked for, whether or not its fiber knows. A reservation for several leases searches again when the
 *   driver has no memory for one of them.
 * - `failed`: gets nothing, whether or not its fiber knows.
 * - `abandoned`: its fiber is gone, and the driver still works for it.
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

/** Whether a request in a queue is at work itself, and keeps its place meanwhile. */
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
  /** The user's service, which errors name. */
  readonly service: string
  readonly what: Released["what"]
  /** Its pool has closed. */
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
 * Who will own the lease: a scope.
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
 * What the fiber of a request that waited is resumed with: it asks the machine what is next, or fails.
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
  /** Whether it leaves the handlers to a request that it is a part of. */
  readonly isPart?: boolean
}

/**
 * What a waiting request got: its lease or its error, a way past the account, or bytes or a try of its own.
 *
 * @category models
 * @since 0.1.0
 */
export type Served = "answered" | "admitted" | "given" | "try"

/**
 * A limit that requests must pass, with a queue of those that wait at it: the memory itself, a budget within it, or the exclusive
 * sections of its programs.
 *
 * @category models
 * @since 0.1.0
 */
export interface Account {
  /** 0 of the memory, below 0 of its exclusive sections; a budget has one that no other has. */
  readonly number: number
  readonly queue: Queue
  /** Whether the program has registered handlers here. The machine says when they are asked; its shell asks them. */
  hasHandlers: boolean
  /** Whether the request is past it. */
  hasAdmitted(request: Request): boolean
  /** Lets a request past it if there is room for it now. */
  tryAdmit(request: Request): boolean
  /** Whether any waiter in the queue could be served. Cheap, since every release calls it while a request waits. */
  mayServe(): boolean
  /** Serves one waiter, if that can be. */
  serve(request: Request): Served | undefined
  /** Whether a request has what it waits for here, whether or not its fiber has heard of it: it must not be served again. */
  hasServed(request: Request): boolean
  /** How many bytes are missing for the request now. */
  missing(request: Request): number
  /** Whether anything is in use now that may come back. */
  mayWait(request: Request): boolean
  /** Bytes that may come back to those in the queue: leased, pending, reserved or charged. */
  countedBytes(): number
  /** Grows with everything that comes back, and changes with the limit. */
  returned(): number
  /** The bytes of the limit that no lease has; what a handler takes and gives back leaves them as they were. */
  room(): number
  /** How many leases were granted, but for those that handlers took. */
  served(): number
  /** The error of a request that gets nothing here: its time is over, nothing may come back, or jobs wait for each other. */
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
  /** The driver refused one of those in the queue, or one who has stood among them. */
  readonly isRefused: boolean
  readonly length: number
  readonly account: Account
  enter(request: Request, state: "queued" | "withHandlers", refusedAt?: number): boolean
  tryNow(request: Request): boolean
  isAnswered(request: Request): boolean
  serve(): void
  served(request: Request): void
  keepPlace(request: Request): void
  countAtWork(more: number): void
  leave(request: Request): void
  parked(): ReadonlyArray<Request>
  /** The jobs that have what it waits for, when some have waited for each other: then fewer may. */
  jobs: AdmittedJobs | undefined
  readonly atWork: number
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
  /** The reservation or the exclusive section that it asks for, instead of a lease: then all its sizes are the bytes of that. */
  readonly asks: Reservation | undefined
  readonly size: number
  /** The requested size, rounded up to the device's granularity. */
  readonly exactSize: number
  /** The block that the size policy makes of it. */
  readonly blockSize: number
  /** What its block has in common with others; without meaning for a reservation. */
  readonly family: Family
  readonly label: string | undefined
  /** Where it was made, while call sites are tracked. */
  readonly callSite: string | undefined
  readonly owner: RequestOwner
  readonly waitPolicy: WaitPolicy
  /** The budget that it is made under. */
  readonly budget: ChargedBudget | undefined
  /** What it must pass before it comes to the memory; a reservation has that as its last one. */
  readonly accounts: ReadonlyArray<Account>
  /** The reservation that it is made under. */
  readonly from: Reservation | undefined
  /** The exclusive section in which it is made. */
  readonly section: Reservation | undefined
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
 * The number of a request or a reservation, which it has from the first question on.
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
  declare readonly family: Asked["family"]
  declare readonly label: Asked["label"]
  declare readonly callSite: Asked["callSite"]
  declare readonly owner: Asked["owner"]
  declare readonly waitPolicy: Asked["waitPolicy"]
  declare readonly budget: Asked["budget"]
  declare readonly accounts: Asked["accounts"]
  declare readonly from: Asked["from"]
  declare readonly section: Asked["section"]
  /** What it uses of its budget and of those around it. */
  declare readonly charge: Charge | undefined
  /** 0 until somebody who observes asks for it; a reservation has one for itself and the request for it. */
  number = 0
  #state: RequestState = "new"
  /** Why it failed: made when its fiber hears of it, since very many may fail together. */
  failure: Failure | undefined = undefined
  /** What it has been granted. */
  granted: unknown = undefined
  /** The program wants it no more, and who observes knows. */
  gaveUp = false

  /** How many of its accounts it has passed, and whether it has come to the memory behind them. */
  passed = 0
  arrived = false
  /** Bytes of its reservation that it has drawn, and that still count as reserved. */
  drawn = 0
  /** How many of them its queue has added to `PoolState.drawnByWaiting`. */
  waitsWith = 0
  /** Bytes of its reservation that count as pending or leased by now. */
  used = 0
  /** Bytes of the limit that are certain to it, until the driver is asked. */
  pending = 0
  /** Whether the driver must have back what was evicted for it before it is asked. */
  reclaimsFirst = false

  /** The queue in which it stands, or stood last. */
  queue: Queue | undefined = undefined
  inQueue = false
  previous: Request | undefined = undefined
  next: Request | undefined = undefined
  previousOfOwner: Request | undefined = undefined
  nextOfOwner: Request | undefined = undefined
  /** Its place among all requests. */
  arrival = 0
  /** How often a later request has bypassed it, or is trying to now. */
  bypasses = 0
  /** It is at work, and those before it are counted as bypassed already. */
  isBypassing = false
  /** It was given something, and those before it were counted as bypassed for that. */
  wasServed = false
  /** The driver refused it: bytes under the limit are of no use to it. */
  wasRefused = false
  /** The epoch of that. */
  seen = 0
  /** Its job has memory, and only so many jobs may: it stands before those of jobs that have none. */
  isOfHolder = false
  /** It has to wait until a job ends that has memory. */
  isHeldBack = false
  /** Resumes its fiber, which waits. */
  resume: ((answer: Answer) => void) | undefined = undefined
  /** When it began to wait, in milliseconds, when its waitPolicy has an end. */
  waitingSince: number | undefined = undefined

  /** What was tried, in order. */
  steps: ReadonlyArray<FallbackStep> = none
  /** The block size that the driver is asked for next; 0 until it is chosen. */
  capacity = 0
  /** The policy's block is over a limit that its allocator has, and is asked for no more. */
  isExactOnly = false
  /** The driver had no memory, and nothing was freed since. */
  isRefused = false
  /** The epochs in which it asked the driver last, and in which it did so when that had no memory. */
  askedAt = -1
  refusedAt = -1
  /** The epoch in which it had tried everything, if the driver has refused it in that. */
  exhaustedAt: number | undefined = undefined
  /** Bytes that the driver is asked for. */
  asking = 0
  /** The pool's count of freed blocks when memory was last reclaimed for it. */
  reclaimedAt = -1
  /** What the handlers that it asked last have done for it. */
  credit: HandlerCredit | undefined = undefined

  constructor(asked: Asked) {
    // One by one: to assign all of them at once costs each request that waits a tenth of its time.
    this.source = asked.source
    this.operation = asked.operation
    this.asks = asked.asks
    this.size = asked.size
    this.exactSize = asked.exactSize
    this.blockSize = asked.blockSize
    this.family = asked.family
    this.label = asked.label
    this.callSite = asked.callSite
    this.owner = asked.owner
    this.waitPolicy = asked.waitPolicy
    this.budget = asked.budget
    this.accounts = asked.accounts
    this.from = asked.from
    this.section = asked.section
    this.charge = asked.budget === undefined ? undefined : new Charge()
  }

  /** It is made by a handler that works for a request which waits: it may neither wait nor ask handlers. */
  abstract get inHandler(): boolean
  /** Whether neither it nor its lease keeps its job among those that have memory. */
  abstract get hasEnded(): boolean
  /** What its fiber is resumed with. */
  abstract get answer(): Answer
  /** Who waits when it does. */
  abstract get jobKeys(): ReadonlyArray<Key>
  /** Whose memory its lease will be. */
  abstract get memoryKeys(): ReadonlyArray<Key>

  get state(): RequestState {
    return this.#state
  }

  /** Every change of the state, but for those that are none. */
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

  /** In a queue it waits to be served. */
  get isWaiting(): boolean {
    return this.#state === "queued" || this.#state === "withHandlers"
  }

  /** It looks for memory itself. */
  get isAtWork(): boolean {
    return isAtWork(this.#state)
  }

  /** Its fiber is gone. */
  get isOver(): boolean {
    return this.#state === "over" || this.#state === "abandoned"
  }

  /** The driver works on a call for it. */
  get isCalling(): boolean {
    return this.#state === "asking" || this.#state === "abandoned"
  }

  /** Whether it has got what it asks for, as its fiber may not know yet. */
  get hasGot(): boolean {
    return this.granted !== undefined || this.asks?.hasBegun === true
  }

  /** Whether its reservation covers it whole, so that it need not wait for others. */
  get isCertain(): boolean {
    return this.from !== undefined && this.drawn >= this.exactSize
  }

  /**
   * Whether it passes every queue, and waits at its head: it is certain, or it is made in the exclusive section of the pool, whose
   * effect holds memory that the queue may wait for.
   */
  get goesFirst(): boolean {
    return this.isCertain || this.section?.isOpen === true
  }

  /**
   * Whether it waits at the head of a queue: what it lacks may come back to its own reservation at any time, and those behind may
   * wait for that reservation to end. One that asks for a reservation has it already when it waits for the driver.
   */
  get waitsFirst(): boolean {
    return this.isOfHolder || this.goesFirst || this.from?.isOpen === true || this.asks?.isOpen === true
  }

  tried(step: FallbackStep): void {
    if (!this.steps.includes(step)) this.steps = [...this.steps, step]
  }

  /** Something was freed, or may have been: everything is worth trying again. */
  restart(): void {
    this.isRefused = false
    this.capacity = 0
    this.reclaimedAt = -1
  }

  /** Falls back from the block of its policy to the requested size. False when that was tried, or is the same. */
  shrinkToExact(): boolean {
    if (this.exactSize === this.capacity) return false
    this.capacity = this.exactSize
    this.tried("exact")
    return true
  }

  /**
   * Whether it is served however many jobs have memory: its job has some, or does not wait while it has some, or has said beforehand
   * what it needs.
   */
  isExempt(countsReservations: boolean): boolean {
    return this.waitPolicy.onExhausted === "fail" || (this.asks !== undefined && !countsReservations) ||
      this.from?.isOpen === true || this.section?.isOpen === true || this.inHandler || this.exactSize === 0 ||
      this.owner.hasLeases
  }

  /**
   * Draws the bytes that it still lacks from its reservation, as far as that has them: for the step that serves it, or while budgets
   * are charged with the rest.
   */
  drawMore(): void {
    const { from } = this
    if (from === undefined || !from.isOpen || this.used > 0) return
    const drawn = from.draw(this.exactSize - this.drawn)
    if (drawn === 0) return
    this.drawn += drawn
    this.charge?.cover(from.budgets, drawn)
  }

  /** One that waits keeps nothing from the other requests of its reservation. */
  rest(): void {
    if (this.charge === undefined) this.undraw()
  }

  /** Gives the drawn bytes that it has not used back to its reservation. */
  undraw(): void {
    const { drawn } = this
    if (drawn === 0) return
    this.drawn = 0
    this.from?.undraw(drawn)
  }

  /** The bytes that it has drawn are now pending or leased. */
  use(): void {
    const { drawn } = this
    if (drawn === 0) return
    this.from?.use(drawn, this.budget?.chain ?? none)
    this.used += drawn
    this.drawn = 0
  }

  /** The driver refused, or the queue failed to clear: the bytes that it has drawn are reserved again. */
  unuse(): void {
    const { used } = this
    if (used === 0) return
    this.from?.use(-used, this.budget?.chain ?? none)
    this.drawn += used
    this.used = 0
  }
}

/**
 * The error of asking for a lease in a scope or pool that is closed.
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
