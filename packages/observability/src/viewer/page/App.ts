/**
 * The page: its parts, and how they change each other.
 *
 * @internal
 */
import type { Timeline, TimelineFacts } from "../Timeline.ts"
import { type Colors, colorsNow } from "./charts/Colors.ts"
import type { Plot } from "./charts/MemoryChart.ts"
import { type Commands, Controls, groupings } from "./Controls.ts"
import { type PickedCommands, pickedSection } from "./Details.ts"
import { Drawings } from "./Drawings.ts"
import { element } from "./Elements.ts"
import { actionsOf, helpDialog, listenToKeys } from "./Keys.ts"
import { Lanes } from "./Lanes.ts"
import type { Analysis, Choice } from "./model/Analysis.ts"
import { countText, spanText } from "./model/Format.ts"
import type { Place } from "./model/Moment.ts"
import type { View } from "./model/Picture.ts"
import type { Axis } from "./model/Run.ts"
import { Panel } from "./Panel.ts"
import { Runs } from "./Runs.ts"
import { Tip } from "./Tip.ts"
import { type Cursor, type Part, Viewport } from "./Viewport.ts"

const reasons: { readonly [Reason in TimelineFacts["reason"]]: string } = {
  asked: "asked for",
  outOfMemory: "out of memory",
  signal: "a signal",
  imported: "imported",
  planned: "planned"
}

/** Imported recordings have no time, or an odd one. */
const takenText = (takenAt: number): string => {
  const date = new Date(takenAt)
  return Number.isNaN(date.getTime()) ? "taken" : `taken ${date.toISOString().slice(0, 19).replace("T", " ")}`
}

/** What the page says of its recordings as a whole, or of the host that it shows. */
const headingOf = ({ run }: Analysis, other: Analysis | undefined, isHost: boolean): ReadonlyArray<HTMLElement> => {
  const { dropped, kind, reason, source, strays, takenAt, title } = run.timeline
  const times = run.positions("time")
  const facts = [
    ...other === undefined ? [] : [`over ${other.run.timeline.title}`],
    source,
    `${takenText(takenAt)}: ${reasons[reason]}`,
    `${countText(kind.length)} events in ${spanText(times[kind.length]! - times[0]!, run.timeStep)}`,
    ...dropped > 0 ? [`${countText(dropped)} earlier events dropped`] : [],
    ...strays > 0 ? [`${countText(strays)} events of unknown blocks not drawn`] : []
  ]
  return [element(isHost ? "h2" : "h1", { class: "title" }, title), element("p", {}, facts.join(" · "))]
}

/** How many times of frames are kept. */
const mostTimes = 600

/** Frames: each draws once whatever was asked for since the one before. */
class Frames {
  /** How long the script took for the last frames, in milliseconds. */
  readonly times: Array<number> = []
  readonly #root: HTMLElement
  readonly #draw: (parts: ReadonlySet<Part>) => void
  readonly #asked = new Set<Part>()

  constructor(root: HTMLElement, draw: (parts: ReadonlySet<Part>) => void) {
    this.#root = root
    this.#draw = draw
  }

  readonly ask = (part: Part): void => {
    if (this.#asked.size === 0) requestAnimationFrame(() => this.#frame())
    this.#asked.add(part)
  }

  #frame(): void {
    const began = performance.now()
    this.#draw(this.#asked)
    this.#asked.clear()
    this.times.push(performance.now() - began)
    if (this.times.length > mostTimes) this.times.shift()
    this.#root.dataset["frame"] = String(Number(this.#root.dataset["frame"] ?? 0) + 1)
  }
}

const systemIsDark = () => matchMedia("(prefers-color-scheme: dark)")

/** Dark or light: the setting of the system, or the user's choice. */
class Theme {
  #colors = colorsNow()
  #chosen = 0
  readonly #changed: () => void

