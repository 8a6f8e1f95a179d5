/**
 * The recordings that the page shows, under the chosen grouping and filter: the first one, and perhaps another run.
 *
 * @internal
 */
import type { Timeline } from "../Timeline.ts"
import { Analysis, type Choice } from "./model/Analysis.ts"
import { type Axis, Run } from "./model/Run.ts"

export class Runs {
  choice: Choice = { by: "label", filter: { text: "", memory: undefined } }
  #all: ReadonlyArray<Analysis>

  constructor(timelines: ReadonlyArray<Timeline>) {
    this.#all = timelines.map((timeline) => new Analysis(new Run(timeline), this.choice))
  }

  get first(): Analysis {
    return this.#all[0]!
  }

  get second(): Analysis | undefined {
    return this.#all[1]
  }

  get failures() {
    return this.first.run.timeline.failures
  }

  /** The length of the axis. */
  whole(axis: Axis): number {
    return Math.max(...this.#all.map(({ run }) => run.length(axis)))
  }

  /** Events of a few milliseconds cannot be told apart in time. */
  get fittingAxis(): Axis {
    const { run } = this.first
    return run.positions("time")[run.states - 1]! * 4 < Math.min(run.states, 400) ? "events" : "time"
  }

  /** Where requests failed on an axis, in order. */
  failuresOn(axis: Axis): ReadonlyArray<number> {
    const positions = this.first.run.positions(axis)
    return this.failures.map(({ state }) => positions[state]!)
  }

  choose(change: Partial<Choice>): void {
    this.choice = { ...this.choice, ...change }
    for (const run of this.#all) run.choose(this.choice)
  }

  /** Replaces the first run by a newer recording, under the same name. */
  renew(timeline: Timeline): void {
    const { title } = this.first.run.timeline
    this.#all = [new Analysis(new Run({ ...timeline, title }), this.choice), ...this.#all.slice(1)]
  }
}
