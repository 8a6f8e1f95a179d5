/**
 * How many bytes more, or fewer, the leases of one run have than those of another.
 *
 * @internal
 */
import uPlot from "uplot"
import { differenceText } from "../model/Format.ts"
import type { View } from "../model/Picture.ts"
import { axesOf, type ChartHost, type Cursors, listen, type Marked, optionsOf, stepped } from "./Charts.ts"

export class DifferenceChart {
  readonly #host: ChartHost
  readonly #chart: uPlot
  readonly #cursors: Cursors
  #most = 1

  constructor(host: ChartHost, parent: HTMLElement, size: { width: number; height: number }) {
    this.#host = host
    const area = (color: "more" | "fewer"): uPlot.Series => ({
      paths: stepped,
      points: { show: false },
      width: 0,
      fill: () => host.color(color),
      fillTo: 0
    })
    this.#chart = new uPlot(
      optionsOf(host, size, () => [-this.#most, this.#most], {
        axes: axesOf(host, differenceText, 16),
        series: [{}, area("more"), area("fewer")]
      }),
      [[]],
      parent
    )
    this.#cursors = listen(this.#chart, host)
  }

  resize(width: number, height: number): void {
    this.#chart.setSize({ width, height })
  }

  show(x: ReadonlyArray<number>, differences: ReadonlyArray<number | null>): void {
    this.#most = 1.1 * differences.reduce<number>((most, bytes) => Math.max(most, Math.abs(bytes ?? 0)), 1)
    const part = (sign: 1 | -1) => {
      const of = differences.map((bytes) => bytes === null ? null : sign * Math.max(0, sign * bytes))
      return [...of, of.at(-1) ?? null]
    }
    this.#chart.setData([[...x, this.#host.view().to], part(1), part(-1)] as uPlot.AlignedData)
  }

  showCursor(view: View, marked: Marked): void {
    this.#cursors.show(view, marked)
  }
}
