/**
 * The drawings of the page: the overview, memory, blocks, and the difference to another run.
 *
 * @internal
 */
import { BlockChart } from "./charts/BlockChart.ts"
import { axisWidth, type ChartHost, type Marked } from "./charts/Charts.ts"
import { colorOf } from "./charts/Colors.ts"
import { DifferenceChart } from "./charts/DifferenceChart.ts"
import { MemoryChart } from "./charts/MemoryChart.ts"
import { Overview } from "./charts/Overview.ts"
import { element, swatch } from "./Elements.ts"
import type { Analysis } from "./model/Analysis.ts"
import { bytesText, momentText } from "./model/Format.ts"
import type { Place } from "./model/Moment.ts"
import { type Picture, pictureOf } from "./model/Picture.ts"
import type { Runs } from "./Runs.ts"

/** How many groups are read aloud at each move of the cursor. */
const mostRead = 4

const heights = { memory: 320, blocks: 220, difference: 120 }

/** What the drawings ask of the page. */
export interface DrawingsHost extends ChartHost {
  readonly stateDrawnAt: (x: number) => number
  /** Chooses a block or a lease, or none. */
  readonly pick: (place: Place | undefined) => void
}

/** What is drawn at the cursor. */
export interface CursorDrawing extends Marked {
  readonly state: number
  /** Describes the moment. */
  readonly text: string
  readonly picked: Place | undefined
}

const legendOf = ({ run, totals }: Analysis, compares: boolean): ReadonlyArray<HTMLElement> => {
  const entries: ReadonlyArray<readonly [name: string, color: string, when: boolean]> = [
    ["beyond what was requested", "var(--slack)", true],
    ["held", "var(--held)", true],
    ["leases too short to be seen", "var(--busy)", true],
    ["limit", "var(--limit)", totals.limit.some((bytes) => bytes !== Infinity)],
    ["requests wait", "var(--waiting)", totals.waiting.some((count) => count > 0)],
    ["failure", "var(--failure)", run.timeline.failures.length > 0],
    ["the other run", "var(--other-run)", compares]
  ]
  return entries.flatMap(([name, color, when]) => when ? [element("li", {}, swatch(color), name)] : [])
}

export class Drawings {
  readonly whole = element("div", { class: "whole" })
  readonly charts: HTMLElement
  readonly memory: MemoryChart
  readonly blocks: BlockChart
  /** How many values the last frame read. */
  looks = 0
  readonly #runs: Runs
  readonly #host: DrawingsHost
  readonly #overview: Overview
  readonly #difference: DifferenceChart | undefined
  readonly #legend = element("ul", { class: "legend", "aria-label": "Colors" })
  /** The bytes of each group at the cursor. */
  #groupBytes: ReadonlyArray<HTMLElement> = []

  /** Adds the drawings to `root`, as wide as it. */
  constructor(root: HTMLElement, runs: Runs, host: DrawingsHost) {
    this.#runs = runs
    this.#host = host
    this.charts = element("div", {
      id: "charts",
      tabindex: "0",
      role: "slider",
      "aria-label": "Cursor over memory in time",
      "aria-valuemin": "0"
    })
    root.append(this.whole, this.charts)
    this.#overview = new Overview(host, this.whole, () => this.#length)
    const memory = this.#titled("Memory of leases, by group, and of blocks")
    memory.append(this.#legend)
    this.memory = new MemoryChart(host, memory, this.#size("memory"), {
      describe: (x, bytes) => this.#describeMemory(x, bytes)
    })
    const blocks = this.#titled("Blocks, leases in them, and gaps between them")
    this.blocks = new BlockChart(host, blocks, this.#size("blocks"), {
      describe: (x, address) => this.#describeBlock(x, address),
      click: (x, address) => host.pick(this.#placeAt(x, address))
    })
    this.charts.addEventListener("blur", () => host.tip.hide())
    this.#difference = runs.second === undefined
      ? undefined
      : new DifferenceChart(host, this.#titled("Active bytes, beyond those of the other run"), this.#size("difference"))
  }

  get #length(): number {
    return this.#runs.whole(this.#host.view().axis)
  }

