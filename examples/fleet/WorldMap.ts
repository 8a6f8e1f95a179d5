/** The program: a relief map of the Earth, square by square. It does not know where the squares are painted. */
import { Fleet } from "@effect-gpu-pool/fleet"
import { Effect, FileSystem, Stream } from "effect"
import { type Picture, png } from "../relief/Picture.ts"
import * as Earth from "./Earth.ts"
import { type Painted, Tile } from "./Tile.ts"

export interface MapOptions {
  /** Pixels from one of the heights to the next. */
  readonly scale: number
  /** Pixels of a square's side, which divides the map's height. */
  readonly size: number
}

/** How many squares are asked for at a time: more than the hosts have room for, so that none of them waits for the next. */
const concurrency = 16

/** The squares of a map, row by row. */
export const squares = ({ scale, size }: MapOptions): ReadonlyArray<typeof Tile.input.Type> => {
  const across = Earth.width * scale / size
  const down = Earth.height * scale / size
  return Array.from({ length: across * down }, (_, at) => ({
    x: at % across * size,
    y: Math.floor(at / across) * size,
    size,
    scale
  }))
}

/** Draws a map, and calls `onSquare` with each square when it has come. */
export const draw = Effect.fn("WorldMap.draw")(function*<E, R>(
  options: MapOptions,
  onSquare: (square: Painted) => Effect.Effect<void, E, R>
) {
  const width = Earth.width * options.scale
  const height = Earth.height * options.scale
  const picture: Picture = { width, height, rgb: new Uint8Array(width * height * 3) }
  yield* Fleet.map(Tile, squares(options), { concurrency, ordered: false }).pipe(
    Stream.runForEach((square) => {
      place(square, options.size, picture)
      return onSquare(square)
    })
  )
  return picture
})

/** Puts a square where it belongs. */
const place = ({ rgb, x, y }: Painted, size: number, picture: Picture): void => {
  for (let row = 0; row < size; row++) {
    const pixels = rgb.subarray(row * size * 3, (row + 1) * size * 3)
    picture.rgb.set(pixels, ((y + row) * picture.width + x) * 3)
  }
}

/** Writes a map as a PNG. */
export const write = Effect.fn("WorldMap.write")(function*(file: string, picture: Picture) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.writeFile(file, png(picture))
})
