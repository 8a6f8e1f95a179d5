import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import type * as GpuError from "../../src/domain/GpuError.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { nextTurn, open, reasonOf, tagOf } from "../support/hostPool.ts"
import type { EventServices } from "../support/poolEvents.ts"
import * as Pools from "../support/sizedPools.ts"

describe.each(Pools.kinds)("a pool of %s that closes before its leases", (kind) => {
  it.effect("frees their blocks; late releases find nothing to do", () =>
    Effect.gen(function*() {
      const opened = yield* Pools.open(kind)
      const scope = yield* Scope.make()
      const inside = <A, E>(effect: Effect.Effect<A, E, Pools.Sized | Scope.Scope>) =>
        effect.pipe(Scope.provide(scope), Effect.provide(opened.context))
      const lease = yield* inside(Pools.allocate(64))
      yield* inside(Pools.hold([32]))
      yield* opened.closePool
      deepStrictEqual(opened.driverObjects.liveByKind, { device: 1 })
      const attempts = {
        release: Lease.release(lease),
        transfer: Lease.transfer(lease, scope),
        allocate: Pools.allocate(64),
        use: Pools.use(64, () => Effect.void)
      }
      for (const [name, attempt] of Object.entries(attempts)) {
        const reason = yield* reasonOf(inside<unknown, GpuError.GpuError>(attempt))
        assert(reason._tag === "Released", `${name}: ${reason._tag}`)
        strictEqual(reason.why, "poolClosed", name)
      }
      yield* Scope.close(scope, Exit.void)
      const stats = yield* opened.pool.stats
      deepStrictEqual([stats.managedBlocks, stats.activeBytes, stats.driverFrees], [0, 0, 2])
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("answers requests on their way, without waiting for a driver that can be interrupted", () =>
    Effect.gen(function*() {
      const opened = yield* Pools.open(kind, { host: { latency: "1 hour" } })
      const fiber = yield* Effect.forkChild(Effect.provide(Effect.scoped(Pools.allocate(64)), opened.context))
      yield* nextTurn
      yield* opened.closePool
      const reason = yield* reasonOf(Fiber.join(fiber))
      assert(reason._tag === "Released")
      strictEqual(reason.why, "poolClosed")
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("waits for one that cannot be, and gives its block back", () =>
    Effect.gen(function*() {
      const late: Pools.Watch = {
        creating: (_, create) => Effect.uninterruptible(Effect.andThen(Effect.sleep("1 second"), create))
      }
      const opened = yield* Pools.open(kind, { watch: late })
      const fiber = yield* Effect.forkChild(Effect.provide(Effect.scoped(Pools.allocate(64)), opened.context))
      yield* nextTurn
      const closing = yield* Effect.forkChild(opened.closePool)
      yield* nextTurn
      strictEqual(closing.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
      strictEqual(yield* tagOf(Fiber.join(fiber)), "Released")
      deepStrictEqual(opened.driverObjects.liveByKind, { device: 1 })
      const stats = yield* opened.pool.stats
      deepStrictEqual([stats.misses, stats.driverAllocations, stats.driverFrees], [0, 1, 1])
      yield* opened.closeHost
    }))
})

describe("a pool of buffers that closes before its leases", () => {
  it.effect("refuses commands on them, and zero bytes", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      const scope = yield* Scope.make()
      const inside = <A, E>(effect: Effect.Effect<A, E, EventServices | Scope.Scope>) =>
        effect.pipe(Scope.provide(scope), Effect.provide(opened.context))
      const lease = yield* inside(BufferPool.allocate(64))
      const zero = yield* inside(BufferPool.allocate(0))
      yield* opened.closePool
      const attempts = {
        releaseZero: Lease.release(zero),
        fill: CommandQueue.fill(lease, 0),
        fillZero: CommandQueue.fill(zero, 0),
        allocateZero: BufferPool.allocate(0)
      }
      for (const [name, attempt] of Object.entries(attempts)) {
        const reason = yield* reasonOf(inside<unknown, GpuError.GpuError>(attempt))
        assert(reason._tag === "Released", `${name}: ${reason._tag}`)
        strictEqual(reason.why, "poolClosed", name)
      }
      yield* Scope.close(scope, Exit.void)
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))
})
