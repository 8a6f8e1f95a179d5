/**
 * The page: what is chosen, what is seen, where the cursor is; and the frames that show it.
 *
 * @internal
 */
import type { Timeline } from "../Timeline.ts"
import { actionsOf } from "./Actions.ts"
import { BlockChart } from "./charts/BlockChart.ts"
import { axisWidth, type ChartHost } from "./charts/Charts.ts"
import { type Colors, colorsNow } from "./charts/Colors.ts"
import { DifferenceChart } from "./charts/DifferenceChart.ts"
import { MemoryChart, type Plot } from "./charts/MemoryChart.ts"
import { Overview } from "./charts/Overview.ts"
import { Controls, groupings } from "./Controls.ts"
import { element } from "./Elements.ts"
import { headingOf, legendOf } from "./Heading.ts"
import { helpDialog, type KeyAction, listenToKeys } from "./Keys.ts"
import { Analysis, type Choice } from "./model/Analysis.ts"
import type { GroupBy } from "./model/Grouping.ts"
import { type Picture, pictureOf, rangeOf, type View } from "./model/Picture.ts"
import { type Axis, notBelow, Run } from "./model/Run.ts"
import { Panel } from "./Panel.ts"

/** What tests ask the page for. */
export interface Shown {
  readonly view: View
  readonly cursor: { readonly x: number; readonly state: number }
  readonly groups: ReadonlyArray<string>
  /** How many events the recording has. */
  readonly events: number
  /** The plot of memory, in pixels of its canvas; and how many bytes are as high as it. */
  readonly plot: Plot
  /** What the last frame drew, and how many values it looked at to do so. */
  readonly drawn: { readonly points: number; readonly rectangles: number; readonly looks: number }
  /** How long the script took for the last frames, in milliseconds. */
  readonly frames: ReadonlyArray<number>
}

const themes = ["", "light", "dark"] as const
const heights = { memory: 320, blocks: 220, difference: 120 }

/** The parts of a frame. */
type Part = "picture" | "cursor"

export class App implements ChartHost {
  readonly #root: HTMLElement
  #runs: ReadonlyArray<Analysis>
  readonly #controls: Controls
  readonly #overview: Overview
  readonly #charts: HTMLElement
  readonly #help: HTMLDialogElement
  readonly #panel: Panel
  readonly #heading = element("header")
  readonly #legend = element("ul", { class: "legend", "aria-label": "Colors" })
  /** The block under the mouse, in words. */
  readonly #block = element("p", { id: "block" }, "\u00a0")
  readonly #blocks: BlockChart
  readonly #difference: DifferenceChart | undefined
  readonly #memory: MemoryChart
  #colors: Colors = colorsNow()
  #theme = 0
  #choice: Choice = { by: "label", filter: { text: "", memory: undefined } }
  #view: View
  #cursor = { x: 0, state: 0 }
  #failure = -1
  #looks = 0
  readonly #dirty = new Set<Part>()
  readonly #frames: Array<number> = []

  constructor(root: HTMLElement, timelines: ReadonlyArray<Timeline>) {
    this.#root = root
    this.#runs = timelines.map((timeline) => new Analysis(new Run(timeline), this.#choice))
    this.#view = { axis: this.#fittingAxis(), from: 0, to: 1 }
    this.#view = { ...this.#view, to: this.#whole() }
    const actions = this.#actions()
    this.#help = helpDialog(actions)
    this.#controls = new Controls(this.#commands())
    this.#controls.show(this.#first.run.timeline)
    this.#charts = this.#slider()
    this.#panel = new Panel()
    const over = element("div", { class: "whole" })
    root.replaceChildren(
      this.#heading,
      this.#controls.root,
      over,
      this.#charts,
      this.#panel.root,
      this.#help
    )
    this.#overview = new Overview(this, over, () => this.#whole())
    const memory = this.#titled("Memory of leases, by group, and of blocks")
    memory.append(this.#legend)
    this.#memory = new MemoryChart(this, memory, this.#size("memory"))
    const blocks = this.#titled("Blocks, leases in them, and gaps between them")
    this.#blocks = new BlockChart(this, blocks, this.#size("blocks"), (x, address) => this.#showBlock(x, address))
    blocks.append(this.#block)
    this.#difference = this.#runs.length > 1
      ? new DifferenceChart(this, this.#titled("Active bytes, beyond those of the other run"), this.#size("difference"))
      : undefined
    this.#listen(actions)
    this.#start()
  }

  get #first(): Analysis {
    return this.#runs[0]!
  }

  get #failures() {
    return this.#first.run.timeline.failures
  }

  /** Events of a few milliseconds cannot be told apart in time. */
  #fittingAxis(): Axis {
    const { run } = this.#first
    return run.positions("time")[run.states - 1]! * 4 < Math.min(run.states, 400) ? "events" : "time"
  }

