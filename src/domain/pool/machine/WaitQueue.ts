/**
 * A queue of requests that wait at an account: first come, first served, within a bound on bypassing.
 *
 * A release serves the queue in the same step, so that no other request can take the memory first. The fiber of a served request
 * resumes in a later task: resuming it inside the release would nest fibers as deep as the queue is long.
 *
 * @since 0.1.0
 */
import type { AdmittedJobs } from "./HoldingJobs.ts"
import type { MakeQueue, PoolState } from "./PoolState.ts"
import type { Account, Queue, Request, Served } from "./Request.ts"

/** How many requests at the head are looked at for one that can be served. */
const window = 64

/**
 * The requests that wait at one account, in the order in which they are served.
 *
 * @category models
 * @since 0.1.0
 */
export class WaitQueue implements Queue {
  length = 0
  /** How many requests in the queue look for memory themselves. */
  atWork = 0
  /** Whether the driver has refused a request of this queue since the queue was last empty. */
  isRefused = false
  leastBytes = Infinity
  /** The jobs that have what it waits for, while their number is limited after a deadlock. */
  jobs: AdmittedJobs | undefined = undefined
  /** How often a request in the queue began to look for memory by itself. */
  #tries = 0
  readonly account: Account
  readonly #state: PoolState
  readonly #maxBypasses: number
  #first: Request | undefined = undefined
  #last: Request | undefined = undefined
  /** The last of the requests at the head that wait first. */
  #lastFirst: Request | undefined = undefined

  constructor(account: Account, state: PoolState, maxBypasses: number) {
    this.account = account
    this.#state = state
    this.#maxBypasses = maxBypasses
  }

  /**
   * Puts a request in the queue, unless it can be served in this step, perhaps by bypassing others. `refusedAt` is the epoch in which
   * the driver refused it. Returns true if it waits now; false if it was served, or may wait no longer.
   */
  enter(request: Request, state: "queued" | "withHandlers", refusedAt?: number): boolean {
    // Since its last step it may have been served, or its wait ended.
    if (this.#state.isAnswered(request, this.account)) return false
    this.#place(request, state, refusedAt)
    this.serve()
    return request.isWaiting
  }

  /** The same for a request that does not stay: if it was not served it leaves, in the state that it had. Returns whether it was served. */
  tryNow(request: Request): boolean {
    const { state } = request
    const isAlone = this.length === 0
    if (!this.enter(request, "queued")) {
      // Where no other waits, it has no place that it could keep.
      if (isAlone) request.wasServed = false
      return true
    }
    this.leave(request)
    request.become(state)
    return false
  }

  /** Serves each request that it can, in order. */
  serve(): void {
    // How often the requests passed over so far may still be bypassed.
    let bypassesLeft = Infinity
    let request = this.#first
    this.jobs?.lookAgain()
    for (let looked = 0; request !== undefined && looked < window && this.#mayServe();) {
      const next: Request | undefined = request.next
      // Requests before an open reservation may wait for its bytes, so no bound keeps it from trying.
      const mayTry = request.isWaiting && (bypassesLeft > 0 || request.asks?.isOpen === true)
      const served = mayTry ? this.#serve(request) : undefined
      if (request.state === "queued") this.#countDrawn(request, request.drawn)
      if (served !== undefined) {
        this.#answer(request, served)
        bypassesLeft--
      }
      if (request.inQueue) {
        looked++
        bypassesLeft = Math.min(bypassesLeft, this.#maxBypasses - request.bypasses)
      }
      if (bypassesLeft <= 0 && this.#state.reservations.size === 0) return
      // If the device is lost meanwhile, all requests have an answer and have left the queue.
      request = next?.inQueue === true && next.queue === this ? next : undefined
    }
  }

  /** Whether any request may be served. One that the limit of jobs no longer holds back may need the handlers. */
  #mayServe(): boolean {
    return this.account.mayServe() || (this.jobs !== undefined && this.account.hasHandlers)
  }

  #serve(request: Request): Served | undefined {
    if (this.jobs === undefined && !request.isHeldBack) return this.account.serve(request)
    if (this.#holdsBack(request)) {
      request.isHeldBack = true
      return undefined
    }
    const served = this.account.serve(request)
    if (served !== undefined || !request.isHeldBack) return served
    request.isHeldBack = false
    // While it was held back it could not ask the handlers.
    return this.account.hasHandlers ? "try" : undefined
  }

  /**
   * Whether a request has to wait until a job that has memory ends, because its own job has none and as many jobs have memory as may.
   * If it has not to wait, its job counts as one with memory from then on.
   */
  holdsBack(request: Request): boolean {
    this.jobs?.lookAgain()
    return this.#holdsBack(request)
  }

  #holdsBack(request: Request): boolean {
    const { jobs } = this
    if (jobs === undefined) return false
    if (jobs.isOver(this.length === 0)) {
      this.limitJobs(undefined)
      return false
    }
    return !jobs.admit(request, !request.isExempt(jobs.countsReservations))
  }

