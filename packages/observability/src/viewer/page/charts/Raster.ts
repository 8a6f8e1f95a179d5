/**
 * Fills rectangles in a pixel buffer: tens of thousands of them in a frame take a millisecond or two, where the canvas takes fifty
 * without a GPU. Edges are rounded to whole pixels.
 *
 * Areas are made of rectangles one pixel wide and many high. In row order each of their pixels would be in a cache line of its own, so
 * the buffer can store the pixels of a column next to each other until all is drawn.
 *
 * @internal
 */
import type uPlot from "uplot"

/** A color as a pixel: red in the lowest byte. */
const pixelOf = (color: string): number => {
  const value = Number.parseInt(color.slice(1), 16)
  return (0xff000000 | (value & 0xff) << 16 | value & 0xff00 | value >> 16) >>> 0
}

/** The side of the squares of pixels that are transposed at a time: they fit into the first-level cache. */
const tile = 16

export class Raster {
  readonly #canvas = document.createElement("canvas")
  #image: ImageData | undefined
  readonly #byColumns: boolean
  #rows = new Uint32Array(0)
  /** The buffer that is drawn to: in row or column order. */
  #pixels = new Uint32Array(0)
  width = 0
  height = 0
  drawn = 0

  constructor(by: "rows" | "columns") {
    this.#byColumns = by === "columns"
  }

  /** Empties it, with the size of the plot of a chart. */
  begin({ bbox }: uPlot): void {
    this.drawn = 0
    const width = Math.max(1, Math.round(bbox.width))
    const height = Math.max(1, Math.round(bbox.height))
    if (this.width === width && this.height === height) return void this.#pixels.fill(0)
    this.width = this.#canvas.width = width
    this.height = this.#canvas.height = height
    this.#image = new ImageData(width, height)
    this.#rows = new Uint32Array(this.#image.data.buffer)
    this.#pixels = this.#byColumns ? new Uint32Array(width * height) : this.#rows
  }

  /** Returns a function that fills a rectangle with a color of the form `#rrggbb`; what is smaller than a pixel is not drawn. */
  readonly filling = (color: string): (left: number, top: number, right: number, bottom: number) => void => {
    const pixel = pixelOf(color)
    return (left, top, right, bottom) => {
      const from = Math.max(0, Math.round(left))
      const to = Math.min(this.width, Math.round(right))
      if (from >= to) return
      this.drawn++
      const upper = Math.max(0, Math.round(top))
      const lower = Math.min(this.height, Math.round(bottom))
      if (this.#byColumns) this.#fill(pixel, from, to, this.height, upper, lower)
      else this.#fill(pixel, upper, lower, this.width, from, to)
    }
  }

  /** Fills the pixels from `first` to `last` in the lines from `from` to `to`, each of `length` pixels. */
  #fill(pixel: number, from: number, to: number, length: number, first: number, last: number): void {
    for (let at = from * length; at < to * length; at += length) {
      // for a few pixels a loop is faster than a call
      if (last - first > 24) this.#pixels.fill(pixel, at + first, at + last)
      else for (let place = at + first; place < at + last; place++) this.#pixels[place] = pixel
    }
  }

  #transpose(): void {
    for (let left = 0; left < this.width; left += tile) {
      const right = Math.min(this.width, left + tile)
      for (let row = 0; row < this.height; row++) {
        let to = row * this.width + left
        for (let column = left; column < right; column++) {
          this.#rows[to++] = this.#pixels[column * this.height + row]!
        }
      }
    }
  }

  /** Draws the pixels over a chart. */
  end({ bbox, ctx }: uPlot): void {
    if (this.#byColumns) this.#transpose()
    this.#canvas.getContext("2d")!.putImageData(this.#image!, 0, 0)
    ctx.drawImage(this.#canvas, Math.round(bbox.left), Math.round(bbox.top))
  }
}
