/**
 * A line of requests that wait for memory: first come, first served, within a bound on overtaking.
 *
 * A release serves the line in the same step, so that no other request can take the memory first. A served waiter
 * continues in a task of its own: resuming it inside the release would nest fibers as deep as the line is long.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Scheduler from "effect/Scheduler"
import { type GpuError, isGpuError, type Rung, type WaitingJob } from "../../../domain/GpuError.ts"
import type { GaveUp } from "../../../domain/pool/PoolEvent.ts"
import { type AskedMemory, traced } from "../../calls/Tracing.ts"
import type { Emitter } from "./Emitter.ts"
import type { Shortage } from "./Help.ts"
import { type LeaseRequest, rest, waitsFirst } from "./LeaseRequest.ts"
import { type Answer, type Line, type Outcome, tryAgain, Waiter as WaiterOf } from "./Waiter.ts"

export type Waiter = WaiterOf<LeaseRequest>

/** The lines of one pool that are not empty, and the waiters with an answer that they have not read yet. */
export class WaitLines {
  readonly filled = new Set<WaitLine>()
  /** The memory that all of them wait for. */
  readonly memory: AskedMemory
  /** Told when a line gets its first waiter. */
  onFilled: (() => void) | undefined = undefined
  /** Told of those who wait, while somebody listens. */
  events: Emitter | undefined = undefined
  /** What counts the requests in all lines. */
  readonly counter: { waiters: number }
  /** Why no request may wait for a lease any more. */
  readonly ended: (request: LeaseRequest) => Effect.Effect<never, GpuError> | undefined
  #arrivals = 0
  /** The waiters to resume: not empty while a task for them is scheduled. So many of them are resumed. */
  #told: Array<Waiter> = []
  #heard = 0

  readonly #dispatcher: Scheduler.SchedulerDispatcher

  /** Waiters are resumed by the pool's own scheduler: one of theirs may be slow. */
  constructor(
    counter: { waiters: number },
    ended: WaitLines["ended"],
    scheduler: Scheduler.Scheduler,
    memory: AskedMemory
  ) {
    this.memory = memory
    this.counter = counter
    this.ended = ended
    this.#dispatcher = scheduler.makeDispatcher()
  }

  fill(line: WaitLine): void {
    this.filled.add(line)
    this.onFilled?.()
  }

  /** It ends without what it asked for. */
  giveUp(request: LeaseRequest, why: GaveUp["why"]): void {
    if (request.gaveUp) return
    request.gaveUp = true
    this.events?.gaveUp(request, why)
  }

  /** Why a request fails that is in no line: programs that trace see it where there was no memory, or a limit was too low. */
  refuse(request: LeaseRequest, why: Effect.Effect<never, GpuError>): Effect.Effect<never, GpuError> {
    return isGpuError(why) && refusals.has(why.reason._tag)
      ? traced(request.maker.context, why, "refused", request, this.memory)
      : why
  }

  nextArrival(): number {
    return this.#arrivals++
  }

  /** Ends every wait that should not go on. */
  end(): void {
    // A line that this empties leaves the set meanwhile, and none comes in.
    for (const line of this.filled) line.end()
  }

  /** Serves the waiters that were behind others that are gone. */
  serve(): void {
    for (const line of Array.from(this.filled)) line.serve()
  }

  tell(waiter: Waiter, answer: Answer): void {
    waiter.answer = answer
    // Without one it is its own fiber that serves the line, and takes the answer in this very step.
    if (waiter.resume !== undefined && this.#told.push(waiter) === 1) this.#schedule()
  }

  #schedule(): void {
    this.#dispatcher.scheduleTask(this.#resumeTold, 0)
  }

