/**
 * The time and the tasks of a replay: no timer of the host runs, and the replay runs every task itself.
 *
 * A replay takes so many steps at most from one event of a recording to the next: more lead nowhere, and something repeats itself.
 * Steps are counted, and no clock is read: those of requests, tasks, timers, and what is tried for an event.
 *
 * @internal
 */
import { firstNot } from "../../Bisection.ts"

/** One event may have very many blocks to free, or handlers to ask, whatever waits. */
const leastSteps = 200_000

/** Each request that has not ended may go on with an event, past all budgets around it. */
const stepsPerRequest = 1000

/** For each event and each block: a request has the end of its lease and of its waiting; a block is freed, and is idle before. */
const timersPerEvent = 8

/** What fires besides the steps of an idle clock. */
const otherTimers = 4

export interface Timer {
  readonly due: number
  /** Undefined once it has run or was cancelled. */
  run: (() => void) | undefined
}

export class VirtualTime {
  /** Milliseconds since 1970. */
  now: number
  /** Whether it has taken more steps than lead anywhere. */
  isSpent = false
  /** By their times; those of one time in the order in which they were set. */
  readonly #timers: Array<Timer> = []
  /** How many requests have not ended. */
  readonly #requests: () => number
  readonly #timersPerEvent: number
  #tasks: Array<() => void> = []
  #steps = leastSteps
  #timersLeft: number

  /** Of a recording with so many blocks before its first event, where an idle clock takes so many steps at most. */
  constructor(now: number, blocks: number, idleSteps: number, requests: () => number) {
    this.now = now
    this.#requests = requests
    this.#timersPerEvent = timersPerEvent * (otherTimers + idleSteps)
    this.#timersLeft = (blocks + 1) * this.#timersPerEvent
  }

  /** The next event comes. */
  event(): void {
    this.#timersLeft += this.#timersPerEvent
    this.#beginSteps()
  }

  /** A step is taken. False when no more may be. */
  step(): boolean {
    if (--this.#steps < 0) this.isSpent = true
    return !this.isSpent
  }

  #beginSteps(): void {
    this.#steps = leastSteps + stepsPerRequest * this.#requests()
  }

  add(task: () => void): void {
    this.#tasks.push(task)
  }

  /** Runs all tasks, as long as it may take steps. */
  drain(): void {
    for (let tasks = this.#tasks; tasks.length > 0; tasks = this.#tasks) {
      this.#tasks = []
      for (const task of tasks) {
        if (!this.step()) return
        task()
      }
    }
  }

  /** From the next tasks on, after so many milliseconds. */
  after(millis: number, run: () => void): Timer {
    const due = this.now + millis
    const timer: Timer = { due, run }
    const timers = this.#timers
    if (millis < Infinity) timers.splice(firstNot(timers.length, (at) => timers[at]!.due <= due), 0, timer)
    return timer
  }

  /** Lets time pass, and runs what is due by then. */
  advance(to: number): void {
    if (to > this.now) this.drain()
    for (let [timer] = this.#timers; timer !== undefined && timer.due <= to; timer = this.#timers[0]) {
      this.#timers.shift()
      const { run } = timer
      if (run === undefined) continue
      if (--this.#timersLeft < 0) this.isSpent = true
      if (this.isSpent) return
      this.#beginSteps()
      this.now = Math.max(this.now, timer.due)
      timer.run = undefined
      run()
      this.drain()
    }
    // A recorded clock may have been set back.
    this.now = Math.max(this.now, to)
  }

  /** Runs all timers that there are, at their times, while `goesOn`. */
  finish(goesOn: () => boolean): void {
    this.drain()
    for (let [timer] = this.#timers; timer !== undefined && goesOn(); timer = this.#timers[0]) this.advance(timer.due)
  }
}
