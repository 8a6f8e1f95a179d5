/**
 * A recording as the page draws it: where its states are on the axis, and what begins and ends at each.
 *
 * @internal
 */
import { above } from "../../../Bisection.ts"
import type { Timeline } from "../../Timeline.ts"

/** Milliseconds since the first event; or the numbers of events, many of which can be in one millisecond. */
export type Axis = "time" | "events"

/** What begins and ends at each state, in columns: that of state `s` is from `from[s]` to `from[s + 1]`. */
export interface Changes {
  readonly from: Int32Array
  /** The index plus one of what begins; negative for what ends. */
  readonly of: Int32Array
}

export const changesOf = (states: number, start: Int32Array, end: Int32Array): Changes => {
  const from = new Int32Array(states + 1)
  const last = states - 1
  for (const column of [start, end]) {
    for (let at = 0; at < column.length; at++) if (column[at]! <= last) from[column[at]! + 1]!++
  }
  for (let state = 0; state < states; state++) from[state + 1]! += from[state]!
  const next = from.slice()
  const of = new Int32Array(from[states]!)
  // ends come first, so that a lease can get in a state what another one gives back in it
  for (let at = 0; at < end.length; at++) if (end[at]! <= last) of[next[end[at]!]!++] = -at - 1
  for (let at = 0; at < start.length; at++) of[next[start[at]!]!++] = at + 1
  return { from, of }
}

/** The axis has a mark at every 16th state. */
export const statesPerMark = 16

const marksOf = (positions: Float64Array): Float64Array =>
  Float64Array.from(
    { length: Math.ceil(positions.length / statesPerMark) },
    (_, mark) => positions[mark * statesPerMark]!
  )

export class Run {
  readonly timeline: Timeline
  /** How many states there are: one more than events. */
  readonly states: number
  /** What the times tell apart, in milliseconds: 1 where all are whole, as this library records them, and otherwise a microsecond. */
  readonly timeStep: number
  readonly leaseChanges: Changes
  readonly blockChanges: Changes
  readonly waitChanges: Changes
  readonly #times: Float64Array
  readonly #events: Float64Array
  readonly #marks: { readonly [A in Axis]: Float64Array }

  constructor(timeline: Timeline) {
    this.timeline = timeline
    const events = timeline.times.length
    this.states = events + 1
    this.timeStep = timeline.times.every((at) => Number.isInteger(at - timeline.times[0]!)) ? 1 : 1e-3
    this.leaseChanges = changesOf(this.states, timeline.leases.start, timeline.leases.end)
    this.blockChanges = changesOf(this.states, timeline.blocks.start, timeline.blocks.end)
    this.waitChanges = changesOf(this.states, timeline.waits.start, timeline.waits.end)
    this.#events = Float64Array.from({ length: this.states }, (_, state) => state)
    this.#times = new Float64Array(this.states)
    // where a clock was set back, an event has the position of the one before it
    let latest = 0
    for (let at = 0; at < events; at++) {
      latest = Math.max(latest, timeline.times[at]! - timeline.times[0]!)
      this.#times[at + 1] = latest
    }
    this.#marks = { time: marksOf(this.#times), events: marksOf(this.#events) }
  }

  /** Where each state begins on the axis, ascending. */
  positions(axis: Axis): Float64Array {
    return axis === "time" ? this.#times : this.#events
  }

  /** The positions of every 16th state. */
  marks(axis: Axis): Float64Array {
    return this.#marks[axis]
  }

  /** Where the axis ends: a little behind the last event, so that the last state can be seen. */
  length(axis: Axis): number {
    if (axis === "events") return this.states
    const last = this.#times[this.states - 1]!
    return last === 0 ? 1 : last * 1.005
  }

  /** The state at a place of the axis: the last one that has begun there. */
  stateAt(axis: Axis, x: number): number {
    return Math.max(0, above(this.positions(axis), x) - 1)
  }
}
