/**
 * Pools on one LimitingAllocator: a release in one pool serves requests that wait in the others.
 */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as SizePolicy from "../../../src/domain/pool/SizePolicy.ts"
import * as Host from "../../../src/layers/Host/Host.ts"
import * as Allocator from "../../../src/services/buffers/Allocator.ts"
import * as LimitingAllocator from "../../../src/services/buffers/allocators/LimitingAllocator.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import * as StagingPool from "../../../src/services/staging/StagingPool.ts"
import { nextTurn } from "../../support/hostPool.ts"

const limitedOn = (host: ReturnType<typeof Host.layer>) =>
  LimitingAllocator.layer({ maxBytes: 4096 }).pipe(Layer.provide(Allocator.layerImmediate), Layer.provideMerge(host))

const limited = limitedOn(Host.layer())

/**
 * The same below a decorator that allocates 16 bytes more than each block, as one that detects writes beyond the end.
 */
const guarded = (host: ReturnType<typeof Host.layer>) =>
  Layer.effect(
    Allocator.Allocator,
    Effect.map(Allocator.Allocator, (inner) =>
      Allocator.Allocator.of({ ...inner, allocate: (bytes, options) => inner.allocate(bytes + 16, options) }))
  ).pipe(Layer.provideMerge(limitedOn(host)))

const nested = LimitingAllocator.layer({ maxBytes: 4096 }).pipe(
  Layer.provide(LimitingAllocator.layer({ maxBytes: 8192 })),
  Layer.provide(Allocator.layerImmediate),
  Layer.provideMerge(Host.layer())
)

const both = Effect.all([
  BufferPool.make({ label: "frames", onExhausted: "wait" }),
  BufferPool.make({ label: "tables", onExhausted: "wait" })
])

const patient = { onExhausted: "wait" } as const

/** Leases that come together or not at all. */
const pair = (pool: BufferPool.Pool) => Effect.scoped(pool.allocateAll([2048, 1024]))

/** A job that has memory of one pool while it waits for that of the other. */
const job = (first: BufferPool.Pool, second: BufferPool.Pool) =>
  first.use(1536, () => Effect.andThen(settled, second.use(1536, () => Effect.void)))

/** Waits until every published release has been handled. */
const settled = Effect.replicateEffect(nextTurn, 8, { discard: true })