  #whole(axis: Axis = this.#view.axis): number {
    return Math.max(...this.#runs.map(({ run }) => run.length(axis)))
  }

  // What charts ask for

  view = (): View => this.#view

  color = (name: keyof Colors): string => this.#colors[name]

  zoomTo = (from: number, to: number): void => {
    const whole = this.#whole()
    const least = this.#view.axis === "events" ? 2 : Math.min(whole, 1e-3)
    const width = Math.min(whole, Math.max(least, to - from))
    const left = Math.min(Math.max(0, from), whole - width)
    this.#view = { axis: this.#view.axis, from: left, to: left + width }
    this.#draw("picture")
  }

  zoomAt = (x: number, factor: number): void => {
    const { from, to } = this.#view
    const width = (to - from) * factor
    const share = (x - from) / (to - from)
    this.zoomTo(x - share * width, x + (1 - share) * width)
  }

  panBy = (share: number): void => {
    const { from, to } = this.#view
    const by = share * (to - from)
    this.zoomTo(from + by, to + by)
  }

  /** The cursor goes to the moment that is shown there: a failure, or the one of most bytes. */
  moveCursorTo = (x: number): void => {
    const { from, to } = this.#view
    const columns = this.#memory.columns
    const column = Math.min(columns - 1, Math.max(0, Math.floor((x - from) / (to - from) * columns)))
    const { first, last, left } = rangeOf(this.#positions, this.#view, columns, column)
    const failure = this.#failures.find(({ state }) =>
      state >= first && state <= last && this.#positions[state]! >= left
    )
    this.#setCursor(failure?.state ?? this.#first.stack.greatest.between(first, last), x)
  }