  #titled(title: string): HTMLElement {
    const box = element("section", { "aria-label": title }, element("h2", {}, title))
    this.charts.append(box)
    return box
  }

  #size(of: keyof typeof heights) {
    return { width: Math.max(axisWidth + 100, this.charts.clientWidth), height: heights[of] }
  }

  /** Calls `resized` when their width changes. */
  followWidth(resized: () => void): void {
    let width = this.charts.clientWidth
    new ResizeObserver(() => {
      if (this.charts.clientWidth === width) return
      width = this.charts.clientWidth
      this.memory.resize(this.#size("memory").width, heights.memory)
      this.blocks.resize(this.#size("blocks").width, heights.blocks)
      this.#difference?.resize(this.#size("difference").width, heights.difference)
      resized()
    }).observe(this.charts)
  }

  /** Draws what does not change with the view. */
  drawWhole(): void {
    const { axis } = this.#host.view()
    const { grouping, run, stack, totals } = this.#runs.first
    this.charts.setAttribute("aria-valuemax", String(run.states - 1))
    const view = { axis, from: 0, to: this.#length }
    this.#groupBytes = grouping.names.map(() => element("span", { class: "bytes" }))
    this.#legend.replaceChildren(
      ...grouping.names.map((name, group) =>
        element("li", {}, swatch(colorOf(group)), name, " ", this.#groupBytes[group]!)
      ),
      ...legendOf(this.#runs.first, this.#runs.second !== undefined)
    )
    this.#overview.draw(pictureOf(stack, totals, view, this.#overview.columns), this.#runs.failuresOn(axis))
  }

  draw(): void {
    const { choice, first, second } = this.#runs
    const view = this.#host.view()
    const { columns } = this.memory
    const picture = pictureOf(first.stack, first.totals, view, columns, second !== undefined)
    this.looks = picture.looks
    const other = second === undefined ? undefined : this.#otherRun(picture, columns)
    this.memory.show({ picture, other, isWhole: choice.filter.text === "" }, {
      failures: this.#runs.failuresOn(view.axis)
    })
    if (other !== undefined) this.#drawDifference(picture, other)
    this.#drawBlocks()
    this.#overview.showView()
  }

  /** The bytes of the other run's leases in each column, null after its end. */
  #otherRun({ x }: Picture, columns: number): ReadonlyArray<number | null> {
    const { run, stack, totals } = this.#runs.second!
    const view = this.#host.view()
    const { looks, tops } = pictureOf(stack, totals, view, columns, true)
    this.looks += looks
    const end = run.length(view.axis)
    return x.map((left, at) => left >= end ? null : tops.at(-1)?.[at] ?? 0)
  }

  #drawDifference({ tops, x }: Picture, other: ReadonlyArray<number | null>): void {
    const end = this.#runs.first.run.length(this.#host.view().axis)
    const differences = other.map((of, at) => of === null || x[at]! >= end ? null : (tops.at(-1)?.[at] ?? 0) - of)
    this.#difference?.show(x, differences)
  }

  #drawBlocks(): void {
    const view = this.#host.view()
    const blocks = this.#runs.first.blocks(view.axis)
    const bytes = blocks.height / heights.blocks
    this.blocks.show(blocks.picture(view, 2 * this.blocks.pixel, bytes / 4), this.#runs.first.grouping.of)
  }

  #describeMemory(x: number, bytes: number): ReadonlyArray<string> {
    const { grouping, run, stack } = this.#runs.first
    const state = this.#host.stateDrawnAt(x)
    const group = stack.groupAt(state, bytes)
    const when = momentText(run.positions("time")[state]!, run.timeStep)
    const of = group === undefined ? [] : [`${grouping.names[group]}: ${bytesText(stack.bytesOf(state, group))}`]
    return [...of, `${bytesText(stack.active[state]!)} active at ${when}`]
  }

  /** The block at a place of the axis and an address, and the lease that it has there. */
  #placeAt(x: number, address: number): Place | undefined {
    const { axis } = this.#host.view()
    const { first } = this.#runs
    const block = first.blocks(axis).blockAt(x, address)
    if (block === undefined) return undefined
    const offset = address - first.run.timeline.blocks.address[block]!
    return { block, lease: first.moments.leaseAt(block, first.run.stateAt(axis, x), offset) }
  }

  #describeBlock(x: number, address: number): ReadonlyArray<string> {
    const place = this.#placeAt(x, address)
    if (place === undefined) return []
    return this.linesOf(place, this.#runs.first.run.stateAt(this.#host.view().axis, x))
  }

  /** Describes a block or a lease in a state. */
  linesOf({ block, lease }: Place, state: number): ReadonlyArray<string> {
    const { moments, run } = this.#runs.first
    const facts = moments.factsOf({ block, lease })
    const offset = lease === undefined ? -1 : run.timeline.leases.offset[lease]!
    return [moments.blockText(block, state, offset), moments.lifeText(facts.lease ?? facts)]
  }

  /** Frames what is chosen. Returns the middle of what is visible of it, in the window. */
  frame(picked: Place | undefined) {
    const blocks = this.#runs.first.blocks(this.#host.view().axis)
    return this.blocks.frame(picked === undefined ? undefined : blocks.rectangleOf(picked))
  }

  /** Draws the cursor at a state. */
  showCursor({ picked, since, state, text, x }: CursorDrawing): void {
    for (const chart of [this.memory, this.blocks, this.#difference]) chart?.showCursor(this.#host.view(), { x, since })
    this.frame(picked)
    const { grouping, stack } = this.#runs.first
    const bytes = grouping.names.map((_, group) => bytesText(stack.bytesOf(state, group)))
    this.#groupBytes.forEach((of, group) => {
      of.textContent = bytes[group]!
    })
    // the legend is a part of the slider, of which only this text is read aloud
    const most = grouping.names.slice(0, mostRead).map((name, group) => `${name} ${bytes[group]}`)
    this.charts.setAttribute("aria-valuenow", String(state))
    this.charts.setAttribute("aria-valuetext", [text, ...most].join(", "))
  }
}
