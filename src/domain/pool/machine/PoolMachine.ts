/**
 * The whole protocol of a memory as one synchronous machine: inputs go in, and what its shell has to do comes out. It does no I/O and
 * knows no fibers; what must happen in the same step (a free, a clear, a lease) it does through its port.
 *
 * A request is one object with one state (`Request`). Its fiber asks for the next thing to do, does it, and says how that ended, until
 * the request is granted or has failed. Everything that others do meanwhile (a release, a limit, the end of a scope) is an input too.
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
 * - `Granted`: it has what it asked for. `Failed`: it fails with `request.failure`.
 * - `AskDriver`: it asks the driver for `request.pending` bytes: {@link PoolMachine.driverAsked} when the call begins, and
 *   {@link PoolMachine.driverAnswered} or {@link PoolMachine.driverRefused} when it ends.
 * - `Reclaim`: it waits until the driver has back what was freed: {@link PoolMachine.reclaimed}.
 * - `AskHandlers`: it asks the handlers of `machine.accountOf(request)`: {@link PoolMachine.handlersAnswered}.
 * - `Wait`: it waits until it is resumed: {@link PoolMachine.advance}, or its time is over: {@link PoolMachine.timedOut}.
 *
 * @category models
 * @since 0.1.0
 */
export type PoolOutput = "Granted" | "Failed" | "AskDriver" | "Reclaim" | "AskHandlers" | "Wait"

