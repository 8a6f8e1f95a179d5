/** NumPy, where a Python on this machine has it. */
import { Schema } from "effect"
import * as PythonScript from "./PythonScript.ts"

/** The size of the problem, and the rounds of a sample. */
export const KMeansInput = Schema.Struct({
  points: Schema.Int,
  clusters: Schema.Int,
  dimensions: Schema.Int,
  rounds: Schema.Int,
  samples: Schema.Int
})

export type KMeansInput = typeof KMeansInput.Type

/** Milliseconds of a round in each sample: by the clock, and of all processors. */
export const KMeansFigures = Schema.Struct({
  wall: Schema.Array(Schema.Finite),
  processors: Schema.Array(Schema.Finite),
  /** The last centres, row by row. */
  centres: Schema.Array(Schema.Finite)
})

/** k-means in plain NumPy, with the fastest of several ways for each step. */
export const kmeans = (input: KMeansInput) => PythonScript.run("kmeans_numpy.py", input, KMeansFigures)
