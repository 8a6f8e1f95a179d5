import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as GpuError from "../../src/domain/GpuError.ts"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/Allocator.ts"
import * as BufferPool from "../../src/services/BufferPool.ts"
import * as CommandQueue from "../../src/services/CommandQueue.ts"
import { DeviceContext } from "../../src/services/DeviceContext.ts"
import { KernelCache } from "../../src/services/KernelCache.ts"
import * as PooledBuffer from "../../src/services/PooledBuffer.ts"
import {
  decorated,
  hasStats,
  hold,
  isConsistent,
  layer,
  logsTo,
  MiB,
  nextTurn,
  open,
  type OpenOptions,
  outOfMemoryOf,
  reasonOf,
  recorded,
  tagOf
} from "../support/hostPool.ts"

/** A pool whose calls to the allocator are written down; the log is emptied by looking at it. */
const withEvents = <A, E>(
  options: OpenOptions,
  test: (events: () => ReadonlyArray<string>) => Effect.Effect<A, E, EventServices | Scope.Scope>
) => {
  const events: Array<string> = []
  return Effect.scoped(test(() => events.splice(0))).pipe(
    Effect.provide(layer({ ...options, allocator: recorded(events) }))
  )
}

type EventServices = BufferPool.BufferPool | CommandQueue.CommandQueue | DeviceContext | Host.Host

/** Blocks of 100 or 600 bytes, so that there is something to shrink to the exact size. */
const coarse: SizePolicy.SizePolicy = {
  name: "coarse",
  borrow: 0,
  blockSize: (request) => request <= 100 ? 100 : request <= 600 ? 600 : request
}

describe("rungs", () => {
  it.effect("are climbed in order, and the evidence names them", () =>
    withEvents({ pool: { sizePolicy: coarse } }, (events) =>
      Effect.gen(function*() {
        yield* hold([100])
        events()
        const { faults } = yield* Host.Host
        faults.failAllocations({ times: Infinity })
        const error = yield* outOfMemoryOf(BufferPool.allocate(350))
        deepStrictEqual(error.rungs, ["bin", "borrow", "driver", "reclaim", "evict", "exact"])
        deepStrictEqual(events(), [
          "allocate 600",
          "reclaim",
          "allocate 600",
          "free 100",
          "reclaim",
          "allocate 600",
          "allocate 350"
        ])
      })))

  it.effect("end at the first that helps", () =>
    withEvents({ pool: { sizePolicy: coarse } }, (events) =>
      Effect.gen(function*() {
        const { faults } = yield* Host.Host
        yield* hold([100])
        events()
        faults.failAllocations()
        strictEqual((yield* BufferPool.allocate(350)).capacity, 600)
        deepStrictEqual(events(), ["allocate 600", "reclaim", "allocate 600"])
        yield* hasStats({ heldBlocks: 1, misses: 2, driverAllocations: 2 })
      })))

  it.effect("keep other failures than out-of-memory from being climbed over", () =>
    withEvents({}, (events) =>
      Effect.gen(function*() {
        const { faults } = yield* Host.Host
        yield* hold([100])
        events()
        faults.failAllocations({ error: "DriverError" })
        strictEqual(yield* tagOf(BufferPool.allocate(50)), "DriverError")
        deepStrictEqual(events(), ["allocate 50"])
        yield* hasStats({ heldBlocks: 1, reservedBytes: 0, misses: 1 })
      })))

  it.effect("are there for use as for allocate", () =>
    withEvents({ host: { capacityBytes: 100 } }, (events) =>
      Effect.gen(function*() {
        yield* hold([60])
        events()
        strictEqual(yield* BufferPool.use(80, (lease) => Effect.succeed(lease.capacity)), 80)
        deepStrictEqual(events(), ["allocate 80", "reclaim", "allocate 80", "free 60", "reclaim", "allocate 80"])
        yield* hasStats({ heldBytes: 80, activeBlocks: 0 })
      })))
})

