/** The data: the heights of the Earth's land, from a picture of NASA in npm three-globe. */
import { Data, Effect, FileSystem } from "effect"
import { decode } from "fast-png"
import { fileURLToPath } from "node:url"

/** How many heights there are from 180 degrees west to 180 degrees east, and from 90 degrees north to 90 degrees south. */
export const width = 2048
export const height = 1024

/** Heights in metres, row by row from the north, each from the west. */
export interface Earth {
  readonly meters: Float32Array
}

/** The brightest grey stands for this height. The sea is black. */
const highestMeters = 6400

export class EarthUnreadable extends Data.TaggedError("EarthUnreadable")<{
  readonly file: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `${this.file} is no picture of heights: ${String(this.cause)}. Run npm ci to get it anew.`
  }
}

/** Reads heights from a grey PNG; fails with EarthUnreadable. */
export const readFrom = Effect.fn("Earth.readFrom")(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const bytes = yield* fs.readFile(file)
  const { data, ...picture } = yield* Effect.try(() => decode(bytes))
  if (data.length !== width * height || picture.width !== width || picture.depth !== 8) {
    return yield* Effect.fail(`it has no ${width} x ${height} pixels of 8 bits`)
  }
  const earth: Earth = { meters: Float32Array.from(data, (grey) => grey * highestMeters / 255) }
  return earth
}, (effect, file) => Effect.mapError(effect, (cause) => new EarthUnreadable({ file, cause })))

/** The heights of the data set. */
export const read = readFrom(
  fileURLToPath(new URL("../example/img/earth-topology.png", import.meta.resolve("three-globe")))
)
