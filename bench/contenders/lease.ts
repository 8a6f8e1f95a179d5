/** Leases on a hit, on the host backend, against what Effect has of its own. */
import { PoolEvents, Recording } from "@effect-gpu-pool/observability"
import { Context, Effect, Layer, Pool, Schema } from "effect"
import { BufferPool, type GpuError } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Contender from "../Contender.ts"
import { heldSize, hold } from "../HeldBlocks.ts"
import * as Rounds from "../Rounds.ts"

const calls = 10_000

const times = <A, E, R>(count: number, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    for (let index = 0; index < count; index++) yield* effect
  })

const nothing = () => Effect.void
const once = <E, R>(effect: Effect.Effect<unknown, E, R>): Rounds.Timed<E, R> => ({ effect, calls })
const twofold = <E, R>(effect: Effect.Effect<unknown, E, R>): Rounds.Timed<E, R> => ({
  effect,
  calls: calls / 2,
  each: 2
})
const tenfold = <E, R>(effect: Effect.Effect<unknown, E, R>): Rounds.Timed<E, R> => ({
  effect,
  calls: calls / 10,
  each: 10
})

/** An object that its scope releases: the least that a resource costs in Effect. */
const resource = Effect.acquireRelease(Effect.sync(() => ({})), nothing)

/** A pool whose events are recorded, beside one for which nobody listens. */
const recordedPool = Effect.map(
  Layer.build(
    BufferPool.layer().pipe(Layer.provide(Recording.layer()), Layer.provide(PoolEvents.layer))
  ),
  Context.get(BufferPool.BufferPool)
)

const measure = Effect.gen(function*() {
  const pool = yield* BufferPool.BufferPool
  const recorded = yield* recordedPool
  yield* hold(recorded, 10)
  yield* hold(pool, 10)
  const effectPool = yield* Pool.make({ acquire: Effect.sync(() => ({})), size: 4 })
  const widePool = yield* Pool.make({ acquire: Effect.sync(() => ({})), size: 16 })
  const size = heldSize(0)
  return yield* Rounds.interleave<GpuError.GpuError, BufferPool.BufferPool>({
    [Rounds.loop]: once(Effect.void),
    "scoped(pool.allocate)": once(Effect.scoped(pool.allocate(size))),
    "scoped(BufferPool.allocate)": once(Effect.scoped(BufferPool.allocate(size))),
    "scoped(Pool.get)": once(Effect.scoped(Pool.get(effectPool))),
    "scoped(acquireRelease)": once(Effect.scoped(resource)),
    "pool.use": once(pool.use(size, nothing)),
    "BufferPool.use": once(BufferPool.use(size, nothing)),
    "pool.useAll of 2, each": twofold(pool.useAll([size, size], nothing)),
    "scoped(pool.allocate), recorded": once(Effect.scoped(recorded.allocate(size))),
    "pool.use, recorded": once(recorded.use(size, nothing)),
    "Pool.use": once(Pool.use(effectPool, nothing)),
    "10 pool.allocate in a scope, each": tenfold(Effect.scoped(times(10, pool.allocate(size)))),
    "10 Pool.get in a scope, each": tenfold(Effect.scoped(times(10, Pool.get(widePool)))),
    "10 acquireRelease in a scope, each": tenfold(Effect.scoped(times(10, resource)))
  }, { warmUp: 20, measured: 50 })
}).pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Host.layer()))

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({}),
  figures: Rounds.Nanos,
  measure: () => measure
})

if (import.meta.main) Contender.main(contender)
