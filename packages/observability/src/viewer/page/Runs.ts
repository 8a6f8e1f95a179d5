/**
 * The recordings that the page shows, under the chosen grouping and filter: one, perhaps with another run over it, or those of the hosts of
 * a fleet, of which one is shown.
 *
 * @internal
 */
import type { Timeline } from "../Timeline.ts"
import { Analysis, type Choice } from "./model/Analysis.ts"
import { type Axis, Run } from "./model/Run.ts"

/** Where the common axis of several hosts begins: at the first event of all. */
const earliest = (timelines: ReadonlyArray<Timeline>): number | undefined => {
  const begins = timelines.flatMap(({ times }) => times.length === 0 ? [] : [times[0]!])
  return begins.length === 0 ? undefined : Math.min(...begins)
}

export class Runs {
  choice: Choice = { by: "label", filter: { text: "", memory: undefined } }
  /** Where the axis begins, for all hosts. */
  #origin: number | undefined
  readonly #areHosts: boolean
  #all: ReadonlyArray<Analysis>
  /** Which host is shown. */
  #shown = 0

  constructor(timelines: ReadonlyArray<Timeline>, areHosts = false) {
    this.#areHosts = areHosts
    this.#origin = areHosts ? earliest(timelines) : undefined
    this.#all = timelines.map((timeline) => new Analysis(this.#runOf(timeline), this.choice))
  }

  /** The run that is shown. */
  get first(): Analysis {
    return this.#all[this.#shown]!
  }

  /** The run that is drawn over the first one. */
  get second(): Analysis | undefined {
    return this.#areHosts ? undefined : this.#all[1]
  }

  /** The runs of all hosts; empty for a page of no fleet. */
  get hosts(): ReadonlyArray<Analysis> {
    return this.#areHosts ? this.#all : []
  }

  get shown(): number {
    return this.#shown
  }

  get failures() {
    return this.first.run.timeline.failures
  }

  /** The length of the axis. */
  whole(axis: Axis): number {
    if (this.#areHosts && axis === "events") return this.first.run.length(axis)
    return Math.max(...this.#all.map(({ run }) => run.length(axis)))
  }

  /** Events of a few milliseconds cannot be told apart in time. Hosts have no axis in common but time. */
  get fittingAxis(): Axis {
    const { run } = this.first
    if (this.#areHosts) return "time"
    return run.positions("time")[run.states - 1]! * 4 < Math.min(run.states, 400) ? "events" : "time"
  }

  /** Where requests failed on an axis, in order. */
  failuresOn(axis: Axis, { run }: Analysis = this.first): ReadonlyArray<number> {
    const positions = run.positions(axis)
    return run.timeline.failures.map(({ state }) => positions[state]!)
  }

  choose(change: Partial<Choice>): void {
    this.choice = { ...this.choice, ...change }
    for (const run of this.#all) run.choose(this.#choiceOf(run))
  }

  /** Shows another host. Its memories are others, so that the filter has none of them. */
  show(host: number): void {
    this.#shown = host
    const { filter } = this.choice
    if (filter.memory !== undefined) this.choose({ filter: { ...filter, memory: undefined } })
  }

  /** Replaces the run of a host, or the first run, by a newer recording, under the same name. */
  renew(timeline: Timeline, host = 0): void {
    const before = this.#all[host]!
    if (this.#areHosts) this.#origin ??= earliest([timeline])
    const run = this.#runOf({ ...timeline, title: before.run.timeline.title })
    const newer = new Analysis(run, this.#choiceOf(before))
    this.#all = this.#all.map((one) => one === before ? newer : one)
  }

  #runOf(timeline: Timeline): Run {
    return new Run(timeline, this.#origin)
  }

  /** The memory of the filter is one of the host that is shown. */
  #choiceOf(run: Analysis): Choice {
    const { by, filter } = this.choice
    return this.#areHosts && run !== this.first ? { by, filter: { ...filter, memory: undefined } } : this.choice
  }
}
