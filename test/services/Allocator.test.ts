import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import { outOfMemory } from "../../src/domain/GpuError.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import type { QueueDriver } from "../../src/services/device/QueueDriver.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { type HostServices, logsTo, tagOf } from "../support/hostPool.ts"
import { withDrivers } from "../support/withDrivers.ts"

const buffersOf = DeviceContext.useSync((device) => device.driverObjects.liveByKind["buffer"] ?? 0)

const one = Effect.gen(function*() {
  const { info } = yield* DeviceContext
  const buffer = yield* Allocator.allocate(64)
  strictEqual(buffer.owner, info)
  return yield* buffersOf
})

const onTwo = (allocator: typeof Allocator.layerImmediate) => {
  const onOne = one.pipe(Effect.scoped, Effect.provide(allocator.pipe(Layer.provideMerge(Host.layer()))))
  return Effect.all([one, onOne]).pipe(
    Effect.scoped,
    Effect.provide(allocator.pipe(Layer.provideMerge(Host.layer())))
  )
}

describe("Allocator layers", () => {
  it.effect("belong to the device in their context, also when one device is opened inside another's program", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* onTwo(Allocator.layerImmediate), [1, 1])
      deepStrictEqual(yield* onTwo(Allocator.layerDeferred), [1, 1])
    }))

  it.effect("so a pool takes its blocks from its own device", () =>
    Effect.gen(function*() {
      const lease = Effect.andThen(BufferPool.allocate(64), buffersOf)
      const inner = lease.pipe(
        Effect.scoped,
        Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(Host.layer())))
      )
      const both = Effect.all([lease, inner]).pipe(
        Effect.scoped,
        Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(Host.layer())))
      )
      deepStrictEqual(yield* both, [1, 1])
    }))
})

describe("0 bytes", () => {
  it.effect("are asked of no driver, and their buffer goes back to its own allocator alone", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const allocator = yield* Allocator.Allocator
      const empty = yield* allocator.allocate(0, { label: "nothing" })
      deepStrictEqual([faults.allocations, yield* Host.usedBytes, yield* buffersOf], [0, 0, 0])
      const other = Allocator.Allocator.use(({ freeUnsafe }) => freeUnsafe(empty)).pipe(
        Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer())))
      )
      strictEqual(yield* tagOf(other), "ForeignDevice")
      strictEqual((yield* CommandQueue.read(empty, Uint8Array)).length, 0)
      yield* allocator.freeUnsafe(empty)
      yield* allocator.freeUnsafe(empty)
      deepStrictEqual([faults.frees, yield* tagOf(CommandQueue.read(empty, Uint8Array))], [0, "Released"])
    }).pipe(Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer())))))

  it.effect("are none of a lost device", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const empty = yield* Allocator.allocate(0)
      faults.lose()
      strictEqual(yield* tagOf(Allocator.allocate(0)), "DeviceLost")
      strictEqual(yield* tagOf(CommandQueue.read(empty, Uint8Array)), "DeviceLost")
    }).pipe(Effect.scoped, Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer())))))
})

/** The host with a queue whose driver verifies memory with this `touch`. */
const proving = (touch: QueueDriver["Service"]["touch"]) =>
  Layer.effectContext(
    Effect.map(Effect.context<HostServices>(), (host) => withDrivers(host, { queue: () => ({ touch }) }))
  ).pipe(Layer.provide(Host.layer()))

describe("an immediate allocation", () => {
  const refused = proving((buffer) => Effect.fail(outOfMemory(buffer.size)))

  it.effect("whose proof fails gives its buffer back", () =>
    Effect.gen(function*() {
      strictEqual(yield* tagOf(Allocator.allocate(64)), "OutOfMemory")
      strictEqual(yield* buffersOf, 0)
    }).pipe(Effect.scoped, Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(refused)))))

  it.effect("also when that fails too, which is logged", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const { faults } = yield* Host.Host
      faults.failFrees()
      strictEqual(yield* tagOf(Effect.provide(Allocator.allocate(64), logsTo(lines))), "OutOfMemory")
      strictEqual(yield* buffersOf, 0)
      strictEqual(lines.length, 1)
    }).pipe(Effect.scoped, Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(refused)))))

  it.effect("whose proof dies gives its buffer back", () =>
    Effect.gen(function*() {
      strictEqual((yield* Effect.exit(Allocator.allocate(64)))._tag, "Failure")
      strictEqual(yield* buffersOf, 0)
    }).pipe(
      Effect.scoped,
      Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(proving(() => Effect.die("broken")))))
    ))

  it.effect("is proven, a deferred one is not", () =>
    Effect.gen(function*() {
      strictEqual((yield* Allocator.allocate(64)).size, 64)
    }).pipe(Effect.scoped, Effect.provide(Allocator.layerDeferred.pipe(Layer.provideMerge(refused)))))
})

