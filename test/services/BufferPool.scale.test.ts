import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { GCProfiler, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import type { DeviceInfo } from "../../src/domain/device/DeviceInfo.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceBuffer } from "../../src/services/device/DeviceBuffer.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../src/services/lease/LeaseHolder.ts"
import { runs } from "../support/explore.ts"
import { type AllocatorLayer, decorated, hasStats, layer, nextTurn } from "../support/hostPool.ts"

setFlagsFromString("--expose-gc")
const collectGarbage: () => void = runInNewContext("gc")

const heapBytes = Effect.sync(() => {
  collectGarbage()
  return process.memoryUsage().heapUsed
})

const repeat = <A, E, R>(times: number, effect: (i: number) => Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    for (let i = 0; i < times; i++) yield* effect(i)
  })

/**
 * Does a tenth of the work first, so that what is built once exists; then the whole work must leave the heap as it was.
 */
const isFlat = <E, R>(pairs: number, work: (pairs: number) => Effect.Effect<void, E, R>) =>
  Effect.gen(function*() {
    yield* work(pairs / 10)
    const before = yield* heapBytes
    yield* work(pairs)
    const grown = (yield* heapBytes) - before
    // A leak would keep an object of at least 16 bytes per pair. The rest is the engine's.
    assert.isBelow(grown, pairs + 2 ** 18, `${grown / pairs} bytes per pair`)
  })

/** A million in `.ci/run`. */
const most = runs(1_000_000, 50_000)

/** The bytes that each run of an effect allocates, without what is allocated only once. */
const allocatedEach = <E, R>(times: number, effect: Effect.Effect<unknown, E, R>) =>
  Effect.gen(function*() {
    yield* repeat(times, () => effect)
    const profiler = new GCProfiler()
    profiler.start()
    let left = process.memoryUsage().heapUsed
    yield* repeat(times, () => effect)
    let allocated = process.memoryUsage().heapUsed
    for (const { afterGC, beforeGC } of profiler.stop().statistics) {
      allocated += beforeGC.heapStatistics.usedHeapSize - left
      left = afterGC.heapStatistics.usedHeapSize
    }
    return (allocated - left) / times
  })

describe("a hit allocates", () => {
  it.live("no more than 900 bytes in a scope of its own, and 500 in `use`, of which the loop has its share", () =>
    Effect.gen(function*() {
      const loop = yield* allocatedEach(200_000, Effect.void)
      const scoped = yield* allocatedEach(200_000, Effect.scoped(BufferPool.allocate(64)))
      assert.isBelow(scoped - loop, 900)
      const used = yield* allocatedEach(200_000, BufferPool.use(64, () => Effect.void))
      assert.isBelow(used - loop, 500)
    }).pipe(Effect.provide(layer())))
})