describe("borrowing", () => {
  const policy = SizePolicy.sizeClasses(4, { borrow: 1 })

  it.effect("takes the smallest held block within the policy's reach", () =>
    withEvents({ pool: { sizePolicy: policy } }, (events) =>
      Effect.gen(function*() {
        yield* hold([2176, 2048, 1536])
        events()
        strictEqual((yield* BufferPool.allocate(1000)).capacity, 1536)
        strictEqual((yield* BufferPool.allocate(1000)).capacity, 2048)
        strictEqual((yield* BufferPool.allocate(1000)).capacity, 1024)
        deepStrictEqual(events(), ["allocate 1024"])
        yield* hasStats({ borrows: 2, hits: 2, misses: 4, heldBlocks: 1 })
      })))

  it.effect("returns the block to its own bin", () =>
    Effect.gen(function*() {
      yield* hold([2048])
      yield* BufferPool.use(1024, () => Effect.void)
      strictEqual(yield* BufferPool.use(2048, (lease) => Effect.succeed(lease.capacity)), 2048)
      yield* hasStats({ hits: 2, borrows: 1, misses: 1, heldBytes: 2048 })
    }).pipe(Effect.provide(layer({ pool: { sizePolicy: policy } }))))

  it.effect("never crosses usages", () =>
    Effect.gen(function*() {
      yield* hold([1024])
      yield* BufferPool.use(1024, () => Effect.void, { usage: BufferUsage.storage })
      yield* hasStats({ hits: 0, misses: 2 })
    }).pipe(Effect.provide(layer({ pool: { sizePolicy: policy } }))))
})

describe("the byte limit as the obstacle", () => {
  it.effect("10 held blocks of 10 MiB under 100 MiB: a request for 15 MiB frees exactly 2 and asks the driver once", () =>
    withEvents({ pool: { maxBytes: 100 * MiB } }, (events) =>
      Effect.gen(function*() {
        yield* hold(Array.from({ length: 10 }, () => 10 * MiB))
        events()
        yield* BufferPool.allocate(15 * MiB)
        deepStrictEqual(events(), [`free ${10 * MiB}`, `free ${10 * MiB}`, `allocate ${15 * MiB}`])
        yield* hasStats({ heldBytes: 80 * MiB, managedBytes: 95 * MiB, driverFrees: 2 })
      })))

  it.effect("evicts the smallest block that covers the deficit", () =>
    withEvents({ pool: { maxBytes: 33 } }, (events) =>
      Effect.gen(function*() {
        yield* hold([5, 8, 20])
        events()
        yield* BufferPool.allocate(7)
        deepStrictEqual(events(), ["free 8", "allocate 7"])
      })))

  it.effect("or the largest until the rest is covered, and then the smallest that does", () =>
    withEvents({ pool: { maxBytes: 33 } }, (events) =>
      Effect.gen(function*() {
        yield* hold([5, 8, 20])
        events()
        yield* BufferPool.allocate(22)
        deepStrictEqual(events(), ["free 20", "free 5", "allocate 22"])
      })))

  it.effect("evicts nothing when all that is held would not do", () =>
    withEvents({ pool: { maxBytes: 100 } }, (events) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(60)
        yield* hold([10, 10, 10])
        events()
        const error = yield* outOfMemoryOf(BufferPool.allocate(50))
        deepStrictEqual(events(), [])
        deepStrictEqual(error.rungs, ["bin", "borrow"])
        assert.isTrue(error.isRetryable)
        yield* hasStats({ heldBytes: 30, managedBytes: 90, reservedBytes: 0 })
      })))

  it.effect("asks for the exact size where the block does not fit", () =>
    withEvents({ pool: { maxBytes: 1000, sizePolicy: coarse } }, (events) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(350)
        yield* hold([100])
        events()
        strictEqual((yield* BufferPool.allocate(350)).capacity, 350)
        deepStrictEqual(events(), ["free 100", "allocate 350"])
        yield* hasStats({ managedBytes: 950, activeBytes: 700 })
      })))
})

