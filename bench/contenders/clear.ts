/** A hit on a pool that clears memory before it hands it out, against one that does not. */
import { Effect, Layer, Schema } from "effect"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as Rounds from "../Rounds.ts"

const rounds = { warmUp: 3, measured: 9 }

/** As many leases as touch 256 MiB, at most 512: large blocks take long enough to time by themselves. */
const callsFor = (size: number): number => Math.max(4, Math.min(512, 2 ** 28 / size))

const turn = Effect.fnUntraced(function*(size: number) {
  const pool = yield* BufferPool.BufferPool
  const calls = callsFor(size)
  const from = performance.now()
  yield* Rounds.repeat(pool.use(size, () => Effect.void), calls)
  yield* CommandQueue.finish
  return (performance.now() - from) * 1e6 / calls
})

const measure = Effect.fnUntraced(function*(size: number) {
  yield* Effect.replicateEffect(turn(size), rounds.warmUp)
  return yield* Effect.replicateEffect(turn(size), rounds.measured)
})

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({
    backend: Backend.Name,
    clear: Schema.Literals(["never", "acquire"]),
    sizes: Schema.Array(Schema.Int)
  }),
  figures: Schema.Array(Schema.Array(Schema.Finite)),
  measure: ({ backend, clear, sizes }) =>
    Effect.provide(
      Effect.forEach(sizes, measure),
      BufferPool.layer({ clear }).pipe(Layer.provideMerge(Backend.layers[backend]))
    )
})

if (import.meta.main) Contender.main(contender)