  /** Limits the jobs that may have what the queue waits for, after a deadlock; with `undefined`, no longer. */
  limitJobs(jobs: AdmittedJobs | undefined): void {
    this.jobs = jobs
    if (jobs !== undefined) jobs.answered = (answer) => this.#state.observer?.found?.("jobs", Number(answer))
    this.account.queueing?.()
  }

  /** A request in the queue has what it wanted: it leaves, and those before it count as bypassed. */
  served(request: Request): void {
    if (!request.inQueue) return
    const { isAtWork } = request
    if (!request.isBypassing) this.#bypassOthers(request, 1)
    request.isBypassing = false
    request.wasServed = true
    this.leave(request, true)
    // The next request that the driver refused may try now.
    if (isAtWork) this.serve()
  }

  /** Puts a request, which the queue served with bytes and the driver then refused, back in its place while it tries the other steps. */
  keepPlace(request: Request): void {
    // It has no place to keep if its last queue was another one, a budget's, or if it never waited.
    if (request.queue !== this || (!request.inQueue && !request.wasServed)) return
    if (!request.inQueue) {
      this.#insert(request)
      request.isBypassing = true
    }
    request.become("searching")
  }

  /** Whether others in the queue look for memory by themselves: they may leave some to this request. */
  hasOthersAtWork(request: Request): boolean {
    return this.atWork > (request.inQueue && request.queue === this && request.isAtWork ? 1 : 0)
  }

  /** A request in the queue begins (1) or ceases (-1) to look for memory by itself. */
  countAtWork(more: number): void {
    this.atWork += more
    if (more > 0) this.#tries++
  }

  leave(request: Request, wasServed = false): void {
    if (!request.inQueue) return
    this.#stopBypassing(request)
    this.#countDrawn(request, 0)
    this.#unlink(request)
    if (request.isAtWork) this.atWork--
    request.inQueue = false
    request.owner.removeAwaiting(request)
    this.#state.observer?.waited(request, wasServed)
    this.#state.core.waiters--
    this.length--
    if (this.length === 0) this.#emptied()
  }

  /** The requests that only wait: without handlers, and not at work. */
  parked(): ReadonlyArray<Request> {
    const parked: Array<Request> = []
    for (let request = this.#first; request !== undefined; request = request.next) {
      if (request.state === "queued") parked.push(request)
    }
    return parked
  }

  /** Changes when memory comes back to it, and when a request in it begins to look for memory by itself. */
  changes(): number {
    return this.account.returned() + this.#tries
  }

  /** Whether a request would fit if it were the first in the queue. */
  hasRoomFor({ drawn, exactSize }: Request): boolean {
    return exactSize - drawn <= this.account.room()
  }

  /** Puts a request at the head. Its job has memory that the others wait for, so they only gain by it. */
  promote(request: Request): void {
    const first = this.#first
    request.isOfHolder = true
    if (!request.inQueue || first === undefined || first === request) return
    this.#unlink(request)
    request.next = first
    first.previous = request
    this.#first = request
    this.#state.observer?.waiting(request)
  }

  /** Ends the waits of requests that may wait no longer. */
  end(): void {
    let request = this.#first
    while (request !== undefined) {
      const next: Request | undefined = request.next
      this.endRequest(request)
      request = next
    }
  }

