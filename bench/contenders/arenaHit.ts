/** A hit of a pool that keeps blocks, or of one that splits slabs, with Effect's own pool as the control. */
import { Effect, Layer, Pool, Schema } from "effect"
import { BufferPool } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { Host } from "effect-gpu-pool/host"
import * as Contender from "../Contender.ts"
import * as Rounds from "../Rounds.ts"

const calls = 10_000
const size = 1024

/** Where a hit gets its memory. */
export const sources = ["a block", "a slab without leases", "a chunk beside a lease"] as const

const nothing = () => Effect.void
const once = <E, R>(effect: Effect.Effect<unknown, E, R>): Rounds.Timed<E, R> => ({ effect, calls })

const measured = Effect.fnUntraced(function*(hasLease: boolean) {
  const pool = yield* BufferPool.BufferPool
  if (hasLease) yield* pool.allocate(size)
  yield* pool.use(size, nothing)
  const effectPool = yield* Pool.make({ acquire: Effect.sync(() => ({})), size: 4 })
  return yield* Rounds.interleave({
    [Rounds.loop]: once(Effect.void),
    "scoped(BufferPool.allocate)": once(Effect.scoped(BufferPool.allocate(size))),
    "pool.use": once(pool.use(size, nothing)),
    "scoped(Pool.get)": once(Effect.scoped(Pool.get(effectPool))),
    "Pool.use": once(Pool.use(effectPool, nothing))
  }, { warmUp: 20, measured: 50 })
}, Effect.scoped)

const measure = (from: typeof sources[number]) =>
  Effect.provide(
    measured(from === "a chunk beside a lease"),
    BufferPool.layer({ strategy: from === "a block" ? PoolStrategy.blocks : PoolStrategy.arena() }).pipe(
      Layer.provideMerge(Host.layer())
    )
  )

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ from: Schema.Literals(sources) }),
  figures: Rounds.Nanos,
  measure: ({ from }) => measure(from)
})

if (import.meta.main) Contender.main(contender)