  /** Fibers run from here until they suspend; waiters that they serve are resumed in a later task. */
  readonly #resumeTold = (): void => {
    const end = Math.min(this.#told.length, this.#heard + mostToldAtOnce)
    try {
      while (this.#heard < end) {
        const waiter = this.#told[this.#heard++]!
        const { resume } = waiter
        // A request that was interrupted, or timed out, has ended already.
        const answer = waiter.take()
        if (answer !== undefined) resume?.(answer)
      }
    } finally {
      // An observer of a fiber may throw at its end; the other waiters are resumed all the same.
      if (2 * this.#heard >= this.#told.length) {
        this.#told = this.#told.slice(this.#heard)
        this.#heard = 0
      }
      if (this.#told.length > 0) this.#schedule()
    }
  }
}

const refusals: ReadonlySet<GpuError["reason"]["_tag"]> = new Set(["OutOfMemory", "LimitExceeded"])

/** Between so many the event loop turns: the end of a pool, or a limit that is raised, may answer very many. */
const mostToldAtOnce = 256

/** How many of a line are looked at for one that can be served. */
const window = 64

/** Whose line it is: a pool's memory, a budget, or the turns of jobs. */
export interface LineOwner extends Shortage {
  /** Whether any waiter in the line could be served, as far as that is known synchronously. */
  readonly mayServe: (line: WaitLine) => boolean
  /** Serves one waiter if its turn can be now. */
  readonly serve: (waiter: Waiter) => Answer | undefined
  /** What a request has been given, whether or not its fiber has heard of it: it must not be served again. */
  readonly given: (request: LeaseRequest) => Answer | undefined
  /** Bytes that may come back to those in line: leased, reserved, set aside or charged. */
  readonly countedBytes: () => number
  /** Grows with everything that comes back, and changes with the limit. */
  readonly returned: () => number
  /** The error of a request that has waited for so long, or that waits for jobs that wait for it. */
  readonly outOfMemory: (
    request: LeaseRequest,
    rungs: ReadonlySet<Rung>,
    waitedMillis?: number,
    standstill?: ReadonlyArray<WaitingJob>
  ) => GpuError
  /** Told when the line gets its first waiter and when it loses its last. */
  readonly queueing?: (filled: boolean) => void
}

/** The rungs of a request that only waited. */
const waitRungs: ReadonlySet<Rung> = new Set(["wait"])

export class WaitLine implements Line<LeaseRequest> {
  length = 0
  /** How many waiters in the line try for themselves. */
  trying = 0
  /** The driver refused one of those in line, or one who has stood among them. */
  isRefused = false
  /** No request in line is for fewer bytes. */
  leastBytes = Infinity
  readonly #owner: LineOwner
  readonly #lines: WaitLines
  readonly #maxOvertakes: number
  #first: Waiter | undefined = undefined
  #last: Waiter | undefined = undefined
  /** The last of those at the head that go first. */
  #lastFirst: Waiter | undefined = undefined

  constructor(owner: LineOwner, lines: WaitLines, maxOvertakes: number) {
    this.#owner = owner
    this.#lines = lines
    this.#maxOvertakes = maxOvertakes
  }

  /**
   * Waits for an answer. An interruption does not remove the request: its caller ends it, with everything that it got.
   */
  wait(request: LeaseRequest, refusal: { readonly seen: number } | undefined): Answer {
    return Effect.callback<Outcome, GpuError>((resume) => {
      const answer = this.enter(request, refusal)
      if (answer !== undefined) return resume(answer)
      if (request.waiter !== undefined) request.waiter.resume = resume
      this.#lines.events?.waiting(request)
    })
  }

  /**
   * What a request in line got meanwhile, or why it should wait no longer. A caller must act on `undefined` in the same
   * step.
   */
  answerOf(request: LeaseRequest): Answer | undefined {
    return request.waiter?.take() ?? this.#owner.given(request) ?? this.#lines.ended(request)
  }

  /** Takes a place in line, unless the request is served in this step, where it may overtake others. */
  enter(
    request: LeaseRequest,
    refusal: { readonly seen: number } | undefined,
    isHelped = false
  ): Answer | undefined {
    // It may have been served, or its waiting ended, since it was looked at last.
    const answer = this.answerOf(request)
    if (answer !== undefined) return answer
    const waiter = this.#place(request, refusal)
    waiter.isHelped = isHelped
    this.serve()
    return waiter.take()
  }