describe("two pools on one limited allocator", () => {
  it.effect("give up what they hold for each other", () =>
    Effect.gen(function*() {
      const [frames, tables] = yield* both
      yield* frames.use(4096, () => Effect.void)
      const lease = yield* tables.allocate(2048)
      strictEqual(lease.capacity, 2048)
      deepStrictEqual([(yield* frames.stats).heldBytes, (yield* frames.stats).driverFrees], [0, 1])
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("wait for each other, however long the other works", () =>
    Effect.gen(function*() {
      const [frames, tables] = yield* both
      const elsewhere = yield* Scope.make()
      const lease = yield* Effect.flatMap(
        Effect.forkChild(Scope.provide(frames.allocate(4096), elsewhere)),
        Fiber.join
      )
      const waiting = yield* Effect.forkChild(tables.allocate(1024))
      yield* TestClock.adjust("1 hour")
      strictEqual((yield* tables.stats).waiters, 1)
      yield* Lease.release(lease)
      const served = yield* Fiber.join(waiting)
      strictEqual(served.capacity, 1024)
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("see what an owner without a pool frees", () =>
    Effect.gen(function*() {
      const [frames] = yield* both
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const buffer = yield* allocate(4096)
      const waiting = yield* Effect.forkChild(frames.allocate(1024))
      yield* settled
      strictEqual((yield* frames.stats).waiters, 1)
      yield* freeUnsafe(buffer)
      strictEqual((yield* Fiber.join(waiting)).capacity, 1024)
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect.each([["one limit", limited], ["a limit within a limit", nested]] as const)(
    "end a deadlock under %s between jobs that hold memory of one and wait for the other",
    ([, layer]) =>
      Effect.gen(function*() {
        const [frames, tables] = yield* both
        const job = (one: BufferPool.Pool, other: BufferPool.Pool) =>
          Effect.scoped(Effect.gen(function*() {
            yield* one.allocate(2048)
            yield* settled
            yield* other.allocate(2048)
          }))
        const jobs = yield* Effect.forEach([job(frames, tables), job(tables, frames)], (one) => Effect.forkChild(one))
        yield* settled
        yield* TestClock.adjust("3 seconds")
        const exits = yield* Effect.forEach(jobs, Fiber.await)
        const failed = exits.filter(Exit.isFailure)
        strictEqual(failed.length, 1)
        assert.include(String(failed[0]!.cause), "every lease belongs to a job that waits too")
      }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("do not wake each other for ever with what they try together", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const [frames, tables] = yield* both
      const third = yield* Scope.make()
      yield* Scope.provide(frames.allocate(2048), third)
      const jobs = yield* Effect.forEach([pair(frames), pair(tables)], (one) => Effect.forkChild(one))
      yield* settled
      const before = faults.allocations
      yield* Effect.replicateEffect(nextTurn, 200, { discard: true })
      assert.isAtMost(faults.allocations - before, 2)
      yield* Scope.close(third, Exit.void)
      for (const one of jobs) yield* Fiber.join(one)
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("see what pools under an outer limit alone free", () =>
    Effect.gen(function*() {
      const [outer] = yield* both
      const inner = yield* Effect.provide(
        BufferPool.make({ onExhausted: "wait" }),
        LimitingAllocator.layer({ maxBytes: 2048 })
      )
      yield* outer.use(4096, () => Effect.void)
      // The outer pool's held block is evicted, and the inner limit is kept.
      const lease = yield* inner.allocate(2048)
      strictEqual((yield* outer.stats).heldBytes, 0)
      const waiting = yield* Effect.forkChild(inner.allocate(1024))
      yield* settled
      strictEqual((yield* inner.stats).waiters, 1)
      yield* Lease.release(lease)
      strictEqual((yield* Fiber.join(waiting)).size, 1024)
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("ask handlers while nobody has to wait for that", () =>
    Effect.gen(function*() {
      const [frames, tables] = yield* both
      const cache = yield* Scope.make()
      yield* Scope.provide(frames.allocate(3072), cache)
      yield* frames.onOutOfMemory(() =>
        Effect.gen(function*() {
          yield* Effect.scoped(tables.allocateAll([256, 256]))
          yield* Scope.close(cache, Exit.void)
          return true
        })
      )
      const leases = yield* frames.allocateAll([1024, 1024])
      deepStrictEqual(leases.map(({ size }) => size), [1024, 1024])
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("do not wake each other for ever where the driver has less than the limit", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const pools = yield* Effect.all([BufferPool.make(patient), BufferPool.make(patient), BufferPool.make(patient)])
      const scope = yield* Scope.make()
      yield* Scope.provide(pools[2].allocate(2048), scope)
      const jobs = yield* Effect.forEach(
        [pools[0], pools[1]],
        (pool) => Effect.forkChild(Effect.scoped(pool.allocateAll([512, 2048])))
      )
      yield* settled
      const before = faults.allocations
      yield* Effect.replicateEffect(nextTurn, 200, { discard: true })
      strictEqual(faults.allocations, before)
      yield* Scope.close(scope, Exit.void)
      for (const job of jobs) yield* Fiber.join(job)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        LimitingAllocator.layer({ maxBytes: 8192 }).pipe(
          Layer.provide(Allocator.layerImmediate),
          Layer.provideMerge(Host.layer({ capacityBytes: 4096 }))
        )
      )
    ))

  it.effect("see no deadlock while a job of another pool works", () =>
    Effect.gen(function*() {
      const pools = yield* Effect.all([BufferPool.make(patient), BufferPool.make(patient), BufferPool.make(patient)])
      const scope = yield* Scope.make()
      yield* Scope.provide(pools[2].allocate(2048), scope)
      const jobs = yield* Effect.forEach([pools[0], pools[1]], (pool) => Effect.forkChild(pair(pool)))
      yield* settled
      yield* TestClock.adjust("1 minute")
      deepStrictEqual(jobs.map((job) => job.pollUnsafe()), [undefined, undefined])
      yield* Scope.close(scope, Exit.void)
      for (const job of jobs) yield* Fiber.join(job)
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("reserve bytes that the others can neither lease nor hold", () =>
    Effect.gen(function*() {
      const [frames, tables] = yield* both
      yield* tables.use(2048, () => Effect.void)
      yield* frames.reserve(3072, (reserved) =>
        Effect.gen(function*() {
          // Their held blocks were evicted; otherwise they could be leased now.
          strictEqual((yield* tables.stats).heldBytes, 0)
          strictEqual((yield* Effect.flip(tables.allocate(2048, { onExhausted: "fail" }))).reason._tag, "OutOfMemory")
          yield* tables.allocate(1024)
          yield* reserved.use(3072, () => Effect.void)
        }))
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("keep what they hold for their reservations", () =>
    Effect.gen(function*() {
      const [frames, tables] = yield* both
      const third = yield* BufferPool.make()
      yield* frames.use(2048, () => Effect.void)
      yield* tables.use(1024, () => Effect.void)
      yield* frames.reserve(2048, (reserved) =>
        Effect.gen(function*() {
          yield* third.allocate(2048)
          strictEqual((yield* tables.stats).heldBytes, 0)
          strictEqual((yield* frames.stats).heldBytes, 2048)
          yield* reserved.use(2048, () => Effect.void)
        }))
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("reserve no bytes before the driver has back what others gave up", () =>
    Effect.gen(function*() {
      const [frames, tables] = yield* both
      yield* tables.use(4096, () => Effect.void)
      strictEqual(yield* frames.reserve(4096, (reserved) => reserved.use(4096, () => Host.usedBytes)), 4096)
      yield* tables.use(4096, () => Effect.void)
      strictEqual(yield* frames.useAll([2048, 2048], () => Host.usedBytes), 4096)
    }).pipe(Effect.scoped, Effect.provide(limitedOn(Host.layer({ lateFree: true })))))

  it.effect("say how many bytes others use, which makes an error retryable", () =>
    Effect.gen(function*() {
      const [frames, tables] = yield* both
      yield* frames.allocate(4096)
      const error = yield* Effect.flip(tables.allocate(1024, { onExhausted: "fail" }))
      strictEqual(error.isRetryable, true)
      assert.include(error.message, "others use 4096 B of the allocator's 4096 B")
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("evict all that they hold where a decorator asks for more", () =>
    Effect.gen(function*() {
      const [frames, tables] = yield* both
      yield* tables.use(1024, () => Effect.void)
      yield* frames.use(1024, () => Effect.void)
      yield* frames.use(4080, () => Effect.void)
      yield* tables.use(4080, () => Effect.void)
      strictEqual(yield* Host.usedBytes, 4096)
    }).pipe(Effect.scoped, Effect.provide(guarded(Host.layer()))))

  it.effect("ask a driver again only when bytes became free, also where a decorator asks for more", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const [frames, tables] = yield* both
      const lease = yield* tables.allocate(1024)
      const waiting = yield* Effect.forkChild(frames.use(1536, () => Effect.void))
      const other = yield* Effect.forkChild(tables.use(1536, () => Effect.void))
      yield* settled
      const { allocations } = faults
      yield* settled
      strictEqual(faults.allocations, allocations)
      yield* Lease.release(lease)
      yield* Fiber.joinAll([waiting, other])
      assert.isAtMost(faults.allocations, 12)
    }).pipe(Effect.scoped, Effect.provide(guarded(Host.layer({ capacityBytes: 2048 })))))

  it.effect("find jobs that wait for each other, also where a decorator asks for more", () =>
    Effect.gen(function*() {
      const [frames, tables] = yield* both
      const jobs = yield* Effect.forkChild(Effect.all([job(frames, tables), job(tables, frames)].map(Effect.exit), {
        concurrency: "unbounded"
      }))
      for (let looks = 0; looks < 12; looks++) yield* Effect.andThen(settled, TestClock.adjust("1 second"))
      const ends = yield* Fiber.join(jobs)
      strictEqual(ends.filter(Exit.isSuccess).length, 1)
    }).pipe(Effect.scoped, Effect.provide(guarded(Host.layer()))))

  it.effect("share it with pools of staging memory", () =>
    Effect.gen(function*() {
      const [frames] = yield* both
      const uploads = yield* StagingPool.make({ onExhausted: "wait" })
      const scope = yield* Scope.make()
      yield* Scope.provide(frames.allocate(4096), scope)
      const waiting = yield* Effect.forkChild(uploads.allocate(1024, Uint8Array))
      yield* settled
      strictEqual(waiting.pollUnsafe(), undefined)
      yield* Scope.close(scope, Exit.void)
      strictEqual((yield* Fiber.join(waiting)).size, 1024)
      strictEqual((yield* frames.stats).heldBytes, 0)
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("find the deadlock of jobs under the own limit of one while the other works", () =>
    Effect.gen(function*() {
      const own = yield* BufferPool.make({ maxBytes: 2048, sizePolicy: SizePolicy.exact, onExhausted: "wait" })
      const [other] = yield* both
      yield* other.allocate(1024)
      const job = Effect.scoped(Effect.gen(function*() {
        yield* own.allocate(896)
        yield* settled
        yield* own.allocate(896)
      }))
      // A request within a reservation possibly needs no memory of other pools.
      const within = own.reserve(256, (reserved) => reserved.use(1024, () => Effect.void))
      const holders = yield* Effect.forEach([job, job], (one) => Effect.forkChild(one))
      yield* Effect.andThen(nextTurn, nextTurn)
      const jobs = [yield* Effect.forkChild(within), ...holders]
      yield* settled
      strictEqual((yield* own.stats).waiters, 3)
      yield* TestClock.adjust("3 seconds")
      const exits = yield* Effect.forEach(jobs, Fiber.await)
      const failed = exits.filter(Exit.isFailure)
      assert.isAtLeast(failed.length, 1)
      assert.include(String(failed[0]!.cause), "every lease belongs to a job that waits too")
    }).pipe(Effect.scoped, Effect.provide(limited)))

  it.effect("forget a pool that has closed", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const closed = yield* Scope.provide(BufferPool.make({ onExhausted: "wait" }), scope)
      yield* closed.use(4096, () => Effect.void)
      yield* Scope.close(scope, Exit.void)
      const [frames] = yield* both
      strictEqual((yield* frames.allocate(4096)).capacity, 4096)
    }).pipe(Effect.scoped, Effect.provide(limited)))
})
