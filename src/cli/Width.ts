/**
 * How wide output may be.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import process from "node:process"

/** The columns of the terminal, or elsewhere of `COLUMNS`; without either a line has no end. */
export const width: Effect.Effect<number> = Effect.sync(() =>
  [process.stdout.columns, Number(process.env.COLUMNS)].find((columns) => columns > 0) ?? Infinity
)