  /** The same for a request that does not stay. */
  tryNow(request: LeaseRequest): Answer | undefined {
    const answer = this.enter(request, undefined)
    if (answer === undefined && request.waiter !== undefined) this.leave(request.waiter)
    return answer
  }

  /** Serves the waiters that it can, in order. */
  serve(): void {
    // How often the waiters that are left may still be overtaken.
    let passesLeft = Infinity
    let waiter = this.#first
    for (let looked = 0; waiter !== undefined && looked < window && this.#owner.mayServe(this);) {
      const next: Waiter | undefined = waiter.next
      const answer = waiter.state === "waiting" ? this.#owner.serve(waiter) : undefined
      if (answer !== undefined) {
        this.#answer(waiter, answer)
        passesLeft--
      }
      if (waiter.state !== "out") {
        looked++
        passesLeft = Math.min(passesLeft, this.#maxOvertakes - waiter.passes)
      }
      if (passesLeft <= 0) return
      // A device that is lost in the middle of this answers all of them.
      waiter = next === undefined || next.state === "out" ? undefined : next
    }
  }

  /** A waiter that tried for itself has what it wanted. */
  served(waiter: Waiter): void {
    if (waiter.state === "out") return
    const tried = waiter.state === "trying"
    if (!waiter.passing) this.#passOthers(waiter, 1)
    waiter.passing = false
    waiter.wasServed = true
    this.leave(waiter, true)
    // The next waiter that the driver refused may try now, also before the first one's lease ends.
    if (tried) this.serve()
  }

  /** A waiter that was given bytes, and refused by the driver, is in line again while it tries what else there is. */
  keepPlace({ waiter }: LeaseRequest): void {
    // A place in the line of a budget is past, and one that was never served has none to keep.
    if (waiter?.line !== this || (waiter.state === "out" && !waiter.wasServed)) return
    if (waiter.state === "out") {
      this.#insert(waiter)
      waiter.passing = true
    }
    this.#setState(waiter, "trying")
  }

  /** Whether others in line are at work, who may get something or leave what there is. */
  hasOthersTrying({ waiter }: LeaseRequest): boolean {
    return this.trying > (waiter?.line === this && waiter.state === "trying" ? 1 : 0)
  }

  leave(waiter: Waiter, served = false): void {
    if (waiter.state === "out") return
    this.#stopPassing(waiter)
    this.#unlink(waiter)
    this.#setState(waiter, "out")
    waiter.request.list.removeAwaiting(waiter)
    this.#lines.events?.waited(waiter.request, served)
    this.#lines.counter.waiters--
    this.length--
    if (this.length === 0) this.#emptied()
  }

  /** Those that do nothing but wait. */
  parked(): ReadonlyArray<Waiter> {
    const parked: Array<Waiter> = []
    for (let waiter = this.#first; waiter !== undefined; waiter = waiter.next) {
      if (waiter.state === "waiting" && waiter.resume !== undefined) parked.push(waiter)
    }
    return parked
  }

  countedBytes(): number {
    return this.#owner.countedBytes()
  }

  returned(): number {
    return this.#owner.returned()
  }

  /** Whether a request would fit if it were the first in line. */
  hasRoomFor({ drawn, exactSize }: LeaseRequest): boolean {
    return exactSize - drawn <= this.#owner.room()
  }

  /** Puts a waiter at the head: it holds what all others wait for, so they can only gain by it. */
  promote(waiter: Waiter): void {
    const first = this.#first
    if (waiter.state === "out" || first === undefined || first === waiter) return
    this.#unlink(waiter)
    waiter.next = first
    first.previous = waiter
    this.#first = waiter
    this.#lines.events?.waiting(waiter.request)
  }

  /** Ends the wait of a request that waits for others which wait for it. */
  fail(waiter: Waiter, jobs: ReadonlyArray<WaitingJob>): void {
    const error = this.#owner.outOfMemory(waiter.request, waitRungs, undefined, jobs)
    this.leave(waiter)
    this.#lines.tell(waiter, error)
    this.serve()
  }

  /** Ends every wait that should not go on. */
  end(): void {
    let waiter = this.#first
    while (waiter !== undefined) {
      const next: Waiter | undefined = waiter.next
      this.endWaiter(waiter)
      waiter = next
    }
  }

  /** Answers a waiter if it should wait no longer; one that is at work leaves the line and sees for itself. */
  endWaiter(waiter: Waiter): void {
    const problem = this.#lines.ended(waiter.request)
    if (problem === undefined) return
    const { request, state } = waiter
    if (request.list.closed) this.#lines.giveUp(request, "scopeClosed")
    else if (state === "waiting" && isGpuError(problem) && problem.reason._tag === "LimitExceeded") {
      this.#lines.giveUp(request, "limitExceeded")
    }
    this.leave(waiter)
    if (state === "waiting") this.#lines.tell(waiter, problem)
  }

  #answer(waiter: Waiter, answer: Answer): void {
    if (answer === tryAgain) {
      this.#setState(waiter, "trying")
      this.#passOthers(waiter, 1)
      waiter.passing = true
    } else {
      this.served(waiter)
    }
    this.#lines.tell(waiter, answer)
  }

