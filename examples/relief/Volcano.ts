/** The data: Maungawhau, a volcano in Auckland, from npm vega-datasets. */
import { Data, Effect, FileSystem, Schema } from "effect"
import { fileURLToPath } from "node:url"

/** Heights in metres, row by row. */
export const Grid = Schema.fromJsonString(
  Schema.Struct({
    width: Schema.Int.check(Schema.isGreaterThanOrEqualTo(2)),
    height: Schema.Int.check(Schema.isGreaterThanOrEqualTo(2)),
    values: Schema.Array(Schema.Finite)
  }).check(
    Schema.makeFilter(({ height, values, width }) =>
      values.length === width * height ? undefined : `${values.length} values are no ${width} x ${height} grid`
    )
  )
)

export type Grid = typeof Grid.Type

/** How far apart the heights were taken, in metres. */
export const spacingMeters = 10

export class GridUnreadable extends Data.TaggedError("GridUnreadable")<{
  readonly file: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `${this.file} is no grid of heights: ${String(this.cause)}. Run npm ci to get it anew.`
  }
}

/** Reads a grid from a JSON file; fails with GridUnreadable. */
export const readFrom = Effect.fn("Volcano.readFrom")(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* Schema.decodeEffect(Grid)(yield* fs.readFileString(file))
}, (effect, file) => Effect.mapError(effect, (cause) => new GridUnreadable({ file, cause })))

/** The 87 x 61 heights of the data set. */
export const read = readFrom(fileURLToPath(new URL("../data/volcano.json", import.meta.resolve("vega-datasets"))))
