/**
 * Rectangles that are written into pixels by this script: tens of thousands of them in a frame take a millisecond or two, where
 * the canvas takes fifty without a GPU. Their edges are those of pixels.
 *
 * Areas are made of rectangles that are a pixel wide and higher than that. Written by rows, each of their pixels would be in a cache
 * line of its own: so the pixels of a column can follow each other in memory until all is drawn.
 *
 * @internal
 */
import type uPlot from "uplot"

/** As pixels are stored: red in the lowest byte. */
const pixelOf = (color: string): number => {
  const value = Number.parseInt(color.slice(1), 16)
  return (0xff000000 | (value & 0xff) << 16 | value & 0xff00 | value >> 16) >>> 0
}

/** Squares of so many pixels are turned at a time: they fit into the nearest cache. */
const tile = 16

export class Raster {
  readonly #canvas = document.createElement("canvas")
  #image: ImageData | undefined
  readonly #byColumns: boolean
  #rows = new Uint32Array(0)
  /** What is drawn to: rows or columns. */
  #pixels = new Uint32Array(0)
  width = 0
  height = 0
  /** How many rectangles there are. */
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

  /** Fills from one place to another with a color of the form `#rrggbb`; less than a pixel is nothing. */
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

  /** Lines of so many pixels from one to another, in each the pixels from one to another. */
  #fill(pixel: number, from: number, to: number, length: number, first: number, last: number): void {
    for (let at = from * length; at < to * length; at += length) {
      // a call costs more than a few pixels
      if (last - first > 24) this.#pixels.fill(pixel, at + first, at + last)
      else for (let place = at + first; place < at + last; place++) this.#pixels[place] = pixel
    }
  }

  #turn(): void {
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

  /** Draws it over what a chart has. */
  end({ bbox, ctx }: uPlot): void {
    if (this.#byColumns) this.#turn()
    this.#canvas.getContext("2d")!.putImageData(this.#image!, 0, 0)
    ctx.drawImage(this.#canvas, Math.round(bbox.left), Math.round(bbox.top))
  }
}
