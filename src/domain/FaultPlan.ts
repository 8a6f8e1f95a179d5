import * as KnownOptions from "./KnownOptions.ts"
import { shown } from "./ShownValue.ts"
/**
 * Which of the next calls fail, as a test plans it.
 *
 * @since 0.1.0
 */

/**
 * Which calls a planned fault meets.
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
 * @internal
 */
export class FaultPlan<Fault> {
  /** Throws a TypeError for a window with an unknown option: neither one of a window nor one of `own`. */
  static demandNames(operation: string, window: FaultWindow | undefined, ...own: ReadonlyArray<string>): void {
    KnownOptions.demand(operation, window, new Set([...own, "nth", "times"]))
  }

  #count = 0
  #windows: ReadonlyArray<{ readonly first: number; readonly last: number; readonly fault: Fault }> = []

  /** How many calls there were. */
  get count(): number {
    return this.#count
  }

  /** Throws a RangeError for a window that cannot happen: such a plan would make a test pass for a wrong reason. */
  add(window: FaultWindow | undefined, fault: Fault): void {
    const nth = positive("nth", window?.nth ?? 1)
    const times = window?.times === Infinity ? Infinity : positive("times", window?.times ?? 1)
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

const positive = (name: string, value: number): number => {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new RangeError(`Faults: ${name} ${shown(value)} is no positive integer. The next call is 1.`)
}
