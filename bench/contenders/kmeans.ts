/** Rounds of k-means as `examples/kmeans` has them. */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { Effect, Schema } from "effect"
import { BufferPool } from "effect-gpu-pool"
import * as KMeans from "../../examples/kmeans/KMeans.ts"
import * as Points from "../../examples/kmeans/Points.ts"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as NumPy from "../NumPy.ts"

const Input = Schema.Struct({ backend: Backend.Name, ...NumPy.KMeansInput.fields })

/** The first samples compile kernels and fill pools. */
const warmUp = 2

/** A sample is so many rounds from the first centres, whose last ones are read. */
const measure = Effect.fnUntraced(function*({ rounds, samples, ...shape }: NumPy.KMeansInput) {
  const { clusters, dimensions, points } = shape
  const data = yield* DeviceArray.fromHost(Points.around(shape), { shape: [dimensions, points] })
  const first = yield* DeviceArray.fromHost(Points.first(shape), { shape: [clusters, dimensions] })
  const sample = Effect.scoped(Effect.flatMap(KMeans.cluster(data, first, rounds), DeviceArray.toHost))
  const wall: Array<number> = []
  const processors: Array<number> = []
  let centres: ReadonlyArray<number> = []
  for (let index = -warmUp; index < samples; index++) {
    const [from, fromProcessors] = [performance.now(), process.cpuUsage()]
    centres = Array.from(yield* sample)
    const { system, user } = process.cpuUsage(fromProcessors)
    if (index < 0) continue
    wall.push((performance.now() - from) / rounds)
    processors.push((system + user) / 1000 / rounds)
  }
  return { wall, processors, centres }
}, Effect.scoped)

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  figures: NumPy.KMeansFigures,
  measure: ({ backend, ...input }) =>
    measure(input).pipe(Effect.provide(BufferPool.layer()), Effect.provide(Backend.layers[backend]))
})

if (import.meta.main) Contender.main(contender)