describe("the heap stays flat", () => {
  it.live("over pairs in short scopes", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const pair = Effect.scoped(pool.allocate(64))
      yield* isFlat(most, (pairs) => repeat(pairs, () => pair))
      yield* hasStats({ hits: 11 * most / 10 - 1, misses: 1, activeBlocks: 0, heldBlocks: 1 })
    }).pipe(Effect.provide(layer())))

  it.live("over early releases in one long-lived scope", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const pair = Effect.flatMap(pool.allocate(64), Lease.release)
      yield* isFlat(most, (pairs) => repeat(pairs, () => pair))
      yield* hasStats({ hits: 11 * most / 10 - 1, misses: 1, activeBlocks: 0, heldBlocks: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.live("over early releases in two long-lived scopes, one after the other", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const scopes = [yield* Scope.make(), yield* Scope.make()] as const
      const pairs = scopes.map((scope) => Scope.provide(Effect.flatMap(pool.allocate(64), Lease.release), scope))
      yield* isFlat(most, (count) => repeat(count, (i) => pairs[i % 2]!))
      for (const scope of scopes) yield* Scope.close(scope, Exit.void)
      yield* hasStats({ misses: 1, activeBlocks: 0, heldBlocks: 1 })
    }).pipe(Effect.provide(layer())))

  it.live("over moves between two long-lived scopes, through extract and back", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const other = yield* Scope.make()
      const move = Effect.gen(function*() {
        const lease = yield* LeaseHolder.extract(pool.allocate(64))
        yield* Lease.transfer(lease, other)
        yield* Lease.release(lease)
      })
      yield* isFlat(runs(300_000, 30_000), (count) => repeat(count, () => move))
      yield* Scope.close(other, Exit.void)
      yield* hasStats({ misses: 1, activeBlocks: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.live("over pairs of scopes that overlap", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const overlap = Effect.gen(function*() {
        const scopes = [yield* Scope.make(), yield* Scope.make()] as const
        for (const i of [0, 1, 0] as const) yield* Scope.provide(pool.allocate(64), scopes[i])
        for (const scope of scopes) yield* Scope.close(scope, Exit.void)
      })
      yield* isFlat(runs(100_000, 30_000), (count) => repeat(count, () => overlap))
      yield* hasStats({ misses: 3, activeBlocks: 0, heldBlocks: 3 })
    }).pipe(Effect.provide(layer())))

  it.live("over requests in closed scopes", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const late = Effect.gen(function*() {
        const scope = yield* Scope.make()
        yield* Scope.close(scope, Exit.void)
        strictEqual((yield* Effect.exit(Scope.provide(pool.allocate(64), scope)))._tag, "Failure")
      })
      yield* isFlat(runs(100_000, 30_000), (count) => repeat(count, () => late))
      yield* hasStats({ misses: 0, activeBlocks: 0 })
    }).pipe(Effect.provide(layer())))

  it.live("over failures", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const failure = Effect.flip(Effect.scoped(pool.allocate(101)))
      const refused = Effect.flip(Effect.scoped(pool.allocate(60)))
      yield* Effect.scoped(Effect.andThen(
        pool.allocate(50),
        isFlat(runs(50_000, 20_000), (count) => repeat(count, () => Effect.andThen(failure, refused)))
      ))
      yield* hasStats({ misses: 1, driverFrees: 0, pendingBytes: 0 })
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 100 } }))))
})

const heapWithin = (depth: number) =>
  Effect.suspend(() => {
    let nested: Effect.Effect<number, GpuError, BufferPool.BufferPool> = heapBytes
    for (let level = 0; level < depth; level++) nested = BufferPool.reserve(nested, 1)
    return nested
  })

describe("reservations within each other", () => {
  it.live("take as much of the heap for each, however many there are", () =>
    Effect.gen(function*() {
      const before = yield* heapWithin(100)
      const few = (yield* heapWithin(1000)) - before
      const many = (yield* heapWithin(8000)) - before
      assert.isBelow(many / few, 8 * 1.25)
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 10_000 } }))))
})

/** Looks at the ledger whenever the driver is asked or gets something back. */
const watched = (check: () => void): AllocatorLayer =>
  decorated((allocator) => ({
    ...allocator,
    allocate: (bytes, options) =>
      Effect.uninterruptible(Effect.gen(function*() {
        check()
        yield* nextTurn
        check()
        return yield* allocator.allocate(bytes, options)
      })),
    freeUnsafe: (buffer) => {
      check()
      return allocator.freeUnsafe(buffer)
    }
  }))

const jobSize = (i: number) => 1 + (i * 7919) % 2000

describe("10,000 concurrent fibers under maxBytes", () => {
  const maxBytes = 1_000_000

  it.live("never exceed it by one byte, and with retries on isRetryable all finish", () =>
    Effect.gen(function*() {
      let pool: BufferPool.BufferPool["Service"] | undefined
      let looks = 0
      let most = 0
      const look = (stats: Effect.Success<BufferPool.BufferPool["Service"]["stats"]>) => {
        looks += 1
        most = Math.max(most, stats.managedBytes + stats.pendingBytes)
        assert.isAtMost(stats.managedBytes + stats.pendingBytes, maxBytes)
      }
      const allocator = watched(() => {
        if (pool !== undefined) look(Effect.runSync(pool.stats))
      })
      yield* Effect.gen(function*() {
        const made = yield* BufferPool.BufferPool
        pool = made
        const job = (i: number) =>
          Effect.scoped(Effect.gen(function*() {
            const lease = yield* Effect.retry(made.allocate(jobSize(i), { label: `job ${i}` }), {
              while: (error: GpuError) => Effect.as(Effect.yieldNow, error.isRetryable)
            })
            look(yield* made.stats)
            strictEqual(lease.size, jobSize(i))
            yield* Effect.yieldNow
          }))
        const fibers = yield* Effect.forEach(Array.from({ length: 10_000 }).keys(), (i) => Effect.forkChild(job(i)))
        yield* Fiber.joinAll(fibers)
        const stats = yield* made.stats
        strictEqual(stats.hits + stats.misses, 10_000)
        yield* hasStats({ activeBlocks: 0, pendingBytes: 0, releaseFailures: 0 })
      }).pipe(Effect.provide(layer({ host: { lateFree: true }, pool: { maxBytes }, allocator })))
      assert.isAbove(looks, 10_000)
      assert.isAbove(most, 0.9 * maxBytes)
    }))
})