  get #positions(): Float64Array {
    return this.#first.run.positions(this.#view.axis)
  }

  #setCursor(state: number, x?: number): void {
    const last = this.#first.run.states - 1
    const at = Math.min(last, Math.max(0, state))
    this.#cursor = { state: at, x: Math.min(this.#whole(), Math.max(0, x ?? this.#positions[at]!)) }
    this.#failure = this.#failures.findIndex(({ state }) => state === at)
    this.#draw("cursor")
  }

  #toEvent(state: number): void {
    this.#setCursor(state)
    this.#reveal()
  }

  /** Moves the view so that the cursor is in it. */
  #reveal(): void {
    const { from, to } = this.#view
    const { x } = this.#cursor
    if (x < from || x > to) this.zoomTo(x - (to - from) / 2, x + (to - from) / 2)
  }

  /** By columns; where the next column shows the same state, to the next event. */
  #step(columns: number): void {
    const { from, to } = this.#view
    const { state, x } = this.#cursor
    this.moveCursorTo(x + columns * (to - from) / this.#memory.columns)
    if (this.#cursor.state === state) this.#toEvent(state + Math.sign(columns))
    else this.#reveal()
  }

  #toFailure(step: 1 | -1): void {
    const { state } = this.#cursor
    const next = step === 1
      ? this.#failures.findIndex((failure) => failure.state > state)
      : this.#failures.filter((failure) => failure.state < state).length - 1
    const found = this.#failures[next]
    if (found !== undefined) this.#toEvent(found.state)
  }

  #choose(change: Partial<Choice>): void {
    this.#choice = { ...this.#choice, ...change }
    for (const run of this.#runs) run.choose(this.#choice)
    this.#showLegend()
    this.#drawOverview()
    this.#draw("picture")
  }

  #setAxis(axis: Axis): void {
    if (axis === this.#view.axis) return
    const { run } = this.#first
    const before = this.#positions
    const after = run.positions(axis)
    const { from, to } = this.#view
    const isWhole = from === 0 && to === this.#whole()
    this.#view = { axis, from: 0, to: this.#whole(axis) }
    if (!isWhole) {
      const last = notBelow(before, to)
      this.zoomTo(after[Math.max(0, notBelow(before, from))] ?? 0, last < run.states ? after[last]! : this.#whole())
    }
    this.#drawOverview()
    this.#setCursor(this.#cursor.state)
    this.#draw("picture")
  }

  #nextTheme(): void {
    this.#theme = (this.#theme + 1) % themes.length
    // from the system's own to the opposite first, so that each press shows
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches
    const order = isDark ? themes : [themes[0], themes[2], themes[1]]
    document.documentElement.dataset["theme"] = order[this.#theme]!
    this.#recolor()
  }

  #recolor(): void {
    this.#colors = colorsNow()
    this.#drawOverview()
    this.#draw("picture")
  }

  #commands() {
    return {
      groupBy: (by: GroupBy) => this.#choose({ by }),
      setAxis: (axis: Axis) => this.#setAxis(axis),
      setFilter: (text: string) => this.#choose({ filter: { ...this.#choice.filter, text } }),
      setMemory: (memory: number | undefined) => this.#choose({ filter: { ...this.#choice.filter, memory } }),
      zoomTo: this.zoomTo,
      zoom: (factor: number) => this.#zoom(factor),
      showAll: () => this.zoomTo(0, this.#whole()),
      toFailure: (step: 1 | -1) => this.#toFailure(step),
      nextTheme: () => this.#nextTheme(),
      help: () => this.#help.showModal()
    }
  }

  /** At the cursor where it is seen, else in the middle. */
  #zoom(factor: number): void {
    const { from, to } = this.#view
    const { x } = this.#cursor
    this.zoomAt(x >= from && x <= to ? x : (from + to) / 2, factor)
  }

  #actions(): ReadonlyArray<KeyAction> {
    return actionsOf({
      ...this.#commands(),
      step: (columns) => this.#step(columns),
      toEvent: (by) => this.#toEvent(this.#cursor.state + by),
      toPeak: () => this.#toPeak(),
      panBy: this.panBy,
      nextGrouping: () => this.#nextGrouping(),
      nextAxis: () => this.#setAxis(this.#view.axis === "time" ? "events" : "time"),
      focusFilter: () => this.#controls.focusFilter()
    })
  }

  #toPeak(): void {
    const { from, to } = this.#view
    const { run, stack } = this.#first
    const last = Math.max(0, notBelow(this.#positions, to) - 1)
    this.#toEvent(stack.greatest.between(Math.min(last, run.stateAt(this.#view.axis, from)), last))
  }

  #nextGrouping(): void {
    const at = groupings.findIndex(([by]) => by === this.#choice.by)
    this.#choose({ by: groupings[(at + 1) % groupings.length]![0] })
  }

  // Parts of the page

  #slider(): HTMLElement {
    return element("div", {
      id: "charts",
      tabindex: "0",
      role: "slider",
      "aria-label": "Cursor over memory in time",
      "aria-valuemin": "0",
      "aria-valuemax": String(this.#first.run.states - 1)
    })
  }

  #titled(title: string): HTMLElement {
    const box = element("section", { "aria-label": title }, element("h2", {}, title))
    this.#charts.append(box)
    return box
  }

  #showLegend(): void {
    this.#heading.replaceChildren(...headingOf(this.#first, this.#runs[1]))
    this.#legend.replaceChildren(...legendOf(this.#first, this.#runs.length > 1))
  }

  #size(of: keyof typeof heights) {
    return { width: Math.max(axisWidth + 100, this.#charts.clientWidth), height: heights[of] }
  }

  #listen(actions: ReadonlyArray<KeyAction>): void {
    listenToKeys(actions)
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#recolor())
    let width = this.#charts.clientWidth
    new ResizeObserver(() => {
      if (this.#charts.clientWidth === width) return
      width = this.#charts.clientWidth
      this.#memory.resize(this.#size("memory").width, heights.memory)
      this.#blocks.resize(this.#size("blocks").width, heights.blocks)
      this.#difference?.resize(this.#size("difference").width, heights.difference)
      this.#drawOverview()
      this.#draw("picture")
    }).observe(this.#charts)
  }

  /** The cursor begins at the first failure, or where the leases had the most bytes. */
  #start(): void {
    const { run, stack } = this.#first
    this.#showLegend()
    this.#drawOverview()
    this.#draw("picture")
    this.#setCursor(this.#failures[0]?.state ?? stack.greatest.between(0, run.states - 1))
  }

  /**
   * Takes a newer recording of the first run. What is seen stays where it is in time, but the whole stays the whole; and a cursor
   * at the end stays there.
   */
  update(timeline: Timeline): void {
    const { run } = this.#first
    const before = run.timeline
    const { axis, from, to } = this.#view
    const isWhole = from === 0 && to === this.#whole()
    const isAtEnd = this.#cursor.state === run.states - 1
    const gone = timeline.dropped - before.dropped
    const earlier = axis === "events" ? gone : (timeline.times[0] ?? 0) - (before.times[0] ?? timeline.times[0] ?? 0)
    this.#runs = [new Analysis(new Run({ ...timeline, title: before.title }), this.#choice), ...this.#runs.slice(1)]
    this.#controls.show(timeline)
    this.#showLegend()
    if (isWhole) this.zoomTo(0, this.#whole())
    else this.zoomTo(from - earlier, to - earlier)
    this.#drawOverview()
    this.#setCursor(isAtEnd ? Infinity : this.#cursor.state - gone)
  }

  // Frames

  #draw(part: Part): void {
    if (this.#dirty.size === 0) requestAnimationFrame(() => this.#frame())
    this.#dirty.add(part)
  }

  #frame(): void {
    const began = performance.now()
    if (this.#dirty.has("picture")) this.#drawPicture()
    this.#showCursor()
    this.#dirty.clear()
    this.#frames.push(performance.now() - began)
    if (this.#frames.length > 600) this.#frames.shift()
    this.#root.dataset["frame"] = String(Number(this.#root.dataset["frame"] ?? 0) + 1)
  }

  #drawPicture(): void {
    const [first, second] = this.#runs
    const view = this.#view
    const columns = this.#memory.columns
    const picture = pictureOf(first!.stack, first!.totals, view, columns, second !== undefined)
    const other = second === undefined ? undefined : this.#other(second, picture, columns)
    this.#looks = picture.looks
    const failures = this.#failures.map(({ state }) => this.#positions[state]!)
    this.#memory.show({ picture, other, isWhole: this.#choice.filter.text === "" }, { failures })
    const tops = picture.tops.at(-1) ?? picture.x.map(() => 0)
    const end = first!.run.length(view.axis)
    if (other !== undefined) {
      this.#difference?.show(
        picture.x,
        other.map((of, at) => of === null || picture.x[at]! >= end ? null : tops[at]! - of)
      )
    }
    this.#drawBlocks()
    this.#overview.showView()
    this.#controls.showView(view, this.#choice.by, this.#choice.filter.text)
  }

  /** The bytes of the other run's leases in each column, null behind its end. */
  #other({ run, stack, totals }: Analysis, { x }: Picture, columns: number): ReadonlyArray<number | null> {
    const { looks, tops } = pictureOf(stack, totals, this.#view, columns, true)
    this.#looks += looks
    const end = run.length(this.#view.axis)
    return x.map((left, at) => left >= end ? null : tops.at(-1)?.[at] ?? 0)
  }

  #drawBlocks(): void {
    const blocks = this.#first.blocks(this.#view.axis)
    const pixel = this.#blocks.pixel
    const bytes = blocks.height / heights.blocks
    this.#blocks.show(blocks.picture(this.#view, 2 * pixel, bytes / 4), this.#first.grouping.of)
  }

  #showBlock(x: number, address: number): void {
    const block = this.#first.blocks(this.#view.axis).blockAt(x, address)
    const state = this.#first.run.stateAt(this.#view.axis, x)
    this.#block.textContent = block === undefined ? "\u00a0" : this.#first.moments.blockText(block, state)
  }

  #drawOverview(): void {
    const { stack, totals } = this.#first
    const view = { axis: this.#view.axis, from: 0, to: this.#whole() }
    const failures = this.#failures.map(({ state }) => this.#positions[state]!)
    this.#overview.draw(pictureOf(stack, totals, view, this.#overview.columns), failures)
  }

  #showCursor(): void {
    const { state, x } = this.#cursor
    for (const chart of [this.#memory, this.#blocks, this.#difference]) chart?.showCursor(this.#view, x)
    const [first, second] = this.#runs
    const other = second === undefined ? undefined : { run: second, state: second.run.stateAt(this.#view.axis, x) }
    const text = this.#panel.show(first!, state, other, this.#failures[this.#failure], this.#choice.filter.memory)
    this.#charts.setAttribute("aria-valuenow", String(state))
    this.#charts.setAttribute("aria-valuetext", text)
  }

  shown(): Shown {
    return {
      view: this.#view,
      cursor: this.#cursor,
      groups: this.#first.grouping.names,
      events: this.#first.run.states - 1,
      plot: this.#memory.plot,
      drawn: { points: this.#memory.drawn, rectangles: this.#blocks.drawn, looks: this.#looks },
      frames: this.#frames
    }
  }
}
