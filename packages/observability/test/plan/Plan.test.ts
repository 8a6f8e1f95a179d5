/** The memory that `Plan` says a program needs, and how often it runs the program. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { Host } from "effect-gpu-pool/host"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Plan from "../../src/plan/Plan.ts"

const lease = (size: number) => BufferPool.use(size, () => Effect.void)

/** Runs a program on a clock that advances whenever no fiber can run. */
const inPassingTime = <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(program)
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust(10)
    return yield* Fiber.join(fiber)
  })

describe("a plan", () => {
  it.effect("says who had memory at the peak, and when", () =>
    Effect.gen(function*() {
      const job = Effect.gen(function*() {
        yield* BufferPool.allocate(100, { label: "weights" })
        yield* BufferPool.use(50, () => Effect.void, { label: "small" })
        yield* BufferPool.useAll([30, 40], () => Effect.void, { label: "pair" })
        return "done"
      })
      const { atAll, holders, peakBytes, timeline, value } = yield* Plan.of(job, {
        pool: { sizePolicy: SizePolicy.exact }
      })
      deepStrictEqual([value, peakBytes, atAll?.maxBytes], ["done", 170, 170])
      deepStrictEqual(holders.map(({ bytes, label, leases }) => [label, leases, bytes]), [["weights", 1, 100], [
        "pair",
        2,
        70
      ]])
      assert.match(holders[0]!.callSite!, /Plan\.test/)
      strictEqual(timeline.at(-1)?.managedBytes, 0)
    }))

  it.effect("has limits under which the program passes that keeps one lease while it waits for another", () =>
    Effect.gen(function*() {
      const waits = { onExhausted: "wait" as const }
      const pair = BufferPool.use(
        64,
        () => Effect.andThen(Effect.yieldNow, BufferPool.use(64, () => Effect.yieldNow, waits)),
        waits
      )
      const job = Effect.all([pair, pair], { concurrency: 2 })
      const pool = { sizePolicy: SizePolicy.exact, deadlockTimeout: 1 }
      const under = (maxBytes: number) => {
        const gpu = BufferPool.layer({ ...pool, maxBytes }).pipe(Layer.provideMerge(Host.layer()))
        return Effect.map(Effect.exit(Effect.provide(job, gpu)), Exit.isSuccess)
      }
      const { atAll } = yield* TestClock.withLive(Plan.of(job, { pool }))
      const { atAll: once } = yield* TestClock.withLive(Plan.of(job, { pool, once: true }))
      deepStrictEqual([atAll?.maxBytes, atAll?.failsAt], [192, 191])
      // The replay's lower limit depends on how long after the last lease the first run's pool closed.
      assert.include([64, 128], once?.maxBytes)
      deepStrictEqual([yield* TestClock.withLive(under(192)), yield* TestClock.withLive(under(191))], [true, false])
    }))

  it.effect("has room for a request that is larger than the limit of the pool, also where the program goes on without it", () =>
    Effect.gen(function*() {
      const job = Effect.exit(lease(5000))
      const pool = { maxBytes: 4000, sizePolicy: SizePolicy.exact }
      for (const once of [true, false]) {
        const { atAll, peakBytes, withoutWaiting } = yield* Plan.of(job, { pool, once })
        deepStrictEqual([peakBytes, atAll?.maxBytes, withoutWaiting?.maxBytes], [0, 5000, 5000])
        deepStrictEqual([atAll?.failsAt, atAll?.failed?.size, atAll?.failed?.why], [4999, 5000, "LimitExceeded"])
      }
      const small = yield* Plan.of(Effect.exit(BufferPool.withBudget(lease(64), 32)), { pool })
      deepStrictEqual([small.atAll, small.withoutWaiting], [undefined, undefined])
    }))

  it.effect("runs the program as often as it says", () =>
    Effect.gen(function*() {
      let runs = 0
      const job = Effect.suspend(() => {
        runs++
        return lease(64)
      })
      const { atAll, withoutWaiting } = yield* Plan.of(job)
      deepStrictEqual([runs, atAll?.maxBytes], [1 + (atAll?.tries ?? 0) + (withoutWaiting?.tries ?? 0), 64])
      runs = 0
      yield* Plan.of(job, { once: true })
      strictEqual(runs, 1)
    }))

  it.effect("is found soon for a program that waits for itself, also one that cannot be interrupted", () =>
    Effect.gen(function*() {
      const itself = BufferPool.use(4, () => BufferPool.use(4, () => Effect.void, { onExhausted: "wait" }))
      const options = { pool: { sizePolicy: SizePolicy.exact, deadlockTimeout: Infinity } }
      for (const job of [itself, Effect.uninterruptible(itself)]) {
        const { atAll, withoutWaiting } = yield* inPassingTime(Plan.of(job, options))
        deepStrictEqual([atAll?.maxBytes, atAll?.failsAt, atAll?.failed?.why], [8, 7, "OutOfMemory"])
        deepStrictEqual([withoutWaiting?.maxBytes, withoutWaiting?.failsAt], [8, 7])
      }
    }))

  it.effect("has no limits where the program does not pass again, and stops then", () =>
    Effect.gen(function*() {
      const again: ReadonlyArray<Effect.Effect<void, string>> = [
        Effect.fail("mine"),
        Effect.never,
        Effect.uninterruptible(Effect.never)
      ]
      const mostRuns = [3, 3, 2]
      for (const [at, other] of again.entries()) {
        let runs = 0
        const job = Effect.suspend((): Effect.Effect<void, string | GpuError, BufferPool.BufferPool> =>
          runs++ === 0 ? lease(64) : other
        )
        const { atAll, peakBytes, withoutWaiting } = yield* inPassingTime(Plan.of(job))
        deepStrictEqual([peakBytes, atAll, withoutWaiting, runs], [64, undefined, undefined, mostRuns[at]])
      }
    }))

  it.effect("stops with the program when it is interrupted", () =>
    Effect.gen(function*() {
      let runs = 0
      const begun = yield* Deferred.make<void>()
      let interrupted = false
      const job = Effect.suspend(() =>
        runs++ === 0 ? lease(64) : Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.sync(() => interrupted = true))
        )
      )
      const fiber = yield* Effect.forkChild(Plan.of(job))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(fiber)
      deepStrictEqual([runs, interrupted], [2, true])
    }))

  it.effect("fails as its program does", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Plan.of(Effect.fail("mine")))
      deepStrictEqual(exit, Exit.fail("mine"))
      for (const options of [{ pool: { maxBytes: -1 } }, ...[0, -1, 0.5, NaN].map((capacity) => ({ capacity }))]) {
        const error = yield* Effect.flip(Plan.of(Effect.void, options))
        strictEqual(error.reason._tag, "InvalidRequest")
      }
    }))
})