describe("a driver that refuses", () => {
  it.effect("costs the largest held blocks, one at a time", () =>
    withEvents({ host: { capacityBytes: 100 } }, (events) =>
      Effect.gen(function*() {
        yield* hold([10, 20, 30, 40])
        events()
        yield* BufferPool.allocate(35)
        deepStrictEqual(events(), ["allocate 35", "reclaim", "allocate 35", "free 40", "reclaim", "allocate 35"])
        yield* BufferPool.allocate(60)
        deepStrictEqual(events(), [
          "allocate 60",
          "reclaim",
          "allocate 60",
          "free 30",
          "reclaim",
          "allocate 60",
          "free 20",
          "reclaim",
          "allocate 60",
          "free 10",
          "reclaim",
          "allocate 60"
        ])
        yield* hasStats({ heldBlocks: 0, managedBytes: 95 })
      })))

  it.effect("costs nothing that cannot help", () =>
    withEvents({ host: { capacityBytes: 100 } }, (events) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(70)
        yield* hold([20])
        events()
        const error = yield* outOfMemoryOf(BufferPool.allocate(40))
        deepStrictEqual(error.rungs, ["bin", "borrow", "driver", "reclaim"])
        deepStrictEqual(events(), ["allocate 40", "reclaim", "allocate 40"])
        yield* hasStats({ heldBytes: 20, driverFrees: 0 })
      })))

  it.effect("is asked for the exact size at last, and that block is freed at its release", () =>
    withEvents({ host: { capacityBytes: 1000 }, pool: { sizePolicy: coarse } }, (events) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(500)
        yield* hold([100])
        events()
        const lease = yield* BufferPool.allocate(350)
        strictEqual(lease.capacity, 350)
        deepStrictEqual(events(), [
          "allocate 600",
          "reclaim",
          "allocate 600",
          "allocate 350",
          "free 100",
          "reclaim",
          "allocate 350"
        ])
        yield* PooledBuffer.release(lease)
        deepStrictEqual(events(), ["free 350"])
        yield* hasStats({ heldBlocks: 0, activeBlocks: 1, managedBytes: 600 })
      })))

  it.effect("is asked again as long as memory comes back, however many blocks that takes", () =>
    Effect.gen(function*() {
      yield* hold(Array.from({ length: 100 }, () => 10))
      strictEqual((yield* BufferPool.allocate(1000)).capacity, 1000)
      yield* hasStats({ driverFrees: 100, managedBytes: 1000 })
    }).pipe(Effect.scoped, Effect.provide(layer({ host: { capacityBytes: 1000, lateFree: true } }))))
})

const never = (options: OpenOptions, size: number, limitName: string, limit: number) =>
  withEvents(options, (events) =>
    Effect.gen(function*() {
      yield* hold([10])
      events()
      const reason = yield* reasonOf(BufferPool.allocate(size))
      assert(reason._tag === "LimitExceeded", reason._tag)
      deepStrictEqual([reason.limitName, reason.limit, reason.isRetryable], [limitName, limit, false])
      strictEqual(yield* tagOf(BufferPool.use(size, () => Effect.void)), "LimitExceeded")
      deepStrictEqual(events(), [])
      yield* hasStats({ heldBlocks: 1, misses: 1 })
    }))

describe("a request that can never fit", () => {
  it.effect("fails at once over maxBytes", () => never({ pool: { maxBytes: 100 } }, 101, "maxBytes", 100))
  it.effect("and over the device's largest buffer", () =>
    never({ host: { maxBufferSize: 64 } }, 65, "maxBufferSize", 64))
  it.effect("and over the device's default limit", () => never({ host: { defaultMaxBytes: 50 } }, 51, "maxBytes", 50))
  it.effect("and where only the granularity makes it too large", () =>
    never({ host: { granularity: 8 }, pool: { maxBytes: 36 } }, 35, "maxBytes", 36))
  it.effect("also at the very end of the numbers", () =>
    never({ host: { granularity: 4, maxBufferSize: 2 ** 53 - 1 } }, 2 ** 53 - 1, "maxBufferSize", 2 ** 53 - 1))
})

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
          yield* hasStats({ activeBytes: sum(active) + request, reservedBytes: 0 })
        }).pipe(
          Effect.scoped,
          Effect.provide(layer({
            host: { capacityBytes, lateFree },
            pool: { maxBytes: limited ? capacityBytes : Infinity }
          })),
          Effect.runPromise
        )
      }),
      { numRuns: 150 }
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
          yield* hasStats({ activeBytes: sum(requests), reservedBytes: 0 })
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
      { numRuns: 150 }
    ))
})

