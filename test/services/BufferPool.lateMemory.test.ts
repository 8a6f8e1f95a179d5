import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { runs } from "../support/explore.ts"
import { decorated, hasStats, hold, layer, nextTurn, outOfMemoryOf } from "../support/hostPool.ts"
import { withEvents } from "../support/poolEvents.ts"

const sum = (sizes: ReadonlyArray<number>) => sizes.reduce((total, size) => total + size, 0)

describe("memory that returns late", () => {
  const layouts = fc.record({
    held: fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 12 }),
    active: fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 5 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    limited: fc.boolean(),
    lateFree: fc.boolean()
  })

  it("is enough whenever enough is held", () =>
    fc.assert(
      fc.asyncProperty(layouts, ({ active, held, lateFree, limited, part }) => {
        const capacityBytes = sum(held) + sum(active)
        const request = Math.max(1, Math.ceil(part * sum(held)))
        return Effect.gen(function*() {
          yield* Effect.forEach(active, (size) => BufferPool.allocate(size))
          yield* hold(held)
          const lease = yield* BufferPool.allocate(request)
          strictEqual(lease.capacity, request)
          yield* hasStats({ activeBytes: sum(active) + request, pendingBytes: 0 })
        }).pipe(
          Effect.scoped,
          Effect.provide(layer({
            host: { capacityBytes, lateFree },
            pool: { maxBytes: limited ? capacityBytes : Infinity }
          })),
          Effect.runPromise
        )
      }),
      { numRuns: runs(150) }
    ))

  const crowds = fc.record({
    held: fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 8 }),
    requests: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 }),
    limited: fc.boolean(),
    lateFree: fc.boolean()
  })

  it("is enough for several requests at a time on a slow driver, when they fit together", () =>
    fc.assert(
      fc.asyncProperty(crowds, ({ held, lateFree, limited, requests }) => {
        const capacityBytes = Math.max(sum(held), sum(requests))
        return Effect.gen(function*() {
          yield* hold(held)
          const { faults } = yield* Host.Host
          faults.delay({ allocations: "1 second" })
          const fibers = yield* Effect.forEach(requests, (size) => Effect.forkChild(BufferPool.allocate(size)))
          // Every request asks at most once per eviction by anyone, and once more.
          for (let i = 0; i <= held.length + 2; i++) yield* TestClock.adjust("1 second")
          for (const fiber of fibers) assert.isTrue(fiber.pollUnsafe() !== undefined)
          yield* Fiber.joinAll(fibers)
          yield* hasStats({ activeBytes: sum(requests), pendingBytes: 0 })
        }).pipe(
          Effect.scoped,
          Effect.provide(layer({
            host: { capacityBytes, lateFree },
            pool: { maxBytes: limited ? capacityBytes : Infinity }
          })),
          Effect.provide(TestClock.layer()),
          Effect.runPromise
        )
      }),
      { numRuns: runs(150) }
    ))
})

