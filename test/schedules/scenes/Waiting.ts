/** Scenes of requests that wait for memory, under limits and budgets. */
import * as Effect from "effect/Effect"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import type { Scene } from "../Stage.ts"

/** A `use` with some work. */
export const job = (size: number, options?: BufferPool.PoolAllocateOptions) =>
  BufferPool.use(size, (lease) => Effect.andThen(CommandQueue.fill(lease, 7), Effect.yieldNow), options)

export const atOnce = <E, R>(...jobs: ReadonlyArray<Effect.Effect<unknown, E, R>>) =>
  Effect.all(jobs, { concurrency: "unbounded" })

export const waiting: ReadonlyArray<Scene> = [
  {
    name: "requests wait for each other's memory",
    pool: { maxBytes: 64, onExhausted: "wait" },
    run: () => atOnce(job(64), job(64), job(32))
  },
  {
    name: "requests wait on a slow device",
    host: { latency: "1 millis" },
    pool: { maxBytes: 64, onExhausted: "wait" },
    run: () => atOnce(job(64), job(48), job(64))
  },
  {
    name: "requests wait for a driver that has no more",
    host: { capacityBytes: 64, latency: "1 millis" },
    pool: { onExhausted: "wait" },
    run: () => atOnce(job(64), job(64), job(32)),
    mayFail: ["OutOfMemory"]
  },
  {
    name: "requests wait for a driver that frees late",
    host: { capacityBytes: 64, lateFree: true },
    pool: { onExhausted: "wait" },
    run: () => atOnce(job(64), job(48)),
    mayFail: ["OutOfMemory"]
  },
  {
    name: "a request waits no longer than it may",
    host: { latency: "1 millis" },
    pool: { maxBytes: 64 },
    run: () => atOnce(job(64), job(64, { waitAtMost: "1 millis" }), job(64, { waitAtMost: "5 millis" })),
    mayFail: ["OutOfMemory"]
  },
  {
    name: "a lease that is released early serves who waits",
    pool: { maxBytes: 64, onExhausted: "wait" },
    run: (stage) =>
      atOnce(
        Effect.scoped(Effect.gen(function*() {
          const lease = yield* BufferPool.allocate(64)
          yield* Effect.yieldNow
          yield* Lease.release(lease)
          yield* Effect.yieldNow
        })),
        Effect.scoped(Effect.flatMap(BufferPool.allocate(64), stage.share))
      ),
    // Left out, because it keeps the memory until the scene has ended, and the scene waits for that.
    without: ["the next owner"]
  },
  {
    name: "requests wait within a budget",
    pool: { maxBytes: 128, onExhausted: "wait" },
    run: () => BufferPool.withBudget(atOnce(job(64), job(64)), 64)
  },
  {
    name: "budgets within budgets, beside others",
    pool: { maxBytes: 96, onExhausted: "wait" },
    run: () =>
      atOnce(
        BufferPool.withBudget(BufferPool.withBudget(atOnce(job(32), job(32)), 32), 64),
        BufferPool.withBudget(job(48), 64),
        job(64)
      )
  },
  {
    name: "a budget that fails",
    pool: { maxBytes: 128, onExhausted: "wait" },
    run: () => BufferPool.withBudget(atOnce(job(64), job(64)), 64, { onExhausted: "fail" }),
    mayFail: ["OutOfMemory"]
  }
]
