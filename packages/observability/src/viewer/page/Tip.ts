/**
 * The tip: a small box beside what it describes, whether the mouse is over it or a key has chosen it.
 *
 * @internal
 */
import { element } from "./Elements.ts"

/** How far the box is from what it describes, in pixels. */
const distance = 14

export class Tip {
  readonly root = element("div", { id: "tip", role: "tooltip", hidden: true })

  /** Shows lines beside a place of the window. Nothing is shown without lines. */
  show(x: number, y: number, lines: ReadonlyArray<string>): void {
    this.root.hidden = lines.length === 0
    if (lines.length === 0) return
    this.root.replaceChildren(...lines.map((line) => element("div", {}, line)))
    const { offsetHeight, offsetWidth } = this.root
    const { clientHeight, clientWidth } = document.documentElement
    const right = x + distance + offsetWidth <= clientWidth ? x + distance : x - distance - offsetWidth
    const below = y + distance + offsetHeight <= clientHeight ? y + distance : y - distance - offsetHeight
    this.root.style.left = `${Math.max(0, Math.min(right, clientWidth - offsetWidth))}px`
    this.root.style.top = `${Math.max(0, below)}px`
  }

  hide(): void {
    this.root.hidden = true
  }
}
