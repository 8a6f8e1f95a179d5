import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import type { GpuError } from "../../../src/domain/GpuError.ts"
import { Host } from "../../../src/host.ts"
import * as Allocator from "../../../src/services/buffers/Allocator.ts"
import * as FaultyAllocator from "../../../src/services/buffers/allocators/FaultyAllocator.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../../src/services/device/DeviceContext.ts"
import { hold, reasonOf, tagOf } from "../../support/hostPool.ts"

const faulty = (options?: FaultyAllocator.FaultyOptions, host?: Host.HostOptions) =>
  FaultyAllocator.layer(options).pipe(
    Layer.provide(Allocator.layerImmediate),
    Layer.provideMerge(Layer.fresh(Host.layer(host)))
  )

const pool = (faults: FaultyAllocator.Faults, host?: Host.HostOptions) =>
  BufferPool.layerNoDeps().pipe(Layer.provideMerge(faulty({ faults }, host)))

const once = Effect.scoped(Allocator.allocate(64))

const outcome = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<string, never, R> =>
  Effect.match(effect, { onSuccess: () => "done", onFailure: (error) => error.reason._tag })

const outcomes = (times: number) => Effect.forEach(Array.from({ length: times }), () => outcome(once))

const buffers = DeviceContext.useSync(({ driverObjects }) => driverObjects.liveByKind["buffer"] ?? 0)

describe("a faulty allocator", () => {
  it.effect("does as what it decorates while nothing is planned", () =>
    Effect.gen(function*() {
      const faults = yield* FaultyAllocator.AllocatorFaults
      const allocator = yield* Allocator.Allocator
      strictEqual(allocator.immediate, true)
      const buffer = yield* allocator.allocate(64, { label: "x" })
      deepStrictEqual([buffer.size, buffer.label, yield* buffers], [64, "x", 1])
      deepStrictEqual(allocator.freeUnsafe(buffer), Exit.void)
      strictEqual(yield* Host.usedBytes, 64)
      yield* allocator.reclaim
      strictEqual(yield* Host.usedBytes, 0)
      deepStrictEqual([faults.allocations, faults.frees, faults.reclaims], [1, 1, 1])
    }).pipe(Effect.provide(faulty({}, { lateFree: true }))))

  it.effect("fails the planned allocations without a call of the driver", () =>
    Effect.gen(function*() {
      const faults = yield* FaultyAllocator.AllocatorFaults
      faults.failAllocations({ nth: 2 })
      faults.failAllocations({ nth: 3, error: "LimitExceeded" })
      faults.failAllocations({ nth: 5, times: Infinity, error: "DriverError" })
      const expected = ["done", "OutOfMemory", "LimitExceeded", "done", "DriverError", "DriverError"]
      deepStrictEqual(yield* outcomes(6), expected)
      faults.clear()
      deepStrictEqual(yield* outcomes(2), ["done", "done"])
      strictEqual(faults.allocations, 8)
      strictEqual((yield* Host.Host).faults.allocations, 4)
      strictEqual(yield* buffers, 0)
    }).pipe(Effect.provide(faulty())))

  it.effect("says what happened, and that a test planned it", () =>
    Effect.gen(function*() {
      const faults = yield* FaultyAllocator.AllocatorFaults
      faults.failAllocations({ error: "DriverError", log: "on fire" })
      const driver = yield* Effect.flip(once)
      for (const part of ["FaultyAllocator: allocate failed: on fire.", "clear()"]) assert.include(driver.message, part)
      faults.failAllocations({ error: "LimitExceeded" })
      const limit = yield* reasonOf(once)
      assert(limit._tag === "LimitExceeded")
      deepStrictEqual([limit.requested, limit.limitName, limit.limit], [64, "maxBufferSize", 63])
      faults.failAllocations()
      const memory = yield* reasonOf(once)
      assert(memory._tag === "OutOfMemory")
      deepStrictEqual([memory.requested, memory.pooled], [64, false])
    }).pipe(Effect.provide(faulty())))

  it.effect("counts an allocation when it runs, not when it is described", () =>
    Effect.gen(function*() {
      const faults = yield* FaultyAllocator.AllocatorFaults
      const allocator = yield* Allocator.Allocator
      const described = allocator.allocate(64)
      strictEqual(faults.allocations, 0)
      faults.failAllocations({ nth: 2 })
      yield* described
      strictEqual(yield* tagOf(described), "OutOfMemory")
      strictEqual(faults.allocations, 2)
    }).pipe(Effect.provide(faulty())))

  it.effect("fails the planned frees, whose memory goes back all the same", () =>
    Effect.gen(function*() {
      const faults = yield* FaultyAllocator.AllocatorFaults
      const allocator = yield* Allocator.Allocator
      const [first, second] = [yield* allocator.allocate(8), yield* allocator.allocate(8)]
      faults.failFrees({ nth: 2, log: "stuck" })
      strictEqual(Exit.isSuccess(allocator.freeUnsafe(first)), true)
      const error = yield* Effect.flip(Effect.suspend(() => allocator.freeUnsafe(second)))
      strictEqual(error.reason._tag, "DriverError")
      assert.include(error.message, "freeUnsafe failed: stuck")
      deepStrictEqual([yield* buffers, faults.frees], [0, 2])
    }).pipe(Effect.provide(faulty())))

  it.effect("answers the driver's own error where both fail", () =>
    Effect.gen(function*() {
      const faults = yield* FaultyAllocator.AllocatorFaults
      const allocator = yield* Allocator.Allocator
      const buffer = yield* allocator.allocate(8)
      faults.failFrees({ log: "planned here" })
      const host = yield* Host.Host
      host.faults.failFrees({ log: "planned below" })
      const error = yield* Effect.flip(Effect.suspend(() => allocator.freeUnsafe(buffer)))
      assert.include(error.message, "planned below")
    }).pipe(Effect.provide(faulty())))

  it.effect("fails the planned reclaims, after which memory is still not back", () =>
    Effect.gen(function*() {
      const faults = yield* FaultyAllocator.AllocatorFaults
      yield* once
      faults.failReclaims({ log: "no fence" })
      assert.include((yield* Effect.flip(Allocator.reclaim)).message, "reclaim failed: no fence")
      strictEqual(yield* Host.usedBytes, 64)
      yield* Allocator.reclaim
      deepStrictEqual([yield* Host.usedBytes, faults.reclaims], [0, 2])
    }).pipe(Effect.provide(faulty({}, { lateFree: true }))))
})

