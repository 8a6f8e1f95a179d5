/**
 * The time and the tasks of a replay: no timer of the host runs, and the replay runs every task itself.
 *
 * The number of steps from one event of a recording to the next is bounded: a replay that takes more is in an endless loop. Steps of
 * requests, tasks and timers count; no clock is read.
 *
 * @internal
 */
import { firstNot } from "../../Bisection.ts"

/** Steps that any event may take: it may free very many blocks, or ask very many handlers. */
const leastSteps = 200_000

/** Further steps for each open request: an event may let it continue, through all budgets around it. */
const stepsPerRequest = 1000

/** For each event and each block: the end of a lease or a wait, or the steps after which an idle block is freed. */
const timersPerEvent = 8

/** Timers besides the steps of an idle clock. */
const otherTimers = 4

export interface Timer {
  readonly due: number
  /** Undefined once it has run or was cancelled. */
  run: (() => void) | undefined
}

export class VirtualTime {
  /** Milliseconds since 1970. */
  now: number
  /** Whether it has taken more steps than allowed. */
  isSpent = false
  /** Sorted by time; timers of equal time in the order in which they were set. */
  readonly #timers: Array<Timer> = []
  /** How many requests have not ended. */
  readonly #requests: () => number
  readonly #timersPerEvent: number
  #tasks: Array<() => void> = []
  #steps = leastSteps
  #timersLeft: number

  /** `blocks` is the number of blocks before the first event, `idleSteps` the most steps of an idle clock. */
  constructor(now: number, blocks: number, idleSteps: number, requests: () => number) {
    this.now = now
    this.#requests = requests
    this.#timersPerEvent = timersPerEvent * (otherTimers + idleSteps)
    this.#timersLeft = (blocks + 1) * this.#timersPerEvent
  }

  /** Allows the steps of the next event. */
  event(): void {
    this.#timersLeft += this.#timersPerEvent
    this.#beginSteps()
  }

  /** Counts a step. False when no more are allowed. */
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

  /** Runs all tasks, within the allowed steps. */
  drain(): void {
    for (let tasks = this.#tasks; tasks.length > 0; tasks = this.#tasks) {
      this.#tasks = []
      for (const task of tasks) {
        if (!this.step()) return
        task()
      }
    }
  }

  /** Runs a function after this many milliseconds. */
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

  /** Runs all remaining timers at their times, while `goesOn`. */
  finish(goesOn: () => boolean): void {
    this.drain()
    for (let [timer] = this.#timers; timer !== undefined && goesOn(); timer = this.#timers[0]) this.advance(timer.due)
  }
}
