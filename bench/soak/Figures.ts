/** The figures that a soak reports at its end. */
import { Schema } from "effect"

export const Figures = Schema.Struct({
  /** How often each kind of end or event occurred. */
  counts: Schema.Record(Schema.String, Schema.Int),
  /** The first problems, and their number. */
  problems: Schema.Array(Schema.String),
  problemCount: Schema.Int,
  /** The most bytes by which a pool exceeded its limit. */
  excessBytes: Schema.Finite,
  /** After each round but the first ones: the heap after collection, and the resident memory. */
  heapBytes: Schema.Array(Schema.Finite),
  residentBytes: Schema.Array(Schema.Finite),
  /** Driver objects after everything was closed, by kind. */
  left: Schema.Record(Schema.String, Schema.Int)
})
