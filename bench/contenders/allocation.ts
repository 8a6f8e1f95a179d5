/** Buffers from an allocator without a pool: created, proven to exist where the allocator is immediate, and given back. */
import { Effect, Layer, Schema } from "effect"
import { Allocator, CommandQueue } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as Rounds from "../Rounds.ts"

const calls = 1000
const rounds = { warmUp: 5, measured: 15 }

const allocators = { immediate: Allocator.layerImmediate, deferred: Allocator.layerDeferred }

/** A turn of so many buffers, and the wait for what they left on the queue. */
const turn = Effect.fnUntraced(function*(size: number) {
  const allocator = yield* Allocator.Allocator
  const pair = Effect.flatMap(allocator.allocate(size), allocator.freeUnsafe)
  const from = performance.now()
  yield* Rounds.repeat(pair, calls)
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
    allocator: Schema.Literals(["immediate", "deferred"]),
    size: Schema.Int
  }),
  figures: Schema.Array(Schema.Finite),
  measure: ({ allocator, backend, size }) =>
    Effect.provide(measure(size), allocators[allocator].pipe(Layer.provideMerge(Backend.layers[backend])))
})

if (import.meta.main) Contender.main(contender)
