/**
 * What the charts of the page share: their axes, the cursor over them, and what the mouse does on them.
 *
 * @internal
 */
import uPlot from "uplot"
import { bytesText, countText, momentText } from "../model/Format.ts"
import type { View } from "../model/Picture.ts"
import type { Axis } from "../model/Run.ts"
import type { Tip } from "../Tip.ts"

/** What charts ask of the page. */
export interface ChartHost {
  readonly view: () => View
  readonly zoomTo: (from: number, to: number) => void
  /** Zooms by a factor around a place of the axis. */
  readonly zoomAt: (x: number, factor: number) => void
  readonly panBy: (share: number) => void
  readonly moveCursorTo: (x: number) => void
  readonly color: (name: keyof import("./Colors.ts").Colors) => string
  readonly tip: Tip
}

/** The width of the axis of bytes: the same in all charts, so that they are aligned. */
export const axisWidth = 84

/** Steps of an axis of bytes: 1, 2, 4, 8 and so on. */
const byteSteps = Array.from({ length: 70 }, (_, power) => 2 ** power)

/** Steps of an axis of milliseconds: those of decimals to half a minute, then whole minutes, hours and days. */
const timeSteps = [
  ...Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** (power - 6))).flat(),
  10_000,
  15_000,
  30_000,
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000),
  ...Array.from({ length: 20 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power * 86_400_000)).flat()
]

const countSteps = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()

const shownOn = (axis: Axis, value: number, step: number): string => {
  if (axis === "events") return countText(value)
  return momentText(value, Math.min(1000, step))
}

export const axesOf = (
  host: ChartHost,
  bytes: (value: number) => string = bytesText,
  space = 28
): Array<uPlot.Axis> => {
  const look = {
    stroke: () => host.color("text"),
    grid: { stroke: () => host.color("grid"), width: 1 },
    ticks: { stroke: () => host.color("grid"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif"
  }
  return [
    {
      ...look,
      size: 28,
      gap: 2,
      space: 90,
      incrs: () => host.view().axis === "time" ? timeSteps : countSteps,
      values: (_, splits) =>
        splits.map((value) => shownOn(host.view().axis, value, (splits[1] ?? 1) - (splits[0] ?? 0)))
    },
    { ...look, size: axisWidth, gap: 4, space, incrs: byteSteps, values: (_, splits) => splits.map(bytes) }
  ]
}

/** The moments that all charts mark: the cursor, and the moment with which it is compared. */
export interface Marked {
  readonly x: number
  /** Undefined while there is none. */
  readonly since: number | undefined
}

/** The marks over a chart. */
export class Cursors {
  readonly #cursor = document.createElement("div")
  readonly #since = document.createElement("div")

  constructor({ over }: uPlot) {
    this.#cursor.className = "cursor"
    this.#since.className = "cursor since"
    over.append(this.#since, this.#cursor)
  }

  show(view: View, { since, x }: Marked): void {
    place(this.#cursor, view, x)
    place(this.#since, view, since ?? Number.NaN)
  }
}

/** Positions a mark by a style: its distance from the left of the view, as a share of the view. */
export const place = (mark: HTMLElement, { from, to }: View, x: number): void => {
  const share = (x - from) / (to - from)
  mark.hidden = !(share >= 0 && share <= 1)
  if (!mark.hidden) mark.style.left = `${share * 100}%`
}

const cursorOptions: uPlot.Cursor = {
  y: false,
  points: { show: false },
  drag: { x: true, y: false, setScale: false, dist: 4 },
  bind: {
    // with the shift key the mouse moves the view
    mousedown: (_, __, handler) => (event) => event.shiftKey ? null : handler(event),
    dblclick: () => () => null
  }
}

export const noSelection = { left: 0, top: 0, width: 0, height: 0 }

/** Makes a selected range the view. */
const selecting = (host: ChartHost) => (chart: uPlot): void => {
  const { left, width } = chart.select
  if (width < 4) return
  const from = chart.posToVal(left, "x")
  const to = chart.posToVal(left + width, "x")
  chart.setSelect(noSelection, false)
  host.zoomTo(from, to)
}

/** Stepped lines: a value stays until the next one. */
export const stepped = uPlot.paths.stepped!({ align: 1 })

/** A chart over the view, whose axis of bytes has this range. */
export const optionsOf = (
  host: ChartHost,
  size: { width: number; height: number },
  bytes: () => [number, number],
  own: Pick<uPlot.Options, "series" | "hooks"> & Partial<Pick<uPlot.Options, "axes">>
): uPlot.Options => ({
  ...size,
  legend: { show: false },
  padding: [8, 8, 0, 0],
  cursor: cursorOptions,
  scales: {
    x: { time: false, range: () => [host.view().from, host.view().to] },
    y: { range: bytes }
  },
  axes: own.axes ?? axesOf(host),
  series: own.series,
  hooks: { ...own.hooks, setSelect: [selecting(host)] }
})

/** What a chart says of the place under the mouse, and does when it is clicked. */
export interface Pointed {
  /** Lines about a place of the axis and a number of bytes. */
  readonly describe: (x: number, bytes: number) => ReadonlyArray<string>
  readonly click?: (x: number, bytes: number) => void
}

/** Shows what is under the mouse, until that leaves or drags. */
const listenToHover = (chart: uPlot, { tip }: ChartHost, { describe }: Pointed): void => {
  const { over } = chart
  over.addEventListener("pointermove", ({ buttons, clientX, clientY, pointerType }) => {
    if (buttons !== 0 || pointerType === "touch") return tip.hide()
    const { left, top } = over.getBoundingClientRect()
    tip.show(clientX, clientY, describe(chart.posToVal(clientX - left, "x"), chart.posToVal(clientY - top, "y")))
  })
  over.addEventListener("pointerleave", () => tip.hide())
}

/** The wheel zooms, with the shift key it moves; a click moves the cursor; dragging with the shift key moves the view. */
export const listen = (chart: uPlot, host: ChartHost, pointed?: Pointed): Cursors => {
  const { over } = chart
  if (pointed !== undefined) listenToHover(chart, host, pointed)
  const xOf = ({ clientX }: MouseEvent): number => chart.posToVal(clientX - over.getBoundingClientRect().left, "x")
  over.addEventListener("wheel", (event) => {
    event.preventDefault()
    const sideways = event.shiftKey ? event.deltaY + event.deltaX : event.deltaX
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) host.panBy(sideways / over.clientWidth)
    else host.zoomAt(xOf(event), 1.0015 ** event.deltaY)
  }, { passive: false })
  let pressed: { readonly x: number; last: number; readonly pans: boolean } | undefined
  over.addEventListener("pointerdown", ({ clientX, shiftKey }) => {
    pressed = { x: clientX, last: clientX, pans: shiftKey }
  })
  over.addEventListener("pointermove", ({ clientX }) => {
    if (pressed?.pans !== true) return
    host.panBy((pressed.last - clientX) / over.clientWidth)
    pressed.last = clientX
  })
  over.addEventListener("pointerup", (event) => {
    if (pressed !== undefined && !pressed.pans && Math.abs(event.clientX - pressed.x) < 4) {
      const x = xOf(event)
      host.moveCursorTo(x)
      pointed?.click?.(x, chart.posToVal(event.clientY - over.getBoundingClientRect().top, "y"))
    }
    pressed = undefined
  })
  return new Cursors(chart)
}