describe("faults that a test keeps", () => {
  it.effect("go on with the next allocator, and count on", () =>
    Effect.gen(function*() {
      const faults = FaultyAllocator.makeFaults()
      faults.failAllocations({ nth: 2 })
      const run = () => outcome(Effect.provide(once, faulty({ faults })))
      deepStrictEqual([yield* run(), yield* run(), yield* run()], ["done", "OutOfMemory", "done"])
      deepStrictEqual([faults.allocations, faults.frees], [3, 2])
    }))

  it.effect("are each allocator's own otherwise, also when they are nested", () =>
    Effect.gen(function*() {
      const inner = yield* FaultyAllocator.AllocatorFaults
      const nested = Effect.gen(function*() {
        const outer = yield* FaultyAllocator.AllocatorFaults
        outer.failAllocations()
        inner.failAllocations({ error: "DriverError" })
        deepStrictEqual(yield* outcomes(3), ["OutOfMemory", "DriverError", "done"])
        deepStrictEqual([outer.allocations, inner.allocations], [3, 2])
      })
      yield* Effect.provide(nested, FaultyAllocator.layer())
    }).pipe(Effect.provide(faulty())))
})

describe("delayed allocations", () => {
  it.effect("wait on Effect's clock, until the delay is taken back", () =>
    Effect.gen(function*() {
      const faults = yield* FaultyAllocator.AllocatorFaults
      faults.delayAllocations("10 millis")
      const running = yield* Effect.forkChild(outcome(once))
      yield* TestClock.adjust("9 millis")
      deepStrictEqual([faults.allocations, running.pollUnsafe()], [0, undefined])
      yield* TestClock.adjust("1 millis")
      strictEqual(yield* Fiber.join(running), "done")
      faults.delayAllocations(undefined)
      strictEqual(yield* outcome(once), "done")
      faults.delayAllocations("1 hour")
      faults.clear()
      strictEqual(yield* outcome(once), "done")
      strictEqual(faults.allocations, 3)
    }).pipe(Effect.provide(faulty())))

  it.effect("that are interrupted create nothing and are not counted", () =>
    Effect.gen(function*() {
      const faults = yield* FaultyAllocator.AllocatorFaults
      faults.delayAllocations("10 millis")
      const running = yield* Effect.forkChild(once, { startImmediately: true })
      yield* TestClock.adjust("5 millis")
      yield* Fiber.interrupt(running)
      yield* TestClock.adjust("1 hour")
      deepStrictEqual([faults.allocations, yield* buffers], [0, 0])
    }).pipe(Effect.provide(faulty())))
})

describe("a pool over a faulty allocator", () => {
  it.effect("goes through its fallback when the driver refuses, and gets the memory of the next call", () => {
    const faults = FaultyAllocator.makeFaults()
    return Effect.gen(function*() {
      yield* hold([4096])
      faults.failAllocations()
      strictEqual((yield* BufferPool.allocate(1 << 20)).size, 1 << 20)
      deepStrictEqual([faults.allocations, faults.reclaims], [3, 1])
      faults.failAllocations({ times: Infinity })
      strictEqual(yield* tagOf(BufferPool.allocate(1 << 22)), "OutOfMemory")
      strictEqual((yield* BufferPool.stats).heldBytes, 0)
    }).pipe(Effect.scoped, Effect.provide(pool(faults)))
  })

  it.effect("counts the frees that fail, and leaves nothing at the driver", () => {
    const faults = FaultyAllocator.makeFaults()
    return Effect.gen(function*() {
      yield* hold([64, 128])
      faults.failFrees()
      yield* BufferPool.freeHeld
      const { managedBlocks, releaseFailures } = yield* BufferPool.stats
      deepStrictEqual([releaseFailures, managedBlocks, yield* buffers], [1, 0, 0])
    }).pipe(Effect.provide(pool(faults)))
  })
})
