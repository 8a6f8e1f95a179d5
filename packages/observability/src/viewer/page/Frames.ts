/**
 * Frames: each draws once whatever was asked for since the one before.
 *
 * @internal
 */

/** The parts of a frame: all, or the cursor alone. */
export type Part = "picture" | "cursor"

/** How many times of frames are kept. */
const mostTimes = 600

export class Frames {
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
