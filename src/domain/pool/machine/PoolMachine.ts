/**
 * The whole protocol of a memory as one synchronous machine: it takes inputs, and returns what its shell has to do. It does no I/O and
 * knows no fibers. What must happen in the same step (a free, a clear, a lease) it does through its port.
 *
 * A request is one object with one state (`Request`). Its fiber asks the machine what to do next, does it, and reports the result, until
 * the request is granted or has failed. Every other event (a release, a new limit, the end of a scope) is an input too.
 *
 * @since 0.1.0
 */
import type { FallbackStep, GpuError, WaitingJob } from "../../GpuError.ts"
import type { Budget } from "./Budget.ts"
import { HandlerCredit } from "./HandlerCredit.ts"
import type { AdmittedJobs } from "./HoldingJobs.ts"
import { PoolLife } from "./PoolLife.ts"
import type { Reusable } from "./PoolState.ts"
import type { Account, Failure, Queue, Request, RequestState } from "./Request.ts"

/**
 * What a request's fiber does next.
 *
 * - `Granted`: the request has what it asked for. `Failed`: the fiber fails with `request.failure`.
 * - `AskDriver`: it asks the driver for `request.pending` bytes: {@link PoolMachine.driverAsked} when the call begins, and
 *   {@link PoolMachine.driverAnswered} or {@link PoolMachine.driverRefused} when it ends.
 * - `Reclaim`: it waits until the driver has got the freed memory back: {@link PoolMachine.reclaimed}.
 * - `AskHandlers`: it asks the handlers of `machine.accountOf(request)`: {@link PoolMachine.handlersAnswered}.
 * - `Wait`: it waits until it is resumed ({@link PoolMachine.advance}) or its time is over: {@link PoolMachine.timedOut}.
 *
 * @category models
 * @since 0.1.0
 */
export type PoolOutput = "Granted" | "Failed" | "AskDriver" | "Reclaim" | "AskHandlers" | "Wait"

/**
 * How a request's fiber ended: with a lease, by an interruption, or with an error of this reason.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ending {
  readonly isFailure: boolean
  readonly isInterrupted: boolean
  readonly reason: GpuError["reason"]["_tag"] | undefined
}

/**
 * The machine of one memory.
 *
 * @category models
 * @since 0.1.0
 */
export class PoolMachine<A extends Reusable = Reusable> extends PoolLife<A> {
  /** The account at which a request is now. */
  accountOf({ accounts, passed }: Request): Account {
    return accounts[passed] ?? this.memory
  }

  /** Grants a request at once if no other comes first and a held block fits it. Otherwise changes nothing and returns false. */
  askOnce(request: Request): boolean {
    if (request.budget !== undefined) return false
    request.drawMore()
    if (!this.#mustWait(request) && this.memory.search(request)) return true
    request.releaseDrawn()
    return false
  }

  /** Whether a request has to wait: others are ahead of it in the queue, or the limit of jobs holds it back. */
  #mustWait(request: Request): boolean {
    const { queue } = this.memory
    return (queue.length > 0 && !request.goesFirst) || queue.holdsBack(request)
  }

  /** A new request. */
  ask(request: Request): PoolOutput {
    request.drawMore()
    return this.advance(request)
  }

  /** What a request's fiber does next, after the request was made or resumed, or the driver or handlers answered. */
  advance(request: Request): PoolOutput {
    for (;;) {
      const done = outputOf[request.state]
      if (done !== undefined) return done
      const output = this.#admit(request)
      if (output !== undefined) return output
    }
  }

  /** Admits a request to its accounts, the innermost first. It stays charged to these while it waits at an outer one, so accounts alone cause no deadlock. */
  #admit(request: Request): PoolOutput | undefined {
    const { accounts, asks } = request
    while (request.passed < accounts.length) {
      const account = accounts[request.passed]!
      if (!account.hasAdmitted(request)) {
        // Its pool, and with that its reservation, may have closed since an inner account admitted it.
        if (this.state.failEnded(request)) return undefined
        if (!this.#passes(request, account)) return this.#waitAt(request, account)
      }
      request.passed++
      request.steps = []
    }
    if (asks === undefined) return request.arrived ? this.#search(request) : this.#arrive(request)
    if (request.reclaimsFirst) {
      request.become("searching")
      return this.#reclaim(request)
    }
    // A reservation that tries again keeps its place in the queue until it has all its leases.
    if (!request.inQueue) request.become("granted")
    return "Granted"
  }