describe("the pool is searched again after every rung", () => {
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
        yield* PooledBuffer.release(lease)
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
        yield* PooledBuffer.release(lease)
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
        yield* PooledBuffer.release(lease)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(fiber)
        strictEqual(faults.allocations, 2)
        yield* hasStats({ hits: 1, misses: 1, driverAllocations: 1 })
      }).pipe(Effect.scoped, Effect.provide(layer({ allocator: gated })))
    }))

  it.effect("and what others freed late meanwhile is reclaimed once more", () =>
    withEvents({ host: { ...slow, capacityBytes: 100 } }, (events) =>
      Effect.gen(function*() {
        const lease = yield* waiting
        const pool = yield* BufferPool.BufferPool
        yield* pool.stopHolding
        const fiber = yield* Effect.forkChild(BufferPool.allocate(100))
        yield* TestClock.adjust("1 second")
        yield* PooledBuffer.release(lease)
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
      yield* hasStats({ reservedBytes: 90, heldBytes: 0 })
      const error = yield* outOfMemoryOf(BufferPool.allocate(20))
      deepStrictEqual([error.activeBytes, error.reservedBytes, error.isRetryable], [0, 90, true])
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("1 second")
      yield* hasStats({ reservedBytes: 0, heldBytes: 90 })
      const second = yield* Effect.forkChild(BufferPool.allocate(20))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(second)
      yield* hasStats({ heldBytes: 0, activeBytes: 20, driverFrees: 2 })
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 100 } }))))
})

describe("OutOfMemory", () => {
  const layout = Effect.gen(function*() {
    yield* hold([40, 60])
    yield* BufferPool.allocate(100, { label: "weights" })
    yield* BufferPool.allocate(300, { label: "frames" })
    yield* BufferPool.allocate(50, { label: "scratch" })
    yield* BufferPool.allocate(200)
    yield* BufferPool.allocate(0, { label: "nothing" })
  })

  it.effect("carries the evidence, field by field", () =>
    Effect.gen(function*() {
      yield* layout
      const error = yield* outOfMemoryOf(BufferPool.allocate(400))
      const evidence = {
        _tag: "OutOfMemory",
        requested: 400,
        blockSize: 400,
        limit: 1000,
        activeBytes: 650,
        heldBytes: 100,
        managedBytes: 750,
        reservedBytes: 0,
        largestHeldBytes: 60,
        rungs: ["bin", "borrow"],
        holders: [
          { label: "frames", size: 300, capacity: 300, age: 3 },
          { label: undefined, size: 200, capacity: 200, age: 1 },
          { label: "weights", size: 100, capacity: 100, age: 4 }
        ]
      }
      deepStrictEqual<object>({ ...error }, evidence)
      deepStrictEqual(JSON.parse(JSON.stringify(error)), JSON.parse(JSON.stringify(evidence)))
      assert.include(error.message, "400 bytes asked for (block of 400), limit 1000")
      assert.include(error.message, "frames 300 B, 3 leases ago; (no label) 200 B, 1 leases ago; weights 100 B")
      assert.include(error.message, "Release leases and retry")
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 1000 } }))))

  it.effect("is final when nothing is leased or under way", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      yield* hold([10])
      faults.failAllocations({ times: Infinity })
      const error = yield* Effect.flip(BufferPool.allocate(400))
      strictEqual(error.reason._tag, "OutOfMemory")
      assert.isFalse(error.isRetryable)
      assert.include(error.message, "Nothing is leased that could be released")
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("can be retried into success", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(80)
      let failures = 0
      const patient = Effect.retry(BufferPool.allocate(60), {
        while: (error) => {
          failures += 1
          return Effect.as(failures === 3 ? Effect.orDie(PooledBuffer.release(lease)) : Effect.void, error.isRetryable)
        }
      })
      strictEqual((yield* patient).size, 60)
      strictEqual(failures, 3)
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 100 } }))))

  it("is the only reason that is ever retryable", () => {
    const reasons: ReadonlyArray<GpuError.Reason> = [
      new GpuError.LimitExceeded({ operation: "o", requested: 2, limitName: "l", limit: 1 }),
      new GpuError.InvalidRequest({ operation: "o", problem: "p", hint: "h" }),
      new GpuError.DeviceUnavailable({ tried: [], hint: "h" }),
      new GpuError.DeviceLost({ backend: "b", detail: "d" }),
      new GpuError.BufferReleased({ operation: "o", label: undefined, size: 1, why: "released" }),
      new GpuError.ForeignBuffer({ operation: "o", label: undefined, owner: "a", expected: "b" }),
      new GpuError.Unsupported({ operation: "o", backend: "b", feature: "f", hint: "h" }),
      new GpuError.DriverError({ backend: "b", call: "c", codeName: undefined, code: 1, log: "l", commands: [] }),
      GpuError.outOfMemory(1).reason
    ]
    deepStrictEqual(reasons.filter((reason) => reason.isRetryable), [])
  })
})