describe("the pool is searched again after every step", () => {
  const slow = { capacityBytes: 1000, lateFree: true, latency: "1 second" } as const

  const waiting = Effect.gen(function*() {
    const first = yield* Effect.forkChild(BufferPool.allocate(100))
    yield* TestClock.adjust("1 second")
    return yield* Fiber.join(first)
  })

  it.effect("so a release while the driver was asked is used", () =>
    withEvents({ host: slow }, (events) =>
      Effect.gen(function*() {
        const lease = yield* waiting
        const { faults } = yield* Host.Host
        faults.failAllocations()
        const fiber = yield* Effect.forkChild(BufferPool.allocate(100))
        yield* nextTurn
        yield* Lease.release(lease)
        events()
        yield* TestClock.adjust("1 second")
        strictEqual((yield* Fiber.join(fiber)).capacity, 100)
        deepStrictEqual(events(), [])
        yield* hasStats({ hits: 1, misses: 1, driverAllocations: 1, driverFrees: 0 })
      })))

  it.effect("and one while it was asked for the second time is not evicted", () =>
    withEvents({ host: slow }, (events) =>
      Effect.gen(function*() {
        const lease = yield* waiting
        const { faults } = yield* Host.Host
        faults.failAllocations({ times: 2 })
        const fiber = yield* Effect.forkChild(BufferPool.allocate(100))
        yield* TestClock.adjust("1 second")
        yield* Lease.release(lease)
        events()
        yield* TestClock.adjust("1 second")
        strictEqual((yield* Fiber.join(fiber)).capacity, 100)
        deepStrictEqual(events(), [])
        yield* hasStats({ hits: 1, misses: 1, driverAllocations: 1, driverFrees: 0 })
      })))

  it.effect("and one during reclaim", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const reclaiming = yield* Deferred.make<void>()
      const gated = decorated((allocator) => ({
        ...allocator,
        reclaim: Effect.andThen(Deferred.succeed(reclaiming, undefined), Deferred.await(gate))
      }))
      yield* Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(100)
        const { faults } = yield* Host.Host
        faults.failAllocations({ times: Infinity })
        const fiber = yield* Effect.forkChild(BufferPool.allocate(100))
        yield* Deferred.await(reclaiming)
        yield* Lease.release(lease)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(fiber)
        strictEqual(faults.allocations, 2)
        yield* hasStats({ hits: 1, misses: 1, driverAllocations: 1 })
      }).pipe(Effect.scoped, Effect.provide(layer({ allocator: gated })))
    }))

  // pytorch#189504: waiting for events returned fitting blocks to the pool, which was not searched again.
  it.effect("on a full device, with no more driver allocations for it (pytorch#189504)", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      const gate = yield* Deferred.make<void>()
      const reclaiming = yield* Deferred.make<void>()
      const fenced = decorated((allocator) => ({
        ...allocator,
        reclaim: Effect.andThen(
          Deferred.succeed(reclaiming, undefined),
          Effect.andThen(Deferred.await(gate), allocator.reclaim)
        )
      }))
      yield* Effect.gen(function*() {
        const pending = yield* BufferPool.allocate(600)
        yield* BufferPool.allocate(400)
        const fiber = yield* Effect.forkChild(BufferPool.allocate(600))
        yield* Deferred.await(reclaiming)
        const asked = faults.allocations
        yield* Lease.release(pending)
        yield* Deferred.succeed(gate, undefined)
        strictEqual((yield* Fiber.join(fiber)).capacity, 600)
        strictEqual(faults.allocations, asked)
        yield* hasStats({ hits: 1, misses: 2, driverAllocations: 2, driverFrees: 0 })
      }).pipe(Effect.scoped, Effect.provide(layer({ host: { capacityBytes: 1000, faults }, allocator: fenced })))
    }))

  it.effect("and one while blocks are evicted under a limit", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const evicting = yield* Deferred.make<void>()
      const gated = decorated((allocator) => ({
        ...allocator,
        reclaim: Effect.andThen(Deferred.succeed(evicting, undefined), Deferred.await(gate))
      }))
      yield* Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(60)
        yield* hold([40])
        const fiber = yield* Effect.forkChild(BufferPool.allocate(60))
        const other = yield* Effect.forkChild(BufferPool.allocate(30))
        yield* Deferred.await(evicting)
        yield* Lease.release(lease)
        yield* Deferred.succeed(gate, undefined)
        strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason._tag, "OutOfMemory")
        strictEqual((yield* Fiber.join(other)).capacity, 30)
        yield* BufferPool.use(60, () => Effect.void)
        yield* hasStats({ hits: 1, misses: 3, driverAllocations: 3 })
      }).pipe(Effect.scoped, Effect.provide(layer({ allocator: gated, pool: { maxBytes: 100 } })))
    }))

  it.effect("and one while a handler was at work, whatever that says", () =>
    Effect.gen(function*() {
      for (const freed of [true, false]) {
        const gate = yield* Deferred.make<void>()
        const asked = yield* Deferred.make<void>()
        yield* withEvents({ host: { capacityBytes: 100 } }, (events) =>
          Effect.gen(function*() {
            const lease = yield* BufferPool.allocate(100)
            yield* BufferPool.onOutOfMemory(() =>
              Effect.as(Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(gate)), freed)
            )
            const fiber = yield* Effect.forkChild(BufferPool.allocate(100))
            yield* Deferred.await(asked)
            yield* Lease.release(lease)
            events()
            yield* Deferred.succeed(gate, undefined)
            strictEqual((yield* Fiber.join(fiber)).capacity, 100)
            deepStrictEqual(events(), [])
            yield* hasStats({ hits: 1, misses: 1, driverAllocations: 1 })
          }))
      }
    }))

  it.effect("and what others freed late meanwhile is reclaimed once more", () =>
    withEvents({ host: { ...slow, capacityBytes: 100 } }, (events) =>
      Effect.gen(function*() {
        const lease = yield* waiting
        const pool = yield* BufferPool.BufferPool
        yield* pool.stopHolding
        const fiber = yield* Effect.forkChild(BufferPool.allocate(100))
        yield* TestClock.adjust("1 second")
        yield* Lease.release(lease)
        events()
        yield* TestClock.adjust("2 seconds")
        deepStrictEqual(events(), ["reclaim", "allocate 100"])
        strictEqual((yield* Fiber.join(fiber)).capacity, 100)
      })))

  it.effect("and a limit that was the obstacle is looked at anew", () =>
    Effect.gen(function*() {
      yield* hold([60])
      const { faults } = yield* Host.Host
      faults.delay({ allocations: "1 second" })
      const first = yield* Effect.forkChild(BufferPool.allocate(90))
      yield* nextTurn
      yield* hasStats({ pendingBytes: 90, heldBytes: 0 })
      const error = yield* outOfMemoryOf(BufferPool.allocate(20))
      deepStrictEqual([error.activeBytes, error.pendingBytes, error.isRetryable], [0, 90, true])
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("1 second")
      yield* hasStats({ pendingBytes: 0, heldBytes: 90 })
      const second = yield* Effect.forkChild(BufferPool.allocate(20))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(second)
      yield* hasStats({ heldBytes: 0, activeBytes: 20, driverFrees: 2 })
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 100 } }))))
})
