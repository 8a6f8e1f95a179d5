import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../src/services/lease/LeaseHolder.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import * as Transfers from "../../src/services/staging/Transfers.ts"
import { hasStats, layer, nextTurn, type OpenOptions, outOfMemoryOf } from "../support/hostPool.ts"

const limited = (maxBytes: number, pool?: BufferPool.BufferPoolOptions): OpenOptions => ({
  pool: { maxBytes, onExhausted: "wait", ...pool }
})

const nothingIsLeft = hasStats({ activeBlocks: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })

type Job = Effect.Effect<unknown, GpuError, BufferPool.BufferPool>

/** Has one lease, and requests another after a turn in which other jobs do the same. */
const scoped = (size: number, label?: string): Job =>
  Effect.scoped(Effect.gen(function*() {
    yield* BufferPool.allocate(size, { label })
    yield* Effect.yieldNow
    yield* BufferPool.allocate(size, { label })
  }))

const lent = (size: number): Job =>
  BufferPool.use(size, () => Effect.andThen(Effect.yieldNow, BufferPool.use(size, () => Effect.void)))

const innerScope = (size: number): Job =>
  Effect.scoped(Effect.gen(function*() {
    yield* BufferPool.allocate(size)
    yield* Effect.yieldNow
    yield* Effect.scoped(BufferPool.allocate(size))
  }))

const mixed = (size: number): Job =>
  Effect.scoped(Effect.gen(function*() {
    yield* BufferPool.allocate(size)
    yield* Effect.yieldNow
    yield* BufferPool.use(size, () => Effect.void)
  }))

const children = (size: number): Job =>
  Effect.scoped(Effect.gen(function*() {
    yield* BufferPool.allocate(size)
    yield* Effect.yieldNow
    yield* Effect.forEach([1, 2], () => BufferPool.use(size, () => Effect.void), { concurrency: "unbounded" })
  }))

const moved = (size: number): Job =>
  Effect.scoped(Effect.gen(function*() {
    yield* LeaseHolder.extract(BufferPool.allocate(size))
    yield* Effect.yieldNow
    yield* Effect.scoped(BufferPool.allocate(size))
  }))

const beyond = (size: number): Job =>
  BufferPool.reserve(
    BufferPool.use(size, () => Effect.andThen(Effect.yieldNow, BufferPool.use(size, () => Effect.void))),
    size
  )

const budgeted = (size: number): Job => BufferPool.withBudget(scoped(size), 2 * size, { onExhausted: "wait" })

const forms = { scoped, lent, innerScope, mixed, children, moved, beyond, budgeted }

/** Runs jobs concurrently, and returns the seconds of the test clock until all have ended. */
const secondsOf = Effect.fnUntraced(
  function*<E>(jobs: ReadonlyArray<Effect.Effect<unknown, E, BufferPool.BufferPool>>) {
    const fibers = yield* Effect.forEach(jobs, (job) => Effect.forkChild(job))
    const areOver = () => fibers.every((fiber) => fiber.pollUnsafe() !== undefined)
    yield* nextTurn
    let millis = 0
    while (!areOver() && millis < 100_000) {
      yield* TestClock.adjust("20 millis")
      millis += 20
    }
    assert.isTrue(areOver(), "a job waits for ever")
    return { seconds: millis / 1000, exits: yield* Effect.forEach(fibers, Fiber.await) }
  }
)

const both = (pool: BufferPool.BufferPoolOptions) =>
  Effect.all([scoped(50), scoped(50)], { concurrency: "unbounded" }).pipe(
    Effect.exit,
    Effect.provide(layer(limited(100, pool)))
  )

const twice = (waitAtMost?: "10 seconds") =>
  Effect.scoped(Effect.gen(function*() {
    yield* BufferPool.allocate(50)
    yield* Effect.yieldNow
    yield* BufferPool.allocate(50, { waitAtMost })
  }))

/** A fiber that an upload's stream starts requests the memory that the upload fills, or that it has filled. */
const startedByStream = (goesOn: boolean) =>
  Effect.gen(function*() {
    const [isAsked, isOver] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const worker = Effect.andThen(Deferred.await(isAsked), BufferPool.use(100, () => Effect.void))
    const started = yield* Deferred.make<Fiber.Fiber<void, GpuError>>()
    const pieces = Stream.fromEffect(Effect.gen(function*() {
      yield* Deferred.succeed(started, yield* Effect.forkDetach(worker))
      if (goesOn) yield* Deferred.await(isOver)
      return new Uint8Array(100)
    }))
    const uploading = yield* Effect.forkChild(BufferPool.use(100, (x) => Transfers.upload(pieces, x)))
    const asking = yield* Deferred.await(started)
    if (!goesOn) yield* Fiber.join(uploading)
    const next = yield* Effect.forkChild(BufferPool.use(100, () => Deferred.await(isOver)))
    yield* nextTurn
    yield* Deferred.succeed(isAsked, undefined)
    yield* nextTurn
    yield* TestClock.adjust("10 seconds")
    strictEqual(asking.pollUnsafe(), undefined)
    yield* Deferred.succeed(isOver, undefined)
    yield* Fiber.joinAll([uploading, next, asking])
    yield* nothingIsLeft
  }).pipe(Effect.provide(Layer.provideMerge(StagingPool.layer(), layer(limited(100)))))