/** So many that a cost which grows with them would take minutes. */
const many = runs(100_000, 20_000)

describe(`${many}`, () => {
  it.live("leases in one scope close with it", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const count = many
      for (const round of [1, 2]) {
        yield* Effect.scoped(Effect.andThen(
          repeat(count, () => pool.allocate(1)),
          hasStats({ activeBlocks: count, misses: count, hits: (round - 1) * count })
        ))
        yield* hasStats({ activeBlocks: 0, heldBlocks: count })
      }
      yield* pool.freeHeld
      yield* hasStats({ managedBlocks: 0, driverFrees: count })
    }).pipe(Effect.provide(layer())))

  class Pretended extends DeviceBuffer {
    constructor(owner: DeviceInfo, size: number, usage: number) {
      super(owner, size, usage, undefined)
    }
  }

  /** Device memory without the memory: sizes of any sum. */
  const pretended = Layer.fresh(Layer.effect(
    Allocator.Allocator,
    DeviceContext.useSync(({ info }) =>
      Allocator.Allocator.of({
        allocate: (bytes, options) => Effect.sync(() => new Pretended(info, bytes, options?.usage ?? 0)),
        freeUnsafe: () => Exit.void,
        reclaim: Effect.void,
        immediate: true
      })
    )
  ))

  const distinct = many
  const sizeOf = (i: number) => 1 + 40_009 * ((i * 7919) % distinct)

  const limit = 50_000 * distinct

  const onPretended = (maxBytes?: number) =>
    layer({ allocator: pretended, host: { maxBufferSize: 2 ** 33 }, pool: { maxBytes } })

  it.live("different sizes under the exact policy are each found again", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      yield* repeat(distinct, (i) => pool.use(sizeOf(i), () => Effect.void))
      yield* hasStats({ misses: distinct, hits: 0, heldBlocks: distinct })
      yield* repeat(distinct, (i) => pool.use(sizeOf(i), () => Effect.void))
      yield* hasStats({ misses: distinct, hits: distinct, heldBlocks: distinct })
      yield* pool.freeHeld
      yield* hasStats({ managedBlocks: 0, managedBytes: 0 })
    }).pipe(Effect.provide(onPretended())))

  it.live(
    "different sizes under a limit stay under it and leave no bins behind",
    () =>
      Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        yield* isFlat(distinct, (count) => repeat(count, (i) => pool.use(sizeOf(i), () => Effect.void)))
        const { heldBlocks, peakManagedBytes } = yield* pool.stats
        assert.isAtMost(peakManagedBytes, limit)
        assert.isBelow(heldBlocks, distinct)
      }).pipe(Effect.provide(onPretended(limit)))
  )

  it.live("leases of scopes that close in any order end with them", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const scopes = yield* Effect.forEach(Array.from({ length: many / 10 }), () => Scope.make())
      for (const scope of [...scopes, ...scopes]) yield* Scope.provide(pool.allocate(1), scope)
      yield* hasStats({ activeBlocks: many / 5 })
      for (const i of scopes.keys()) yield* Scope.close(scopes[(i * 7919) % scopes.length]!, Exit.void)
      yield* hasStats({ activeBlocks: 0, heldBlocks: many / 5 })
    }).pipe(Effect.provide(layer())))
})
