/**
 * A lane for each host of a fleet, on one axis of time: the memory of its leases and blocks, what it has at the cursor, and which part of the
 * axis the charts show. A click on a lane shows its host in the charts.
 *
 * @internal
 */
import { axisWidth, type ChartHost, place } from "./charts/Charts.ts"
import { Overview } from "./charts/Overview.ts"
import { element } from "./Elements.ts"
import type { Analysis } from "./model/Analysis.ts"
import { bytesText, countText } from "./model/Format.ts"
import { pictureOf, type View } from "./model/Picture.ts"
import type { Runs } from "./Runs.ts"

/** What lanes ask of the page. */
export interface LanesHost extends Pick<ChartHost, "color" | "view" | "zoomTo"> {
  /** Shows a host in the charts, with the cursor at a time of the axis, or where it is. */
  readonly show: (host: number, time?: number) => void
}

interface Lane {
  readonly name: HTMLButtonElement
  readonly bytes: HTMLElement
  readonly cursor: HTMLElement
  readonly overview: Overview
}

/** The bytes that fill a lane: those of its limit, or without one the most that its blocks had. */
const heightOf = ({ totals: { limit, managed, mostManaged } }: Analysis): number => {
  const last = managed.length - 1
  const most = managed[mostManaged.between(0, last)]!
  const bounds = limit.filter((bytes) => bytes !== Infinity)
  return Math.max(1, most, ...bounds.length === 0 ? [] : [bounds.reduce((one, other) => Math.max(one, other))])
}

const dateText = (time: number): string => {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().replace("T", " ").replace("Z", " UTC")
}

/** What a host has at a time of the axis. */
const textAt = ({ run, stack, totals }: Analysis, time: number): string => {
  if (run.states === 1 || !run.knows("time", time, time + run.timeStep)) return "not recorded"
  const state = run.stateAt("time", time)
  const limit = totals.limit[state]!
  const waiting = totals.waiting[state]!
  return [
    bytesText(stack.active[state]!),
    ...limit === Infinity ? [] : [`of ${bytesText(limit)}`],
    ...waiting > 0 ? [`· ${countText(waiting)} wait`] : []
  ].join(" ")
}

export class Lanes {
  readonly root = element("section", { id: "lanes", "aria-label": "Hosts" })
  readonly #runs: Runs
  readonly #host: LanesHost
  readonly #facts = element("p")
  readonly #rows = element("div", { class: "lanes" })
  readonly #begin = element("span")
  readonly #end = element("span")
  readonly #lanes: ReadonlyArray<Lane>

  constructor(runs: Runs, host: LanesHost) {
    this.#runs = runs
    this.#host = host
    this.#lanes = runs.hosts.map(({ run: { timeline: { title } } }, at) => this.#lane(title, at))
    const ends = element("div", { class: "ends" }, this.#begin, this.#end)
    ends.style.marginLeft = `${axisWidth}px`
    this.root.append(element("h1", {}, document.title), this.#facts, this.#rows, ends)
  }

  #lane(title: string, at: number): Lane {
    const click = (time: number): void => this.#host.show(at, time)
    const { color, view, zoomTo } = this.#host
    const name = element("button", { type: "button", class: "host", title, onclick: () => this.#host.show(at) }, title)
    const bytes = element("span", { class: "bytes" })
    const box = element("div", { class: "lane" }, element("div", { class: "of" }, name, bytes))
    const cursor = element("div", { class: "cursor", hidden: true })
    const overview = new Overview({ color, view, zoomTo, click }, box, () => this.#whole)
    overview.box.title = "Click to show this host; drag to see a part"
    overview.box.append(cursor)
    this.#rows.append(box)
    return { name, bytes, cursor, overview }
  }

  get #whole(): number {
    return this.#runs.whole("time")
  }

  get #view(): View {
    return { axis: "time", from: 0, to: this.#whole }
  }

  /** Draws what does not change with the view. */
  draw(): void {
    const { hosts, shown } = this.#runs
    const view = this.#view
    hosts.forEach((host, at) => {
      const { name, overview } = this.#lanes[at]!
      name.setAttribute("aria-pressed", String(at === shown))
      const picture = pictureOf(host.stack, host.totals, view, overview.columns)
      overview.draw(picture, this.#runs.failuresOn("time", host), heightOf(host))
    })
    const events = hosts.reduce((sum, { run }) => sum + run.states - 1, 0)
    const origin = hosts.map(({ run }) => run.origin).find((time) => time !== undefined)
    this.#facts.textContent = `${countText(hosts.length)} hosts · ${countText(events)} events · ` +
      "each at the times of its own clock"
    this.#begin.textContent = origin === undefined ? "" : dateText(origin)
    this.#end.textContent = origin === undefined ? "" : dateText(origin + view.to)
  }

  /** Marks the part that the charts show. */
  showView(): void {
    for (const { overview } of this.#lanes) overview.showView()
  }

  /** Marks a time in all lanes, and says what each host has then. */
  showCursor(time: number): void {
    this.#runs.hosts.forEach((host, at) => {
      const { bytes, cursor } = this.#lanes[at]!
      place(cursor, this.#view, time)
      bytes.textContent = textAt(host, time)
    })
  }
}
