/**
 * Runs submitted work in order on the only thread, and leaves the event loop time for other tasks.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import type { GpuError } from "../../domain/GpuError.ts"
import type { TaskQueue } from "../../services/calls/Tasks.ts"

/** One piece of submitted work. */
export interface Job {
  /** Works piece by piece and yields each piece's cost, as a share of one task of the event loop. Never throws. */
  readonly pieces: Iterator<number, void>
  /** Whether it may begin; until then the worker waits. What makes it ready must call `run`. */
  readonly isReady?: (() => boolean) | undefined
  /** Called when the job is done and has left the queue. */
  readonly finished?: (() => void) | undefined
  /** Called instead when the device is lost before the job was done. */
  readonly abandoned?: ((error: GpuError) => void) | undefined
}

/** An array's iterator is done for good once it is done, so one serves all. */
const nothing: Iterator<number, void> = [][Symbol.iterator]()

/** A job without pieces, which ends as soon as it begins. */
export const immediate = (finished: () => void): Job => ({ pieces: nothing, finished })

/** The least cost of a job, so that many tiny jobs fill a task too. */
const leastCost = 1 / 4096

/**
 * Work in order. What fits into the current task of the event loop runs at once, inside `run`; the rest runs in later
 * tasks.
 */
export class HostWorker {
  #jobs: Array<Job> = []
  #head = 0
  /** The share of the current task that is used. */
  #spent = 0
  #running = false
  #scheduled = false
  readonly #runLater: TaskQueue["next"]

  constructor(runLater: TaskQueue["next"]) {
    this.#runLater = runLater
  }

  /** Whether everything submitted has run. */
  get idle(): boolean {
    return this.#head === this.#jobs.length
  }

  enqueue(job: Job): void {
    this.#jobs.push(job)
  }

  /** A finished job may resume a fiber that submits more jobs: the call that is running then runs them too. */
  run(): void {
    if (this.#running || this.#scheduled) return
    this.#running = true
    while (this.#spent < 1) {
      const job = this.#next
      if (job === undefined) break
      this.#step(job)
    }
    this.#running = false
    if (this.#next === undefined) return
    this.#scheduled = true
    this.#runLater(this.#continue)
  }

  /**
   * Waits for its place in the queue, calls `ended` there, and gives the answer of the same step. Fails when the device is lost
   * before. When the fiber is interrupted, its place stays in the queue, and there is no answer.
   */
  wait(answer: () => Effect.Effect<void, GpuError>, ended: () => void = constVoid): Effect.Effect<void, GpuError> {
    return Effect.callback((resume) => {
      let isInterrupted = false
      const finished = () => {
        ended()
        if (!isInterrupted) resume(answer())
      }
      this.enqueue({ ...immediate(finished), abandoned: (error) => resume(Exit.fail(error)) })
      this.run()
      return Effect.sync(() => {
        isInterrupted = true
      })
    })
  }

  /** Drops the jobs that have not ended, and calls their `abandoned`. */
  abandon(error: GpuError): void {
    const dropped = this.#jobs.slice(this.#head)
    this.#jobs = []
    this.#head = 0
    for (const job of dropped) job.abandoned?.(error)
  }

  /** The first job, if it may run. */
  get #next(): Job | undefined {
    const job = this.#jobs[this.#head]
    return job?.isReady === undefined || job.isReady() ? job : undefined
  }

  readonly #continue = (): void => {
    this.#scheduled = false
    this.#spent = 0
    this.run()
  }

  #step(job: Job): void {
    const piece = job.pieces.next()
    if (piece.done !== true) {
      this.#spent += piece.value
      return
    }
    this.#spent += leastCost
    // The job itself may have lost the device, which abandons all jobs, this one included.
    if (this.#jobs[this.#head] !== job) return
    this.#leave()
    job.finished?.()
  }

  /** Cuts off the finished half only, so that a long queue costs the same per job as a short one. */
  #leave(): void {
    this.#head += 1
    if (2 * this.#head < this.#jobs.length) return
    this.#jobs = this.#jobs.slice(this.#head)
    this.#head = 0
  }
}
