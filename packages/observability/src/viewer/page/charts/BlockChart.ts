/**
 * Blocks over time: each as wide as it lasts and as high as its capacity, with the leases that it had. Where there was no block,
 * nothing is drawn.
 *
 * @internal
 */
import uPlot from "uplot"
import type { BlockPicture, Draw } from "../model/BlockPicture.ts"
import { leftOut, mostGroups } from "../model/Grouping.ts"
import type { View } from "../model/Picture.ts"
import { type ChartHost, type Cursors, listen, type Marked, optionsOf, type Pointed } from "./Charts.ts"
import { colorOf } from "./Colors.ts"
import { Raster } from "./Raster.ts"

/** From one place of the axis to another, and from one address to another. */
export interface Rectangle {
  readonly from: number
  readonly to: number
  readonly bottom: number
  readonly top: number
}

export class BlockChart {
  readonly #host: ChartHost
  readonly #chart: uPlot
  readonly #cursors: Cursors
  /** Frames the block or the lease that is chosen. */
  readonly #frame = document.createElement("div")
  #picture: BlockPicture | undefined
  #groupOf: Uint8Array = new Uint8Array(0)
  #height = 1
  readonly #raster = new Raster("rows")

  constructor(
    host: ChartHost,
    parent: HTMLElement,
    size: { width: number; height: number },
    pointed: Pointed
  ) {
    this.#host = host
    this.#chart = new uPlot(
      optionsOf(host, size, () => [0, this.#height], {
        series: [{}, { points: { show: false } }],
        hooks: { drawAxes: [(chart) => this.#draw(chart)] }
      }),
      [[0, 1], [null, null]],
      parent
    )
    this.#cursors = listen(this.#chart, host, pointed)
    this.#frame.className = "picked"
    this.#chart.over.append(this.#frame)
  }

  /** How many rectangles the last frame drew. */
  get drawn(): number {
    return this.#raster.drawn
  }

  /** The length on the axis of one pixel. */
  get pixel(): number {
    const { from, to } = this.#host.view()
    return (to - from) / Math.max(1, this.#chart.bbox.width / uPlot.pxRatio)
  }

  resize(width: number, height: number): void {
    this.#chart.setSize({ width, height })
  }

  /** Shows the picture; the axis of bytes ends at its highest address. */
  show(picture: BlockPicture, groupOf: Uint8Array): void {
    this.#picture = picture
    this.#groupOf = groupOf
    this.#height = 1.03 * picture.top
    const { from, to } = this.#host.view()
    this.#chart.setData([[from, to], [null, null]])
  }

  showCursor(view: View, marked: Marked): void {
    this.#cursors.show(view, marked)
  }

  /** Frames a rectangle, or nothing. Returns the middle of its visible part in the window, if any of it is visible. */
  frame(rectangle: Rectangle | undefined): { readonly x: number; readonly y: number } | undefined {
    const { from, to } = this.#host.view()
    const shareOf = (x: number): number => Math.min(1, Math.max(0, (x - from) / (to - from)))
    this.#frame.hidden = rectangle === undefined || rectangle.to < from || rectangle.from > to
    if (rectangle === undefined || this.#frame.hidden) return undefined
    const [left, right] = [shareOf(rectangle.from), shareOf(rectangle.to)]
    const [upper, lower] = [1 - rectangle.top / this.#height, 1 - rectangle.bottom / this.#height]
    const { style } = this.#frame
    style.left = `${left * 100}%`
    style.width = `${(right - left) * 100}%`
    style.top = `${upper * 100}%`
    style.height = `${(lower - upper) * 100}%`
    const box = this.#chart.over.getBoundingClientRect()
    return { x: box.left + box.width * (left + right) / 2, y: box.top + box.height * (upper + lower) / 2 }
  }

  #draw(chart: uPlot): void {
    const raster = this.#raster
    raster.begin(chart)
    const groups = Array.from({ length: mostGroups + 1 }, (_, group) => this.#filling(colorOf(group)))
    const other = this.#filling(this.#host.color("left-out"))
    this.#picture?.draw({
      held: this.#filling(this.#host.color("held")),
      busy: this.#filling(this.#host.color("busy")),
      slack: this.#filling(this.#host.color("slack")),
      lease: (lease) => this.#groupOf[lease] === leftOut ? other : groups[this.#groupOf[lease]!]!
    })
    raster.end(chart)
  }

  #filling(color: string): Draw {
    const { from: first, to: last } = this.#host.view()
    const { height, width } = this.#raster
    const rectangle = this.#raster.filling(color)
    const perX = width / (last - first)
    const perByte = height / this.#height
    // a gap between blocks, where there is room for it
    const gap = Math.round(uPlot.pxRatio)
    return (from, to, bottom, top) => {
      const [left, right] = [(from - first) * perX, (to - first) * perX]
      const [upper, lower] = [height - top * perByte, height - bottom * perByte]
      rectangle(
        left,
        lower - upper > 4 * gap ? upper + gap : upper,
        right - left > 4 * gap ? right - gap : right,
        lower
      )
    }
  }
}
