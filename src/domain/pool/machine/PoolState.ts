/**
 * What all parts of a pool's machine share: the ledger, the queues that are not empty, the reservations, the epoch, and the port
 * through which the machine acts.
 *
 * @since 0.1.0
 */
import { place } from "../../ErrorStack.ts"
import { type GpuError, make as makeError, OutOfMemory, type Released, type WaitingJob } from "../../GpuError.ts"
import type { BlockCore, PoolBlock } from "../PoolCore.ts"
import type { GaveUp } from "../PoolEvent.ts"
import type { PoolStats } from "../PoolStats.ts"
import type { OuterLimits } from "./OuterLimits.ts"
import type { PoolObserver } from "./PoolObserver.ts"
import type { Account, Failure, Family, Queue, Request, RequestSource } from "./Request.ts"
import type { ChargedBudget, Reservation } from "./Reservation.ts"

/**
 * The memory of a block.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reusable {
  /** False when the memory may not exist: no pool leases it again. */
  readonly recyclable: boolean
}

/**
 * What an out-of-memory error lists of the leases.
 *
 * @category models
 * @since 0.1.0
 */
export type Evidence = Pick<OutOfMemory, "holderGroups" | "holders">

/** What an out-of-memory error says about the account that has no room, besides its counters. */
type AccountFacts = Pick<OutOfMemory, "largestHeldBytes" | "limit" | "limitLabel" | "limitName" | "shared">

/**
 * The effects that the machine has on the world, each within its own step.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolPort<A extends Reusable = Reusable> {
  /** Frees the memory of a block, in queue order. Returns whether that failed; the port reports the error. */
  free(block: PoolBlock<A, Family>): boolean
  /** Fills a block with zeros for its next owner. Returns why that failed, or undefined. */
  clear(request: Request, block: PoolBlock<A, Family>): Failure | undefined
  /** Makes a lease on an active block, in the scope of the request. */
  grant(request: Request, block: PoolBlock<A, Family>): unknown
  /** Whether the device has several queues: then a request gets only blocks that its own queue may use. */
  readonly hasSeveralQueues: boolean
  /**
   * Takes a held block for a request to which it matters which one it gets, because of its queue or of what it should be apart from:
   * `undefined` if it can have none of those that are held. `"any"` for other requests, which take any block.
   */
  choose(request: Request, blockSize: number, most: number): PoolBlock<A, Family> | "any" | undefined
  /** The memory of a block gets another owner. */
  handOver(request: Request, block: PoolBlock<A, Family>): void
  /** Runs a task soon, outside of the machine's steps. */
  schedule(task: () => void): void
  /** The first request begins to wait in any queue. */
  watch(): void
  /** The queue of the memory gets its first request, or loses its last. */
  queueing(): void
  /** Starts the clock, since blocks are held that it may free. */
  startIdleClock(): void
  /** Ends live leases: all, or those that are charged to a budget. */
  endLeases(why: Released["why"], budget: ChargedBudget | undefined): void
  /** Ends what a request was granted, unless someone else owns it by now. */
  endGranted(request: Request): void
  /** Every pool of the memory has closed. */
  closeSources(): void
  /** Interrupts the handlers of a pool, or of all pools: no request waits for them any more. */
  over(source: RequestSource | undefined): void
  /** Interrupts the driver calls under way. */
  interruptCalls(): void
  /** Why the device is lost. */
  lost(): GpuError | undefined
  evidence(budget: ChargedBudget | undefined): Evidence
  readonly outer: OuterLimits
}

/**
 * The exclusive sections of a memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface Sections extends Account {
  isRunning(section: Reservation): boolean
}

/**
 * Makes the queue of an account.
 *
 * @category models
 * @since 0.1.0
 */
export type MakeQueue = (account: Account, state: PoolState, maxBypasses: number) => Queue

/** How many requests one task resumes: the end of a pool, or a raised limit, may answer very many at once. */
const mostResumedAtOnce = 256

/**
 * The state of one memory.
 *
 * @category models
 * @since 0.1.0
 */
export class PoolState<A extends Reusable = Reusable> {
  readonly core: BlockCore<A, Family>
  readonly port: PoolPort<A>
  /** Called with each decision, while someone observes. */
  observer: PoolObserver | undefined = undefined
  /** The queues that are not empty. */
  readonly queues = new Set<Queue>()
  /** The reservations whose effects run now. */
  readonly reservations = new Set<Reservation>()
  /** The exclusive sections, once a program has asked for one: see `ExclusiveSections`. */
  sections: Sections | undefined = undefined
  closed = false
  /** How many requests have waited so far. */
  arrivals = 0
  /** Bytes that the waiting requests have drawn from their reservations, as their queues last counted them. */
  drawnByWaiting = 0
  /** Why a request may wait no longer; undefined while it may. */
  readonly whyEnded: (request: Request) => Failure | undefined
  /** Whether a request can never fit. */
  readonly isTooLarge: (request: Request) => boolean
  /** Added to the epoch: a number below 0, for what the ledger counts and the epoch does not. */
  #correction = 0
  /** The requests to resume: not empty while a task for them is scheduled. `#resumed` counts those that it has resumed. */
  #answered: Array<Request> = []
  #resumed = 0

