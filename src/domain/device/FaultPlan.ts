/**
 * Which of the next calls fail, as a test plans it.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import { formatted } from "../arguments/Format.ts"
import * as Delay from "./Delay.ts"

/**
 * Which calls a planned fault makes fail.
 *
 * @category models
 * @since 0.1.0
 */
export interface FaultWindow {
  /** The first call that fails, counted from now: 1, the default, is the next one. */
  readonly nth?: number | undefined
  /** How many calls in a row fail, 1 when left out; `Infinity` for all from there on. */
  readonly times?: number | undefined
}

/**
 * Calls of one kind: how many there were, and which of the next ones fail. Faults go by counts of calls, not by time,
 * so a run with the same calls fails at the same place.
 *
 * @category models
 * @since 0.1.0
 */
export class FaultPlan<Fault> {
  #count = 0
  #windows: ReadonlyArray<{ readonly first: number; readonly last: number; readonly fault: Fault }> = []

  /** How many calls there were. */
  get count(): number {
    return this.#count
  }

  /** Adds a fault at the calls of a window. Throws a RangeError for one that no call can be in. */
  add({ nth = 1, times = 1 }: FaultWindow = {}, fault: Fault): void {
    demandPositive("nth", nth)
    if (times !== Infinity) demandPositive("times", times)
    const first = this.#count + nth
    this.#windows = [...this.#windows, { first, last: first + times - 1, fault }]
  }

  /** Forgets the faults that are still to come. */
  clear(): void {
    this.#windows = []
  }

  /** Counts a call and returns its fault; of several faults the one that was planned first. */
  next(): Fault | undefined {
    const call = ++this.#count
    if (this.#windows.length === 0) return undefined
    const met = this.#windows.find((window) => window.first <= call && call <= window.last)
    this.#windows = this.#windows.filter((window) => window.last > call)
    return met?.fault
  }
}

/**
 * A delay that a test plans, `undefined` for none. Throws a RangeError for what is no duration of at least 0.
 *
 * @category functions
 * @since 0.1.0
 */
export const delayOf = (input: Duration.Input | undefined): Duration.Duration | undefined => {
  if (input === undefined) return undefined
  const delay = Delay.parse(input)
  if (delay !== undefined) return delay
  throw new RangeError(`${formatted(input)} is no delay: pass a duration of at least 0`)
}

const demandPositive = (name: string, value: number): void => {
  if (Number.isSafeInteger(value) && value >= 1) return
  throw new RangeError(`${name} ${formatted(value)} of a planned fault is no positive integer: the next call is 1`)
}
