/** The data: the airports of npm vega-datasets. */
import { parse } from "csv-parse/sync"
import { Data, Effect, FileSystem, Schema } from "effect"
import { fileURLToPath } from "node:url"

export const Airport = Schema.Struct({
  iata: Schema.String,
  name: Schema.String,
  state: Schema.String,
  country: Schema.String,
  latitude: Schema.FiniteFromString.check(Schema.isBetween({ minimum: -90, maximum: 90 })),
  longitude: Schema.FiniteFromString.check(Schema.isBetween({ minimum: -180, maximum: 180 }))
})

export type Airport = typeof Airport.Type

export class AirportsUnreadable extends Data.TaggedError("AirportsUnreadable")<{
  readonly file: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `${this.file} is no table of airports: ${String(this.cause)}. Run npm ci to get it anew.`
  }
}

const decode = Schema.decodeUnknownEffect(Schema.Array(Airport))

/** Reads all airports from a file with a header line; fails with AirportsUnreadable. */
export const readFrom = Effect.fn("Airports.readFrom")(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs.readFileString(file)
  const records = yield* Effect.try(() => parse(text, { columns: true }))
  return yield* decode(records)
}, (effect, file) => Effect.mapError(effect, (cause) => new AirportsUnreadable({ file, cause })))

const file = fileURLToPath(new URL("../data/airports.csv", import.meta.resolve("vega-datasets")))

/** The 3,376 airports of the data set. */
export const read = readFrom(file)

/** An airport as people find it on a map. */
export const format = ({ country, iata, name, state }: Airport): string =>
  [`${name} (${iata})`, ...(state === "NA" ? [] : [state]), country].join(", ")
