import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as LimitingAllocator from "../../src/services/buffers/allocators/LimitingAllocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { counted } from "../support/CountingScheduler.ts"
import { decorated, hasStats, layer, nextTurn } from "../support/hostPool.ts"

const turns = Effect.replicateEffect(nextTurn, 20, { discard: true })

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** A device of 1000 bytes, less than the pool's limit. */
const device = (pool: BufferPool.BufferPoolOptions) =>
  layer({ host: { capacityBytes: 1000 }, pool: { onExhausted: "wait", ...pool } })

describe("a wait queue in which the driver refused a request", () => {
  it.effect("is at rest while the limit holds another one back", () =>
    counted((scheduler) =>
      Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(700)
        const refused = yield* start(BufferPool.use(400, () => Effect.void))
        yield* turns
        const overLimit = yield* start(BufferPool.use(600, () => Effect.void))
        yield* turns
        yield* hasStats({ waiters: 2 })
        const { tasks } = scheduler
        yield* turns
        strictEqual(scheduler.tasks, tasks)
        yield* Lease.release(lease)
        yield* Fiber.joinAll([refused, overLimit])
      }).pipe(Effect.scoped, Effect.provide(device({ maxBytes: 1200 })))
    ))

  it.effect("keeps its order when that one is interrupted", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(700)
      const head = yield* start(BufferPool.allocate(500))
      const second = yield* start(BufferPool.allocate(400))
      const small = yield* Effect.replicateEffect(start(BufferPool.allocate(50)), 5)
      yield* turns
      yield* Fiber.interrupt(head)
      yield* turns
      deepStrictEqual([second, ...small].map((fiber) => fiber.pollUnsafe()), Array.from({ length: 6 }, () => undefined))
      yield* hasStats({ waiters: 6 })
      yield* Fiber.interruptAll([second, ...small])
    }).pipe(Effect.scoped, Effect.provide(device({ maxBypasses: 0 }))))

  it.effect("tries for a reservation that is open before those who wait for its bytes", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.make({
        maxBytes: 600,
        maxBypasses: 1,
        onExhausted: "wait",
        sizePolicy: SizePolicy.exact,
        deadlockTimeout: Infinity
      })
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const own = yield* allocate(400)
      const lease = yield* pool.allocate(100)
      const refused = yield* start(pool.exclusively(pool.use(550, () => Effect.void)))
      const second = yield* start(pool.use(540, () => Effect.void))
      yield* turns
      // This request gets its bytes of the limit before earlier ones do, and the driver refuses it too.
      const both = yield* start(pool.useAll([250, 250], () => Effect.void))
      yield* turns
      strictEqual((yield* pool.stats).reservedBytes, 500)
      const behind = yield* start(pool.use(100, () => Effect.void))
      yield* turns
      yield* freeUnsafe(own)
      yield* Lease.release(lease)
      yield* Fiber.joinAll([both, refused, second, behind])
    }).pipe(
      Effect.scoped,
      Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer({ capacityBytes: 900 }))))
    ))

  it.effect("sees bytes that a failing driver call had reserved as free", () => {
    // The call for 600 bytes holds them below the limit for a while, and then fails.
    const failing = decorated((inner) => ({
      ...inner,
      allocate: (bytes, options) =>
        bytes === 600
          ? Effect.uninterruptible(Effect.andThen(turns, inner.allocate(2 ** 30, options)))
          : inner.allocate(bytes, options)
    }))
    const limited = Layer.orDie(LimitingAllocator.layer({ maxBytes: 1000 })).pipe(Layer.provide(failing))
    return Effect.gen(function*() {
      yield* BufferPool.allocate(10)
      const fails = yield* start(Effect.exit(BufferPool.allocate(600, { onExhausted: "fail" })))
      const waits = yield* start(BufferPool.allocate(700))
      yield* hasStats({ waiters: 1 })
      yield* Fiber.await(fails)
      strictEqual((yield* Fiber.join(waits)).size, 700)
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ allocator: limited, pool: { onExhausted: "wait" }, host: { capacityBytes: 100_000 } }))
    )
  })
})

it.effect.each<readonly [string, BufferPool.PoolAllocateOptions]>([
  ["fail", { onExhausted: "fail" }],
  ["wait for a while", { waitAtMost: 20 }]
])("requests that %s end where a slow driver refuses several at once", ([, options]) => {
  const faults = Host.makeFaults()
  return Effect.gen(function*() {
    const most = yield* start(BufferPool.allocate(300))
    yield* TestClock.adjust(1)
    yield* Fiber.join(most)
    const asking = yield* start(
      Effect.all([250, 260, 270].map((size) => Effect.exit(BufferPool.allocate(size, options))), {
        concurrency: "unbounded"
      })
    )
    yield* TestClock.adjust(100)
    strictEqual(asking.pollUnsafe() !== undefined, true)
    for (const exit of yield* Fiber.join(asking)) strictEqual(Exit.isFailure(exit), true)
    // A try asks the driver twice, since freed memory may not be available yet. Each request tries once, once more
    // because of another call's memory, and perhaps when its time ends.
    assert.isAtMost(faults.allocations, 1 + 3 * 6)
  }).pipe(
    Effect.scoped,
    Effect.provide(layer({ host: { capacityBytes: 512, latency: 1, faults } }))
  )
})