describe("reclaim", () => {
  it.effect("waits until what was freed can be had again", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Allocator.allocate(1000))
      strictEqual(yield* tagOf(Effect.scoped(Allocator.allocate(1000))), "OutOfMemory")
      yield* Allocator.reclaim
      strictEqual((yield* Effect.scoped(Allocator.allocate(1000))).size, 1000)
    }).pipe(
      Effect.provide(
        Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer({ capacityBytes: 1000, lateFree: true })))
      )
    ))
})

describe("a buffer without a pool", () => {
  it.effect("has the usage and label that it was asked for", () =>
    Effect.gen(function*() {
      const options = { usage: BufferUsage.storage, label: "once" }
      const allocator = yield* Allocator.Allocator
      for (const buffer of [yield* Allocator.allocate(64, options), yield* allocator.allocate(64, options)]) {
        deepStrictEqual([buffer.usage, buffer.label], [BufferUsage.storage, "once"])
      }
    }).pipe(Effect.scoped, Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer())))))

  it.effect("is freed with its scope, and an error then is logged", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const { faults } = yield* Host.Host
      const used = Effect.scoped(Effect.flatMap(Allocator.allocate(64), (buffer) => CommandQueue.fill(buffer, 1)))
      yield* used
      faults.failFrees()
      const exit = yield* Effect.exit(Effect.provide(used, logsTo(lines)))
      deepStrictEqual([exit, lines.length, yield* buffersOf], [Exit.void, 1, 0])
      yield* CommandQueue.finish
    }).pipe(Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer())))))

  const bad = [[-1, "InvalidRequest"], [0.5, "InvalidRequest"], [65, "LimitExceeded"]] as const
  it.effect.each(bad)(
    "of %d bytes is refused before the driver is asked: %s",
    ([bytes, tag]) =>
      Effect.gen(function*() {
        strictEqual(yield* tagOf(Allocator.allocate(bytes)), tag)
        strictEqual(yield* tagOf(Allocator.allocate(4, { usage: 0 })), "InvalidRequest")
        strictEqual((yield* Host.Host).faults.allocations, 0)
      }).pipe(
        Effect.scoped,
        Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(Host.layer({ maxBufferSize: 64 }))))
      )
  )
})

/** Returns `many` unusable buffers before each usable one; at most `most` are alive at a time. */
const tainted = (many: number, most = Infinity) =>
  Layer.effect(
    Allocator.Allocator,
    Effect.gen(function*() {
      const inner = yield* Allocator.Allocator
      const { driverObjects } = yield* DeviceContext
      let calls = 0
      return Allocator.Allocator.of({
        ...inner,
        allocate: (bytes, options) =>
          Effect.tap(inner.allocate(bytes, options), (buffer) =>
            Effect.sync(() => {
              buffer.recyclable = calls++ % (many + 1) === many
              assert.isAtMost(driverObjects.liveByKind["buffer"] ?? 0, most)
            }))
      })
    })
  ).pipe(Layer.provide(Allocator.layerImmediate), Layer.provideMerge(Host.layer()))

describe("memory whose recyclable is false", () => {
  it.effect.each([1, 5, 7])(
    "is put aside until the allocator gives other memory, here after %d",
    (many) =>
      Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          const buffer = yield* Allocator.allocate(64)
          deepStrictEqual([buffer.recyclable, yield* buffersOf], [true, 1])
        }))
        yield* Effect.provide(
          Effect.gen(function*() {
            yield* BufferPool.use(64, (lease) => CommandQueue.fill(lease, 1))
            const { driverAllocations, managedBlocks } = yield* BufferPool.stats
            deepStrictEqual([driverAllocations, managedBlocks, yield* buffersOf], [1, 1, 1])
          }),
          BufferPool.layerNoDeps()
        )
        strictEqual(yield* buffersOf, 0)
      }).pipe(Effect.provide(tainted(many)))
  )

  it.effect("is an error when an allocator gives no other in 8 calls, and nothing of it stays", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Allocator.allocate(64)))
      assert.include(error.message, "one buffer of 64 bytes after the other")
      strictEqual(error.reason._tag, "DriverError")
      const pooled = Effect.provide(BufferPool.use(64, () => Effect.void), BufferPool.layerNoDeps())
      strictEqual(yield* tagOf(pooled), "DriverError")
      strictEqual(yield* buffersOf, 0)
    }).pipe(Effect.provide(tainted(Infinity, 8))))
})
