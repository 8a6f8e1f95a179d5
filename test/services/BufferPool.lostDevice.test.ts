import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../src/services/lease/LeaseHolder.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { hasStats, hold, isConsistent, nextTurn, open, reasonOf, tagOf } from "../support/hostPool.ts"
import type { EventServices } from "../support/poolEvents.ts"

describe("a lost device", () => {
  it.effect("drops what is held and fails every lease and request", () =>
    Effect.gen(function*() {
      const opened = yield* open()
      yield* Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(64)
        yield* hold([10, 20])
        opened.faults.lose("unplugged")
        yield* hasStats({ heldBlocks: 0, activeBlocks: 1, driverFrees: 2 })
        const attempts = {
          hit: BufferPool.allocate(10),
          miss: BufferPool.allocate(30),
          zero: BufferPool.allocate(0),
          use: BufferPool.use(10, () => Effect.void),
          extract: LeaseHolder.extract(BufferPool.allocate(10)),
          fill: CommandQueue.fill(lease, 0),
          read: CommandQueue.read(lease, Uint8Array),
          freeHeld: BufferPool.freeHeld,
          stopHolding: BufferPool.stopHolding
        }
        for (const [name, attempt] of Object.entries(attempts)) {
          const reason = yield* reasonOf<unknown, EventServices | Scope.Scope>(attempt)
          assert(reason._tag === "DeviceLost", `${name}: ${reason._tag}`)
          strictEqual(reason.detail, "unplugged")
        }
        yield* Lease.release(lease)
        yield* hasStats({ heldBlocks: 0, activeBlocks: 0, managedBytes: 0, releaseFailures: 0 })
      }).pipe(Effect.scoped, Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("answers requests on their way at once, not when its driver would have", () =>
    Effect.gen(function*() {
      const opened = yield* open({ host: { latency: "1 hour" } })
      yield* Effect.gen(function*() {
        const fibers = yield* Effect.forEach([
          Effect.scoped(BufferPool.allocate(64)),
          BufferPool.use(64, Effect.succeed)
        ], (request) => Effect.forkChild(request))
        yield* nextTurn
        yield* hasStats({ pendingBytes: 128 })
        opened.faults.lose()
        for (const fiber of fibers) strictEqual(yield* tagOf(Fiber.join(fiber)), "DeviceLost")
        yield* hasStats({ pendingBytes: 0, managedBlocks: 0, misses: 0, driverAllocations: 0 })
      }).pipe(Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("answers with DeviceLost at whatever call it is lost", () =>
    Effect.gen(function*() {
      let lost = true
      for (let nth = 1; lost; nth++) {
        const opened = yield* open({ host: { capacityBytes: 100, lateFree: true } })
        yield* Effect.provide(hold([30, 40]), opened.context)
        opened.faults.loseAt(nth)
        const exit = yield* Effect.exit(Effect.provide(hold([80]), opened.context))
        lost = Context.get(opened.context, DeviceContext).status.error !== undefined
        if (Exit.isFailure(exit)) strictEqual(yield* tagOf(exit), "DeviceLost")
        assert.isTrue(lost || Exit.isSuccess(exit))
        const stats = yield* opened.pool.stats
        isConsistent(stats, opened.driverObjects)
        strictEqual(stats.activeBlocks + stats.pendingBytes, 0)
        strictEqual(stats.heldBlocks, lost ? 0 : 1)
        yield* opened.closePool
        yield* opened.closeHost
        strictEqual(opened.driverObjects.live, 0)
        assert.isBelow(nth, 50)
      }
    }))

  it.effect("that was lost before the pool was made is lost for it", () =>
    Effect.gen(function*() {
      const opened = yield* open({
        over: (host) => {
          Context.get(host, Host.Host).faults.lose()
          return host
        }
      })
      strictEqual(yield* tagOf(Effect.provide(hold([1]), opened.context)), "DeviceLost")
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))
})
