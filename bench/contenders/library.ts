/** What a program of another library takes of Dawn's device: as the library is, or with a pool under it. */
import { Effect, Schema } from "effect"
import { measure as measureWorkload } from "../../packages/interop/test/workloads/Workload.ts"
import * as Contender from "../Contender.ts"
import * as Libraries from "../peers/Libraries.ts"
import * as PageGpu from "../peers/PageGpu.ts"

const Figures = Schema.Struct({
  creates: Schema.Int,
  peakBytes: Schema.Finite,
  /** Of each step but the first; of none where the program does not say when one is done. */
  stepMillis: Schema.Array(Schema.Finite),
  /** Digests of what the program has computed. */
  results: Schema.Array(Schema.String),
  /** What the device has complained of. */
  errors: Schema.Array(Schema.String)
})

const measure = async (library: Libraries.Name, manager: Libraries.Manager): Promise<typeof Figures.Type> => {
  const gpu = PageGpu.provide()
  const { course, workload } = await Libraries.load(library, manager)
  const ends: Array<number> = []
  const timed: typeof workload = (device, given, stepped) =>
    workload(device, given, () => {
      ends.push(performance.now())
      stepped()
    })
  const options = manager === "own" ? undefined : {}
  const { creates, errors, peakBytes, results } = await measureWorkload(gpu, timed, options, course)
  const stepMillis = ends.slice(1).map((end, step) => end - ends[step]!)
  return { creates, errors, stepMillis, peakBytes, results }
}

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ library: Libraries.Name, manager: Libraries.Manager }),
  figures: Figures,
  measure: ({ library, manager }) => Effect.promise(() => measure(library, manager))
})

if (import.meta.main) Contender.main(contender)