  /** Ends the wait of a request if it may wait no longer. One at work only leaves the queue: its own next step fails it. */
  endRequest(request: Request): void {
    const failure = this.#state.whyEnded(request)
    if (failure === undefined) return
    const { isWaiting } = request
    if (request.owner.closed) this.#state.giveUp(request, "scopeClosed")
    else if (isWaiting && this.#state.isTooLarge(request)) this.#state.giveUp(request, "limitExceeded")
    this.leave(request)
    if (!isWaiting) return
    request.fail(failure)
    this.#state.answered(request)
  }

  #answer(request: Request, served: Served): void {
    // Freeing blocks for it may have found the device lost, or clearing its block may have failed: it stays failed.
    const hasFailed = request.state === "failed"
    if (served === "try" && !hasFailed) {
      request.become("searching")
      request.restart()
      this.#bypassOthers(request, 1)
      request.isBypassing = true
    } else {
      this.served(request)
      if (served !== "answered" && !hasFailed) request.become(served === "admitted" ? "new" : "searching")
    }
    this.#state.answered(request)
  }

  #place(request: Request, state: "queued" | "withHandlers", refusedAt: number | undefined): void {
    request.releaseBeforeWait()
    if (request.queue !== this) {
      request.queue = this
      request.arrival = this.#state.arrivals++
      request.bypasses = 0
      request.isBypassing = false
      request.wasServed = false
    }
    if (this.jobs?.has(request.jobKeys) === true) request.isOfHolder = true
    if (!request.inQueue) this.#insert(request)
    this.#stopBypassing(request)
    request.become(state)
    // A request with handlers may end when they answer, and then releases its bytes: others may wait for them.
    this.#countDrawn(request, state === "queued" ? request.drawn : 0)
    request.wasRefused = refusedAt !== undefined
    if (request.wasRefused) this.isRefused = true
    request.seen = refusedAt ?? 0
  }

  /**
   * Inserts a request behind all that arrived before it, unless it waits first. It searches from the head, where a request that
   * returns mostly belongs.
   */
  #insert(request: Request): void {
    const { waitsFirst } = request
    let next: Request | undefined = undefined
    if (waitsFirst || (this.#last !== undefined && this.#last.arrival > request.arrival)) {
      const before = this.#lastFirst
      next = before?.waitsFirst === true ? before.next : this.#first
      while (next?.waitsFirst === true) next = next.next
    }
    if (waitsFirst) this.#lastFirst = request
    else while (next !== undefined && next.arrival < request.arrival) next = next.next
    const previous: Request | undefined = next === undefined ? this.#last : next.previous
    request.previous = previous
    request.next = next
    if (previous === undefined) this.#first = request
    else previous.next = request
    if (next === undefined) this.#last = request
    else next.previous = request
    request.inQueue = true
    if (request.isAtWork) this.countAtWork(1)
    request.owner.addAwaiting(request)
    this.#state.core.waiters++
    // One with a reservation may draw all its bytes from that.
    this.leastBytes = Math.min(this.leastBytes, request.from === undefined ? request.exactSize : 0)
    this.length++
    if (this.length > 1) return
    this.#state.filled(this)
    this.account.queueing?.()
  }

  #unlink(request: Request): void {
    const { next, previous } = request
    if (this.#lastFirst === request) this.#lastFirst = previous
    if (next === undefined) this.#last = previous
    else next.previous = previous
    if (previous === undefined) this.#first = next
    else previous.next = next
    request.next = undefined
    request.previous = undefined
  }

  #emptied(): void {
    this.leastBytes = Infinity
    this.isRefused = false
    this.#state.queues.delete(this)
    this.account.queueing?.()
  }

  #countDrawn(request: Request, bytes: number): void {
    this.#state.drawnByWaiting += bytes - request.waitsWith
    request.waitsWith = bytes
  }

  /** It tried and got nothing: those before it no longer count as bypassed. */
  #stopBypassing(request: Request): void {
    if (request.isBypassing) this.#bypassOthers(request, -1)
    request.isBypassing = false
  }

  #bypassOthers(request: Request, times: 1 | -1): void {
    for (let other = request.previous; other !== undefined; other = other.previous) {
      other.bypasses = Math.max(0, other.bypasses + times)
    }
  }
}

/**
 * Makes the wait queue of an account.
 *
 * @category constructors
 * @since 0.1.0
 */
export const waitQueue: MakeQueue = (account, state, maxBypasses) => new WaitQueue(account, state, maxBypasses)