  /** Calls `changed` when the colors change. */
  constructor(changed: () => void) {
    this.#changed = changed
    systemIsDark().addEventListener("change", () => this.#recolor())
  }

  readonly color = (name: keyof Colors): string => this.#colors[name]

  readonly next = (): void => {
    // from the system's own theme to the opposite one first, so that each press has a visible effect
    const order = systemIsDark().matches ? ["", "light", "dark"] : ["", "dark", "light"]
    this.#chosen = (this.#chosen + 1) % order.length
    document.documentElement.dataset["theme"] = order[this.#chosen]!
    this.#recolor()
  }

  #recolor(): void {
    this.#colors = colorsNow()
    this.#changed()
  }
}

/** What tests read from the page. */
export interface PageState {
  readonly view: View
  readonly cursor: Cursor
  /** The state of the moment A, and the block and lease that are chosen. */
  readonly since: number | undefined
  readonly picked: Place | undefined
  readonly groups: ReadonlyArray<string>
  /** Which host is shown, of a fleet. */
  readonly host: number
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
  readonly #viewport: Viewport
  readonly #drawings: Drawings
  readonly #controls: Controls
  readonly #help: HTMLDialogElement
  /** The lanes of a fleet. */
  readonly #lanes: Lanes | undefined
  readonly #panel = new Panel((lease) => this.#pick(this.#placeOf(lease)))
  readonly #tip = new Tip()
  #picked: Place | undefined
  #olderThan = 0
  readonly #heading = element("header")

  /** Shows a recording, perhaps with another one over it; or those of the hosts of a fleet. */
  constructor(root: HTMLElement, timelines: ReadonlyArray<Timeline>, areHosts: boolean) {
    this.#runs = new Runs(timelines, areHosts)
    this.#frames = new Frames(root, (parts) => this.#draw(parts))
    this.#theme = new Theme(() => this.#redraw())
    this.#viewport = new Viewport(this.#runs, () => this.#drawings.memory.columns, this.#frames.ask)
    this.#controls = new Controls(this.#commands)
    this.#controls.show(this.#runs.first.run.timeline)
    const actions = this.#actions()
    this.#help = helpDialog(actions)
    this.#lanes = areHosts ? this.#makeLanes() : undefined
    root.replaceChildren(...this.#lanes === undefined ? [] : [this.#lanes.root], this.#heading, this.#controls.root)
    const { moveCursorTo, panBy, stateDrawnAt, view, zoomAt, zoomTo } = this.#viewport
    this.#drawings = new Drawings(root, this.#runs, {
      view,
      zoomTo,
      zoomAt,
      panBy,
      moveCursorTo,
      stateDrawnAt,
      color: this.#theme.color,
      tip: this.#tip,
      pick: (place) => this.#pick(place)
    })
    // its lane is the picture of the whole
    this.#drawings.whole.hidden = areHosts
    root.append(this.#panel.root, this.#help, this.#tip.root)
    listenToKeys(actions, () => this.#tip.hide())
    this.#drawings.followWidth(() => this.#redraw())
    this.#redraw()
    this.#viewport.begin()
  }

  // Actions of the user

  readonly #commands: Commands = {
    groupBy: (by) => this.#choose({ by }),
    setAxis: (axis) => this.#setAxis(axis),
    setFilter: (text) => this.#choose({ filter: { ...this.#runs.choice.filter, text } }),
    setMemory: (memory) => this.#choose({ filter: { ...this.#runs.choice.filter, memory } }),
    zoomTo: (from, to) => this.#viewport.zoomTo(from, to),
    zoom: (factor) => this.#viewport.zoom(factor),
    showAll: () => this.#viewport.showAll(),
    toFailure: (step) => this.#viewport.toFailure(step),
    setOlderThan: (millis) => {
      this.#olderThan = millis
      this.#frames.ask("cursor")
    },
    toggleSince: () => this.#viewport.toggleSince(),
    nextTheme: () => this.#theme.next(),
    help: () => this.#help.showModal()
  }

  /** Lanes have the axis of time, whichever the charts have. */
  #makeLanes(): Lanes {
    return new Lanes(this.#runs, {
      color: this.#theme.color,
      view: () => {
        const view = this.#viewport.view()
        return view.axis === "time" ? view : { axis: "time", from: 0, to: this.#runs.whole("time") }
      },
      zoomTo: (from, to) => {
        this.#setAxis("time")
        this.#viewport.zoomTo(from, to)
      },
      show: (host, time) => this.#show(host, time)
    })
  }

