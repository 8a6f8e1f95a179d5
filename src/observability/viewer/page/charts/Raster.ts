/**
 * Rectangles that are written into pixels by this script: tens of thousands of them in a frame take a millisecond or two, where
 * the canvas takes fifty without a GPU. Their edges are those of pixels.
 *
 * @internal
 */
import type uPlot from "uplot"

/** As pixels are stored: red in the lowest byte. */
const pixelOf = (color: string): number => {
  const value = Number.parseInt(color.slice(1), 16)
  return (0xff000000 | (value & 0xff) << 16 | value & 0xff00 | value >> 16) >>> 0
}

export class Raster {
  readonly #canvas = document.createElement("canvas")
  #image: ImageData | undefined
  #pixels = new Uint32Array(0)
  width = 0
  height = 0
  /** How many rectangles there are. */
  drawn = 0

  /** Empties it, with the size of the plot of a chart. */
  begin({ bbox }: uPlot): void {
    this.drawn = 0
    if (this.#image === undefined || this.width !== bbox.width || this.height !== bbox.height) {
      this.width = this.#canvas.width = Math.max(1, Math.round(bbox.width))
      this.height = this.#canvas.height = Math.max(1, Math.round(bbox.height))
      this.#image = new ImageData(this.width, this.height)
      this.#pixels = new Uint32Array(this.#image.data.buffer)
    } else this.#pixels.fill(0)
  }

  /** Fills from one place to another with a color of the form `#rrggbb`; less than a pixel is nothing. */
  readonly filling = (color: string): (left: number, top: number, right: number, bottom: number) => void => {
    const pixel = pixelOf(color)
    return (left, top, right, bottom) => {
      const from = Math.max(0, Math.round(left))
      const to = Math.min(this.width, Math.round(right))
      const last = Math.min(this.height, Math.round(bottom))
      if (from >= to) return
      this.drawn++
      for (let row = Math.max(0, Math.round(top)); row < last; row++) {
        const at = row * this.width
        // a call costs more than a few pixels
        if (to - from > 24) this.#pixels.fill(pixel, at + from, at + to)
        else for (let place = at + from; place < at + to; place++) this.#pixels[place] = pixel
      }
    }
  }

  /** Draws it over what a chart has. */
  end({ bbox, ctx }: uPlot): void {
    this.#canvas.getContext("2d")!.putImageData(this.#image!, 0, 0)
    ctx.drawImage(this.#canvas, Math.round(bbox.left), Math.round(bbox.top))
  }
}
