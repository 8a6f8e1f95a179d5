/**
 * Memory over time: the leases of each group, stacked, then what their blocks have beyond them and held blocks; lines for the bytes of
 * all blocks and for the limit; marks for failures and for requests that wait.
 *
 * @internal
 */
import uPlot from "uplot"
import type { Picture, View } from "../model/Picture.ts"
import { type ChartHost, type Cursors, listen, type Marked, optionsOf, type Pointed, stepped } from "./Charts.ts"
import { colorOf } from "./Colors.ts"
import { Raster } from "./Raster.ts"

/** What is marked on the axis besides the columns. */
export interface Marks {
  /** Where requests failed, in order. */
  readonly failures: ReadonlyArray<number>
}

/** Bytes of each column; null where there are none. */
type Series = ArrayLike<number | null>

/** How high the strip of waiting requests is, in pixels. */
const strip = 6

export interface Drawn {
  readonly picture: Picture
  /** The bytes of leases of the other run, for each column. */
  readonly other: ReadonlyArray<number | null> | undefined
  /** Whether there is no filter: only then are blocks drawn over the leases in them. */
  readonly isWhole: boolean
}

/** Where a chart draws, in pixels of its canvas, and the bytes that its height stands for. */
export interface Plot {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
  readonly bytes: number
}

export class MemoryChart {
  readonly #host: ChartHost
  readonly #chart: uPlot
  readonly #cursors: Cursors
  readonly #areas = new Raster("columns")
  #drawn: Drawn | undefined
  #marks: Marks = { failures: [] }
  #top = 1
  /** How many things the last frame drew. */
  drawn = 0

  constructor(host: ChartHost, parent: HTMLElement, size: { width: number; height: number }, pointed: Pointed) {
    this.#host = host
    this.#chart = new uPlot(this.#options(size), [[]], parent)
    this.#cursors = listen(this.#chart, host, pointed)
  }

