import { assert, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { hasStats, layer, nextTurn, tagOf } from "../support/hostPool.ts"

const options = {
  host: { capacityBytes: 100, latency: "1 second" },
  pool: {
    maxBytes: 130,
    onExhausted: "wait",
    // The requests of one scope are no deadlock here: another fiber of the test releases.
    deadlockTimeout: Infinity,
    sizePolicy: SizePolicy.table([40, 75, 85])
  }
} as const

/**
 * Beside the active lease the limit has room for one of the two requests at a time, and the driver for neither, not
 * even for the exact size.
 */
it.effect("two requests that the driver refuses do not wake each other again and again", () =>
  Effect.gen(function*() {
    const { faults } = yield* Host.Host
    const leased = yield* Effect.forkChild(BufferPool.allocate(40))
    yield* TestClock.adjust("1 second")
    const one = yield* Effect.forkChild(BufferPool.allocate(70))
    const other = yield* Effect.forkChild(BufferPool.allocate(80))
    yield* TestClock.adjust("1 minute")
    yield* hasStats({ waiters: 2, pendingBytes: 0 })
    const asked = faults.allocations
    yield* TestClock.adjust("1 minute")
    strictEqual(faults.allocations, asked)

    yield* Lease.release(yield* Fiber.join(leased))
    yield* TestClock.adjust("1 minute")
    yield* Lease.release(yield* Effect.raceFirst(Fiber.join(one), Fiber.join(other)))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.joinAll([one, other])
    yield* hasStats({ waiters: 0, activeBlocks: 1, pendingBytes: 0 })
  }).pipe(Effect.scoped, Effect.provide(layer(options))))

/** Memory that the handler itself releases does not help the request that asked it. */
it.effect("a handler that uses the pool itself is not asked again and again", () =>
  Effect.gen(function*() {
    const pool = yield* BufferPool.BufferPool
    let asked = 0
    yield* BufferPool.onOutOfMemory(() =>
      Effect.suspend(() => {
        asked++
        return asked > 100 ? Effect.never : Effect.as(pool.use(5, () => Effect.void), false)
      })
    )
    yield* BufferPool.allocate(80)
    yield* Effect.forkChild(BufferPool.allocate(70), { startImmediately: true })
    for (let turns = 0; turns < 20; turns++) yield* nextTurn
    yield* hasStats({ waiters: 1 })
    assert.isBelow(asked, 5)
  }).pipe(
    Effect.scoped,
    Effect.provide(layer({ host: { capacityBytes: 100 }, pool: { onExhausted: "wait" } }))
  ))

it.effect("one whose handlers are at work keeps nobody waiting when its scope closes", () =>
  Effect.gen(function*() {
    yield* BufferPool.onOutOfMemory(() => Effect.as(Effect.sleep("1 minute"), false))
    yield* BufferPool.allocate(40)
    const scope = yield* Scope.make()
    const large = yield* Effect.forkChild(Scope.provide(BufferPool.allocate(100), scope), { startImmediately: true })
    const small = yield* Effect.forkChild(BufferPool.allocate(30), { startImmediately: true })
    yield* hasStats({ waiters: 2, activeBlocks: 1 })
    yield* Scope.close(scope, Exit.void)
    yield* hasStats({ waiters: 0, pendingBytes: 30 })
    yield* TestClock.adjust("2 minutes")
    strictEqual((yield* Fiber.join(small)).size, 30)
    strictEqual(yield* tagOf(Fiber.join(large)), "Released")
  }).pipe(
    Effect.scoped,
    Effect.provide(layer({ pool: { maxBytes: 100, onExhausted: "wait", maxBypasses: 0 } }))
  ))

it.effect("nor when a limit is lowered below what it asked for", () =>
  Effect.gen(function*() {
    const pool = yield* BufferPool.BufferPool
    const budget = yield* pool.budget(100)
    yield* budget.onOutOfMemory(() => Effect.as(Effect.sleep("1 minute"), false))
    yield* budget.allocate(40)
    const large = yield* Effect.forkChild(budget.allocate(90), { startImmediately: true })
    const small = yield* Effect.forkChild(budget.allocate(30), { startImmediately: true })
    yield* pool.setLimit({ maxBytes: 80 })
    strictEqual((yield* budget.stats).waiters, 0)
    yield* TestClock.adjust("2 minutes")
    strictEqual((yield* Fiber.join(small)).size, 30)
    strictEqual(yield* tagOf(Fiber.join(large)), "LimitExceeded")
  }).pipe(
    Effect.scoped,
    Effect.provide(layer({ pool: { maxBytes: 100, onExhausted: "wait", maxBypasses: 0 } }))
  ))

it.effect("a pool's handlers are asked by those that a budget's handlers could not help", () =>
  Effect.gen(function*() {
    const pool = yield* BufferPool.BufferPool
    const budget = yield* pool.budget(60)
    yield* budget.onOutOfMemory(() => Effect.succeed(false))
    const cached = yield* pool.allocate(40)
    yield* pool.onOutOfMemory(() => Effect.as(Lease.release(cached), true))
    const small = yield* budget.allocate(20)
    const large = yield* Effect.forkChild(budget.allocate(50), { startImmediately: true })
    yield* Lease.release(small)
    yield* pool.allocate(20)
    yield* Fiber.join(large)
    strictEqual(Lease.isLive(cached), false)
  }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 100, onExhausted: "wait" } }))))

it.effect("a limit that is raised serves all who fit, however many they are", () =>
  Effect.gen(function*() {
    const pool = yield* BufferPool.BufferPool
    const budget = yield* pool.budget(1)
    yield* budget.allocate(1)
    yield* Effect.forEach(
      Array.from({ length: 200 }),
      () => Effect.forkChild(budget.use(1, () => Effect.never), { startImmediately: true })
    )
    yield* hasStats({ waiters: 200 })
    yield* budget.setLimit({ maxBytes: 201 })
    yield* nextTurn
    yield* hasStats({ waiters: 0, activeBytes: 201 })
  }).pipe(Effect.scoped, Effect.provide(layer({ pool: { onExhausted: "wait" } }))))
