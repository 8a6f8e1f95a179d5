/**
 * The controls over the charts.
 *
 * @internal
 */
import type { TimelineFacts } from "../Timeline.ts"
import { button, element, named, select } from "./Elements.ts"
import { countText, momentText, parseCount, parseMillis } from "./model/Format.ts"
import type { GroupBy } from "./model/Grouping.ts"
import type { View } from "./model/Picture.ts"
import type { Axis } from "./model/Run.ts"

export interface Commands {
  readonly groupBy: (by: GroupBy) => void
  readonly setAxis: (axis: Axis) => void
  readonly setFilter: (text: string) => void
  readonly setMemory: (memory: number | undefined) => void
  readonly zoomTo: (from: number, to: number) => void
  readonly zoom: (factor: number) => void
  readonly showAll: () => void
  readonly toFailure: (step: 1 | -1) => void
  /** Lists only leases of this age, in milliseconds; 0 for all. */
  readonly setOlderThan: (millis: number) => void
  /** Makes the moment at the cursor the moment A, or forgets A. */
  readonly toggleSince: () => void
  readonly nextTheme: () => void
  readonly help: () => void
}

export const groupings = [["label", "label"], ["site", "call site"], ["size", "size"]] as const

/** A field for a place of the axis. */
const placeField = (id: string, change: () => void): HTMLInputElement =>
  element("input", { id, type: "text", size: "11", spellcheck: "false", onchange: change })

export class Controls {
  readonly root: HTMLElement
  readonly #axis: HTMLSelectElement
  readonly #by: HTMLSelectElement
  readonly #filter: HTMLInputElement
  readonly #older: HTMLInputElement
  readonly #since: HTMLButtonElement
  readonly #from: HTMLInputElement
  readonly #to: HTMLInputElement
  readonly #commands: Commands
  readonly #memory: HTMLSelectElement
  readonly #ofMemories: HTMLElement
  readonly #ofFailures: ReadonlyArray<HTMLElement>
  #view: View = { axis: "time", from: 0, to: 1 }

  constructor(commands: Commands) {
    this.#commands = commands
    this.#axis = select([["time", "time"], ["events", "events"]], (value) => commands.setAxis(value as Axis))
    this.#by = select(groupings, (value) => commands.groupBy(value as GroupBy))
    this.#filter = element("input", {
      type: "search",
      id: "filter",
      placeholder: "label or call site",
      size: "22",
      oninput: () => commands.setFilter(this.#filter.value)
    })
    this.#older = element("input", {
      type: "text",
      id: "older",
      placeholder: "as 10 s",
      size: "7",
      spellcheck: "false",
      oninput: () => this.#readOlder()
    })
    this.#since = button("Set A", "Compare with the moment at the cursor", commands.toggleSince)
    this.#from = placeField("from", () => this.#readRange())
    this.#to = placeField("to", () => this.#readRange())
    this.#memory = select([], (value) => commands.setMemory(value === "" ? undefined : Number(value)))
    this.#ofMemories = named("Memory", this.#memory)
    this.#ofFailures = [
      button("◀ !", "Previous failure", () => commands.toFailure(-1)),
      button("! ▶", "Next failure", () => commands.toFailure(1))
    ]
    this.root = element(
      "div",
      { class: "controls", role: "toolbar", "aria-label": "Controls" },
      named("Group by", this.#by),
      named("Filter", this.#filter),
      named("Older than", this.#older),
      this.#since,
      this.#ofMemories,
      named("Axis", this.#axis),
      named("From", this.#from),
      named("to", this.#to),
      button("+", "Zoom in", () => commands.zoom(0.5)),
      button("−", "Zoom out", () => commands.zoom(2)),
      button("All", "Show all", commands.showAll),
      ...this.#ofFailures,
      button("◐", "Dark or light", commands.nextTheme),
      button("?", "Help", commands.help)
    )
  }

  focusFilter(): void {
    this.#filter.focus()
  }

  #parse(field: HTMLInputElement): number | undefined {
    const value = this.#view.axis === "time" ? parseMillis(field.value) : parseCount(field.value)
    field.setAttribute("aria-invalid", String(value === undefined))
    return value
  }

  #readRange(): void {
    const from = this.#parse(this.#from)
    const to = this.#parse(this.#to)
    if (from !== undefined && to !== undefined && from < to) this.#commands.zoomTo(from, to)
  }

  #readOlder(): void {
    const text = this.#older.value
    const millis = text.trim() === "" ? 0 : parseMillis(text)
    this.#older.setAttribute("aria-invalid", String(millis === undefined))
    if (millis !== undefined) this.#commands.setOlderThan(millis)
  }

  /** Shows whether there is a moment A. */
  showSince(since: number | undefined): void {
    this.#since.setAttribute("aria-pressed", String(since !== undefined))
    const text = since === undefined ? "Set A" : "Forget A"
    if (this.#since.textContent !== text) this.#since.textContent = text
  }

  /** Shows the controls that this recording needs. */
  show({ failures, memories }: TimelineFacts): void {
    for (const of of this.#ofFailures) of.hidden = failures.length === 0
    this.#ofMemories.hidden = memories.length < 2
    const options = [["", "all"], ...memories.map(({ name }, place) => [String(place), name])] as const
    const known = Array.from(this.#memory.options, ({ text }) => text)
    if (known.length === options.length && options.every(([, text], at) => known[at] === text)) return
    const { value } = this.#memory
    this.#memory.replaceChildren(...options.map(([value, text]) => element("option", { value: value! }, text!)))
    this.#memory.value = value
  }

  showView(view: View, by: GroupBy, text: string): void {
    this.#view = view
    // a thousandth of what is seen
    const step = 10 ** Math.floor(Math.log10(view.to - view.from) - 3)
    const shown = (x: number): string => view.axis === "events" ? countText(Math.round(x)) : momentText(x, step)
    if (document.activeElement !== this.#from) this.#from.value = shown(view.from)
    if (document.activeElement !== this.#to) this.#to.value = shown(view.to)
    this.#axis.value = view.axis
    this.#by.value = by
    if (this.#filter.value !== text) this.#filter.value = text
  }
}
