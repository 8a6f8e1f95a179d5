import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as GpuError from "../../src/domain/GpuError.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { hasStats, hold, isConsistent, logsTo, open, type OpenOptions, tagOf } from "../support/hostPool.ts"
import { withDrivers } from "../support/withDrivers.ts"

/** A queue on which fills fail on demand, as OpenCL's do when deferred memory turns out not to exist. */
const fragile = (state: { fails: boolean }): OpenOptions => ({
  allocator: Allocator.layerDeferred,
  over: (host) =>
    withDrivers(host, {
      queue: (driver) => ({
        fillUnsafe: (target, offset, bytes, pattern) =>
          state.fails ? Exit.fail(GpuError.outOfMemory(bytes)) : driver.fillUnsafe(target, offset, bytes, pattern)
      })
    })
})

describe("a deferred allocator", () => {
  it.effect("brings one warning per pool", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const opened = yield* Effect.provide(open({ allocator: Allocator.layerDeferred }), logsTo(lines))
      yield* Effect.provide(hold([1, 2]), opened.context)
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(lines.length, 1)
      assert.match(lines[0]!, /^Warn .*deferred.*Allocator\.layerImmediate/)
    }))

  it.effect("and an immediate one none", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const opened = yield* Effect.provide(open(), logsTo(lines))
      yield* opened.closePool
      yield* opened.closeHost
      deepStrictEqual(lines, [])
    }))

  it.effect("may give a block whose first use fails; it is never leased again", () =>
    Effect.gen(function*() {
      const state = { fails: true }
      const opened = yield* open(fragile(state))
      yield* Effect.gen(function*() {
        const use = BufferPool.use(64, (lease) => CommandQueue.fill(lease, 1))
        strictEqual(yield* tagOf(use), "OutOfMemory")
        yield* hasStats({ heldBlocks: 0, driverFrees: 1, managedBytes: 0 })
        state.fails = false
        yield* use
        yield* hasStats({ heldBlocks: 1, hits: 0, misses: 2 })
      }).pipe(Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("nor one whose clearing fails, fresh or held before", () =>
    Effect.gen(function*() {
      const state = { fails: true }
      const opened = yield* open({ ...fragile(state), pool: { clear: "acquire" } })
      yield* Effect.gen(function*() {
        strictEqual(yield* tagOf(BufferPool.use(64, () => Effect.void)), "OutOfMemory")
        yield* hasStats({ heldBlocks: 0, driverFrees: 1, activeBlocks: 0 })
        state.fails = false
        yield* hold([64])
        state.fails = true
        strictEqual(yield* tagOf(Effect.scoped(BufferPool.allocate(64))), "OutOfMemory")
        yield* hasStats({ heldBlocks: 0, driverFrees: 2, activeBlocks: 0, managedBytes: 0 })
        state.fails = false
        yield* hold([64])
        isConsistent(yield* BufferPool.stats, opened.driverObjects)
      }).pipe(Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))
})
