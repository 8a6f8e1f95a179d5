/** Pools that split slabs, in cases by name. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as PoolStrategy from "../../src/domain/pool/PoolStrategy.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as DeviceContext from "../../src/services/device/DeviceContext.ts"
import * as KnownQueues from "../../src/services/device/queues/KnownQueues.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { layer } from "../support/hostPool.ts"

const arenaOf = (options: BufferPool.BufferPoolOptions, slabBytes = 4096) =>
  layer({ pool: { strategy: PoolStrategy.arena({ slabBytes, growth: 0, unitBytes: 16 }), ...options } })

const allocations = Effect.map(BufferPool.stats, ({ driverAllocations }) => driverAllocations)

const capacities = (sizes: ReadonlyArray<number>) =>
  Effect.scoped(Effect.map(
    Effect.forEach(sizes, (size) => BufferPool.allocate(size)),
    (leases) => leases.map(({ capacity }) => capacity)
  ))

describe("a pool that splits slabs", () => {
  it.effect("serves a request from a chunk beside a lease while the rest of the limit is reserved", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(100)
      const reserved = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      const job = yield* Effect.forkChild(
        BufferPool.reserve(Effect.andThen(Deferred.succeed(reserved, undefined), Deferred.await(done)), 4096)
      )
      yield* Deferred.await(reserved)
      const beside = yield* BufferPool.allocate(3000)
      strictEqual(beside.size, 3000)
      strictEqual(yield* allocations, 1)
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(job)
    }).pipe(Effect.scoped, Effect.provide(arenaOf({ maxBytes: 8192 }))))

  it.effect("serves a waiting request that fits a chunk, though the one before it in the queue waits for a slab", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(100)
      const large = yield* Effect.forkChild(Effect.scoped(BufferPool.allocate(4096)), { startImmediately: true })
      strictEqual((yield* BufferPool.stats).waiters, 1)
      const small = yield* BufferPool.allocate(200)
      strictEqual(small.size, 200)
      yield* Fiber.interrupt(large)
      strictEqual(yield* allocations, 1)
    }).pipe(Effect.scoped, Effect.provide(arenaOf({ maxBytes: 4096, onExhausted: "wait" }))))

  it.effect("serves a request that fits a chunk, though one before it in the queue is in a deadlock", () =>
    Effect.gen(function*() {
      const elder = yield* Effect.forkChild(
        Effect.scoped(Effect.andThen(BufferPool.allocate(100), BufferPool.allocate(4096))),
        { startImmediately: true }
      )
      const younger = yield* Effect.forkChild(
        Effect.scoped(Effect.andThen(BufferPool.allocate(50), BufferPool.allocate(200))),
        { startImmediately: true }
      )
      strictEqual((yield* BufferPool.stats).waiters, 2)
      yield* TestClock.adjust("10 seconds")
      strictEqual((yield* Fiber.join(younger)).size, 200)
      yield* TestClock.adjust("10 seconds")
      strictEqual((yield* Effect.flip(Fiber.join(elder))).reason._tag, "OutOfMemory")
    }).pipe(Effect.scoped, Effect.provide(arenaOf({ maxBytes: 4096, onExhausted: "wait", maxBypasses: 0 }))))

  it.effect("leases all of a limit of 1000 bytes, which is no multiple of its unit", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* capacities([1000]), [1000])
      deepStrictEqual(yield* BufferPool.reserve(capacities([500, 500]), 1000), [500, 500])
      deepStrictEqual(yield* BufferPool.reserve(capacities([999, 1]), 1000), [999, 1])
      deepStrictEqual(yield* BufferPool.useAll([250, 250, 250, 250], (leases) => Effect.succeed(leases.length)), 4)
      // Without a reservation, leases have whole units while there is room for these.
      yield* BufferPool.freeHeld
      deepStrictEqual(yield* capacities([200, 200, 200, 200]), [256, 256, 256, 200])
      deepStrictEqual(yield* capacities([500, 400]), [512, 400])
      const { peakManagedBytes, reservedBytes } = yield* BufferPool.stats
      deepStrictEqual([peakManagedBytes, reservedBytes], [1000, 0])
    }).pipe(Effect.provide(layer({ pool: { strategy: PoolStrategy.arena(), maxBytes: 1000 } }))))

  it.effect("leases all of a budget that is no multiple of its unit, and never more", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(16)
      const budget = yield* BufferPool.budget(100)
      const sizes = (...of: ReadonlyArray<number>) =>
        Effect.scoped(Effect.map(
          Effect.forEach(of, (size) => budget.allocate(size)),
          (leases) => leases.map(({ capacity }) => capacity)
        ))
      deepStrictEqual(yield* sizes(100), [100])
      deepStrictEqual(yield* sizes(50, 36), [64, 36])
      const error = yield* Effect.flip(sizes(50, 37))
      strictEqual(error.reason._tag, "OutOfMemory")
      strictEqual((yield* budget.stats).peakManagedBytes, 100)
    }).pipe(Effect.scoped, Effect.provide(arenaOf({ maxBytes: 8192 }))))

  it.effect("uses the slab of a lease under a reservation again, for a part or for a request of its size", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* BufferPool.reserve(capacities([1000]), 1000), [1000])
      deepStrictEqual(yield* capacities([500, 400]), [512, 400])
      deepStrictEqual(yield* capacities([1000]), [1000])
      deepStrictEqual(yield* BufferPool.reserve(capacities([1000]), 1000), [1000])
      strictEqual(yield* allocations, 1)
    }).pipe(Effect.provide(arenaOf({}, 512))))

  it.effect("remembers no uses of memory that have ended, however many leases several queues have had", () =>
    Effect.gen(function*() {
      const stream = yield* CommandQueue.make()
      const { info } = yield* DeviceContext.DeviceContext
      const queues = KnownQueues.of(info)!
      const kept = yield* BufferPool.allocate(16)
      const uses = (lease: BufferPool.PooledBuffer) => {
        const { allocation } = lease.block!.value
        return queues.usesOf({ wholeMemory: { allocation, begin: 0, end: 2 ** 20 } }).length
      }
      let most = 0
      for (let i = 1; i <= 300; i++) {
        // Sizes differ, so spans of the slab overlap in many ways.
        const job = Effect.scoped(Effect.gen(function*() {
          const lease = yield* BufferPool.allocate(16 * (1 + i * 7 % 100))
          yield* CommandQueue.fill(lease, i)
          yield* CommandQueue.finish
          most = Math.max(most, uses(lease))
        }))
        yield* i % 2 === 0 ? job : CommandQueue.on(job, stream)
      }
      assert.isAtMost(most, 20)
      strictEqual(kept.size, 16)
    }).pipe(Effect.scoped, Effect.provide(arenaOf({}, 4096))))
})