  constructor(
    core: BlockCore<A, Family>,
    port: PoolPort<A>,
    whyEnded: PoolState["whyEnded"],
    isTooLarge: PoolState["isTooLarge"]
  ) {
    this.core = core
    this.port = port
    this.whyEnded = whyEnded
    this.isTooLarge = isTooLarge
  }

  /**
   * Grows when memory may be free that a refused request did not see: a lease ended, the driver got a block back, or the pool kept a
   * block for which no request waits. While it does not grow, asking the driver again is useless.
   *
   * Corrections subtract what gives a refused request no reason to ask again: a block that a waiter got in the step in which it came
   * back, blocks that were evicted for another memory, and the leases of an `allocateAll` that did not get all. A new limit does not
   * count, since it gives the driver no memory: the queues are served when it is set.
   */
  get ownEpoch(): number {
    const { driverAllocations, driverFrees, misses, releases } = this.core
    return releases + driverFrees + driverAllocations - misses + this.#correction
  }

  /** The epochs of this memory, and of the others under the limits around it, added up. */
  get epoch(): number {
    return this.ownEpoch + this.port.outer.epoch
  }

  /** Subtracts from the epoch (`by` is below 0) what gives no request a reason to ask the driver again. */
  correct(by: number): void {
    this.#correction += by
  }

  filled(queue: Queue): void {
    this.queues.add(queue)
    this.port.watch()
  }

  /** Fails a request that may wait no longer. */
  failEnded(request: Request): boolean {
    const failure = this.whyEnded(request)
    if (failure === undefined) return false
    request.fail(failure)
    return true
  }

  /**
   * Whether a request has what it waits for at an account, or may wait no longer. A caller must act on the answer in the same step.
   */
  isAnswered(request: Request, account: Account): boolean {
    return request.state === "failed" || account.hasServed(request) || this.failEnded(request)
  }

  /** A request ends without what it asked for. */
  giveUp(request: Request, why: GaveUp["why"]): void {
    if (request.gaveUp) return
    request.gaveUp = true
    this.observer?.gaveUp(request, why)
  }

  /** The error of a request that gets nothing at an account with these counters and facts; `budget` is that account, if it is one. */
  outOfMemory(
    request: Request,
    { activeBytes, heldBytes, managedBytes, pendingBytes, reservedBytes }: PoolStats,
    { limitLabel, ...facts }: AccountFacts,
    budget: ChargedBudget | undefined,
    waitedMillis: number | undefined,
    deadlock: ReadonlyArray<WaitingJob> = []
  ): GpuError {
    const { blockSize, callSite, operation, size: requested, steps } = request
    this.observer?.ranOut(request, steps)
    const error = makeError(
      new OutOfMemory({
        requested,
        blockSize,
        pooled: true,
        ...(limitLabel === undefined ? {} : { limitLabel }),
        ...facts,
        activeBytes,
        heldBytes,
        managedBytes,
        pendingBytes,
        reservedBytes,
        stepsTried: [...steps],
        waitedMillis,
        deadlock,
        ...this.port.evidence(budget)
      })
    )
    return place(error, operation, callSite)
  }

  /** Ends the waits of requests that may wait no longer. */
  endWaits(): void {
    // A queue that this empties leaves the set during the loop; none enters it.
    for (const queue of this.queues) queue.end()
  }

  /** Serves all queues that are not empty, and lets other memories under the same limits serve theirs. */
  serveAll(): void {
    for (const queue of Array.from(this.queues)) queue.serve()
    this.port.outer.publish()
  }

  /** Resumes the fiber of a request that has an answer. Without `resume` that fiber itself is serving the queue, and sees the answer in this step. */
  answered(request: Request): void {
    if (request.resume !== undefined && this.#answered.push(request) === 1) this.port.schedule(this.#resumeAnswered)
  }

  /** Resumed fibers run at once, until they suspend. Requests that they serve are resumed in a later task. */
  readonly #resumeAnswered = (): void => {
    const end = Math.min(this.#answered.length, this.#resumed + mostResumedAtOnce)
    try {
      while (this.#resumed < end) {
        const request = this.#answered[this.#resumed++]!
        const { resume } = request
        // Undefined when the request was interrupted or timed out.
        request.resume = undefined
        resume?.(request.answer)
      }
    } finally {
      // An observer may throw when a fiber ends; the other requests are resumed all the same.
      if (2 * this.#resumed >= this.#answered.length) {
        this.#answered = this.#answered.slice(this.#resumed)
        this.#resumed = 0
      }
      if (this.#answered.length > 0) this.port.schedule(this.#resumeAnswered)
    }
  }
}
