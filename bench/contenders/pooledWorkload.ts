/** The touched workload through a pool. */
import { Effect, Layer, Schema } from "effect"
import { BufferPool, CommandQueue, Lease, PoolStats } from "effect-gpu-pool"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as Policies from "../Policies.ts"
import * as Workload from "../Workload.ts"

const Input = Schema.Struct({
  backend: Backend.Name,
  /** By the name of a size policy. */
  policy: Schema.String,
  /** The pool's byte limit, null for none. */
  maxBytes: Schema.NullOr(Schema.Int)
})

const workload = Effect.fnUntraced(function*(plan: ReadonlyArray<Workload.Step>) {
  const pool = yield* BufferPool.BufferPool
  const queue = yield* CommandQueue.CommandQueue
  const source = yield* pool.allocate(Workload.copyBytes)
  const live: Array<BufferPool.PooledBuffer | undefined> = Array.from({ length: Workload.slots })
  for (let index = 0; index < plan.length; index++) {
    const { size, slot } = plan[index]!
    const old = live[slot]
    if (old !== undefined) yield* Lease.release(old)
    const lease = yield* pool.allocate(size)
    live[slot] = lease
    yield* queue.copy(source, lease, { size: Workload.copyBytes })
    if ((index + 1) % Workload.stepsPerFlush === 0) yield* queue.flush
  }
  yield* queue.finish
}, Effect.scoped)

const timedRun = Effect.fnUntraced(function*(run: number) {
  const plan = Workload.plan(run)
  const before = yield* BufferPool.stats
  const from = performance.now()
  yield* workload(plan)
  const millis = performance.now() - from
  const after = yield* BufferPool.stats
  const leases = { hits: after.hits - before.hits, misses: after.misses - before.misses }
  return { millis, hitRate: 100 * PoolStats.hitRate(leases), peakLiveBytes: Workload.peakLiveBytes(plan) }
})

const measure = Effect.gen(function*() {
  const done = yield* Workload.eachRun(timedRun)
  return Workload.figures(done, (yield* BufferPool.stats).peakManagedBytes)
})

export const contender = Contender.make({
  module: import.meta.url,
  input: Input,
  figures: Workload.Figures,
  measure: ({ backend, maxBytes, policy }) =>
    Effect.provide(
      measure,
      BufferPool.layer({ sizePolicy: Policies.named(policy), ...(maxBytes === null ? {} : { maxBytes }) }).pipe(
        Layer.provideMerge(Backend.layers[backend])
      )
    )
})

if (import.meta.main) Contender.main(contender)
