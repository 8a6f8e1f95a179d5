/** A lease, a fill of it and its end, on one queue or in turn on two. */
import { Effect, Layer, Schema } from "effect"
import { BufferPool, CommandQueue, ReusePolicy } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"

const rounds = { warmUp: 3, measured: 9 }
const calls = 512
const bytes = 65_536

export const Way = Schema.Literals(["alone", "beside", "events", "program"])
export type Way = typeof Way.Type

const policies = { events: ReusePolicy.afterEvents, ended: ReusePolicy.whenEnded, own: ReusePolicy.ownQueue }
export const Policy = Schema.Literals(["events", "ended", "own"])
export type Policy = typeof Policy.Type

const queuesOf = Effect.fnUntraced(function*(way: Way) {
  const first = yield* CommandQueue.CommandQueue
  if (way === "alone") return [first, first] as const
  const second = yield* CommandQueue.make()
  return way === "beside" ? [first, first] as const : [first, second] as const
})

/** One lease in each call, on the queues in turn. */
const turn = Effect.fnUntraced(function*(way: Way, queues: readonly [CommandQueue.Queue, CommandQueue.Queue]) {
  const pool = yield* BufferPool.BufferPool
  const from = performance.now()
  for (let call = 0; call < calls; call++) {
    const queue = queues[call % 2]!
    // The wait of a program that cannot know otherwise that the block is free.
    if (way === "program") yield* queues[(call + 1) % 2]!.finish
    yield* queue.on(pool.use(bytes, (lease) => queue.fill(lease, call)))
  }
  for (const queue of queues) yield* queue.finish
  return (performance.now() - from) * 1e6 / calls
})

const measure = Effect.fnUntraced(function*(way: Way) {
  const queues = yield* queuesOf(way)
  yield* Effect.replicateEffect(turn(way, queues), rounds.warmUp)
  const nanos = yield* Effect.replicateEffect(turn(way, queues), rounds.measured)
  const { peakManagedBytes } = yield* BufferPool.stats
  return { nanos, peakManagedBytes }
}, Effect.scoped)

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ backend: Backend.Name, way: Way, reuse: Policy }),
  figures: Schema.Struct({ nanos: Schema.Array(Schema.Finite), peakManagedBytes: Schema.Finite }),
  measure: ({ backend, reuse, way }) =>
    Effect.provide(
      measure(way),
      BufferPool.layer({ reuse: policies[reuse] }).pipe(Layer.provideMerge(Backend.layers[backend]))
    )
})

if (import.meta.main) Contender.main(contender)
