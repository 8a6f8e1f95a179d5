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
  /** The time at the beginning of its axis, in milliseconds since 1970; undefined without events. */
  readonly origin: number | undefined
  /** What the times tell apart, in milliseconds: 1 where all are whole, as this library records them, and otherwise a microsecond. */
  readonly timeStep: number
  readonly leaseChanges: Changes
  readonly blockChanges: Changes
  readonly waitChanges: Changes
  readonly #times: Float64Array
  readonly #events: Float64Array
  readonly #marks: { readonly [A in Axis]: Float64Array }

  /** Where it was taken on an axis that it shares with others; 0 on an axis of its own. */
  readonly #taken: number

  /** With an `origin`, it shares an axis of time with others, which begins there. Otherwise its axis begins at its first event. */
  constructor(timeline: Timeline, origin?: number) {
    this.timeline = timeline
    this.origin = origin ?? timeline.times[0]
    this.#taken = origin === undefined ? 0 : timeline.takenAt - origin
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
      latest = Math.max(latest, timeline.times[at]! - this.origin!)
      this.#times[at + 1] = latest
    }
    // what was there before the first event is known from then on
    this.#times[0] = this.#times[1] ?? 0
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

  /** Where the axis ends: a little behind the last event, so that the last state can be seen; or where it was taken. */
  length(axis: Axis): number {
    if (axis === "events") return this.states
    const last = this.#times[this.states - 1]!
    return last === 0 ? Math.max(1, this.#taken) : Math.max(last * 1.005, this.#taken)
  }

  /** Whether anything is known of a part of the axis: other runs on a shared axis may have begun earlier, or were taken later. */
  knows(axis: Axis, from: number, to: number): boolean {
    return this.#taken === 0 || (to > this.positions(axis)[0]! && from < this.length(axis))
  }

  /** The state at a place of the axis: the last one that has begun there. */
  stateAt(axis: Axis, x: number): number {
    return Math.max(0, above(this.positions(axis), x) - 1)
  }
}
