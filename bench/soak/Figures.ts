/** What a soak tells at its end. */
import { Schema } from "effect"

export const Figures = Schema.Struct({
  /** How often things ended so, or happened. */
  counts: Schema.Record(Schema.String, Schema.Int),
  /** The first of what should not be, and how much of it there was. */
  problems: Schema.Array(Schema.String),
  problemCount: Schema.Int,
  /** The most that a pool had beyond its limit. */
  excessBytes: Schema.Finite,
  /** After each round but the first ones: the heap after collection, and the resident memory. */
  heapBytes: Schema.Array(Schema.Finite),
  residentBytes: Schema.Array(Schema.Finite),
  /** Driver objects after everything was closed, by kind. */
  left: Schema.Record(Schema.String, Schema.Int)
})
