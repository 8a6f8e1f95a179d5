/**
 * After a deadlock fewer jobs may have memory at a time. That limit delays jobs without memory, but never for ever: it
 * causes no deadlock of its own and no failure.
 */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { hasStats, layer, nextTurn, type OpenOptions } from "../support/hostPool.ts"
import { stepsTaken } from "../support/stepsTaken.ts"

const limited = (maxBytes: number, pool?: BufferPool.BufferPoolOptions): OpenOptions => ({
  pool: { maxBytes, onExhausted: "wait", ...pool }
})

const nothingIsLeft = hasStats({ activeBlocks: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })

/** A job that ends when the test runs `end`. */
interface Held {
  readonly fiber: Fiber.Fiber<void, GpuError>
  readonly end: Effect.Effect<void, GpuError>
}

const holding = Effect.fnUntraced(function*(size: number, more: number) {
  const [isOver, hasAll] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const job = Effect.scoped(Effect.gen(function*() {
    yield* BufferPool.allocate(size)
    yield* Effect.yieldNow
    yield* BufferPool.allocate(more)
    yield* Deferred.succeed(hasAll, undefined)
    yield* Deferred.await(isOver)
  }))
  const fiber = yield* Effect.forkChild(job)
  const end = Effect.andThen(Deferred.succeed(isOver, undefined), Fiber.join(fiber))
  return { fiber, hasAll, end }
})

/**
 * Two jobs of 40 of 100 bytes wait for 30 more each. One fails, and then one job may have memory at a time: the other,
 * which has 70 bytes until the test ends it. 30 bytes are free.
 */
const afterDeadlock = Effect.gen(function*() {
  const oldest: Held & { readonly hasAll: Deferred.Deferred<void> } = yield* holding(40, 30)
  const youngest = yield* holding(40, 30)
  yield* nextTurn
  yield* TestClock.adjust("200 millis")
  assert.isTrue(Exit.isFailure(yield* Fiber.await(youngest.fiber)))
  yield* Deferred.await(oldest.hasAll)
  yield* hasStats({ activeBytes: 70, waiters: 0 })
  return oldest
})

const isServed = (fiber: Fiber.Fiber<unknown, unknown>): boolean => fiber.pollUnsafe() !== undefined