describe("requests that wait for each other", () => {
  for (const [name, job] of Object.entries(forms)) {
    it.effect(`${name}: the youngest of them fails within two seconds, and the others are served`, () =>
      Effect.gen(function*() {
        const { exits, seconds } = yield* secondsOf([job(50), job(50)])
        assert.isAtMost(seconds, 2)
        deepStrictEqual(exits.map(Exit.isSuccess), [true, false])
        yield* nothingIsLeft
      }).pipe(Effect.provide(layer(limited(100)))))

    it.effect(`${name}: all 64 of them end within two seconds when each is retried as a whole, with few failures`, () =>
      Effect.gen(function*() {
        let failures = 0
        const retried = job(1).pipe(
          Effect.tapError(() => Effect.sync(() => failures++)),
          Effect.retry({ while: (error) => error.isRetryable })
        )
        const { exits, seconds } = yield* secondsOf(Array.from({ length: 64 }, () => retried))
        assert.isTrue(exits.every(Exit.isSuccess))
        assert.isAtMost(seconds, 2)
        assert.isAtMost(failures, 16)
        yield* nothingIsLeft
      }).pipe(Effect.provide(layer({ host: { latency: "1 millis" }, ...limited(4) }))))
  }

  it.effect("are named in the error, which says how to mend it and can be retried", () =>
    Effect.gen(function*() {
      const first = yield* Effect.forkChild(scoped(50, "first"))
      const error = yield* outOfMemoryOf(Effect.tap(scoped(50, "second"), Effect.void)).pipe(
        Effect.forkChild,
        Effect.tap(() => Effect.andThen(nextTurn, TestClock.adjust("2 seconds"))),
        Effect.flatMap(Fiber.join)
      )
      yield* Fiber.join(first)
      assert.isTrue(error.isRetryable)
      deepStrictEqual(error.deadlock, [
        { label: "second", requested: 50, holdsBytes: 50, holds: [{ label: "second", size: 50 }] },
        { label: "first", requested: 50, holdsBytes: 50, holds: [{ label: "first", size: 50 }] }
      ])
      assert.include(error.message, "first waits for 50 B and holds 50 B (first 50 B)")
      assert.include(error.message, "BufferPool.reserve")
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("of one budget are found while other parts of the pool go on", () =>
    Effect.gen(function*() {
      const busy = yield* Effect.forkChild(Effect.forever(
        Effect.andThen(BufferPool.use(10, () => Effect.sleep("10 millis")), Effect.sleep("10 millis"))
      ))
      const stuck = Effect.all([scoped(50), scoped(50)], { concurrency: "unbounded", mode: "result" })
      const { seconds } = yield* secondsOf([BufferPool.withBudget(stuck, 100)])
      assert.isAtMost(seconds, 2)
      yield* Fiber.interrupt(busy)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(1000)))))

  it.effect("and for a lease whose fiber does something else are no deadlock", () =>
    Effect.gen(function*() {
      const done = yield* Deferred.make<void>()
      const busy = yield* Effect.forkChild(BufferPool.use(40, () => Deferred.await(done)))
      yield* nextTurn
      const jobs = yield* Effect.forEach([30, 30], (size) => Effect.forkChild(scoped(size)))
      yield* nextTurn
      yield* TestClock.adjust("1 hour")
      yield* hasStats({ waiters: 2, activeBytes: 100 })
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(busy)
      yield* Fiber.joinAll(jobs)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("and say how long they wait end by themselves, and leave the oldest to go on", () =>
    Effect.gen(function*() {
      const oldest = yield* Effect.forkChild(twice())
      const young = yield* Effect.forkChild(Effect.flip(twice("10 seconds")))
      yield* nextTurn
      yield* TestClock.adjust("9 seconds")
      yield* hasStats({ waiters: 2 })
      yield* TestClock.adjust("1 second")
      const { reason } = yield* Fiber.join(young)
      strictEqual(reason._tag === "OutOfMemory" && reason.waitedMillis, 10_000)
      yield* Fiber.join(oldest)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("are left alone as long as bytes become free for their wait queue", () =>
    Effect.gen(function*() {
      const outer = yield* BufferPool.BufferPool
      const jobs = yield* Effect.forEach([40, 40], (size) => Effect.forkChild(Effect.exit(scoped(size))))
      yield* nextTurn
      for (let times = 0; times < 10; times++) {
        yield* TestClock.adjust("90 millis")
        yield* outer.use(20, () => Effect.void, { onExhausted: "fail" })
      }
      yield* hasStats({ waiters: 2 })
      yield* TestClock.adjust("3 seconds")
      const exits = yield* Effect.forEach(jobs, Fiber.join)
      deepStrictEqual(exits.map(Exit.isSuccess), [true, false])
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("are left alone where deadlockTimeout is Infinity, and found sooner where it is less", () =>
    Effect.gen(function*() {
      const patient = yield* Effect.forkChild(both({ deadlockTimeout: Infinity }))
      const eager = yield* Effect.forkChild(both({ deadlockTimeout: "10 millis" }))
      yield* nextTurn
      yield* TestClock.adjust("20 millis")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(eager)))
      yield* TestClock.adjust("1 hour")
      strictEqual(patient.pollUnsafe(), undefined)
      yield* Fiber.interrupt(patient)
    }))

  it.effect("can be a false alarm: a fiber that waits may hold what another fiber would release", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(100)
        const waiting = yield* Effect.forkChild(Effect.exit(BufferPool.allocate(100)))
        yield* nextTurn
        yield* TestClock.adjust("2 seconds")
        assert.isTrue(Exit.isFailure(yield* Fiber.join(waiting)))
        yield* Lease.release(lease)
        yield* BufferPool.allocate(100)
      }))
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("are none of an upload's that a fiber of its stream makes, while it goes on", () => startedByStream(true))
  it.effect("are none of an upload's that a fiber of its stream makes when it has ended", () => startedByStream(false))
})