  /** Whether the account admits a request now. One within a reservation, or of the running exclusive section, skips the queue. */
  #passes(request: Request, account: Account): boolean {
    return (account.queue.length === 0 || request.goesFirst || request.exactSize === 0) &&
      !account.queue.holdsBack(request) && account.tryAdmit(request)
  }

  #waitAt(request: Request, account: Account): PoolOutput | undefined {
    if (request.inHandler && account.tryAdmit(request)) return undefined
    if (account.queue.tryNow(request)) return undefined
    request.exhaustedAt = undefined
    return this.#exhaust(request, account)
  }

  /** A request that has passed its accounts comes to the memory. While others wait it goes to the end of the queue, and may bypass them within the bound. */
  #arrive(request: Request): PoolOutput | undefined {
    const { hasHandlers, queue } = this.memory
    request.arrived = true
    const { searched, waited } = request.source.borrows ? withBorrowing : withoutBorrowing
    request.steps = searched
    // A handler's own request must not wait: the request that it works for waits for the handler.
    if (!this.#mustWait(request) || request.inHandler) {
      if (!this.state.failEnded(request)) request.become("searching")
      return undefined
    }
    if (request.waitPolicy.onExhausted === "wait" && !hasHandlers) {
      request.steps = waited
      return this.#wait(request, this.memory)
    }
    if (queue.tryNow(request)) return undefined
    request.become("searching")
    return this.#exhaust(request, this.memory)
  }

  /** One step of the fallback: a held block, the driver, room for it, the exact size, handlers, waiting. */
  #search(request: Request): PoolOutput | undefined {
    const { memory } = this
    if (request.state === "refused") {
      request.become("searching")
      // A request that waited before keeps its place in the queue. Otherwise those behind it would get the memory that it tries to get.
      memory.queue.keepPlace(request)
    }
    if (request.reclaimsFirst) return this.#reclaim(request)
    if (this.state.failEnded(request)) return undefined
    if (request.pending === 0) {
      request.drawMore()
      if (memory.search(request)) return undefined
    }
    if (request.capacity === 0) request.capacity = memory.wantedBlock(request)
    if (request.isRefused) return this.#relieve(request)
    const { capacity } = request
    if (request.pending > 0 || (memory.deficit(request, capacity) <= 0 && memory.mayFit(request, capacity))) {
      return this.#askDriver(request)
    }
    if (memory.makeRoom(request, capacity) !== undefined) {
      request.tried("evict")
      return this.#reclaim(request)
    }
    return request.shrinkToExact() ? undefined : this.#exhausted(request)
  }

  /** Waits for the driver; afterwards the request searches the pool again. */
  #reclaim(request: Request): PoolOutput {
    request.reclaimsFirst = false
    request.become("reclaiming")
    return "Reclaim"
  }

  /** Makes the bytes of the block pending, then asks the driver. */
  #askDriver(request: Request): PoolOutput | undefined {
    if (request.pending > 0) request.capacity = request.pending
    else {
      // Since the block size was chosen, other requests may have used up the budget. The exact size is still charged to it.
      request.capacity = Math.min(request.capacity, this.memory.wantedBlock(request))
      if (!this.memory.makePending(request, request.capacity)) return undefined
    }
    request.charge?.resize(request.bytesOf(request.capacity))
    request.askedAt = this.state.epoch
    request.tried("driver")
    return "AskDriver"
  }

  /**
   * The driver refused. If blocks were freed since the last reclaim, the driver may not have them yet: reclaims. Otherwise
   * evicts a block; if no eviction can help, asks for the exact size.
   */
  #relieve(request: Request): PoolOutput | undefined {
    if (request.reclaimedAt !== this.core.driverFrees) {
      request.reclaimedAt = this.core.driverFrees
      request.isRefused = false
      request.tried("reclaim")
      return this.#reclaim(request)
    }
    if (this.memory.evictNext(request)) {
      request.tried("evict")
      return undefined
    }
    if (!request.shrinkToExact()) return this.#exhausted(request)
    request.isRefused = false
    return undefined
  }

  #exhausted(request: Request): PoolOutput | undefined {
    const { epoch } = this.state
    request.exhaustedAt = request.refusedAt === epoch ? epoch : undefined
    return this.#exhaust(request, this.memory)
  }

  /** Nothing fits: asks the handlers, then waits, or fails with the evidence. */
  #exhaust(request: Request, account: Account): PoolOutput | undefined {
    const { inHandler, waitPolicy } = request
    const known = request.credit?.account === account ? request.credit : undefined
    const mayAsk = waitPolicy.isPart !== true && !inHandler && known?.declined !== true
    // A request that the limit of jobs holds back asks no handlers: these free memory, and end no job.
    if (account.hasHandlers && mayAsk && !account.queue.holdsBack(request)) {
      request.tried("handlers")
      // It stands in the queue meanwhile: otherwise a later request would take the memory that handlers free.
      if (!account.queue.enter(request, "withHandlers", request.exhaustedAt)) return undefined
      request.credit = known ?? new HandlerCredit(account)
      this.state.observer?.roomNeeded(request, account.missing(request))
      return "AskHandlers"
    }
    const mayWait = (): boolean =>
      !inHandler && waitPolicy.onExhausted === "wait" &&
      (account.mayWait(request) || account.queue.holdsBack(request))
    if (!mayWait()) {
      if (this.#looksAgain(request, account)) return undefined
      // Looking again may have served other requests.
      if (!mayWait()) return this.#fail(request, account, undefined)
    }
    return this.#wait(request, account)
  }

  #wait(request: Request, account: Account): PoolOutput | undefined {
    request.tried("wait")
    if (!account.queue.enter(request, "queued", request.exhaustedAt)) return undefined
    this.state.observer?.waiting(request)
    // Of the requests that the driver refused only one tries at a time. If this was the one, another may now.
    if (request.wasRefused) this.state.port.outer.publish()
    return "Wait"
  }

  /** Whether the request tries again, since memory came back after its last try. It may be the last memory that could. */
  #looksAgain(request: Request, account: Account): boolean {
    const { exhaustedAt } = request
    if (exhaustedAt === undefined) return account.queue.tryNow(request)
    if (this.state.isAnswered(request, account)) return true
    if (account.mayWait(request) || this.state.epoch === exhaustedAt) return false
    this.#tryAgain(request, account)
    return true
  }

  /** The request searches by itself; meanwhile the queue does not serve it. */
  #tryAgain(request: Request, account: Account): void {
    account.queue.keepPlace(request)
    request.become("searching")
    request.restart()
  }

  #fail(request: Request, account: Account, waitedMillis: number | undefined): PoolOutput {
    const error = account.outOfMemory(request, waitedMillis)
    request.fail(() => error)
    return "Failed"
  }

  /** The handlers of a request have ended. Called in that step, also when the request was interrupted. */
  handlersEnded(request: Request, freed: boolean, hasFailed: boolean): void {
    this.state.observer?.handlersAsked(request, freed)
    // The queue may have served it meanwhile.
    if (hasFailed && !request.hasGot) this.state.giveUp(request, "failed")
    if (request.credit !== undefined) request.credit.declined = !freed
  }

  /** What a request does next, whose handlers have freed something or nothing. */
  handlersAnswered(request: Request, freed: boolean): PoolOutput {
    const account = this.accountOf(request)
    if (request.state !== "withHandlers" || this.state.isAnswered(request, account)) return this.advance(request)
    if (freed && request.exhaustedAt !== undefined) {
      this.#tryAgain(request, account)
      return this.advance(request)
    }
    return this.#exhaust(request, account) ?? this.advance(request)
  }

  /** Whether the request searches again after a handler said that it freed something. */
  believes(request: Request): boolean {
    return request.credit?.accepts(request.exhaustedAt !== undefined) === true
  }

  /** The time of a waiting request is over. It may have been served already, and its fiber not resumed yet. */
  timedOut(request: Request, waitedMillis: number): PoolOutput {
    const account = this.accountOf(request)
    if (!request.isWaiting || this.state.isAnswered(request, account)) return this.advance(request)
    request.tried("wait")
    return this.#fail(request, account, waitedMillis)
  }

  /** The driver call begins. From this step on the call owns the pending bytes, and the request does not. */
  driverAsked(request: Request): number {
    const { pending } = request
    request.pending = 0
    request.asking = pending
    request.become("asking")
    this.state.observer?.driverAsked(request, pending)
    this.memory.freeOutgrown(request, pending)
    return pending
  }

  /** The driver made a block. It becomes a lease; if no fiber waits for it any more, it is held or freed. */
  driverAnswered(request: Request, value: A): void {
    const { core, memory } = this
    const { asking: capacity, family, size, source } = request
    // Where the policy borrows, other requests can have a block of an exact size too.
    const isExact = capacity !== request.blockSize && !source.borrows
    if (request.state === "asking" && !source.closed && !request.owner.closed) {
      const block = isExact
        ? core.addActiveUnbinned(capacity, value, size)
        : core.addActive(family, capacity, value, size)
      memory.handOut(request, block, "driver")
    } else {
      request.undoUse()
      const block = isExact || source.closed
        ? core.addDetached(capacity, value, size)
        : core.addHeld(family, capacity, value, size)
      this.state.observer?.kept(request, block)
      if (block.state !== "held") memory.free(block, "notKept")
      else this.trimExcess()
      if (request.state === "asking") request.become("searching")
    }
    this.#callEnded(request)
  }

  /** The driver made no block, for lack of memory or for another reason. `why` is the reason that observers get. */
  driverRefused(request: Request, why: string, failure: Failure): void {
    this.core.removePending(request.asking, request.size)
    request.undoUse()
    this.state.observer?.refused(request, request.asking, why)
    if (request.state === "asking") {
      if (why === "OutOfMemory") {
        request.isRefused = true
        request.refusedAt = request.askedAt
        request.become("refused")
        // An allocator may have a limit of its own, which the policy's block is over and the request is not.
      } else if (why === "LimitExceeded" && request.shrinkToExact()) {
        request.isExactOnly = true
        request.become("searching")
        // A slab that has leases of the others may have room.
      } else if (why === "LimitExceeded" && request.apart !== undefined && !this.state.port.hasSeveralQueues) {
        request.apart = undefined
        request.become("searching")
      } else request.fail(failure)
    }
    this.#callEnded(request)
  }

  #callEnded(request: Request): void {
    if (request.state === "abandoned") {
      request.become("over")
      request.releaseDrawn()
    }
    // Requests of the same reservation may wait, in any queue, for the bytes that come back to it.
    if (request.from === undefined) this.memory.cameBack()
    else this.state.serveAll()
  }

  /** The driver has got back the first `frees` blocks that the pool ever freed. */
  reclaimed(frees: number): void {
    this.memory.reclaimed(frees)
  }

  /** The reclaim that a request waited for has ended. */
  reclaimedFor(request: Request): PoolOutput {
    if (request.state === "reclaiming") request.become("searching")
    return this.advance(request)
  }

  /**
   * A reservation for several leases did not get all of them: in this epoch the driver had no memory. It tries again when memory
   * comes back.
   */
  retryAll(request: Request, epoch: number): PoolOutput {
    request.become("searching")
    request.isRefused = true
    request.exhaustedAt = epoch
    return this.#exhaust(request, this.memory) ?? this.advance(request)
  }

  /** A request's fiber ends: removes it from its queue, and releases its pending bytes and a lease that no fiber got. */
  ended(request: Request, ending: Ending): void {
    const { pending, queue } = request
    if (ending.isFailure && !request.hasGot) this.#giveUp(request, ending)
    request.resume = undefined
    queue?.leave(request)
    if (pending > 0) {
      request.pending = 0
      this.core.removePending(pending, request.size)
    }
    if (ending.isFailure && request.granted !== undefined) this.state.port.endGranted(request)
    request.charge?.release()
    request.become(request.state === "asking" ? "abandoned" : "over")
    if (request.from !== undefined) this.#release(request)
    // Requests behind it in a budget's queue may have waited for this one alone.
    if (queue !== undefined && queue !== this.memory.queue) queue.serve()
    if (queue !== undefined || pending > 0) this.memory.cameBack()
  }

  /** Tells observers why a request ended without a lease: interrupted, its scope closed, or unable to use what the queue gave it. */
  #giveUp(request: Request, { isInterrupted, reason }: Ending): void {
    const { state } = this
    if (state.observer === undefined || request.gaveUp) return
    if (isInterrupted) state.giveUp(request, "interrupted")
    else if (request.owner.closed) state.giveUp(request, "scopeClosed")
    else if (reason === "LimitExceeded" && state.isTooLarge(request)) state.giveUp(request, "limitExceeded")
    else if (request.wasServed && reason !== "OutOfMemory") state.giveUp(request, "failed")
  }

  /** Returns to the reservation what a request that has ended drew from it. */
  #release(request: Request): void {
    // While the driver call is under way, its answer decides what becomes of the bytes.
    if (request.state !== "abandoned") request.undoUse()
    const returns = request.drawn > 0
    request.releaseDrawn()
    // Requests of the same reservation may wait for them in any queue.
    if (returns) this.state.serveAll()
  }

  /** The effect of a reservation or an exclusive section ends. */
  reservationEnded(request: Request, ending: Ending): void {
    const wasOpen = request.asks!.close()
    if (request.asks!.hasBegun) this.state.observer?.reservationEnded(request)
    this.ended(request, ending)
    if (wasOpen) this.state.serveAll()
  }

  /** A reservation for several leases begins to ask for them. */
  begunAll(request: Request): void {
    request.tried("bin")
    request.tried("driver")
  }

  /** The scope of a queued request's lease has closed. */
  scopeClosed(request: Request): void {
    request.queue!.endRequest(request)
  }

  /** Memory may have come back to a queue: from its own memory, or from another one under the same limit. */
  serve(queue: Queue): void {
    queue.serve()
  }

  /** The program has registered the first handler of an account, or removed the last. */
  setHandlers(account: Account, some: boolean): void {
    account.hasHandlers = some
  }

  setBudgetLimit(budget: Budget, bytes: number): void {
    budget.setLimit(bytes)
  }

  /** In a deadlock: moves a request, whose job has memory that others wait for, to the head of its queue. */
  promote(request: Request): void {
    request.queue!.promote(request)
  }

  /** In a deadlock: fails a request. */
  failDeadlocked(request: Request, jobs: ReadonlyArray<WaitingJob>): void {
    const queue = request.queue!
    // It may fit a free chunk beside leases, which those before it in the queue cannot use.
    if (request.exactSize > 0 && this.core.fragmentedBytes >= request.exactSize) {
      queue.promote(request)
      queue.serve()
      if (!request.inQueue) return
    }
    // It fails because it waits, whatever it tried before.
    request.steps = ["wait"]
    const error = queue.account.outOfMemory(request, undefined, jobs)
    queue.leave(request)
    request.fail(() => error)
    this.state.answered(request)
    queue.serve()
  }

  /** Limits the jobs that may have memory which a queue waits for. */
  limitJobs(queue: Queue, jobs: AdmittedJobs): void {
    queue.limitJobs(jobs)
  }

  /** Nothing came back to a queue for a while: lets more jobs have memory, if some wait for that. */
  raiseJobs(queue: Queue): void {
    if (queue.length > 0 && queue.jobs?.isRaised() === true) queue.serve()
  }
}

/** The steps tried by a request that comes to the memory, or that waits behind others. The waiting requests share these arrays. */
type Steps = Readonly<Record<"searched" | "waited", ReadonlyArray<FallbackStep>>>
const withoutBorrowing: Steps = { searched: ["bin"], waited: ["bin", "wait"] }
const withBorrowing: Steps = { searched: ["bin", "borrow"], waited: ["bin", "borrow", "wait"] }

/** In these states `advance` returns the same output however often it is called. */
const outputOf: Readonly<Partial<Record<RequestState, PoolOutput>>> = {
  granted: "Granted",
  failed: "Failed",
  reclaiming: "Reclaim",
  queued: "Wait"
}