/**
 * How a request ends: it has its lease, or its fiber was interrupted, or it failed with an error of this reason.
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

  /** Serves a request in one step, if a held block can do that before all others. Else nothing of it has happened. */
  askOnce(request: Request): boolean {
    if (request.budget !== undefined) return false
    request.drawMore()
    if (!this.#mustWait(request) && this.memory.search(request)) return true
    request.undraw()
    return false
  }

  /** Whether others wait that come before a request, or it has to wait until a job ends that has memory. */
  #mustWait(request: Request): boolean {
    const { queue } = this.memory
    return (queue.length > 0 && !request.goesFirst) || queue.holdsBack(request)
  }

  /** A request is made. */
  ask(request: Request): PoolOutput {
    request.drawMore()
    return this.advance(request)
  }

  /** What a request's fiber does next, after it was asked, resumed or answered. */
  advance(request: Request): PoolOutput {
    for (;;) {
      const done = outputOf[request.state]
      if (done !== undefined) return done
      const output = this.#admit(request)
      if (output !== undefined) return output
    }
  }

  /** Takes a request past its accounts, in order. The inner ones stay charged while it waits at an outer one, so no two requests wait for each other at accounts alone. */
  #admit(request: Request): PoolOutput | undefined {
    const { accounts, asks } = request
    while (request.passed < accounts.length) {
      const account = accounts[request.passed]!
      if (!account.hasAdmitted(request)) {
        // Its pool may have closed, and its reservation with it, since it was let past.
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
    // One that tries again keeps its place in the queue until it has all.
    if (!request.inQueue) request.become("granted")
    return "Granted"
  }

  /** A request within a reservation, and one of the exclusive section that runs, need not stand in a queue. */
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

  /** A request comes to the memory. While others wait it goes to the end of the queue, and may bypass them within the bound. */
  #arrive(request: Request): PoolOutput | undefined {
    const { hasHandlers, queue } = this.memory
    request.arrived = true
    const { searched, waited } = request.source.borrows ? withBorrowing : withoutBorrowing
    request.steps = searched
    // One of a handler asks for the one that waits for it.
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
      // One that waited before keeps its place in the queue, or those behind it would get the memory that it tries for.
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

  /** The pool is searched again after it. */
  #reclaim(request: Request): PoolOutput {
    request.reclaimsFirst = false
    request.become("reclaiming")
    return "Reclaim"
  }

  /** Bytes under the limit become pending for what the driver gives. */
  #askDriver(request: Request): PoolOutput | undefined {
    if (request.pending > 0) request.capacity = request.pending
    else {
      // Others may have used the budget since the block was chosen; the exact size it has at least.
      request.capacity = Math.min(request.capacity, this.memory.wantedBlock(request))
      if (!this.memory.makePending(request, request.capacity)) return undefined
    }
    request.charge?.resize(request.capacity)
    request.askedAt = this.state.epoch
    request.tried("driver")
    return "AskDriver"
  }

  /**
   * The driver refused. Memory that was freed since the last reclaim may not be back yet, so it reclaims. Else it
   * evicts a block; if none can help, it asks for the exact size.
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

  /** Nothing fits: handlers, then waiting, or the error with its evidence. */
  #exhaust(request: Request, account: Account): PoolOutput | undefined {
    const { inHandler, waitPolicy } = request
    const known = request.credit?.account === account ? request.credit : undefined
    const mayAsk = waitPolicy.isPart !== true && !inHandler && known?.declined !== true
    // Handlers free memory, and do not end jobs.
    if (account.hasHandlers && mayAsk && !account.queue.holdsBack(request)) {
      request.tried("handlers")
      // It stands in the queue meanwhile, or a later request would take the memory that handlers free for it.
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
      // The search may have served other requests.
      if (!mayWait()) return this.#fail(request, account, undefined)
    }
    return this.#wait(request, account)
  }

  #wait(request: Request, account: Account): PoolOutput | undefined {
    request.tried("wait")
    if (!account.queue.enter(request, "queued", request.exhaustedAt)) return undefined
    this.state.observer?.waiting(request)
    // It may have been the one that tried, and only one does so at a time.
    if (request.wasRefused) this.state.port.outer.tell()
    return "Wait"
  }

  /** Something may have come back since it was looked at last, and then nothing else may be left to wait for. */
  #looksAgain(request: Request, account: Account): boolean {
    const { exhaustedAt } = request
    if (exhaustedAt === undefined) return account.queue.tryNow(request)
    if (account.queue.isAnswered(request)) return true
    if (account.mayWait(request) || this.state.epoch === exhaustedAt) return false
    this.#tryAgain(request, account)
    return true
  }

  /** While it tries for itself, it is not to be served in the queue. */
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

  /** Handlers have ended for a request: they freed something, or not, or failed. Called in the step of that, also when it was interrupted. */
  handlersEnded(request: Request, freed: boolean, hasFailed: boolean): void {
    this.state.observer?.handlersAsked(request, freed)
    // In the queue it may have got meanwhile what it asks for.
    if (hasFailed && !request.hasGot) this.state.giveUp(request, "failed")
    if (request.credit !== undefined) request.credit.declined = !freed
  }

  /** What a request does whose handlers freed something, or did not. */
  handlersAnswered(request: Request, freed: boolean): PoolOutput {
    const account = this.accountOf(request)
    if (request.state !== "withHandlers" || account.queue.isAnswered(request)) return this.advance(request)
    if (freed && request.exhaustedAt !== undefined) {
      this.#tryAgain(request, account)
      return this.advance(request)
    }
    return this.#exhaust(request, account) ?? this.advance(request)
  }

  /** Whether it is worth while to search again after a handler said that it freed something. */
  believes(request: Request): boolean {
    return request.credit?.accepts(request.exhaustedAt !== undefined) === true
  }

  /** The time of a request that waits is over. It may have been served in the meantime and not know yet. */
  timedOut(request: Request, waitedMillis: number): PoolOutput {
    const account = this.accountOf(request)
    if (!request.isWaiting || account.queue.isAnswered(request)) return this.advance(request)
    request.tried("wait")
    return this.#fail(request, account, waitedMillis)
  }

  /** The call of the driver begins. From this step on it owns the pending bytes, and the request does not. */
  driverAsked(request: Request): number {
    const { pending } = request
    request.pending = 0
    request.asking = pending
    request.become("asking")
    this.state.observer?.driverAsked(request, pending)
    this.memory.freeOutgrown(request, pending)
    return pending
  }

  /** The driver made a block: it becomes a lease, or held when no fiber waits for it, or it is freed. */
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
      request.unuse()
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

  /** The driver made no block: for want of memory, or for another reason. `why` is the reason as observers know it. */
  driverRefused(request: Request, why: string, failure: Failure): void {
    this.core.removePending(request.asking, request.size)
    request.unuse()
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
      } else request.fail(failure)
    }
    this.#callEnded(request)
  }

  #callEnded(request: Request): void {
    if (request.state === "abandoned") {
      request.become("over")
      request.undraw()
    }
    // Requests of its reservation may wait in any queue for what comes back to that.
    if (request.from === undefined) this.memory.cameBack()
    else this.state.serveAll()
  }

  /** The driver has back the first blocks that were freed, so many of them. */
  reclaimed(frees: number): void {
    this.memory.reclaimed(frees)
  }

  /** The driver has back what a request waited for. */
  reclaimedFor(request: Request): PoolOutput {
    if (request.state === "reclaiming") request.become("searching")
    return this.advance(request)
  }

  /**
   * A reservation for several leases has ended its attempt without all of them, in this epoch: the driver had no memory. It begins
   * again when something comes back.
   */
  retryAll(request: Request, epoch: number): PoolOutput {
    request.become("searching")
    request.isRefused = true
    request.exhaustedAt = epoch
    return this.#exhaust(request, this.memory) ?? this.advance(request)
  }

  /** A request's fiber ends: cleans up its place in the queue, its pending bytes, and a lease that no fiber got. */
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
    request.charge?.refund()
    request.become(request.state === "asking" ? "abandoned" : "over")
    if (request.from !== undefined) this.#giveBack(request)
    // Those behind it at a budget may have waited only for this request.
    if (queue !== undefined && queue !== this.memory.queue) queue.serve()
    if (queue !== undefined || pending > 0) this.memory.cameBack()
  }

  /** It was interrupted before it had what it asked for, or its scope has closed, or it could not use what it was given in the queue. */
  #giveUp(request: Request, { isInterrupted, reason }: Ending): void {
    const { state } = this
    if (state.observer === undefined || request.gaveUp) return
    if (isInterrupted) state.giveUp(request, "interrupted")
    else if (request.owner.closed) state.giveUp(request, "scopeClosed")
    else if (reason === "LimitExceeded" && state.isTooLarge(request)) state.giveUp(request, "limitExceeded")
    else if (request.wasServed && reason !== "OutOfMemory") state.giveUp(request, "failed")
  }

  /** Gives back the bytes that a request which has ended drew from its reservation. */
  #giveBack(request: Request): void {
    // The driver's answer says what becomes of the bytes that it was asked for.
    if (request.state !== "abandoned") request.unuse()
    const returns = request.drawn > 0
    request.undraw()
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

  /** The scope has closed that was to own what a request in a queue waits for. */
  scopeClosed(request: Request): void {
    request.queue!.endRequest(request)
  }

  /** Those of its own queues, or others under one limit, may have given something back. */
  serve(queue: Queue): void {
    queue.serve()
  }

  /** From now on the program has handlers for an account, or has none. */
  setHandlers(account: Account, some: boolean): void {
    account.hasHandlers = some
  }

  setBudgetLimit(budget: Budget, bytes: number): void {
    budget.setLimit(bytes)
  }

  /** Jobs wait for each other: this request holds what others wait for, and goes to the head of its queue. */
  promote(request: Request): void {
    request.queue!.promote(request)
  }

  /** The same: this one fails. */
  failDeadlocked(request: Request, jobs: ReadonlyArray<WaitingJob>): void {
    const queue = request.queue!
    // What it tried before says nothing: it fails since it waits.
    request.steps = ["wait"]
    const error = queue.account.outOfMemory(request, undefined, jobs)
    queue.leave(request)
    request.fail(() => error)
    this.state.tell(request)
    queue.serve()
  }

  /** From now on so many jobs may have what a queue waits for. */
  limitJobs(queue: Queue, jobs: AdmittedJobs): void {
    queue.limitJobs(jobs)
  }

  /** Nothing came back to a queue for a while: more jobs may have memory, if some wait for that. */
  raiseJobs(queue: Queue): void {
    if (queue.length > 0 && queue.jobs?.isRaised() === true) queue.serve()
  }
}

/** What a request has tried that comes to the memory, or waits behind others. Very many may wait at a time, and share these. */
type Steps = Readonly<Record<"searched" | "waited", ReadonlyArray<FallbackStep>>>
const withoutBorrowing: Steps = { searched: ["bin"], waited: ["bin", "wait"] }
const withBorrowing: Steps = { searched: ["bin", "borrow"], waited: ["bin", "borrow", "wait"] }

/** What is said again to a fiber that asks twice. */
const outputOf: Readonly<Partial<Record<RequestState, PoolOutput>>> = {
  granted: "Granted",
  failed: "Failed",
  reclaiming: "Reclaim",
  queued: "Wait"
}
