import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { mebi, onDevice } from "../support/nullDevice.ts"

/** Dawn's null device has memory for two of them. */
const large = 256 * mebi

/** A pool, and a function that leases of it in one step. */
const opened = Effect.gen(function*() {
  const pool = yield* Effect.provide(BufferPool.make(), Allocator.layerImmediate)
  const scope = yield* Effect.scope
  const run = Effect.runSyncExitWith(yield* Effect.context<never>())
  const lease = (bytes: number) =>
    run(Scope.provide(Allocator.deferred(pool.allocate(bytes, { onExhausted: "fail" })), scope))
  return { lease, pool }
})

describe("Allocator.deferred on WebGPU", () => {
  it.live("tells at the next wait that the driver had no memory, and never leases that block again", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { lease, pool } = yield* opened
        const leases = [yield* lease(large), yield* lease(large), yield* lease(large)]
        const error = yield* Effect.flip(CommandQueue.finish)
        deepStrictEqual([error.reason._tag, "requested" in error.reason && error.reason.requested], [
          "OutOfMemory",
          large
        ])
        yield* CommandQueue.finish
        for (const one of leases) yield* Lease.release(one)
        const { driverFrees, heldBlocks } = yield* pool.stats
        deepStrictEqual([driverFrees, heldBlocks], [1, 2])
      })))

  it.live("makes no more than that of what the driver throws", () => {
    let refuses = false
    return onDevice({
      "GPUDevice.createBuffer": (proceed) => {
        if (refuses) throw new RangeError("too large to map")
        return proceed()
      }
    }, () =>
      Effect.gen(function*() {
        const { lease } = yield* opened
        refuses = true
        const exit = lease(64)
        refuses = false
        assert.isTrue(Exit.isFailure(exit) && JSON.stringify(exit.cause).includes("too large to map"))
        yield* lease(64)
        yield* CommandQueue.finish
      }))
  })

  it.live("waits for no destroyed memory, however much there is", () =>
    onDevice({}, ({ count }) =>
      Effect.gen(function*() {
        const { lease, pool } = yield* opened
        const { driverObjects } = yield* DeviceContext
        for (let round = 0; round < 64; round++) {
          yield* Lease.release(yield* lease(mebi * (round + 1)))
          yield* Effect.sync(() => Effect.runFork(pool.stopHolding))
          yield* pool.resumeHolding
        }
        strictEqual(driverObjects.liveByKind["buffer"], undefined)
        strictEqual(count("GPUDevice.createBuffer"), 64)
        yield* CommandQueue.finish
      })))

  it.live("fails in its step on a lost device", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { lease } = yield* opened
        const { status } = yield* DeviceContext
        status.lose("a test")
        const exit = lease(64)
        assert.isTrue(Exit.isFailure(exit) && JSON.stringify(exit.cause).includes("DeviceLost"))
      })))
})