  #place(request: LeaseRequest, refusal: { readonly seen: number } | undefined): Waiter {
    const known = request.waiter
    rest(request)
    const waiter = known?.line === this ? known : new WaiterOf(this, request, this.#lines.nextArrival())
    request.waiter = waiter
    if (waiter.state === "out") this.#insert(waiter)
    this.#stopPassing(waiter)
    this.#setState(waiter, "waiting")
    waiter.refused = refusal !== undefined
    if (waiter.refused) this.isRefused = true
    waiter.seen = refusal?.seen ?? 0
    return waiter
  }

  /** Behind all who arrived before it, unless it goes first. One that was in line before mostly belongs near its head. */
  #insert(waiter: Waiter): void {
    let next: Waiter | undefined = undefined
    if (waitsFirst(waiter.request)) {
      const before = this.#lastFirst
      next = before !== undefined && waitsFirst(before.request) ? before.next : this.#first
      while (next !== undefined && waitsFirst(next.request)) next = next.next
      this.#lastFirst = waiter
    } else if (this.#last !== undefined && this.#last.arrival > waiter.arrival) {
      next = this.#first
      while (next !== undefined && next.arrival < waiter.arrival) next = next.next
    }
    const previous: Waiter | undefined = next === undefined ? this.#last : next.previous
    waiter.previous = previous
    waiter.next = next
    if (previous === undefined) this.#first = waiter
    else previous.next = waiter
    if (next === undefined) this.#last = waiter
    else next.previous = waiter
    waiter.request.list.addAwaiting(waiter)
    this.#lines.counter.waiters++
    // Its reservation may pay for all of it.
    const bytes = waiter.request.from === undefined ? waiter.request.exactSize : 0
    this.leastBytes = Math.min(this.leastBytes, bytes)
    this.length++
    if (this.length > 1) return
    this.#lines.fill(this)
    this.#owner.queueing?.(true)
  }

  #unlink(waiter: Waiter): void {
    const { next, previous } = waiter
    if (this.#lastFirst === waiter) this.#lastFirst = previous
    if (next === undefined) this.#last = previous
    else next.previous = previous
    if (previous === undefined) this.#first = next
    else previous.next = next
    waiter.next = undefined
    waiter.previous = undefined
  }

  #emptied(): void {
    this.leastBytes = Infinity
    this.isRefused = false
    this.#lines.filled.delete(this)
    this.#owner.queueing?.(false)
  }

  #setState(waiter: Waiter, state: Waiter["state"]): void {
    if (waiter.state === "trying") this.trying--
    if (state === "trying") this.trying++
    waiter.state = state
  }

  /** It tried, and got nothing. */
  #stopPassing(waiter: Waiter): void {
    if (waiter.passing) this.#passOthers(waiter, -1)
    waiter.passing = false
  }

  #passOthers(waiter: Waiter, times: 1 | -1): void {
    for (let other = waiter.previous; other !== undefined; other = other.previous) {
      other.passes = Math.max(0, other.passes + times)
    }
  }
}
