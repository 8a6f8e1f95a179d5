import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Lease from "../../src/services/lease/Lease.ts"
import { outOfMemoryOf, reasonOf, tagOf } from "../support/hostPool.ts"
import { hold, onPool, r8, row } from "../support/imagePool.ts"

const tryAgain = (evicted: number | undefined) => [
  ...(evicted === undefined ? [] : [`destroy ${evicted}`]),
  "reclaim",
  "create 50"
]

describe("the stepsTried of an image pool", () => {
  it.effect("are tried in order, and the evidence names them", () =>
    onPool({}, (opened) =>
      Effect.gen(function*() {
        const { events, faults, pool } = opened
        yield* hold(opened, [10, 30, 20])
        yield* pool.allocate(row(5), r8, { label: "mine" })
        events()
        faults.failAllocations({ times: Infinity })
        const error = yield* outOfMemoryOf(pool.allocate(row(50), r8))
        deepStrictEqual(events(), ["create 50", ...[undefined, 30, 20, 10].flatMap(tryAgain)])
        deepStrictEqual(error.stepsTried, ["bin", "driver", "reclaim", "evict"])
        deepStrictEqual([error.requested, error.blockSize, error.pooled, error.isRetryable], [50, 50, true, true])
        deepStrictEqual([error.activeBytes, error.heldBytes, error.managedBytes, error.pendingBytes], [5, 0, 5, 0])
        deepStrictEqual(error.holders, [{ label: "mine", size: 5, capacity: 5, age: 0 }])
        assert.include(error.message, "held by mine: 1 lease, 5 B")
      })))

  it.effect("end at the first that helps", () =>
    onPool({}, (opened) =>
      Effect.gen(function*() {
        const { events, faults, pool } = opened
        yield* hold(opened, [10])
        events()
        faults.failAllocations()
        yield* pool.allocate(row(50), r8)
        deepStrictEqual(events(), ["create 50", "reclaim", "create 50"])
        strictEqual((yield* pool.stats).heldBlocks, 1)
      })))

  it.effect("are not tried after other failures than out-of-memory", () =>
    onPool({}, (opened) =>
      Effect.gen(function*() {
        const { events, faults, pool } = opened
        yield* hold(opened, [10])
        events()
        faults.failAllocations({ error: "DriverError" })
        strictEqual(yield* tagOf(pool.allocate(row(50), r8)), "DriverError")
        deepStrictEqual(events(), ["create 50"])
        deepStrictEqual((yield* pool.stats).pendingBytes, 0)
      })))

  it.effect("are there for use as for allocate", () =>
    onPool({ host: { capacityBytes: 100 } }, (opened) =>
      Effect.gen(function*() {
        const { events, pool } = opened
        yield* hold(opened, [60])
        events()
        strictEqual(yield* pool.use(row(80), r8, (image) => Effect.succeed(image.size)), 80)
        deepStrictEqual(events(), ["create 80", "reclaim", "create 80", "destroy 60", "reclaim", "create 80"])
        strictEqual((yield* pool.stats).heldBytes, 80)
      })))

  it.effect("wait for memory that the driver frees late", () =>
    onPool({ host: { capacityBytes: 1000, lateFree: true } }, (opened) =>
      Effect.gen(function*() {
        yield* hold(opened, Array.from({ length: 100 }, () => 10))
        const { driverFrees } = yield* Effect.andThen(opened.pool.allocate(row(1000), r8), opened.pool.stats)
        strictEqual(driverFrees, 100)
      })))

  it.effect("cost nothing that cannot help", () =>
    onPool({ host: { capacityBytes: 100 } }, (opened) =>
      Effect.gen(function*() {
        const { events, pool } = opened
        yield* pool.allocate(row(70), r8)
        yield* hold(opened, [20])
        events()
        deepStrictEqual((yield* outOfMemoryOf(pool.allocate(row(40), r8))).stepsTried, ["bin", "driver", "reclaim"])
        deepStrictEqual(events(), ["create 40", "reclaim", "create 40"])
        strictEqual((yield* pool.stats).heldBytes, 20)
      })))

  it.effect("find what was released on the way", () =>
    onPool({ slow: true }, (opened) =>
      Effect.gen(function*() {
        const { events, faults, pool } = opened
        const lease = yield* pool.allocate(row(50), r8)
        events()
        faults.failAllocations({ times: Infinity })
        const [got] = yield* Effect.all([pool.allocate(row(50), r8), Lease.release(lease)], {
          concurrency: "unbounded"
        })
        strictEqual(Lease.isLive(got), true)
        const { hits } = yield* pool.stats
        strictEqual(hits, 1)
      })))
})

describe("the byte limit of an image pool", () => {
  it.effect("is looked at before the driver: the smallest that covers goes, else the largest", () =>
    onPool({ pool: { maxBytes: 33 } }, (opened) =>
      Effect.gen(function*() {
        const { events, pool } = opened
        yield* hold(opened, [5, 8, 20])
        events()
        yield* Effect.scoped(pool.allocate(row(7), r8))
        deepStrictEqual(events(), ["destroy 8", "reclaim", "create 7"])
        yield* pool.allocate(row(25), r8)
        deepStrictEqual(events(), ["destroy 20", "destroy 5", "reclaim", "create 25"])
        strictEqual((yield* pool.stats).managedBytes, 32)
      })))

  it.effect("evicts nothing when all that is held would not do, and says who has the rest", () =>
    onPool({ pool: { maxBytes: 100 } }, (opened) =>
      Effect.gen(function*() {
        const { events, pool } = opened
        yield* pool.allocate(row(60), r8, { label: "big" })
        yield* hold(opened, [10, 11])
        events()
        const error = yield* outOfMemoryOf(pool.allocate(row(50), r8))
        deepStrictEqual([error.stepsTried, error.limit, error.isRetryable], [["bin"], 100, true])
        strictEqual(error.holders[0]?.label, "big")
        deepStrictEqual(events(), [])
        strictEqual((yield* pool.stats).heldBytes, 21)
      })))

  it.effect("counts what is being made", () =>
    onPool({ pool: { maxBytes: 100 }, slow: true }, ({ pool }) =>
      Effect.gen(function*() {
        const exits = yield* Effect.forEach([60, 61, 30], (size) => Effect.exit(pool.allocate(row(size), r8)), {
          concurrency: "unbounded"
        })
        deepStrictEqual(exits.map(Exit.isSuccess), [true, false, true])
        const { managedBytes, pendingBytes } = yield* pool.stats
        deepStrictEqual([managedBytes, pendingBytes], [90, 0])
      })))

  it.effect("and the device's memory are limits that are never reached by waiting", () =>
    onPool({ pool: { maxBytes: 100 }, host: { capacityBytes: 50 } }, ({ events, pool }) =>
      Effect.gen(function*() {
        for (const [size, limitName] of [[101, "memoryBytes"], [51, "memoryBytes"]] as const) {
          const reason = yield* reasonOf(pool.allocate(row(size), r8))
          assert(reason._tag === "LimitExceeded")
          strictEqual(reason.limitName, limitName)
        }
        deepStrictEqual(events(), [])
      })))
})
