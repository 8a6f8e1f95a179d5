/**
 * Which of the next calls fail, as a test plans it.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import { formatted } from "../arguments/Format.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
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

  add({ nth = 1, times = 1 }: FaultWindow, fault: Fault): void {
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
 * The plans of one controller of faults.
 *
 * An impossible plan would make a test pass for the wrong reason. So the controller keeps its error, and every call
 * under it fails with that.
 *
 * @category models
 * @since 0.1.0
 */
export class FaultPlans {
  #problem: GpuError | undefined

  /** The error of the first impossible plan, until `clear`. */
  get problem(): GpuError | undefined {
    return this.#problem
  }

  /** Adds a fault to a plan, at the calls of a window. */
  add<Fault>(operation: string, plan: FaultPlan<Fault>, window: FaultWindow | undefined, fault: Fault): void {
    const problem = window === undefined ? undefined : windowProblem(operation, window)
    if (problem !== undefined) return this.refuse(problem)
    plan.add(window ?? {}, fault)
  }

  /** Keeps the error of an impossible plan. */
  refuse(problem: GpuError): void {
    this.#problem ??= problem
  }

  /** The delay of a plan, `undefined` for none. */
  delay(operation: string, input: Duration.Input | undefined): Duration.Duration | undefined {
    if (input === undefined) return undefined
    const delay = Delay.parse(input)
    if (delay === undefined) {
      this.refuse(invalidRequest(operation, `${formatted(input)} is no delay`, "Pass a duration of at least 0."))
    }
    return delay
  }

  /** Forgets the faults of these plans that are still to come, and the error of an impossible plan. */
  clear(...plans: ReadonlyArray<FaultPlan<unknown>>): void {
    for (const plan of plans) plan.clear()
    this.#problem = undefined
  }
}

const windowProblem = (operation: string, { nth, times }: FaultWindow): GpuError | undefined =>
  positiveProblem(operation, "nth", nth) ??
    (times === Infinity ? undefined : positiveProblem(operation, "times", times))

const positiveProblem = (operation: string, name: string, value: number | undefined): GpuError | undefined =>
  value === undefined || (Number.isSafeInteger(value) && value >= 1)
    ? undefined
    : invalidRequest(operation, `${name} ${formatted(value)} is no positive integer`, "The next call is 1.")
