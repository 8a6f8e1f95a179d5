/**
 * Looks for deadlocks while requests wait. The search itself is loaded when the first of them has waited for some time.
 *
 * The rule of `Deadlock` does not see a release that another fiber would still do. So requests fail only when they have waited for each
 * other for `suspectAfter`, in which nothing came back to their queues and none of them was at work.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { Queue } from "../../domain/pool/machine/Request.ts"
import * as LoadedPart from "../calls/LoadedPart.ts"
import type { Watched } from "./DeadlockView.ts"
import type { LeaseRequest } from "./LeaseRequest.ts"

const part = LoadedPart.module("services/pool/DeadlockSearch", () => import("./DeadlockSearch.ts"))

/** So many looks that would see what the last one saw are left out at most. */
const mostLeftOut = 7

/** What a look saw of a queue, and which requests had come by then. */
interface Mark {
  readonly changes: number
  readonly arrivals: number
}

export class DeadlockWatch {
  readonly #pool: Watched
  readonly #suspectAfterMillis: number
  readonly #run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Runs only while requests wait. */
  #timer: Fiber.Fiber<void> | undefined = undefined
  /** The queues in which requests waited at the last look. */
  #marks: ReadonlyMap<Queue, Mark> = new Map()
  /** What was seen when nothing was found last, and how many looks that would see the same are left out now and the next time. */
  #seen = -1
  #toLeaveOut = 0
  #leftOut = 0

  constructor(pool: Watched, suspectAfterMillis: number, run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.#pool = pool
    this.#suspectAfterMillis = suspectAfterMillis
    this.#run = run
  }

  /** A request begins to wait. */
  start(): void {
    const suspectAfterMillis = this.#suspectAfterMillis
    if (this.#timer !== undefined || suspectAfterMillis === Infinity || this.#pool.closed) return
    this.#mark()
    const timer = this.#run(Effect.whileLoop({
      while: () => {
        const goesOn = this.#pool.machine.state.queues.size > 0
        // In the same step, or a request that begins to wait before the fiber has ended would start no other.
        if (!goesOn) this.#forget()
        return goesOn
      },
      body: () => Effect.andThen(Effect.sleep(suspectAfterMillis), this.#look),
      step: () => {}
    }))
    this.#timer = timer
    timer.addObserver(() => {
      if (this.#timer === timer) this.#timer = undefined
    })
  }

  stop(): void {
    const timer = this.#timer
    this.#forget()
    timer?.interruptUnsafe()
  }

  #forget(): void {
    this.#timer = undefined
    this.#marks = new Map()
    this.#seen = -1
  }

  #mark(): void {
    const marks = new Map<Queue, Mark>()
    for (const { machine: { state } } of this.#pool.peers) {
      for (const queue of state.queues) marks.set(queue, { changes: queue.changes(), arrivals: state.arrivals })
    }
    this.#marks = marks
  }

  /**
   * Whether a request has waited since the last look, and nothing has come back to its queue. One that has to wait for the end of a job,
   * and for no memory, is in no deadlock.
   */
  readonly #hasWaited = (request: LeaseRequest, queue: Queue): boolean => {
    const mark = this.#marks.get(queue)
    return mark !== undefined && request.arrival < mark.arrivals && this.#isQuiet(queue) &&
      !(request.isHeldBack && queue.hasRoomFor(request))
  }

  #isQuiet(queue: Queue): boolean {
    return this.#marks.get(queue)?.changes === queue.changes() && queue.atWork === 0
  }

  readonly #look = Effect.suspend(() => {
    // An operation may not have known yet on which fiber it runs, and for which job, when its request had to wait for the end of others.
    for (const queue of this.#pool.machine.state.queues) if (queue.jobs !== undefined) queue.serve()
    const seen = this.#fingerprint()
    if (!this.#hasQuiet) return Effect.sync(() => this.#mark())
    if (seen === this.#seen && this.#leftOut++ < this.#toLeaveOut) return Effect.sync(() => this.#nothingFound())
    return Effect.catch(
      part.use(({ endDeadlocks }) => Effect.sync(() => this.#search(endDeadlocks))),
      ({ message }) => Effect.logWarning(`Requests may wait for each other, and nobody looks: ${message}`)
    )
  })

  #search(endDeadlocks: (pool: Watched, mayBe: (request: LeaseRequest, queue: Queue) => boolean) => boolean): void {
    // It may have taken time to load.
    if (this.#hasQuiet && endDeadlocks(this.#pool, this.#hasWaited)) return this.#mark()
    const seen = this.#fingerprint()
    this.#toLeaveOut = seen === this.#seen ? Math.min(2 * this.#toLeaveOut + 1, mostLeftOut) : 0
    this.#leftOut = 0
    this.#seen = seen
    this.#nothingFound()
  }

  get #hasQuiet(): boolean {
    return !this.#pool.isTelling && Array.from(this.#pool.machine.state.queues).some((queue) => this.#isQuiet(queue))
  }

  /** Jobs that have memory may wait for a job that has to wait until they end. */
  #nothingFound(): void {
    for (const queue of this.#pool.machine.state.queues) if (this.#isQuiet(queue)) queue.raiseJobs()
    this.#mark()
  }

  /** Changes with what the search depends on, as far as the pools know: who waits for an operation they do not. */
  #fingerprint(): number {
    return this.#pool.peers.reduce(
      (sum, { leases, machine: { core, memory, state } }) =>
        sum + leases.order.granted + state.arrivals + memory.queue.changes() + core.waiters,
      0
    )
  }
}
