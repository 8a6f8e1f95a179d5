/** Scenes of programs that reserve the memory that they need, and of those that do not and wait for each other. */
import * as Effect from "effect/Effect"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import type { Scene } from "../Stage.ts"
import { atOnce, job } from "./Waiting.ts"

/** Has one lease while it requests another. */
const twice = (size: number) => BufferPool.use(size, () => Effect.andThen(Effect.yieldNow, job(size)))

const together = BufferPool.useAll([32, 32], ([from, to]) =>
  Effect.gen(function*() {
    yield* CommandQueue.fill(from, 1)
    yield* CommandQueue.copy(from, to)
  }))

export const reservations: ReadonlyArray<Scene> = [
  {
    name: "jobs reserve what they need",
    pool: { maxBytes: 64, onExhausted: "wait" },
    run: () => {
      const reserved = BufferPool.reserve(twice(32), 64)
      return atOnce(reserved, reserved, BufferPool.reserve(job(16), 32))
    }
  },
  {
    name: "jobs reserve bytes that are no whole units of slabs, beside one that does not",
    pool: { maxBytes: 88, onExhausted: "wait" },
    run: () => atOnce(BufferPool.reserve(twice(44), 88), job(20), BufferPool.reserve(twice(20), 40))
  },
  {
    name: "jobs reserve on a slow device, beside one that does not",
    host: { latency: "1 millis" },
    pool: { maxBytes: 96, onExhausted: "wait" },
    run: () => atOnce(BufferPool.reserve(twice(32), 64), job(64), BufferPool.reserve(twice(16), 32))
  },
  {
    name: "reservations within reservations and budgets",
    pool: { maxBytes: 96, onExhausted: "wait" },
    run: () =>
      atOnce(
        BufferPool.withBudget(BufferPool.reserve(twice(32), 64), 64),
        BufferPool.reserve(BufferPool.reserve(twice(16), 32), 48),
        job(64)
      )
  },
  {
    name: "a reservation waits no longer than it may",
    host: { latency: "2 millis" },
    pool: { maxBytes: 64 },
    run: () => atOnce(job(64), BufferPool.reserve(job(64), 64, { waitAtMost: "1 millis" })),
    mayFail: ["OutOfMemory"]
  },
  {
    name: "a job uses less than it reserved, and another waits",
    pool: { maxBytes: 64, onExhausted: "wait" },
    run: () => atOnce(BufferPool.reserve(job(16), 64), job(48))
  },
  {
    name: "leases are asked for together",
    pool: { maxBytes: 64, onExhausted: "wait" },
    run: (stage) =>
      atOnce(
        together,
        together,
        Effect.scoped(Effect.flatMap(BufferPool.allocateAll({ one: 16, other: 48 }), ({ one }) => stage.share(one)))
      ),
    // Left out, because it keeps the memory until the scene has ended, and the scene waits for that.
    without: ["the next owner"]
  },
  {
    name: "leases that are asked for together are held, or some of them",
    pool: { maxBytes: 96, onExhausted: "wait" },
    run: (stage) =>
      Effect.gen(function*() {
        yield* together
        yield* atOnce(
          Effect.scoped(Effect.flatMap(BufferPool.allocateAll([32, 32]), ([one]) => stage.share(one))),
          BufferPool.useAll([32, 16], () => Effect.yieldNow)
        )
      })
  },
  {
    name: "leases are asked for together of a driver that refuses one",
    host: { latency: "1 millis" },
    pool: { maxBytes: 96, onExhausted: "wait" },
    run: (stage) =>
      Effect.suspend(() => {
        stage.faults.failAllocations({ nth: 2 })
        return atOnce(together, job(64))
      }),
    mayFail: ["OutOfMemory"]
  },
  {
    name: "jobs that cannot say what they need take turns",
    pool: { maxBytes: 64, onExhausted: "wait" },
    run: () =>
      atOnce(BufferPool.exclusively(twice(32)), BufferPool.exclusively(twice(32)), BufferPool.reserve(twice(32), 64))
  },
  {
    name: "jobs that wait for each other are told, and try again",
    pool: { maxBytes: 64, onExhausted: "wait", deadlockTimeout: "10 millis" },
    run: () => {
      const stubborn = Effect.retry(twice(32), { while: (error) => error.isRetryable, times: 20 })
      return atOnce(stubborn, stubborn)
    }
  },
  {
    name: "jobs that wait for each other are told, on a slow device",
    host: { latency: "1 millis" },
    pool: { maxBytes: 96, onExhausted: "wait", deadlockTimeout: "10 millis" },
    run: () => atOnce(twice(48), twice(48), BufferPool.reserve(twice(32), 64)),
    mayFail: ["OutOfMemory"]
  }
]