  #options(size: { width: number; height: number }): uPlot.Options {
    const host = this.#host
    return optionsOf(host, size, () => [0, this.#top], {
      series: [{}, {
        paths: stepped,
        points: { show: false },
        width: 1.5,
        dash: [6, 4],
        stroke: () => host.color("limit")
      }],
      hooks: { drawAxes: [(chart) => this.#drawAreas(chart)], draw: [(chart) => this.#drawMarks(chart)] }
    })
  }

  /** The columns that there is room for. */
  get columns(): number {
    return Math.max(1, Math.round(this.#chart.bbox.width / uPlot.pxRatio))
  }

  get plot(): Plot {
    const { height, left, top, width } = this.#chart.bbox
    return { left, top, width, height, bytes: this.#top }
  }

  resize(width: number, height: number): void {
    this.#chart.setSize({ width, height })
  }

  show(drawn: Drawn, marks: Marks): void {
    this.#drawn = drawn
    this.#marks = marks
    const { limit, managed, tops, x } = drawn.picture
    this.#top = topOf([managed, tops.at(-1) ?? [], drawn.other ?? []], limit)
    this.#chart.setData([[...x, this.#host.view().to], [...limit, limit.at(-1) ?? null]] as uPlot.AlignedData)
  }

  showCursor(view: View, marked: Marked): void {
    this.#cursors.show(view, marked)
  }

  /** From the bottom up: the groups, what their blocks have beyond them, and held blocks. */
  #drawAreas(chart: uPlot): void {
    if (this.#drawn === undefined) return
    const { isWhole, other, picture: { leased, least, managed, stacked, tops, x } } = this.#drawn
    const { from, to } = this.#host.view()
    const areas = this.#areas
    areas.begin(chart)
    const lefts = [...x, to].map((of) => (of - from) / (to - from) * areas.width)
    const yOf = (bytes: number): number => areas.height * (1 - bytes / this.#top)
    const fill = (color: string, tops: Float64Array, bottoms: Float64Array | undefined): void => {
      const rectangle = areas.filling(color)
      tops.forEach((top, at) => {
        const bottom = bottoms?.[at] ?? 0
        if (top > bottom) rectangle(lefts[at]!, yOf(top), lefts[at + 1]!, yOf(bottom))
      })
    }
    tops.forEach((of, group) => fill(colorOf(group), of, tops[group - 1]))
    if (isWhole) {
      fill(this.#host.color("slack"), leased, tops.at(-1))
      fill(this.#host.color("held"), stacked, leased)
    }
    const line = (color: string, series: Series, thin: number, steps: boolean): void => {
      const rectangle = areas.filling(color)
      let last: number | undefined
      for (let at = 0; at < series.length; at++) {
        const bytes = series[at]!
        const top = bytes === null ? undefined : Math.min(yOf(bytes), areas.height - thin)
        if (top !== undefined) rectangle(lefts[at]!, top, lefts[at + 1]!, top + thin)
        if (steps && top !== undefined && last !== undefined) {
          rectangle(lefts[at]!, Math.min(top, last), lefts[at]! + thin, Math.max(top, last) + thin)
        }
        last = top
      }
    }
    const thin = Math.round(uPlot.pxRatio)
    line(
      this.#host.color("least"),
      Array.from(least, (bytes, at) => bytes < (tops.at(-1)?.[at] ?? 0) ? bytes : null),
      thin,
      false
    )
    line(this.#host.color("managed"), managed, thin, true)
    if (other !== undefined) line(this.#host.color("other-run"), other, 2 * thin, true)
    areas.end(chart)
    this.drawn = areas.drawn + x.length + 1
  }

  #drawMarks({ bbox, ctx, valToPos }: uPlot): void {
    if (this.#drawn === undefined) return
    const { waiting, x } = this.#drawn.picture
    const end = bbox.left + bbox.width
    const ratio = uPlot.pxRatio
    ctx.save()
    ctx.fillStyle = this.#host.color("waiting")
    waiting.forEach((count, at) => {
      if (count === 0) return
      const left = valToPos(x[at]!, "x", true)
      const right = at + 1 < x.length ? valToPos(x[at + 1]!, "x", true) : end
      ctx.fillRect(left, bbox.top, Math.max(ratio, right - left), strip * ratio)
      this.drawn++
    })
    ctx.fillStyle = this.#host.color("failure")
    const pixels = pixelsOf(this.#marks.failures, this.#host.view(), bbox)
    // many full-height lines would hide what is under them
    const height = pixels.size * 12 * ratio > bbox.width ? strip * ratio : bbox.height
    for (const left of pixels) {
      ctx.fillRect(left, bbox.top, ratio, height)
      ctx.beginPath()
      ctx.moveTo(left - 5 * ratio, bbox.top - 7 * ratio)
      ctx.lineTo(left + 6 * ratio, bbox.top - 7 * ratio)
      ctx.lineTo(left + ratio / 2, bbox.top + 3 * ratio)
      ctx.fill()
      this.drawn += 2
    }
    ctx.restore()
  }
}

/** The pixels of the visible marks, each once. */
const pixelsOf = (marks: ReadonlyArray<number>, { from, to }: View, bbox: uPlot.BBox): ReadonlySet<number> => {
  const pixels = new Set<number>()
  for (const x of marks) {
    if (x >= from && x <= to) pixels.add(Math.round(bbox.left + (x - from) / (to - from) * bbox.width))
  }
  return pixels
}

const most = (of: Series): number => {
  let top = 0
  for (let at = 0; at < of.length; at++) top = Math.max(top, of[at] ?? 0)
  return top
}

/** The top of the axis. It includes the limit unless that would make the rest too small to see. */
const topOf = (series: ReadonlyArray<Series>, limit: Series): number => {
  const top = Math.max(1, ...series.map(most))
  const limits = most(limit)
  return 1.06 * (limits <= 2 * top ? Math.max(top, limits) : top)
}
