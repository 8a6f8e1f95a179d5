/**
 * Which part of the axis is visible, where the cursor is, and how both move.
 *
 * @internal
 */
import { notBelow } from "../../Bisection.ts"
import type { Failure } from "../Timeline.ts"
import { rangeOf, type View } from "./model/Picture.ts"
import type { Axis } from "./model/Run.ts"
import type { Runs } from "./Runs.ts"

/** What a change makes anew: all of the picture, or the cursor alone. */
export type Part = "picture" | "cursor"

export interface Cursor {
  readonly x: number
  readonly state: number
}

export class Viewport {
  #view: View
  #cursor: Cursor = { x: 0, state: 0 }
  #failure: Failure | undefined
  #since: number | undefined
  readonly #runs: Runs
  readonly #columns: () => number
  readonly #changed: (part: Part) => void

  /** `columns` returns the number of columns of pixels in which the view is drawn. */
  constructor(runs: Runs, columns: () => number, changed: (part: Part) => void) {
    this.#runs = runs
    this.#columns = columns
    this.#changed = changed
    const axis = runs.fittingAxis
    this.#view = { axis, from: 0, to: runs.whole(axis) }
  }

  readonly view = (): View => this.#view

  get cursor(): Cursor {
    return this.#cursor
  }

  /** The failure at the cursor. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /** The state of the moment A, with which the cursor is compared. */
  get since(): number | undefined {
    return this.#since
  }

  /** Makes the moment at the cursor the moment A, or forgets A. */
  readonly toggleSince = (): void => {
    this.#since = this.#since === undefined ? this.#cursor.state : undefined
    this.#changed("cursor")
  }

  /** The state that is drawn at a place: that of a failure, or that of the most bytes. */
  readonly stateDrawnAt = (x: number): number => {
    const { failure, first, last } = this.#drawnAt(x)
    return failure?.state ?? this.#runs.first.stack.greatest.between(first, last)
  }

  get whole(): number {
    return this.#runs.whole(this.#view.axis)
  }

