/**
 * What all parts of a pool's machine see: the ledger, the queues that are not empty, the reservations, the one epoch, and the port
 * through which the machine acts in the same step.
 *
 * @since 0.1.0
 */
import { place } from "../../ErrorStack.ts"
import { type GpuError, make as makeError, OutOfMemory, type Released, type WaitingJob } from "../../GpuError.ts"
import type { PoolBlock, PoolCore } from "../PoolCore.ts"
import type { GaveUp } from "../PoolEvent.ts"
import type { OuterLimits } from "./OuterLimits.ts"
import type { PoolObserver } from "./PoolObserver.ts"
import type { Failure, Family, Queue, Request, RequestSource } from "./Request.ts"
import type { ChargedBudget, Reservation } from "./Reservation.ts"

/**
 * The memory of a block.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reusable {
  /** False once it may not exist: no pool leases it again. */
  readonly recyclable: boolean
}

/**
 * What an out-of-memory error lists of the leases.
 *
 * @category models
 * @since 0.1.0
 */
export type Evidence = Pick<OutOfMemory, "holderGroups" | "holders">

/** What an out-of-memory error says of the account that has no room. */
type AccountFacts = Pick<
  OutOfMemory,
  | "activeBytes"
  | "heldBytes"
  | "largestHeldBytes"
  | "limit"
  | "limitLabel"
  | "limitName"
  | "managedBytes"
  | "pendingBytes"
  | "reservedBytes"
  | "shared"
>

/**
 * What the machine does in the same step.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolPort<A extends Reusable = Reusable> {
  /** Frees the memory of a block, in queue order. True if that failed, which the port tells. */
  free(block: PoolBlock<A, Family>): boolean
  /** Fills a block with zeros for its next owner. Why it could not. */
  clear(request: Request, block: PoolBlock<A, Family>): Failure | undefined
  /** A lease on an active block, in the scope that asked for it. */
  grant(request: Request, block: PoolBlock<A, Family>): unknown
  /** Whether the device has several queues, so that a block goes to one. */
  readonly hasSeveralQueues: boolean
  /** A held block for the queue of the request. */
  acquireForQueue(request: Request, blockSize: number, most: number): PoolBlock<A, Family> | undefined
  /** The memory gets another owner. */
  handOver(block: PoolBlock<A, Family>): void
  /** Runs a task soon, in no step of the machine. */
  schedule(task: () => void): void
  /** The first request begins to wait in any queue. */
  watch(): void
  /** The first request begins to wait for the memory, or the last one ends. */
  queueing(): void
  /** Blocks are held that the clock may free. */
  startIdleClock(): void
  /** Ends live leases: all, or those that are charged to a budget. */
  endLeases(why: Released["why"], budget: ChargedBudget | undefined): void
  /** Ends what a request was granted, if nobody else has it by now. */
  endGranted(request: Request): void
  /** Every pool of the memory has closed. */
  closeSources(): void
  /** Nobody waits for the handlers of a pool any more, or of all of them. */
  over(source: RequestSource | undefined): void
  /** The driver calls under way are of no use any more. */
  interruptCalls(): void
  /** Why the device is lost. */
  lost(): GpuError | undefined
  evidence(budget: ChargedBudget | undefined): Evidence
  readonly outer: OuterLimits
}

/** Between so many the event loop turns: the end of a pool, or a limit that is raised, may answer very many. */
const mostResumedAtOnce = 256

/**
 * The state of one memory.
 *
 * @category models
 * @since 0.1.0
 */
