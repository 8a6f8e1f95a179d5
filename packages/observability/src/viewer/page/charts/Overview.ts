/**
 * A small picture of the whole recording, with the visible part marked: the user can move that part, or select another one.
 *
 * @internal
 */
import { element } from "../Elements.ts"
import type { Picture } from "../model/Picture.ts"
import { axisWidth, type ChartHost } from "./Charts.ts"

const height = 44

const highest = (bytes: Float64Array): number => bytes.reduce((top, of) => Math.max(top, of), 1)

/** How many pixels the mouse moves at least, so that it drags and does not click. */
const leastDrag = 4

export interface OverviewHost extends Pick<ChartHost, "color" | "view" | "zoomTo"> {
  /** Is called with a place of the axis that was clicked. */
  readonly click?: (x: number) => void
}

export class Overview {
  readonly #canvas = element("canvas", { "aria-hidden": "true" })
  readonly #window = element("div", { class: "window" })
  readonly box: HTMLElement
  readonly #host: OverviewHost
  readonly #whole: () => number

  constructor(host: OverviewHost, parent: HTMLElement, whole: () => number) {
    this.#host = host
    this.#whole = whole
    this.box = element("div", { class: "overview", title: "Drag to see a part; drag the part to move it" })
    this.box.style.marginLeft = `${axisWidth}px`
    this.box.append(this.#canvas, this.#window)
    parent.append(this.box)
    this.#listen()
  }

  get columns(): number {
    return Math.max(1, this.box.clientWidth)
  }

  #listen(): void {
    let pressed:
      | {
        readonly at: number
        readonly left: number
        readonly from: number
        readonly to: number
        readonly moves: boolean
        drags: boolean
      }
      | undefined
    const placeOf = ({ clientX }: PointerEvent): number => {
      const { left, width } = this.box.getBoundingClientRect()
      return Math.min(1, Math.max(0, (clientX - left) / width)) * this.#whole()
    }
    this.box.addEventListener("pointerdown", (event) => {
      const { from, to } = this.#host.view()
      this.box.setPointerCapture(event.pointerId)
      // a window over everything cannot move, so dragging on it selects
      pressed = {
        at: placeOf(event),
        left: event.clientX,
        from,
        to,
        moves: event.target === this.#window && to - from < this.#whole() * 0.99,
        drags: false
      }
    })
    this.box.addEventListener("pointermove", (event) => {
      if (pressed === undefined) return
      pressed.drags ||= Math.abs(event.clientX - pressed.left) >= leastDrag
      if (!pressed.drags) return
      const { at, from, moves, to } = pressed
      const now = placeOf(event)
      if (moves) this.#host.zoomTo(from + now - at, to + now - at)
      else this.#host.zoomTo(Math.min(at, now), Math.max(at, now))
    })
    this.box.addEventListener("pointerup", () => {
      if (pressed?.drags === false) this.#host.click?.(pressed.at)
      pressed = undefined
    })
  }

  /** Draws the picture so high that `most` bytes fill it. */
  draw({ stacked, tops, x }: Picture, failures: ReadonlyArray<number>, most = highest(stacked)): void {
    const ratio = window.devicePixelRatio
    const width = this.box.clientWidth
    this.#canvas.width = Math.round(width * ratio)
    this.#canvas.height = Math.round(height * ratio)
    const context = this.#canvas.getContext("2d")!
    context.scale(ratio, ratio)
    const whole = this.#whole()
    const fill = (color: string, series: Float64Array): void => {
      context.fillStyle = color
      series.forEach((bytes, at) => {
        const left = x[at]! / whole * width
        const right = at + 1 < x.length ? x[at + 1]! / whole * width : width
        context.fillRect(left, height * (1 - bytes / most), right - left, height * bytes / most)
      })
    }
    fill(this.#host.color("held"), stacked)
    fill(this.#host.color("managed"), tops.at(-1) ?? new Float64Array(x.length))
    context.fillStyle = this.#host.color("failure")
    for (const left of new Set(failures.map((x) => Math.round(x / whole * width)))) {
      context.fillRect(left, 0, 1.5, height)
    }
  }

  showView(): void {
    const { from, to } = this.#host.view()
    const whole = this.#whole()
    this.#window.style.left = `${from / whole * 100}%`
    this.#window.style.width = `${(to - from) / whole * 100}%`
    this.#window.classList.toggle("all", from === 0 && to === whole)
  }
}