it.effect("requests of two pools under one limit end where a slow driver refuses several of each", () => {
  const faults = Host.makeFaults()
  const limited = Layer.orDie(LimitingAllocator.layer({ maxBytes: 10_000 })).pipe(
    Layer.provide(Allocator.layerImmediate)
  )
  const pool = Layer.fresh(BufferPool.layerNoDeps({ sizePolicy: SizePolicy.exact }))
  return Effect.gen(function*() {
    const pools = [yield* Layer.build(pool), yield* Layer.build(pool)].map((built) =>
      Context.get(built, BufferPool.BufferPool)
    )
    const [one, other] = pools
    const most = yield* start(Effect.all([one!.allocate(300), other!.allocate(100)]))
    yield* TestClock.adjust(2)
    yield* Fiber.join(most)
    const requests = pools.flatMap((pool) => [150, 160, 170].map((size) => Effect.exit(pool.allocate(size))))
    const asking = yield* start(Effect.all(requests, { concurrency: "unbounded" }))
    yield* TestClock.adjust(200)
    strictEqual(asking.pollUnsafe() !== undefined, true)
    for (const exit of yield* Fiber.join(asking)) strictEqual(Exit.isFailure(exit), true)
    assert.isAtMost(faults.allocations, 2 + 6 * 8)
  }).pipe(
    Effect.scoped,
    Effect.provide(limited),
    Effect.provide(Layer.fresh(Host.layer({ capacityBytes: 512, latency: 1, faults })))
  )
})

it.effect("what an allocator is over its own limit for is asked of it once more, without slack", () =>
  Effect.gen(function*() {
    strictEqual((yield* BufferPool.allocate(70)).capacity, 70)
  }).pipe(
    Effect.scoped,
    Effect.provide(layer({
      allocator: Layer.orDie(LimitingAllocator.layer({ maxBytes: 100 })).pipe(Layer.provide(Allocator.layerImmediate)),
      pool: { sizePolicy: { name: "coarse", borrow: 0, blockSize: (size) => Math.max(size, 128) } }
    }))
  ))

const withoutLimits = Layer.fresh(
  Layer.effect(Allocator.Allocator, Effect.map(Allocator.Allocator, (inner) => ({ ...inner, limits: [] })))
)

it.effect("two that wait do not ask an allocator again and again for what is over its own limit", () =>
  Effect.gen(function*() {
    const lease = yield* BufferPool.allocate(100)
    const waiting = yield* start(Effect.all([70, 71].map((size) => BufferPool.use(size, () => Effect.void)), {
      concurrency: "unbounded"
    }))
    yield* turns
    yield* hasStats({ waiters: 2 })
    yield* Lease.release(lease)
    yield* turns
    strictEqual(waiting.pollUnsafe() !== undefined, true)
  }).pipe(
    Effect.scoped,
    Effect.provide(layer({
      // Its limit is unknown to the pool.
      allocator: withoutLimits.pipe(
        Layer.provide(Layer.orDie(LimitingAllocator.layer({ maxBytes: 100 }))),
        Layer.provide(Allocator.layerImmediate)
      ),
      pool: {
        maxBytes: 150,
        onExhausted: "wait",
        sizePolicy: { name: "coarse", borrow: 0, blockSize: (size) => Math.max(size, 128) }
      }
    }))
  ))

it.effect.each([[0, 1, 2], [1, 0, 2], [2, 1, 0]])(
  "several leases and two large requests do not wake each other with what the driver gives the first lease (%j)",
  (order) =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const pool = yield* BufferPool.make({
        maxBytes: 2000,
        onExhausted: "wait",
        sizePolicy: SizePolicy.exact,
        deadlockTimeout: Infinity
      })
      const own = yield* allocate(440)
      yield* pool.allocate(10)
      const asking = [
        pool.use(300, () => Effect.void),
        pool.use(310, () => Effect.void),
        pool.useAll([100, 100], () => Effect.void)
      ]
      const waiting = yield* Effect.forEach(order, (which) => Effect.tap(start(asking[which]!), () => turns))
      yield* turns
      const { allocations } = faults
      yield* turns
      strictEqual(faults.allocations, allocations)
      yield* freeUnsafe(own)
      yield* Effect.scoped(pool.allocate(1))
      yield* Fiber.joinAll(waiting)
    }).pipe(
      Effect.scoped,
      Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer({ capacityBytes: 600 }))))
    )
)
