/** A hit while a pool holds many blocks; Effect's own pool, which holds four things all the time, is the control. */
import { Effect, Pool, Schema } from "effect"
import { BufferPool } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Contender from "../Contender.ts"
import { heldSize, hold } from "../HeldBlocks.ts"
import * as Rounds from "../Rounds.ts"

const calls = 10_000

const nothing = () => Effect.void
const once = <E, R>(effect: Effect.Effect<unknown, E, R>): Rounds.Timed<E, R> => ({ effect, calls })

const measure = Effect.fnUntraced(
  function*(held: number) {
    const pool = yield* BufferPool.BufferPool
    yield* hold(pool, held)
    const effectPool = yield* Pool.make({ acquire: Effect.sync(() => ({})), size: 4 })
    const size = heldSize(0)
    // Collect the garbage of filling the pool now, not during a round.
    globalThis.gc?.()
    return yield* Rounds.interleave({
      [Rounds.loop]: once(Effect.void),
      "scoped(pool.allocate)": once(Effect.scoped(pool.allocate(size))),
      "pool.use": once(pool.use(size, nothing)),
      "scoped(Pool.get)": once(Effect.scoped(Pool.get(effectPool))),
      "Pool.use": once(Pool.use(effectPool, nothing))
    }, { warmUp: 20, measured: 50 })
  },
  Effect.scoped,
  Effect.provide(BufferPool.layer()),
  Effect.provide(Host.layer())
)

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({ held: Schema.Int }),
  figures: Rounds.Nanos,
  measure: ({ held }) => measure(held)
})

if (import.meta.main) Contender.main(contender)
