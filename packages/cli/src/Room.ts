/**
 * How much room output has.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import process from "node:process"

/** The columns of the terminal, or elsewhere of `COLUMNS`; without either a line has no end. */
export const width: Effect.Effect<number> = Effect.sync(() =>
  [process.stdout.columns, Number(process.env.COLUMNS)].find((columns) => columns > 0) ?? Infinity
)

/** The lines of the terminal; elsewhere there is no end of them. */
export const height: Effect.Effect<number> = Effect.sync(() => process.stdout.rows > 0 ? process.stdout.rows : Infinity)