describe("after a deadlock", () => {
  it.effect("a job without memory waits until one that has some ends, though its bytes are free", () =>
    Effect.gen(function*() {
      const oldest = yield* afterDeadlock
      const next = yield* Effect.forkChild(BufferPool.use(10, () => Effect.void))
      yield* nextTurn
      yield* hasStats({ waiters: 1, activeBytes: 70 })
      yield* oldest.end
      yield* Fiber.join(next)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("a job that has memory, a reservation, an exclusive section and a request that does not wait go past it", () =>
    Effect.gen(function*() {
      const outer = yield* BufferPool.BufferPool
      const scope = yield* Scope.make()
      const oldest = yield* afterDeadlock
      const waiting = yield* Effect.forkChild(BufferPool.use(10, () => Effect.void))
      yield* nextTurn
      yield* outer.use(5, () => Effect.void, { onExhausted: "fail" })
      yield* BufferPool.reserve(BufferPool.use(5, () => Effect.void), 5)
      yield* BufferPool.exclusively(BufferPool.use(5, () => Effect.void))
      yield* BufferPool.useAll([2, 3], () => Effect.void)
      yield* outer.allocate(5, { onExhausted: "fail" }).pipe(Scope.provide(scope))
      yield* outer.allocate(5).pipe(Scope.provide(scope))
      yield* outer.use(0, () => Effect.void)
      assert.isFalse(isServed(waiting))
      yield* Scope.close(scope, Exit.void)
      yield* oldest.end
      yield* Fiber.join(waiting)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("a job that waits for the job of another fiber goes on: the limit rises while no memory is released", () =>
    Effect.gen(function*() {
      const oldest = yield* afterDeadlock
      // The job with memory ends only after this one has had some.
      const other = yield* Effect.forkChild(Effect.andThen(BufferPool.use(10, () => Effect.void), oldest.end))
      yield* nextTurn
      assert.isFalse(isServed(other))
      yield* TestClock.adjust("300 millis")
      yield* Fiber.join(other)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("64 jobs each of which waits for the next one all end", () =>
    Effect.gen(function*() {
      const oldest = yield* afterDeadlock
      const chain = (left: number): Effect.Effect<void, GpuError, BufferPool.BufferPool> =>
        Effect.scoped(Effect.gen(function*() {
          yield* BufferPool.allocate(1)
          if (left > 0) yield* Effect.flatMap(Effect.forkDetach(chain(left - 1)), Fiber.join)
        }))
      const all = yield* Effect.forkChild(chain(29))
      yield* oldest.end
      for (let looks = 0; looks < 100 && !isServed(all); looks++) yield* TestClock.adjust("100 millis")
      yield* Fiber.join(all)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("handlers are asked for a job when it may have memory, and not before", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const scope = yield* Scope.make()
      const oldest = yield* afterDeadlock
      const cached = yield* pool.allocate(30, { onExhausted: "fail" }).pipe(Scope.provide(scope))
      let asked = 0
      yield* pool.onOutOfMemory(() =>
        Effect.suspend(() => {
          asked++
          return Lease.isLive(cached) ? Effect.as(Lease.release(cached), true) : Effect.succeed(false)
        })
      )
      const needy = yield* Effect.forkChild(BufferPool.use(80, () => Effect.void))
      yield* nextTurn
      strictEqual(asked, 0)
      yield* oldest.end
      yield* nextTurn
      yield* Fiber.join(needy)
      strictEqual(asked, 1)
      yield* Scope.close(scope, Exit.void)
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("a job that is held back ends in time, by an interruption, with its scope and with its pool", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const oldest = yield* afterDeadlock
      const timed = yield* Effect.forkChild(Effect.flip(pool.use(10, () => Effect.void, { waitAtMost: "50 millis" })))
      const interrupted = yield* Effect.forkChild(pool.use(10, () => Effect.void))
      const scope = yield* Scope.make()
      const closed = yield* Effect.forkChild(Effect.flip(Scope.provide(pool.allocate(10), scope)))
      yield* nextTurn
      yield* hasStats({ waiters: 3 })
      yield* TestClock.adjust("50 millis")
      strictEqual((yield* Fiber.join(timed)).reason._tag, "OutOfMemory")
      yield* Fiber.interrupt(interrupted)
      yield* Scope.close(scope, Exit.void)
      strictEqual((yield* Fiber.join(closed)).reason._tag, "Released")
      yield* oldest.end
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("other budgets go on as if nothing had been", () =>
    Effect.gen(function*() {
      yield* BufferPool.withBudget(
        Effect.gen(function*() {
          const oldest = yield* afterDeadlock
          const waiting = yield* Effect.forkChild(BufferPool.use(10, () => Effect.void))
          yield* nextTurn
          assert.isFalse(isServed(waiting))
          yield* BufferPool.withBudget(Effect.void, 50)
          return { oldest, waiting }
        }).pipe(Effect.tap(({ oldest }) => oldest.end), Effect.flatMap(({ waiting }) => Fiber.join(waiting))),
        100,
        { onExhausted: "wait" }
      )
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(1000)))))

  it.effect("a hit takes as many steps as before, as soon as no job has memory any more", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const run = Effect.runSyncWith(yield* Effect.context<never>())
      const hit = pool.use(40, () => Effect.void)
      // The first request finds that the limit is no longer needed.
      const steps = Effect.gen(function*() {
        yield* pool.freeHeld
        yield* hit
        run(hit)
        return stepsTaken("/src/", () => run(hit))
      })
      const before = yield* steps
      const oldest = yield* afterDeadlock
      yield* oldest.end
      strictEqual(yield* steps, before)
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("what a job costs does not grow with those that wait", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const run = Effect.runSyncWith(yield* Effect.context<never>())
      const oldest = yield* afterDeadlock
      const scope = yield* Scope.make()
      yield* Scope.provide(pool.allocate(10, { onExhausted: "fail" }), scope)
      const costs: Array<number> = []
      for (const waiting of [100, 10_000]) {
        const fibers = yield* Effect.forEach(Array.from({ length: waiting }), () =>
          Effect.forkChild(pool.use(10, () => Effect.void), { startImmediately: true }))
        yield* hasStats({ waiters: waiting })
        costs.push(stepsTaken("/src/", () => {
          run(Effect.flatMap(Scope.provide(pool.allocate(10), scope), Lease.release))
        }))
        for (const fiber of fibers) {
          yield* Fiber.interrupt(fiber)
        }
      }
      yield* Scope.close(scope, Exit.void)
      yield* oldest.end
      const [few, many] = costs
      assert.isAtMost(many!, 1.2 * few!)
    }).pipe(Effect.provide(layer(limited(100)))))
})
