/** What a million leases leave on the heap of a program that goes on. */
import { Effect, Schema } from "effect"
import { BufferPool, Lease } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import * as Contender from "../Contender.ts"
import * as Heap from "../Heap.ts"
import * as Rounds from "../Rounds.ts"

const leases = 1_000_000
const warmUp = 100_000
const size = 4096

const measure = Effect.fnUntraced(
  function*(kind: "pairs" | "early") {
    const pool = yield* BufferPool.BufferPool
    const allocate = pool.allocate(size)
    const lease = kind === "pairs" ? Effect.scoped(allocate) : Effect.flatMap(allocate, Lease.release)
    yield* Rounds.repeat(lease, warmUp)
    const before = yield* Heap.bytes
    yield* Rounds.repeat(lease, leases)
    const after = yield* Heap.bytes
    return { before, after, leases }
  },
  Effect.scoped,
  Effect.provide(BufferPool.layer()),
  Effect.provide(Host.layer())
)

export const contender = Contender.make({
  module: import.meta.url,
  /** A scope for each lease, or one scope for all of them, each released early. */
  input: Schema.Struct({ kind: Schema.Literals(["pairs", "early"]) }),
  figures: Schema.Struct({ before: Schema.Finite, after: Schema.Finite, leases: Schema.Int }),
  measure: ({ kind }) => measure(kind)
})

if (import.meta.main) Contender.main(contender)
