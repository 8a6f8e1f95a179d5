/** Reads of one buffer: with a staging buffer made for each, with a pool of them, and in place. Turn by turn. */
import { Effect, Layer, Schema } from "effect"
import { BufferPool, CommandQueue, StagingPool } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"

const rounds = { warmUp: 3, measured: 15 }

/** Reads the last element, so that an empty view would be noticed. */
const look = (data: Uint32Array) =>
  Effect.sync(() => {
    if (data[data.length - 1] !== 7) throw new Error("the read has not what was written")
  })

const millis = <E, R>(read: Effect.Effect<void, E, R>) =>
  Effect.gen(function*() {
    const from = performance.now()
    yield* read
    return performance.now() - from
  })

const measure = Effect.fnUntraced(function*(size: number) {
  const x = yield* BufferPool.allocate(size)
  yield* CommandQueue.fill(x, 7)
  yield* CommandQueue.finish
  const staging = yield* Layer.build(StagingPool.layer())
  const read = Effect.flatMap(CommandQueue.read(x, Uint32Array), look)
  const view = CommandQueue.readView(x, Uint32Array, look)
  const round = Effect.all({
    fresh: millis(read),
    pooled: Effect.provide(millis(read), staging),
    inPlace: Effect.provide(millis(view), staging)
  })
  yield* Effect.replicateEffect(round, rounds.warmUp)
  return yield* Effect.replicateEffect(round, rounds.measured)
})

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ backend: Backend.Name, sizes: Schema.Array(Schema.Int) }),
  figures: Schema.Array(
    Schema.Array(Schema.Struct({ fresh: Schema.Finite, pooled: Schema.Finite, inPlace: Schema.Finite }))
  ),
  measure: ({ backend, sizes }) =>
    Effect.provide(
      Effect.forEach(sizes, (size) => Effect.scoped(measure(size))),
      BufferPool.layer().pipe(Layer.provideMerge(Backend.layers[backend]))
    )
})

if (import.meta.main) Contender.main(contender)