describe("fragmentation that others fail on", () => {
  const u = 512

  it.effect("6u fits after 5u was given back under a limit of 10u, and 5u after 6u", () =>
    withEvents({ pool: { maxBytes: 10 * u }, host: { capacityBytes: 10 * u } }, (events) =>
      Effect.gen(function*() {
        for (const units of [5, 6, 5, 6, 10, 1, 9]) {
          yield* BufferPool.use(units * u, (lease) => Effect.sync(() => strictEqual(lease.size, units * u)))
        }
        assert.notInclude(events(), "reclaim")
        yield* hasStats({ heldBytes: 10 * u, driverFrees: 5, misses: 7 })
      })))

  it.effect("6u and 7u in turns never miss twice where both fit", () =>
    Effect.gen(function*() {
      for (let i = 0; i < 50; i++) {
        yield* BufferPool.use((6 + i % 2) * u, () => Effect.void)
      }
      yield* hasStats({ misses: 2, hits: 48, driverFrees: 0 })
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 13 * u } }))))

  it.effect("a checkerboard of free blocks serves one request as large as all of them", () =>
    Effect.gen(function*() {
      const leases = yield* Effect.forEach(Array.from({ length: 100 }), () => BufferPool.allocate(u))
      for (const [i, lease] of leases.entries()) if (i % 2 === 0) yield* PooledBuffer.release(lease)
      strictEqual((yield* BufferPool.allocate(50 * u)).size, 50 * u)
      yield* hasStats({ heldBlocks: 0, managedBytes: 100 * u })
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ host: { capacityBytes: 100 * u, lateFree: true }, pool: { maxBytes: 100 * u } }))
    ))

  it.effect("requests that grow step by step stay within the limit and free no more than they need", () =>
    Effect.gen(function*() {
      for (let units = 1; units <= 64; units++) {
        yield* BufferPool.use(units * u, () => Effect.void)
        const { heldBytes, managedBytes } = yield* BufferPool.stats
        strictEqual(managedBytes, heldBytes)
        assert.isAtMost(managedBytes, 64 * u)
      }
      yield* hasStats({ heldBytes: 64 * u, heldBlocks: 1 })
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 64 * u } }))))

  it.effect("a shared pool of usages gives one usage's held blocks up for another's request", () =>
    Effect.gen(function*() {
      yield* hold([50, 50])
      yield* BufferPool.use(100, () => Effect.void, { usage: BufferUsage.storage })
      yield* hasStats({ heldBytes: 100, heldBlocks: 1, driverFrees: 2 })
    }).pipe(Effect.provide(layer({ host: { capacityBytes: 100 } }))))
})

/** A queue on which fills fail when told to, as OpenCL's do when deferred memory turns out not to exist. */
const fragile = (state: { fails: boolean }): OpenOptions => ({
  allocator: Allocator.layerDeferred,
  over: (host) => {
    const { driver } = Context.get(host, CommandQueue.CommandQueue)
    const queue = CommandQueue.fromDriver({
      device: Context.get(host, DeviceContext),
      cache: Context.get(host, KernelCache),
      driver: {
        ...driver,
        fillUnsafe: (target, offset, bytes, pattern) =>
          state.fails ? Exit.fail(GpuError.outOfMemory(bytes)) : driver.fillUnsafe(target, offset, bytes, pattern)
      }
    })
    return Context.add(host, CommandQueue.CommandQueue, queue)
  }
})