  get #isWhole(): boolean {
    return this.#view.from === 0 && this.#view.to === this.whole
  }

  get #positions(): Float64Array {
    return this.#runs.first.run.positions(this.#view.axis)
  }

  // The view

  readonly zoomTo = (from: number, to: number): void => {
    const { axis } = this.#view
    const { whole } = this
    const least = axis === "events" ? 2 : Math.min(whole, 1e-3)
    const width = Math.min(whole, Math.max(least, to - from))
    const left = Math.min(Math.max(0, from), whole - width)
    this.#view = { axis, from: left, to: left + width }
    this.#changed("picture")
  }

  readonly zoomAt = (x: number, factor: number): void => {
    const { from, to } = this.#view
    const width = (to - from) * factor
    const share = (x - from) / (to - from)
    this.zoomTo(x - share * width, x + (1 - share) * width)
  }

  /** Zooms at the cursor where that is visible, else in the middle. */
  readonly zoom = (factor: number): void => {
    const { from, to } = this.#view
    const { x } = this.#cursor
    this.zoomAt(x >= from && x <= to ? x : (from + to) / 2, factor)
  }

  readonly panBy = (share: number): void => {
    const { from, to } = this.#view
    const by = share * (to - from)
    this.zoomTo(from + by, to + by)
  }

  readonly showAll = (): void => this.zoomTo(0, this.whole)

  /** The same events stay visible on the other axis. */
  setAxis(axis: Axis): void {
    if (axis === this.#view.axis) return
    const { run } = this.#runs.first
    const before = this.#positions
    const after = run.positions(axis)
    const { from, to } = this.#view
    const isWhole = this.#isWhole
    this.#view = { axis, from: 0, to: this.#runs.whole(axis) }
    if (!isWhole) {
      const last = notBelow(before, to)
      this.zoomTo(after[Math.max(0, notBelow(before, from))] ?? 0, last < run.states ? after[last]! : this.whole)
    }
    this.#setCursor(this.#cursor.state)
    this.#changed("picture")
  }

  // The cursor

  /** Moves the cursor to the moment that is drawn there: a failure, or that of the most bytes. */
  readonly moveCursorTo = (x: number): void => this.#setCursor(this.stateDrawnAt(x), x)

  /** The states of the column at a place, and the failure that is marked there. */
  #drawnAt(x: number) {
    const { from, to } = this.#view
    const columns = this.#columns()
    const column = Math.min(columns - 1, Math.max(0, Math.floor((x - from) / (to - from) * columns)))
    const { first, last, left } = rangeOf(this.#runs.first.run, this.#view, columns, column)
    const failure = this.#runs.failures.find(({ state }) =>
      state >= first && state <= last && this.#positions[state]! >= left
    )
    return { first, last, failure }
  }

  #setCursor(state: number, x?: number): void {
    const last = this.#runs.first.run.states - 1
    const at = Math.min(last, Math.max(0, state))
    this.#cursor = { state: at, x: Math.min(this.whole, Math.max(0, x ?? this.#positions[at]!)) }
    this.#failure = this.#runs.failures.find(({ state }) => state === at)
    this.#changed("cursor")
  }

  /** Moves the cursor to where memory first ran out, or else to the first failure, or to the most bytes of leases. */
  begin(): void {
    const { failures, first: { run, stack } } = this.#runs
    const failure = failures.find(({ isTooLarge }) => !isTooLarge) ?? failures[0]
    this.#setCursor(failure?.state ?? stack.greatest.between(0, run.states - 1))
  }

  #toState(state: number): void {
    this.#setCursor(state)
    this.#reveal()
  }

  readonly toEvent = (by: number): void => this.#toState(this.#cursor.state + by)

  /** Moves the view so that the cursor is in it. */
  #reveal(): void {
    const { from, to } = this.#view
    const { x } = this.#cursor
    if (x < from || x > to) this.zoomTo(x - (to - from) / 2, x + (to - from) / 2)
  }

  /** Moves the cursor by columns; where the next column shows the same state, to the next event. */
  readonly step = (columns: number): void => {
    const { from, to } = this.#view
    const { state, x } = this.#cursor
    this.moveCursorTo(x + columns * (to - from) / this.#columns())
    if (this.#cursor.state === state) this.toEvent(Math.sign(columns))
    else this.#reveal()
  }

  readonly toFailure = (step: 1 | -1): void => {
    const { state } = this.#cursor
    const { failures } = this.#runs
    const next = step === 1
      ? failures.findIndex((failure) => failure.state > state)
      : failures.filter((failure) => failure.state < state).length - 1
    const found = failures[next]
    if (found !== undefined) this.#toState(found.state)
  }

  /** Moves the cursor to the most visible bytes. */
  readonly toPeak = (): void => {
    const { axis, from, to } = this.#view
    const { run, stack } = this.#runs.first
    const last = Math.max(0, notBelow(this.#positions, to) - 1)
    this.#toState(stack.greatest.between(Math.min(last, run.stateAt(axis, from)), last))
  }

  /**
   * Shows the same times of the run that `change` makes the first one, with the cursor at a time. The moment A is forgotten, since it is one
   * of the run before.
   */
  turnTo(time: number, change: () => void): void {
    const { first } = this.#runs
    change()
    const { axis } = this.#view
    if (first !== this.#runs.first) {
      this.#since = undefined
      if (axis === "events") this.showAll()
    }
    this.#setCursor(this.#runs.first.run.stateAt("time", time), axis === "time" ? time : undefined)
    this.#changed("picture")
  }

  /** The time of the cursor, in milliseconds from the beginning of the axis of time. */
  get time(): number {
    return this.#view.axis === "time" ? this.#cursor.x : this.#runs.first.run.positions("time")[this.#cursor.state]!
  }

  /**
   * Keeps the view while `change` installs a newer recording: it stays at the same times, but a view of the whole recording stays one,
   * and a cursor at the end stays at the end.
   */
  keep(change: () => void): void {
    const { origin: before, states, timeline: { dropped } } = this.#runs.first.run
    const { axis, from, to } = this.#view
    const isWhole = this.#isWhole
    const { state } = this.#cursor
    change()
    const { origin, timeline } = this.#runs.first.run
    const gone = timeline.dropped - dropped
    const earlier = axis === "events" ? gone : (origin ?? 0) - (before ?? origin ?? 0)
    if (isWhole) this.showAll()
    else this.zoomTo(from - earlier, to - earlier)
    this.#since = this.#since === undefined || this.#since < gone ? undefined : this.#since - gone
    this.#setCursor(state === states - 1 ? Infinity : state - gone)
  }
}
