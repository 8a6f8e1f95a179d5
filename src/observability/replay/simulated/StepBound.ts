/**
 * How many steps a replay may take from one event of a recording to the next: more lead nowhere, and something repeats itself. Steps are
 * counted, and no clock is read: those of requests, tasks, timers, and what is tried for an event.
 *
 * @internal
 */

/** One event may have very many blocks to free, or handlers to ask, whatever waits. */
const leastSteps = 200_000

/** Each request that has not ended may go on with an event, past all budgets around it. */
const stepsPerRequest = 1000

/** For each event and each block: a request has the end of its lease and of its waiting; a block is freed, and is idle before. */
const timersPerEvent = 8

/** What fires besides the steps of an idle clock. */
const otherTimers = 4

export class StepBound {
  readonly #timersPerEvent: number
  #steps = leastSteps
  #timers: number
  isSpent = false

  /** Of a recording with so many blocks before its first event, where an idle clock takes so many steps at most. */
  constructor(blocks: number, idleSteps: number) {
    this.#timersPerEvent = timersPerEvent * (otherTimers + idleSteps)
    this.#timers = (blocks + 1) * this.#timersPerEvent
  }

  /** The next event comes, while so many requests have not ended. */
  event(requests: number): void {
    this.#timers += this.#timersPerEvent
    this.#begin(requests)
  }

  /** A timer fires. False when no more may. */
  timer(requests: number): boolean {
    if (--this.#timers < 0) this.isSpent = true
    this.#begin(requests)
    return !this.isSpent
  }

  /** A step is taken. False when no more may be. */
  step(): boolean {
    if (--this.#steps < 0) this.isSpent = true
    return !this.isSpent
  }

  #begin(requests: number): void {
    this.#steps = leastSteps + stepsPerRequest * requests
  }
}
