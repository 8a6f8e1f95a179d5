import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { hasStats, hold, isConsistent, logsTo, nextTurn, open, type OpenOptions, tagOf } from "../support/hostPool.ts"
import type { EventServices } from "../support/poolEvents.ts"

const failing = (job: Effect.Effect<unknown, unknown, EventServices>, pool: OpenOptions["pool"] = {}) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const opened = yield* open({ pool })
    const result = yield* Effect.exit(job.pipe(Effect.provide(opened.context), Effect.provide(logsTo(lines))))
    assert.isTrue(Exit.isSuccess(result))
    const { releaseFailures } = yield* opened.pool.stats
    isConsistent(yield* opened.pool.stats, opened.driverObjects)
    yield* opened.closePool
    yield* opened.closeHost
    strictEqual(opened.driverObjects.live, 0)
    for (const line of lines) {
      assert.match(line, /^Warn A block of the BufferPool could not be freed: .*destroyBuffer/)
    }
    return [releaseFailures, lines.length]
  })

const failFrees = (times: number) => Effect.map(Host.Host, ({ faults }) => faults.failFrees({ times }))

describe("a free that fails", () => {
  it.effect("is counted and logged when a scope closes, and does not fail it", () =>
    Effect.gen(function*() {
      const job = Effect.scoped(Effect.gen(function*() {
        yield* BufferPool.stopHolding
        yield* BufferPool.allocate(1)
        yield* BufferPool.allocate(2)
        yield* BufferPool.allocate(3)
        yield* failFrees(2)
      }))
      deepStrictEqual(yield* failing(job), [2, 2])
    }))

  it.effect("at an early release, at the end of use, and in freeHeld", () =>
    Effect.gen(function*() {
      const release = Effect.scoped(Effect.gen(function*() {
        yield* BufferPool.stopHolding
        const lease = yield* BufferPool.allocate(1)
        yield* failFrees(1)
        yield* Lease.release(lease)
        strictEqual(yield* tagOf(Lease.release(lease)), "Released")
      }))
      deepStrictEqual(yield* failing(release), [1, 1])
      const use = Effect.gen(function*() {
        yield* BufferPool.stopHolding
        yield* failFrees(1)
        strictEqual(yield* BufferPool.use(1, () => Effect.succeed("done")), "done")
      })
      deepStrictEqual(yield* failing(use), [1, 1])
      const freeHeld = Effect.gen(function*() {
        yield* hold([1, 2, 3])
        yield* failFrees(2)
        yield* BufferPool.freeHeld
        yield* hasStats({ heldBlocks: 0, driverFrees: 3 })
      })
      deepStrictEqual(yield* failing(freeHeld), [2, 2])
    }))

  it.effect("in an eviction, which goes on", () =>
    Effect.gen(function*() {
      const evict = Effect.gen(function*() {
        yield* hold([10, 20])
        yield* failFrees(2)
        strictEqual(yield* BufferPool.use(30, (lease) => Effect.succeed(lease.size)), 30)
      })
      deepStrictEqual(yield* failing(evict, { maxBytes: 30 }), [2, 2])
    }))

  it.effect("at the close of the pool", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const opened = yield* open()
      yield* Effect.provide(hold([1, 2]), opened.context)
      opened.faults.failFrees({ times: 2 })
      yield* Effect.provide(opened.closePool, logsTo(lines))
      strictEqual((yield* opened.pool.stats).releaseFailures, 2)
      strictEqual(lines.length, 2)
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))

  it.effect("on a device that is lost with held blocks", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const opened = yield* Effect.provide(open(), logsTo(lines))
      yield* Effect.provide(hold([1, 2]), opened.context)
      opened.faults.failFrees({ times: 2 })
      opened.faults.lose()
      yield* nextTurn
      strictEqual((yield* opened.pool.stats).releaseFailures, 2)
      strictEqual(lines.length, 2)
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))
})