export class PoolState<A extends Reusable = Reusable> {
  readonly core: PoolCore<A, Family>
  readonly port: PoolPort<A>
  /** Called what is decided, while somebody observes. */
  observer: PoolObserver | undefined = undefined
  /** The queues that are not empty. */
  readonly queues = new Set<Queue>()
  /** The reservations of effects that run now. */
  readonly reservations = new Set<Reservation>()
  closed = false
  /** Bytes that the waiting requests have drawn from their reservations, as the queues saw last. */
  drawnByWaiting = 0
  /** Why a request may wait no longer. */
  readonly whyEnded: (request: Request) => Failure | undefined
  /** Whether it can never fit. */
  readonly isTooLarge: (request: Request) => boolean
  /** What the ledger counts and is in no epoch, as a number below 0. */
  #correction = 0
  #arrivals = 0
  /** The requests to resume: not empty while a task for them is scheduled. So many of them are resumed. */
  #told: Array<Request> = []
  #resumed = 0

  constructor(
    core: PoolCore<A, Family>,
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
   * Grows when memory may be free that a refused request did not see: a lease ended, the driver got a block back, or a block was kept
   * that nobody waits for. Corrections take out what is no reason to ask again:
   * a block that a waiter got in the step in which it came back, blocks that were evicted for another memory, and the leases of an
   * `allocateAll` that did not get all. While it does not grow, asking the driver again is useless. A new limit is not in it, since it
   * gives the driver no memory: the queues are served then.
   */
  get ownEpoch(): number {
    const { driverAllocations, driverFrees, misses, releases } = this.core
    return releases + driverFrees + driverAllocations - misses + this.#correction
  }

  /** Of this memory, and of what came back to others under the limits around it. */
  get epoch(): number {
    return this.ownEpoch + this.port.outer.epoch
  }

  /** Takes out of the epoch, by a number below 0, what the ledger counts and is no reason to ask the driver again. */
  correct(by: number): void {
    this.#correction += by
  }

  filled(queue: Queue): void {
    this.queues.add(queue)
    this.port.watch()
  }

  /** How many requests have come to wait so far. */
  get arrivals(): number {
    return this.#arrivals
  }

  nextArrival(): number {
    return this.#arrivals++
  }

  /** Fails a request that may wait no longer. */
  failEnded(request: Request): boolean {
    const failure = this.whyEnded(request)
    if (failure === undefined) return false
    request.fail(failure)
    return true
  }

  /** It ends without what it asked for. */
  giveUp(request: Request, why: GaveUp["why"]): void {
    if (request.gaveUp) return
    request.gaveUp = true
    this.observer?.gaveUp(request, why)
  }

  /** The error of a request that gets nothing at an account with these facts; `budget` is that account, if it is one. */
  outOfMemory(
    request: Request,
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
        stepsTried: [...steps],
        waitedMillis,
        deadlock,
        ...this.port.evidence(budget)
      })
    )
    return place(error, operation, callSite)
  }

  /** Ends every wait that should not go on. */
  endWaits(): void {
    // A queue that this empties leaves the set meanwhile, and none comes in.
    for (const queue of this.queues) queue.end()
  }

  /** Serves the requests that were behind others that are gone. */
  serveAll(): void {
    for (const queue of Array.from(this.queues)) queue.serve()
    this.port.outer.tell()
  }

  /** A request that waits has an answer. Without a fiber that waits it is its own fiber that serves the queue, and sees it in this step. */
  tell(request: Request): void {
    if (request.resume !== undefined && this.#told.push(request) === 1) this.port.schedule(this.#resumeAnswered)
  }

  /** Fibers run from here until they suspend; requests that they serve are resumed in a later task. */
  readonly #resumeAnswered = (): void => {
    const end = Math.min(this.#told.length, this.#resumed + mostResumedAtOnce)
    try {
      while (this.#resumed < end) {
        const request = this.#told[this.#resumed++]!
        const { resume } = request
        // A request that was interrupted, or timed out, waits no more.
        request.resume = undefined
        resume?.(request.answer)
      }
    } finally {
      // An observer of a fiber may throw at its end; the other requests are resumed all the same.
      if (2 * this.#resumed >= this.#told.length) {
        this.#told = this.#told.slice(this.#resumed)
        this.#resumed = 0
      }
      if (this.#told.length > 0) this.port.schedule(this.#resumeAnswered)
    }
  }
}
