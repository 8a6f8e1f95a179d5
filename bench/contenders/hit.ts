/** What a hit in a scope of its own costs a process that does nothing else: time, bytes, and what the garbage collector takes. */
import { Effect, Pool, Schema } from "effect"
import { BufferPool } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Contender from "../Contender.ts"
import * as Heap from "../Heap.ts"
import * as Rounds from "../Rounds.ts"

const hits = 2_000_000
const size = 4096

const resource = Effect.acquireRelease(Effect.sync(() => ({})), () => Effect.void)

/** Each in a scope of its own. */
const kinds = {
  "BufferPool.allocate": Effect.succeed(BufferPool.allocate(size)),
  "pool.allocate": Effect.map(BufferPool.BufferPool, (pool) => pool.allocate(size)),
  "Pool.get": Effect.map(Pool.make({ acquire: Effect.sync(() => ({})), size: 4 }), Pool.get),
  "acquireRelease": Effect.succeed(resource)
}

/** Without a warm-up or a collection before, as in a program. */
const measure = Effect.fnUntraced(
  function*(kind: keyof typeof kinds) {
    const lease = Effect.scoped(yield* kinds[kind])
    const { allocated, collecting, result: millis } = yield* Heap.watched(Rounds.repeat(lease, hits))
    return { nanos: millis * 1e6 / hits, bytes: allocated / hits, collecting: collecting / millis }
  },
  Effect.scoped,
  Effect.provide(BufferPool.layer()),
  Effect.provide(Host.layer())
)

export const contender = Contender.make({
  module: import.meta.url,
  input: Schema.Struct({
    kind: Schema.Literals(["BufferPool.allocate", "pool.allocate", "Pool.get", "acquireRelease"])
  }),
  figures: Schema.Struct({ nanos: Schema.Finite, bytes: Schema.Finite, collecting: Schema.Finite }),
  measure: ({ kind }) => measure(kind)
})

if (import.meta.main) Contender.main(contender)
