import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { hasStats, hold, layer, MiB, type OpenOptions, outOfMemoryOf, tagOf } from "../support/hostPool.ts"
import { withEvents } from "../support/poolEvents.ts"

/** Blocks of 100 or 600 bytes, so that there is something to shrink to the exact size. */
const coarse: SizePolicy.SizePolicy = {
  name: "coarse",
  borrow: 0,
  blockSize: (request) => request <= 100 ? 100 : request <= 600 ? 600 : request
}

describe("stepsTried", () => {
  it.effect("are tried in order, and the evidence names them", () =>
    withEvents({ pool: { sizePolicy: coarse } }, (events) =>
      Effect.gen(function*() {
        yield* hold([100])
        events()
        const { faults } = yield* Host.Host
        faults.failAllocations({ times: Infinity })
        const error = yield* outOfMemoryOf(BufferPool.allocate(350))
        deepStrictEqual(error.stepsTried, ["bin", "driver", "reclaim", "evict", "exact"])
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

  it.effect("end at any other failure than out-of-memory", () =>
    withEvents({}, (events) =>
      Effect.gen(function*() {
        const { faults } = yield* Host.Host
        yield* hold([100])
        events()
        faults.failAllocations({ error: "DriverError" })
        strictEqual(yield* tagOf(BufferPool.allocate(50)), "DriverError")
        deepStrictEqual(events(), ["allocate 50"])
        yield* hasStats({ heldBlocks: 1, pendingBytes: 0, misses: 1 })
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
        deepStrictEqual(events(), [`free ${10 * MiB}`, `free ${10 * MiB}`, "reclaim", `allocate ${15 * MiB}`])
        yield* hasStats({ heldBytes: 80 * MiB, managedBytes: 95 * MiB, driverFrees: 2 })
      })))

  it.effect("evicts the smallest block that covers the deficit", () =>
    withEvents({ pool: { maxBytes: 33 } }, (events) =>
      Effect.gen(function*() {
        yield* hold([5, 8, 20])
        events()
        yield* BufferPool.allocate(7)
        deepStrictEqual(events(), ["free 8", "reclaim", "allocate 7"])
      })))

  it.effect("or the largest until the rest is covered, and then the smallest that does", () =>
    withEvents({ pool: { maxBytes: 33 } }, (events) =>
      Effect.gen(function*() {
        yield* hold([5, 8, 20])
        events()
        yield* BufferPool.allocate(22)
        deepStrictEqual(events(), ["free 20", "free 5", "reclaim", "allocate 22"])
      })))

  it.effect("evicts nothing when all that is held would not do", () =>
    withEvents({ pool: { maxBytes: 100 } }, (events) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(60)
        yield* hold([10, 10, 10])
        events()
        const error = yield* outOfMemoryOf(BufferPool.allocate(50))
        deepStrictEqual(events(), [])
        deepStrictEqual(error.stepsTried, ["bin"])
        assert.isTrue(error.isRetryable)
        yield* hasStats({ heldBytes: 30, managedBytes: 90, pendingBytes: 0 })
      })))

  it.effect("asks for the exact size where the block does not fit", () =>
    withEvents({ pool: { maxBytes: 1000, sizePolicy: coarse } }, (events) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(350)
        yield* hold([100])
        events()
        strictEqual((yield* BufferPool.allocate(350)).capacity, 350)
        deepStrictEqual(events(), ["free 100", "reclaim", "allocate 350"])
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
        deepStrictEqual(error.stepsTried, ["bin", "driver", "reclaim"])
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
        yield* Lease.release(lease)
        deepStrictEqual(events(), ["free 350"])
        yield* hasStats({ heldBlocks: 0, activeBlocks: 1, managedBytes: 600 })
      })))

  it.effect("is asked again as long as memory becomes free, however many blocks that takes", () =>
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
      const { isRetryable, reason } = yield* Effect.flip(BufferPool.allocate(size))
      assert(reason._tag === "LimitExceeded", reason._tag)
      deepStrictEqual([reason.limitName, reason.limit, isRetryable], [limitName, limit, false])
      strictEqual(yield* tagOf(BufferPool.use(size, () => Effect.void)), "LimitExceeded")
      deepStrictEqual(events(), [])
      yield* hasStats({ heldBlocks: 1, misses: 1 })
    }))

describe("a request that can never fit", () => {
  it.effect("fails at once over maxBytes", () => never({ pool: { maxBytes: 100 } }, 101, "maxBytes", 100))
  it.effect("and over the device's largest buffer", () =>
    never({ host: { maxBufferSize: 64 } }, 65, "maxBufferSize", 64))
  it.effect("and over the device's memory, however much of it is leased", () =>
    Effect.gen(function*() {
      yield* never({ host: { capacityBytes: 1000 } }, 2000, "memoryBytes", 1000)
      yield* never({ host: { capacityBytes: 1001, granularity: 4 } }, 1001, "memoryBytes", 1001)
    }))
  it.effect("and over the device's default limit", () => never({ host: { defaultMaxBytes: 50 } }, 51, "maxBytes", 50))
  it.effect("and where only the granularity makes it too large", () =>
    never({ host: { granularity: 8 }, pool: { maxBytes: 36 } }, 35, "maxBytes", 36))
  it.effect("also at the very end of the numbers", () =>
    never(
      { host: { granularity: 4, maxBufferSize: 2 ** 53 - 1, capacityBytes: 2 ** 53 - 1 } },
      2 ** 53 - 1,
      "maxBufferSize",
      2 ** 53 - 1
    ))
})
