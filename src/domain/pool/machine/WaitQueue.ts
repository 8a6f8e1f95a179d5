/**
 * A queue of requests that wait at an account: first come, first served, within a bound on bypassing.
 *
 * A release serves the queue in the same step, so that no other request can take the memory first. A served request
 * continues in a task of its own: resuming it inside the release would nest fibers as deep as the queue is long.
 *
 * @since 0.1.0
 */
import type { AdmittedJobs } from "./HoldingJobs.ts"
import type { PoolState } from "./PoolState.ts"
import type { Account, Queue, Request, Served } from "./Request.ts"

/** How many of a queue are looked at for one that can be served. */
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
  /** The driver refused one of those in the queue, or one who has stood among them. */
  isRefused = false
  /** No request in the queue is for fewer bytes. */
  leastBytes = Infinity
  /** The jobs that have what it waits for, when some have waited for each other: then fewer may. */
  jobs: AdmittedJobs | undefined = undefined
  /** How often one of those in the queue began to look for itself. */
  #tries = 0
  readonly account: Account
  readonly #state: PoolState
  readonly #maxBypasses: number
  #first: Request | undefined = undefined
  #last: Request | undefined = undefined
  /** The last of those at the head that go first. */
  #lastFirst: Request | undefined = undefined

  constructor(account: Account, state: PoolState, maxBypasses: number) {
    this.account = account
    this.#state = state
    this.#maxBypasses = maxBypasses
  }

  /**
   * Takes a place in the queue, unless the request is served in this step, where it may bypass others. With `refusedAt` the driver
   * has refused it in that epoch. True if it waits now; false if it has got something, or may wait no longer.
   */
  enter(request: Request, state: "queued" | "withHandlers", refusedAt?: number): boolean {
    // It may have been served, or its waiting ended, since it was looked at last.
    if (this.isAnswered(request)) return false
    this.#place(request, state, refusedAt)
    this.serve()
    return request.isWaiting
  }

  /** The same for a request that does not stay: it is again what it was before. */
  tryNow(request: Request): boolean {
    const { state } = request
    if (!this.enter(request, "queued")) return true
    this.leave(request)
    request.become(state)
    return false
  }

  /**
   * Whether a request has got meanwhile what it waits for, or waits no longer. A caller must act on the answer in the same step.
   */
  isAnswered(request: Request): boolean {
    if (request.state === "failed" || this.account.hasServed(request)) return true
    return this.#state.failEnded(request)
  }

  /** Serves the requests that it can, in order. */
  serve(): void {
    // How often the requests that are left may still be bypassed.
    let bypassesLeft = Infinity
    let request = this.#first
    this.jobs?.lookAgain()
    for (let looked = 0; request !== undefined && looked < window && this.#mayServe();) {
      const next: Request | undefined = request.next
      // Those before it may wait for the bytes of a reservation that is open, so no bound keeps it from trying.
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
      // A device that is lost in the middle of this answers all of them.
      request = next?.inQueue === true && next.queue === this ? next : undefined
    }
  }

  /** Whether there is anything for one in the queue; one that jobs keep back no more may need the handlers. */
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
    // Nobody has asked the handlers for it yet.
    return this.account.hasHandlers ? "try" : undefined
  }

  /**
   * Whether a request has to wait for the end of a job that has memory, because its own has none and as many have some as may. One
   * that has not is among these from then on.
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

  /** Some of the jobs that have what the queue waits for wait for each other: from now on they are counted; or no more. */
  limitJobs(jobs: AdmittedJobs | undefined): void {
    this.jobs = jobs
    if (jobs !== undefined) jobs.answered = (answer) => this.#state.observer?.found?.("jobs", Number(answer))
    this.account.queueing?.()
  }

  /** A request that stands in the queue has what it wanted. */
  served(request: Request): void {
    if (!request.inQueue) return
    const { isAtWork } = request
    if (!request.isBypassing) this.#bypassOthers(request, 1)
    request.isBypassing = false
    request.wasServed = true
    this.leave(request, true)
    // The next one that the driver refused may try now, also before the first one's lease ends.
    if (isAtWork) this.serve()
  }

  /** One that was given bytes, and refused by the driver, is in the queue again while it tries what else there is. */
  keepPlace(request: Request): void {
    // A place in the queue of a budget is past, and one that was never served has none to keep.
    if (request.queue !== this || (!request.inQueue && !request.wasServed)) return
    if (!request.inQueue) {
      this.#insert(request)
      request.isBypassing = true
    }
    request.become("searching")
  }

  /** Whether others in the queue are at work, who may get something or leave what there is. */
  hasOthersAtWork(request: Request): boolean {
    return this.atWork > (request.inQueue && request.queue === this && request.isAtWork ? 1 : 0)
  }

  /** One that stands in it begins or ends to be at work. */
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

  /** Those that do nothing but wait. */
  parked(): ReadonlyArray<Request> {
    const parked: Array<Request> = []
    for (let request = this.#first; request !== undefined; request = request.next) {
      if (request.state === "queued") parked.push(request)
    }
    return parked
  }

  /** Grows when something comes back to it, and when one of those in the queue begins to look for itself. */
  changes(): number {
    return this.account.returned() + this.#tries
  }

  /** Whether a request would fit if it were the first in the queue. */
  hasRoomFor({ drawn, exactSize }: Request): boolean {
    return exactSize - drawn <= this.account.room()
  }

  /** Puts a request at the head: it holds what all others wait for, so they can only gain by it. */
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

  /** Ends every wait that should not go on. */
  end(): void {
    let request = this.#first
    while (request !== undefined) {
      const next: Request | undefined = request.next
      this.endRequest(request)
      request = next
    }
  }

  /** Ends the wait of a request if it should wait no longer; one that is at work leaves the queue and sees for itself. */
  endRequest(request: Request): void {
    const failure = this.#state.whyEnded(request)
    if (failure === undefined) return
    const { isWaiting } = request
    if (request.owner.closed) this.#state.giveUp(request, "scopeClosed")
    else if (isWaiting && this.#state.isTooLarge(request)) this.#state.giveUp(request, "limitExceeded")
    this.leave(request)
    if (!isWaiting) return
    request.fail(failure)
    this.#state.tell(request)
  }

  #answer(request: Request, served: Served): void {
    if (served === "try") {
      request.become("searching")
      request.restart()
      this.#bypassOthers(request, 1)
      request.isBypassing = true
    } else {
      this.served(request)
      if (served !== "answered") request.become(served === "admitted" ? "new" : "searching")
    }
    this.#state.tell(request)
  }

  #place(request: Request, state: "queued" | "withHandlers", refusedAt: number | undefined): void {
    request.rest()
    if (request.queue !== this) {
      request.queue = this
      request.arrival = this.#state.nextArrival()
      request.bypasses = 0
      request.isBypassing = false
      request.wasServed = false
    }
    if (this.jobs?.has(request.jobKeys) === true) request.isOfHolder = true
    if (!request.inQueue) this.#insert(request)
    this.#stopBypassing(request)
    request.become(state)
    // A request that asks handlers may end when they answer, and gives its bytes back then.
    this.#countDrawn(request, state === "queued" ? request.drawn : 0)
    request.wasRefused = refusedAt !== undefined
    if (request.wasRefused) this.isRefused = true
    request.seen = refusedAt ?? 0
  }

  /** Behind all who arrived before it, unless it goes first. One that was in the queue before mostly belongs near its head. */
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
    // Its reservation may pay for all of it.
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

  /** It tried, and got nothing. */
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
