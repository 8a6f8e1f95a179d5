/**
 * The time and the tasks of a replay: no timer of the host runs, and the replay runs every task itself.
 *
 * @internal
 */
import { firstNot } from "../../Bisection.ts"

export interface Timer {
  readonly due: number
  /** Undefined once it has run or was cancelled. */
  run: (() => void) | undefined
}

export class VirtualTime {
  /** Milliseconds since 1970. */
  now: number
  /** Sorted by time; timers of equal time in the order in which they were set. */
  readonly #timers: Array<Timer> = []
  #tasks: Array<() => void> = []

  constructor(now: number) {
    this.now = now
  }

  add(task: () => void): void {
    this.#tasks.push(task)
  }

  /** Runs all tasks. */
  drain(): void {
    for (let tasks = this.#tasks; tasks.length > 0; tasks = this.#tasks) {
      this.#tasks = []
      for (const task of tasks) task()
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