  #actions() {
    const { panBy, step, toEvent, toPeak } = this.#viewport
    return actionsOf({
      ...this.#commands,
      step,
      toEvent,
      toPeak,
      panBy,
      pickNext: (step) => this.#pickNext(step),
      ...this.#ofPicked,
      nextGrouping: () => this.#nextGrouping(),
      nextAxis: () => this.#setAxis(this.#viewport.view().axis === "time" ? "events" : "time"),
      focusFilter: () => this.#controls.focusFilter(),
      nextHost: this.#runs.hosts.length === 0 ? undefined : (step) => this.#nextHost(step)
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
    this.#viewport.setAxis(axis)
    this.#redraw()
  }

  readonly #ofPicked: PickedCommands = {
    zoomToPicked: () => {
      if (this.#picked === undefined) return
      const { from, to } = this.#runs.first.blocks(this.#viewport.view().axis).rectangleOf(this.#picked)
      const beside = (to - from) / 10
      this.#viewport.zoomTo(from - beside, to + beside)
    },
    unpick: () => this.#pick(undefined)
  }

  #placeOf(lease: number): Place {
    return { block: this.#runs.first.run.timeline.leases.block[lease]!, lease }
  }

  #pick(place: Place | undefined): void {
    this.#picked = place
    const { moments } = this.#runs.first
    this.#panel.showPicked(
      place === undefined
        ? []
        : pickedSection(moments.factsOf(place), (of) => moments.lifeText(of), this.#ofPicked)
    )
    this.#frames.ask("cursor")
  }

  /** Chooses a lease at the cursor, in the order of the drawing, and describes it there. */
  #pickNext(step: 1 | -1): void {
    const { moments, passes } = this.#runs.first
    const { state } = this.#viewport.cursor
    const leases = moments.leasesIn(state, passes)
    const known = leases.indexOf(this.#picked?.lease ?? -1)
    const next = known === -1 ? (step === 1 ? 0 : leases.length - 1) : known + step
    const lease = leases[Math.min(leases.length - 1, Math.max(0, next))]
    if (lease === undefined) return
    const place = this.#placeOf(lease)
    this.#pick(place)
    const middle = this.#drawings.frame(place)
    if (middle !== undefined) this.#tip.show(middle.x, middle.y, this.#drawings.linesOf(place, state))
  }

  /** Shows another host, with the cursor at a time, or where it is. */
  #show(host: number, time = this.#viewport.time): void {
    if (host !== this.#runs.shown) this.#pick(undefined)
    this.#viewport.turnTo(time, () => this.#runs.show(host))
    this.#controls.show(this.#runs.first.run.timeline)
    this.#redraw()
  }

  #nextHost(step: 1 | -1): void {
    const { hosts: { length }, shown } = this.#runs
    this.#show((shown + step + length) % length)
  }

  /** Replaces the first run, or that of a host, by a newer recording. */
  update(timeline: Timeline, host = 0): void {
    const isShown = host === this.#runs.shown
    // leases have other numbers where the recorder has dropped some
    if (isShown && timeline.dropped !== this.#runs.first.run.timeline.dropped) this.#pick(undefined)
    this.#viewport.keep(() => this.#runs.renew(timeline, host))
    if (isShown) this.#controls.show(timeline)
    this.#redraw()
  }

  // Drawing

  #redraw(): void {
    this.#heading.replaceChildren(...headingOf(this.#runs.first, this.#runs.second, this.#lanes !== undefined))
    this.#lanes?.draw()
    this.#drawings.drawWhole()
    this.#frames.ask("picture")
  }

  #draw(parts: ReadonlySet<Part>): void {
    if (parts.has("picture")) {
      const { by, filter } = this.#runs.choice
      this.#drawings.draw()
      this.#lanes?.showView()
      this.#controls.showView(this.#viewport.view(), by, filter.text)
    }
    this.#showCursor()
  }

  #showCursor(): void {
    const { cursor: { state, x }, failure, since } = this.#viewport
    const { choice: { filter: { memory } }, first, second } = this.#runs
    const { axis } = this.#viewport.view()
    const sinceX = since === undefined ? undefined : first.run.positions(axis)[since]
    const other = second === undefined ? undefined : {
      run: second,
      state: second.run.stateAt(axis, x),
      since: sinceX === undefined ? undefined : second.run.stateAt(axis, sinceX)
    }
    const olderThan = this.#olderThan
    const text = this.#panel.show({ first, state, since, olderThan, other, failure, memory })
    this.#controls.showSince(since)
    this.#drawings.showCursor({ x, since: sinceX, state, text, picked: this.#picked })
    this.#lanes?.showCursor(this.#viewport.time)
  }

  state(): PageState {
    const { blocks, looks, memory } = this.#drawings
    const { first } = this.#runs
    return {
      view: this.#viewport.view(),
      cursor: this.#viewport.cursor,
      since: this.#viewport.since,
      picked: this.#picked,
      groups: first.grouping.names,
      host: this.#runs.shown,
      events: first.run.states - 1,
      plot: memory.plot,
      drawn: { points: memory.drawn, rectangles: blocks.drawn, looks },
      frames: this.#frames.times
    }
  }
}