describe("a deferred allocator", () => {
  it.effect("brings one warning per pool", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const opened = yield* Effect.provide(open({ allocator: Allocator.layerDeferred }), logsTo(lines))
      yield* Effect.provide(hold([1, 2]), opened.context)
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(lines.length, 1)
      assert.match(lines[0]!, /^Warn .*deferred.*Allocator\.layerImmediate/)
    }))

  it.effect("and an immediate one none", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const opened = yield* Effect.provide(open(), logsTo(lines))
      yield* opened.closePool
      yield* opened.closeHost
      deepStrictEqual(lines, [])
    }))

  it.effect("may give a block whose first use fails; it is never leased again", () =>
    Effect.gen(function*() {
      const state = { fails: true }
      const opened = yield* open(fragile(state))
      yield* Effect.gen(function*() {
        const use = BufferPool.use(64, (lease) => CommandQueue.fill(lease, 1))
        strictEqual(yield* tagOf(use), "OutOfMemory")
        yield* hasStats({ heldBlocks: 0, driverFrees: 1, managedBytes: 0 })
        state.fails = false
        yield* use
        yield* hasStats({ heldBlocks: 1, hits: 0, misses: 2 })
      }).pipe(Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("nor one whose clearing fails, fresh or held before", () =>
    Effect.gen(function*() {
      const state = { fails: true }
      const opened = yield* open({ ...fragile(state), pool: { clear: "acquire" } })
      yield* Effect.gen(function*() {
        strictEqual(yield* tagOf(BufferPool.use(64, () => Effect.void)), "OutOfMemory")
        yield* hasStats({ heldBlocks: 0, driverFrees: 1, activeBlocks: 0 })
        state.fails = false
        yield* hold([64])
        state.fails = true
        strictEqual(yield* tagOf(Effect.scoped(BufferPool.allocate(64))), "OutOfMemory")
        yield* hasStats({ heldBlocks: 0, driverFrees: 2, activeBlocks: 0, managedBytes: 0 })
        state.fails = false
        yield* hold([64])
        isConsistent(yield* BufferPool.stats, opened.driverObjects)
      }).pipe(Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))
})

describe("a lost device", () => {
  it.effect("drops what is held and fails every lease and request", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      yield* Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(64)
        yield* hold([10, 20])
        opened.faults.lose("unplugged")
        yield* hasStats({ heldBlocks: 0, activeBlocks: 1, driverFrees: 2 })
        const attempts = {
          hit: BufferPool.allocate(10),
          miss: BufferPool.allocate(30),
          zero: BufferPool.allocate(0),
          use: BufferPool.use(10, () => Effect.void),
          extract: BufferPool.extract(BufferPool.allocate(10)),
          fill: CommandQueue.fill(lease, 0),
          read: CommandQueue.read(lease, Uint8Array),
          freeHeld: BufferPool.freeHeld,
          stopHolding: BufferPool.stopHolding
        }
        for (const [name, attempt] of Object.entries(attempts)) {
          const reason = yield* reasonOf<unknown, EventServices | Scope.Scope>(attempt)
          assert(reason._tag === "DeviceLost", `${name}: ${reason._tag}`)
          strictEqual(reason.detail, "unplugged")
        }
        yield* PooledBuffer.release(lease)
        yield* hasStats({ heldBlocks: 0, activeBlocks: 0, managedBytes: 0, releaseFailures: 0 })
      }).pipe(Effect.scoped, Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("answers requests on their way at once, not when its driver would have", () =>
    Effect.gen(function*() {
      const opened = yield* open({ host: { latency: "1 hour" } })
      yield* Effect.gen(function*() {
        const fibers = yield* Effect.forEach([
          Effect.scoped(BufferPool.allocate(64)),
          BufferPool.use(64, Effect.succeed)
        ], (request) => Effect.forkChild(request))
        yield* nextTurn
        yield* hasStats({ reservedBytes: 128 })
        opened.faults.lose()
        for (const fiber of fibers) strictEqual(yield* tagOf(Fiber.join(fiber)), "DeviceLost")
        yield* hasStats({ reservedBytes: 0, managedBlocks: 0, misses: 0, driverAllocations: 0 })
      }).pipe(Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("answers with DeviceLost at whatever call it is lost", () =>
    Effect.gen(function*() {
      let lost = true
      for (let nth = 1; lost; nth++) {
        const opened = yield* open({ host: { capacityBytes: 100, lateFree: true } })
        yield* Effect.provide(hold([30, 40]), opened.context)
        opened.faults.loseAt(nth)
        const exit = yield* Effect.exit(Effect.provide(hold([80]), opened.context))
        lost = Context.get(opened.context, DeviceContext).status.error !== undefined
        if (Exit.isFailure(exit)) strictEqual(yield* tagOf(exit), "DeviceLost")
        assert.isTrue(lost || Exit.isSuccess(exit))
        const stats = yield* opened.pool.stats
        isConsistent(stats, opened.driverObjects)
        strictEqual(stats.activeBlocks + stats.reservedBytes, 0)
        strictEqual(stats.heldBlocks, lost ? 0 : 1)
        yield* opened.closePool
        yield* opened.closeHost
        strictEqual(opened.driverObjects.live, 0)
        assert.isBelow(nth, 50)
      }
    }))

  it.effect("that was lost before the pool was made is lost for it", () =>
    Effect.gen(function*() {
      const opened = yield* open({
        over: (host) => {
          Context.get(host, Host.Host).faults.lose()
          return host
        }
      })
      strictEqual(yield* tagOf(Effect.provide(hold([1]), opened.context)), "DeviceLost")
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))
})

describe("a pool that closes before its leases", () => {
  it.effect("frees their blocks; late releases find nothing to do", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      const scope = yield* Scope.make()
      const inside = <A, E>(effect: Effect.Effect<A, E, EventServices | Scope.Scope>) =>
        effect.pipe(Scope.provide(scope), Effect.provide(opened.context))
      const lease = yield* inside(BufferPool.allocate(64))
      const zero = yield* inside(BufferPool.allocate(0))
      yield* inside(hold([32]))
      yield* opened.closePool
      deepStrictEqual(opened.driverObjects.liveByKind, { device: 1 })
      const attempts = {
        release: PooledBuffer.release(lease),
        releaseZero: PooledBuffer.release(zero),
        transfer: PooledBuffer.transfer(lease, scope),
        fill: CommandQueue.fill(lease, 0),
        fillZero: CommandQueue.fill(zero, 0),
        allocate: BufferPool.allocate(64),
        allocateZero: BufferPool.allocate(0),
        use: BufferPool.use(64, () => Effect.void)
      }
      for (const [name, attempt] of Object.entries(attempts)) {
        const reason = yield* reasonOf(inside<unknown, GpuError.GpuError>(attempt))
        assert(reason._tag === "BufferReleased", `${name}: ${reason._tag}`)
        strictEqual(reason.why, "poolClosed", name)
      }
      yield* Scope.close(scope, Exit.void)
      const stats = yield* opened.pool.stats
      deepStrictEqual([stats.managedBlocks, stats.activeBytes, stats.driverFrees], [0, 0, 2])
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("answers requests on their way, without waiting for a driver that can be interrupted", () =>
    Effect.gen(function*() {
      const opened = yield* open({ host: { latency: "1 hour" } })
      const fiber = yield* Effect.forkChild(Effect.provide(Effect.scoped(BufferPool.allocate(64)), opened.context))
      yield* nextTurn
      yield* opened.closePool
      const reason = yield* reasonOf(Fiber.join(fiber))
      assert(reason._tag === "BufferReleased")
      strictEqual(reason.why, "poolClosed")
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("waits for one that cannot be, and gives its block back", () =>
    Effect.gen(function*() {
      const slow = decorated((allocator) => ({
        ...allocator,
        allocate: (bytes, usage, label) =>
          Effect.uninterruptible(Effect.andThen(Effect.sleep("1 second"), allocator.allocate(bytes, usage, label)))
      }))
      const opened = yield* open({ allocator: slow })
      const fiber = yield* Effect.forkChild(Effect.provide(Effect.scoped(BufferPool.allocate(64)), opened.context))
      yield* nextTurn
      const closing = yield* Effect.forkChild(opened.closePool)
      yield* nextTurn
      strictEqual(closing.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
      strictEqual(yield* tagOf(Fiber.join(fiber)), "BufferReleased")
      deepStrictEqual(opened.driverObjects.liveByKind, { device: 1 })
      const stats = yield* opened.pool.stats
      deepStrictEqual([stats.misses, stats.driverAllocations, stats.driverFrees], [0, 1, 1])
      yield* opened.closeHost
    }))
})

const failing = (job: Effect.Effect<unknown, unknown, EventServices>, pool: OpenOptions["pool"] = {}) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const opened = yield* open({ pool })
    const result = yield* Effect.exit(job.pipe(Effect.provide(opened.context), Effect.provide(logsTo(lines))))
    assert.isTrue(Exit.isSuccess(result))
    const { releaseFailures } = yield* opened.pool.stats
    isConsistent(yield* opened.pool.stats, opened.driverObjects)
    yield* opened.closePool
    yield* opened.closeHost
    strictEqual(opened.driverObjects.live, 0)
    for (const line of lines) {
      assert.match(line, /^Warn A block of the buffer pool could not be given back: .*destroyBuffer/)
    }
    return [releaseFailures, lines.length]
  })

const failFrees = (times: number) => Effect.map(Host.Host, ({ faults }) => faults.failFrees({ times }))

describe("a free that fails", () => {
  it.effect("is counted and logged when a scope closes, and does not fail it", () =>
    Effect.gen(function*() {
      const job = Effect.scoped(Effect.gen(function*() {
        yield* BufferPool.stopHolding
        yield* BufferPool.allocate(1)
        yield* BufferPool.allocate(2)
        yield* BufferPool.allocate(3)
        yield* failFrees(2)
      }))
      deepStrictEqual(yield* failing(job), [2, 2])
    }))

  it.effect("at an early release, at the end of use, and in freeHeld", () =>
    Effect.gen(function*() {
      const release = Effect.scoped(Effect.gen(function*() {
        yield* BufferPool.stopHolding
        const lease = yield* BufferPool.allocate(1)
        yield* failFrees(1)
        yield* PooledBuffer.release(lease)
        strictEqual(yield* tagOf(PooledBuffer.release(lease)), "BufferReleased")
      }))
      deepStrictEqual(yield* failing(release), [1, 1])
      const use = Effect.gen(function*() {
        yield* BufferPool.stopHolding
        yield* failFrees(1)
        strictEqual(yield* BufferPool.use(1, () => Effect.succeed("done")), "done")
      })
      deepStrictEqual(yield* failing(use), [1, 1])
      const freeHeld = Effect.gen(function*() {
        yield* hold([1, 2, 3])
        yield* failFrees(2)
        yield* BufferPool.freeHeld
        yield* hasStats({ heldBlocks: 0, driverFrees: 3 })
      })
      deepStrictEqual(yield* failing(freeHeld), [2, 2])
    }))

  it.effect("in an eviction, which goes on", () =>
    Effect.gen(function*() {
      const evict = Effect.gen(function*() {
        yield* hold([10, 20])
        yield* failFrees(2)
        strictEqual(yield* BufferPool.use(30, (lease) => Effect.succeed(lease.size)), 30)
      })
      deepStrictEqual(yield* failing(evict, { maxBytes: 30 }), [2, 2])
    }))

  it.effect("at the close of the pool", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const opened = yield* open()
      yield* Effect.provide(hold([1, 2]), opened.context)
      opened.faults.failFrees({ times: 2 })
      yield* Effect.provide(opened.closePool, logsTo(lines))
      strictEqual((yield* opened.pool.stats).releaseFailures, 2)
      strictEqual(lines.length, 2)
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("on a device that is lost with held blocks", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const opened = yield* Effect.provide(open(), logsTo(lines))
      yield* Effect.provide(hold([1, 2]), opened.context)
      opened.faults.failFrees({ times: 2 })
      opened.faults.lose()
      yield* nextTurn
      strictEqual((yield* opened.pool.stats).releaseFailures, 2)
      strictEqual(lines.length, 2)
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))
})
