/**
 * The page: its parts, and how they change each other.
 *
 * @internal
 */
import type { Timeline } from "../Timeline.ts"
import { actionsOf } from "./Actions.ts"
import type { Plot } from "./charts/MemoryChart.ts"
import { type Commands, Controls, groupings } from "./Controls.ts"
import { Drawings } from "./Drawings.ts"
import { element } from "./Elements.ts"
import { Frames, type Part } from "./Frames.ts"
import { headingOf } from "./Heading.ts"
import { helpDialog, type KeyAction, listenToKeys } from "./Keys.ts"
import type { Choice } from "./model/Analysis.ts"
import type { View } from "./model/Picture.ts"
import type { Axis } from "./model/Run.ts"
import { Panel } from "./Panel.ts"
import { Runs } from "./Runs.ts"
import { Theme } from "./Theme.ts"
import { type Cursor, Viewport } from "./Viewport.ts"

/** What tests read from the page. */
export interface Shown {
  readonly view: View
  readonly cursor: Cursor
  readonly groups: ReadonlyArray<string>
  /** How many events the recording has. */
  readonly events: number
  /** The plot of memory, in pixels of its canvas, and the bytes that its height stands for. */
  readonly plot: Plot
  /** What the last frame drew, and how many values it read for that. */
  readonly drawn: { readonly points: number; readonly rectangles: number; readonly looks: number }
  /** How long the script took for the last frames, in milliseconds. */
  readonly frames: ReadonlyArray<number>
}

export class App {
  readonly #runs: Runs
  readonly #frames: Frames
  readonly #theme: Theme
  readonly #sight: Viewport
  readonly #drawings: Drawings
  readonly #controls: Controls
  readonly #help: HTMLDialogElement
  readonly #panel = new Panel()
  readonly #heading = element("header")

  constructor(root: HTMLElement, timelines: ReadonlyArray<Timeline>) {
    this.#runs = new Runs(timelines)
    this.#frames = new Frames(root, (parts) => this.#draw(parts))
    this.#theme = new Theme(() => this.#redraw())
    this.#sight = new Viewport(this.#runs, () => this.#drawings.memory.columns, this.#frames.ask)
    this.#controls = new Controls(this.#commands)
    this.#controls.show(this.#runs.first.run.timeline)
    const actions = this.#actions()
    this.#help = helpDialog(actions)
    root.replaceChildren(this.#heading, this.#controls.root)
    const { moveCursorTo, panBy, view, zoomAt, zoomTo } = this.#sight
    const host = { view, zoomTo, zoomAt, panBy, moveCursorTo, color: this.#theme.color }
    this.#drawings = new Drawings(root, this.#runs, host)
    root.append(this.#panel.root, this.#help)
    listenToKeys(actions)
    this.#drawings.followWidth(() => this.#redraw())
    this.#redraw()
    this.#sight.begin()
  }

  // Actions of the user

  readonly #commands: Commands = {
    groupBy: (by) => this.#choose({ by }),
    setAxis: (axis) => this.#setAxis(axis),
    setFilter: (text) => this.#choose({ filter: { ...this.#runs.choice.filter, text } }),
    setMemory: (memory) => this.#choose({ filter: { ...this.#runs.choice.filter, memory } }),
    zoomTo: (from, to) => this.#sight.zoomTo(from, to),
    zoom: (factor) => this.#sight.zoom(factor),
    showAll: () => this.#sight.showAll(),
    toFailure: (step) => this.#sight.toFailure(step),
    nextTheme: () => this.#theme.next(),
    help: () => this.#help.showModal()
  }

  #actions(): ReadonlyArray<KeyAction> {
    const { panBy, step, toEvent, toPeak } = this.#sight
    return actionsOf({
      ...this.#commands,
      step,
      toEvent,
      toPeak,
      panBy,
      nextGrouping: () => this.#nextGrouping(),
      nextAxis: () => this.#setAxis(this.#sight.view().axis === "time" ? "events" : "time"),
      focusFilter: () => this.#controls.focusFilter()
    })
  }

  #choose(change: Partial<Choice>): void {
    this.#runs.choose(change)
    this.#redraw()
  }

  #nextGrouping(): void {
    const at = groupings.findIndex(([by]) => by === this.#runs.choice.by)
    this.#choose({ by: groupings[(at + 1) % groupings.length]![0] })
  }

  #setAxis(axis: Axis): void {
    this.#sight.setAxis(axis)
    this.#redraw()
  }

  /** Replaces the first run by a newer recording. */
  update(timeline: Timeline): void {
    this.#sight.keep(() => this.#runs.renew(timeline))
    this.#controls.show(timeline)
    this.#redraw()
  }

  // Drawing

  #redraw(): void {
    this.#heading.replaceChildren(...headingOf(this.#runs.first, this.#runs.second))
    this.#drawings.drawWhole()
    this.#frames.ask("picture")
  }

  #draw(parts: ReadonlySet<Part>): void {
    if (parts.has("picture")) {
      const { by, filter } = this.#runs.choice
      this.#drawings.draw()
      this.#controls.showView(this.#sight.view(), by, filter.text)
    }
    this.#showCursor()
  }

  #showCursor(): void {
    const { cursor: { state, x }, failure } = this.#sight
    const { choice, first, second } = this.#runs
    const other = second === undefined
      ? undefined
      : { run: second, state: second.run.stateAt(this.#sight.view().axis, x) }
    this.#drawings.showCursor(x, state, this.#panel.show(first, state, other, failure, choice.filter.memory))
  }

  shown(): Shown {
    const { blocks, looks, memory } = this.#drawings
    const { first } = this.#runs
    return {
      view: this.#sight.view(),
      cursor: this.#sight.cursor,
      groups: first.grouping.names,
      events: first.run.states - 1,
      plot: memory.plot,
      drawn: { points: memory.drawn, rectangles: blocks.drawn, looks },
      frames: this.#frames.times
    }
  }
}
