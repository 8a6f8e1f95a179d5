/** Pictures: PNG files, and one that is drawn here. */
import { Data, Effect, FileSystem } from "effect"
import { decode, encode } from "fast-png"

export interface Picture {
  readonly width: number
  readonly height: number
  /** Red, green, blue and alpha of each pixel, row by row. */
  readonly rgba: Uint8Array<ArrayBuffer>
}

export class PictureUnreadable extends Data.TaggedError("PictureUnreadable")<{
  readonly file: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `${this.file} is no picture: ${String(this.cause)}. Pass a PNG of 8 bits per channel, without a palette.`
  }
}

/** Reads a PNG; fails with PictureUnreadable. */
export const read = Effect.fn("Picture.read")(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const unreadable = (cause: unknown): PictureUnreadable => new PictureUnreadable({ file, cause })
  const bytes = yield* Effect.mapError(fs.readFile(file), unreadable)
  return yield* Effect.try({ try: () => fromPng(bytes), catch: unreadable })
})

const fromPng = (bytes: Uint8Array): Picture => {
  const { channels, data, depth, height, palette, width } = decode(bytes)
  if (depth !== 8 || palette !== undefined) throw new RangeError(`${depth} bits per channel`)
  return { width, height, rgba: withAlpha(Uint8Array.from(data), channels) }
}

/** Grey, grey and alpha, three colours, or three colours and alpha. */
const withAlpha = (data: Uint8Array, channels: number): Uint8Array<ArrayBuffer> => {
  const rgba = new Uint8Array(data.length / channels * 4)
  for (let pixel = 0; pixel < data.length / channels; pixel++) {
    const at = pixel * channels
    const green = channels < 3 ? at : at + 1
    const blue = channels < 3 ? at : at + 2
    const alpha = channels % 2 === 0 ? data[at + channels - 1]! : 255
    rgba.set([data[at]!, data[green]!, data[blue]!, alpha], pixel * 4)
  }
  return rgba
}

/** The bytes of a PNG file. */
export const toPng = ({ height, rgba, width }: Picture): Uint8Array =>
  encode({ width, height, data: rgba, channels: 4, depth: 8 })

/** Rings that get finer outwards, with a disc and a ramp of colours: something to blur and edges to find. */
export const drawn = (width: number, height: number): Picture => {
  const rgba = new Uint8Array(width * height * 4)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rgba.set(colorAt(x / width, y / width), (y * width + x) * 4)
  }
  return { width, height, rgba }
}

/** The colour at a place in the picture, whose width is 1. */
const colorAt = (x: number, y: number): ReadonlyArray<number> => {
  if (Math.hypot(x - 0.7, y - 0.25) < 0.12) return [230, 60, 40, 255]
  if (y > 0.65) return [255 * x, 255 * (1 - x), 128, 255]
  const light = 127.5 + 127.5 * Math.cos(200 * ((x - 0.3) ** 2 + (y - 0.3) ** 2))
  return [light, light, 0.8 * light + 40, 255]
}
