/**
 * The time and the tasks of a replay: no timer of the host runs, and the replay runs every task itself.
 *
 * @internal
 */
import type { StepBound } from "./StepBound.ts"

export class Timer {
  readonly due: number
  readonly sequence: number
  readonly #run: () => void
  #isOver = false

  constructor(due: number, sequence: number, run: () => void) {
    this.due = due
    this.sequence = sequence
    this.#run = run
  }

  get isOver(): boolean {
    return this.#isOver
  }

  cancel(): void {
    this.#isOver = true
  }

  /** Runs it, unless it has run or was cancelled. */
  fire(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#run()
  }
}

const isBefore = (a: Timer, b: Timer): boolean => a.due < b.due || (a.due === b.due && a.sequence < b.sequence)

/** The timers by their time: a heap. */
class Timers {
  readonly #heap: Array<Timer> = []

  get first(): Timer | undefined {
    return this.#heap[0]
  }

  add(timer: Timer): void {
    const heap = this.#heap
    let at = heap.push(timer) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(timer, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = timer
  }

  removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let at = 0
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

export class VirtualTime {
  /** Milliseconds since 1970. */
  now: number
  readonly #timers = new Timers()
  readonly #bound: StepBound
  /** How many requests have not ended. */
  readonly #requests: () => number
  #sequence = 0
  #tasks: Array<() => void> = []
  #run = 0

  constructor(now: number, bound: StepBound, requests: () => number) {
    this.now = now
    this.#bound = bound
    this.#requests = requests
  }

  add(task: () => void): void {
    this.#tasks.push(task)
  }

  /** Runs the next task. False when there is none, or when no more may run. */
  runOne(): boolean {
    const task = this.#tasks[this.#run]
    if (task === undefined || !this.#bound.step()) return false
    this.#run++
    if (this.#run === this.#tasks.length) {
      this.#tasks = []
      this.#run = 0
    }
    task()
    return true
  }

  drain(): void {
    while (this.runOne());
  }

  /** From the next tasks on, after so many milliseconds. */
  after(millis: number, run: () => void): Timer {
    const timer = new Timer(this.now + millis, this.#sequence++, run)
    if (millis < Infinity) this.#timers.add(timer)
    return timer
  }

  /** Lets time pass, and runs what is due by then. */
  advance(to: number): void {
    if (to > this.now) this.drain()
    for (let timer = this.#timers.first; timer !== undefined && timer.due <= to; timer = this.#timers.first) {
      this.#timers.removeFirst()
      if (timer.isOver) continue
      if (!this.#bound.timer(this.#requests())) return
      this.now = Math.max(this.now, timer.due)
      timer.fire()
      this.drain()
    }
    // A recorded clock may have been set back.
    this.now = Math.max(this.now, to)
  }

  /** Runs all timers that there are, at their times, while `goesOn`. */
  finish(goesOn: () => boolean): void {
    this.drain()
    for (let timer = this.#timers.first; timer !== undefined && goesOn(); timer = this.#timers.first) {
      this.advance(timer.due)
    }
  }
}
