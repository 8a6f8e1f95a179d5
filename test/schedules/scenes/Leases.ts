/** Scenes of leases: allocated, used, released, moved. */
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../../src/services/lease/LeaseHolder.ts"
import * as CommandQueue from "../../../src/services/queue/CommandQueue.ts"
import type { Scene } from "../Stage.ts"

const job = (size: number) => BufferPool.use(size, (lease) => CommandQueue.fill(lease, 7))

export const leases: ReadonlyArray<Scene> = [
  {
    name: "a lease is taken, written, and given back",
    run: (stage) =>
      Effect.gen(function*() {
        const lease = yield* Effect.flatMap(BufferPool.allocate(64), stage.share)
        yield* CommandQueue.fill(lease, 7)
        yield* CommandQueue.finish
        yield* Lease.release(lease)
      })
  },
  {
    name: "two loans, one after the other, use one block",
    run: (stage) =>
      Effect.gen(function*() {
        yield* BufferPool.use(64, (lease) => Effect.flatMap(stage.share(lease), (lease) => CommandQueue.fill(lease, 1)))
        yield* BufferPool.use(64, (lease) => Effect.flatMap(stage.share(lease), (lease) => CommandQueue.fill(lease, 2)))
      })
  },
  {
    name: "loans of several sizes at a time, on a slow device",
    host: { latency: "1 millis" },
    run: () => Effect.all([job(64), job(32), job(64)], { concurrency: "unbounded" })
  },
  {
    name: "a recycled block comes cleared",
    pool: { clear: "acquire" },
    run: (stage) =>
      Effect.gen(function*() {
        yield* BufferPool.use(64, (lease) => CommandQueue.fill(lease, 9))
        const lease = yield* Effect.flatMap(BufferPool.allocate(64), stage.share)
        yield* CommandQueue.finish
        Expect.equal("size", lease.size, 64)
      })
  },
  {
    name: "a lease moves to a longer scope",
    run: (stage) =>
      Effect.gen(function*() {
        const outer = yield* Effect.scope
        const kept = yield* Effect.scoped(Effect.gen(function*() {
          const lease = yield* Effect.flatMap(BufferPool.allocate(64), stage.share)
          yield* Lease.transfer(lease, outer)
          return lease
        }))
        yield* CommandQueue.fill(kept, 3)
      })
  },
  {
    name: "an effect's result is extracted",
    run: (stage) =>
      Effect.gen(function*() {
        const kept = yield* LeaseHolder.extract(Effect.gen(function*() {
          yield* BufferPool.allocate(32)
          return yield* Effect.flatMap(BufferPool.allocate(64), stage.share)
        }))
        yield* CommandQueue.fill(kept, 3)
      })
  },
  {
    name: "a scope of the program's own closes while another fiber allocates in it",
    run: () =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const late = Effect.scoped(Scope.provide(BufferPool.allocate(64), scope))
        yield* Effect.all([Effect.ignore(late), Scope.close(scope, yield* Effect.exit(Effect.void))], {
          concurrency: "unbounded"
        })
      })
  },
  {
    name: "allocations that the driver refuses",
    host: { latency: "1 millis" },
    run: (stage) =>
      Effect.gen(function*() {
        stage.faults.failAllocations({ nth: 2 })
        yield* Effect.all([job(64), job(64), job(64)], { concurrency: "unbounded" })
      }),
    mayFail: ["OutOfMemory"]
  },
  {
    name: "idle memory goes as time passes",
    pool: { idleTimeToLive: "4 millis", idleSteps: 2 },
    run: () => Effect.andThen(job(64), Effect.andThen(Effect.sleep("3 millis"), job(64)))
  },
  {
    name: "more is held than the pool keeps",
    pool: { maxHeldBytes: 64 },
    run: () => Effect.all([job(64), job(32), job(16)], { concurrency: "unbounded" })
  }
]
