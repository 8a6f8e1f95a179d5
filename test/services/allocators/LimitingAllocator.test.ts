import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import * as BufferUsage from "../../../src/domain/BufferUsage.ts"
import * as SizePolicy from "../../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../../src/host.ts"
import * as Allocator from "../../../src/services/buffers/Allocator.ts"
import * as LimitingAllocator from "../../../src/services/buffers/allocators/LimitingAllocator.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import type { DeviceBuffer } from "../../../src/services/device/DeviceBuffer.ts"
import { DeviceContext } from "../../../src/services/device/DeviceContext.ts"
import * as HostPool from "../../support/hostPool.ts"

const { decorated, hasStats, hold, MiB, outOfMemoryOf, reasonOf, recorded, tagOf } = HostPool

/** A host's allocator under a limit, with other decorators between the two. */
const limited = (
  options: LimitingAllocator.LimitingOptions,
  host?: Host.HostOptions,
  between: HostPool.AllocatorLayer = Allocator.layerImmediate
) => LimitingAllocator.layer(options).pipe(Layer.provide(between), Layer.provideMerge(Host.layer(host)))

const liveBuffers = DeviceContext.useSync((device) => device.driverObjects.liveByKind["buffer"] ?? 0)

/** Checks that the whole limit can be allocated, and no byte more. */
const isEmpty = (limit: number) =>
  Effect.gen(function*() {
    strictEqual((yield* Effect.scoped(Allocator.allocate(limit))).size, limit)
    const { limit: named } = yield* limitOf(Allocator.allocate(limit + 1))
    strictEqual(named, limit)
  }).pipe(Effect.scoped)

const limitOf = <A, R>(effect: Parameters<typeof reasonOf<A, R>>[0]) =>
  Effect.map(reasonOf(effect), (reason) => {
    assert(reason._tag === "LimitExceeded", reason.message)
    return reason
  })

describe("a limiting allocator", () => {
  it.effect("gives all of its limit, and again what was freed", () =>
    Effect.gen(function*() {
      const allocator = yield* Allocator.Allocator
      const first = yield* allocator.allocate(4 * MiB)
      const second = yield* allocator.allocate(4 * MiB)
      strictEqual(yield* tagOf(allocator.allocate(3 * MiB)), "OutOfMemory")
      strictEqual((yield* Effect.scoped(Allocator.allocate(2 * MiB))).size, 2 * MiB)
      yield* allocator.freeUnsafe(first)
      const third = yield* allocator.allocate(6 * MiB)
      strictEqual(yield* tagOf(allocator.allocate(1)), "OutOfMemory")
      for (const buffer of [second, third]) yield* allocator.freeUnsafe(buffer)
      yield* isEmpty(10 * MiB)
    }).pipe(Effect.provide(limited({ maxBytes: "10 MiB" }))))

  it.effect("says by how much others are in the way, and that a release would help", () =>
    Effect.gen(function*() {
      yield* Allocator.allocate(600)
      const error = yield* Effect.flip(Allocator.allocate(500))
      assert.isTrue(error.isRetryable)
      assert.include(
        error.message,
        "500 bytes could not be allocated under maxBytes 1000 B: 600 B are allocated and 0 B pending"
      )
      const { activeBytes, limit, pooled, stepsTried } = yield* outOfMemoryOf(Allocator.allocate(500))
      deepStrictEqual({ activeBytes, limit, pooled, stepsTried }, {
        activeBytes: 600,
        limit: 1000,
        pooled: false,
        stepsTried: []
      })
    }).pipe(Effect.scoped, Effect.provide(limited({ maxBytes: 1000 }))))

  it.effect("refuses for good what is over its limit by itself, and asks no driver", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const { limit, limitName, operation, requested } = yield* limitOf(Allocator.allocate(1001))
      deepStrictEqual([operation, requested, limitName, limit], ["Allocator.allocate", 1001, "maxBytes", 1000])
      strictEqual(faults.allocations, 0)
    }).pipe(Effect.scoped, Effect.provide(limited({ maxBytes: 1000 }))))

  it.effect("counts nothing for a request that is none", () =>
    Effect.gen(function*() {
      for (const bytes of [-1, 0.5, NaN, Infinity, 2 ** 53, "8" as never, null as never]) {
        strictEqual(yield* tagOf(Allocator.allocate(bytes)), "InvalidRequest", String(bytes))
      }
      yield* isEmpty(1000)
    }).pipe(Effect.scoped, Effect.provide(limited({ maxBytes: 1000 }))))

  it.effect("stands on another with a smaller limit, whose refusal counts for nothing", () => {
    const two = LimitingAllocator.layer({ maxBytes: 50 }).pipe(Layer.provide(limited({ maxBytes: 20 })))
    return Effect.gen(function*() {
      strictEqual((yield* limitOf(Allocator.allocate(40))).limit, 20)
      yield* Allocator.allocate(15)
      strictEqual((yield* outOfMemoryOf(Allocator.allocate(10))).limit, 20)
      strictEqual((yield* Allocator.allocate(5)).size, 5)
    }).pipe(Effect.scoped, Effect.provide(two))
  })

  it.effect("leaves everything else to the one below", () => {
    const events: Array<string> = []
    return Effect.gen(function*() {
      const { allocate, freeUnsafe, immediate, reclaim } = yield* Allocator.Allocator
      const buffer = yield* allocate(8, { label: "mine", usage: BufferUsage.storage })
      deepStrictEqual([buffer.label, buffer.usage, immediate], ["mine", BufferUsage.storage, true])
      yield* freeUnsafe(buffer)
      yield* reclaim
      deepStrictEqual(events, ["allocate 8", "free 8", "reclaim"])
    }).pipe(Effect.provide(limited({ maxBytes: 8 }, {}, recorded(events))))
  })

  it.effect("is deferred over a deferred one", () =>
    Effect.gen(function*() {
      strictEqual((yield* Allocator.Allocator).immediate, false)
    }).pipe(Effect.provide(limited({ maxBytes: 8 }, {}, Allocator.layerDeferred))))

  it.effect("counts for itself where the same layer is used for two devices", () => {
    const one = LimitingAllocator.layer({ maxBytes: 10 })
    const gpu = () => one.pipe(Layer.provide(Allocator.layerImmediate), Layer.provideMerge(Host.layer()))
    const inner = Effect.scoped(Allocator.allocate(10)).pipe(Effect.provide(gpu()))
    return Effect.gen(function*() {
      yield* Allocator.allocate(10)
      strictEqual((yield* inner).size, 10)
    }).pipe(Effect.scoped, Effect.provide(gpu()))
  })
})

describe("the count", () => {
  const planned = { maxBytes: 100 }

  it.effect("forgets a failing allocation", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      for (const error of ["OutOfMemory", "DriverError"] as const) {
        faults.failAllocations({ error })
        strictEqual(yield* tagOf(Allocator.allocate(60)), error)
        yield* isEmpty(100)
      }
    }).pipe(Effect.scoped, Effect.provide(limited(planned))))

  it.effect("forgets one that dies, or whose allocator throws", () => {
    const breaking = decorated((inner) => ({
      ...inner,
      allocate: (bytes, options) => {
        if (bytes === 60) throw new Error("broken")
        return bytes === 61 ? Effect.die("broken") : inner.allocate(bytes, options)
      }
    }))
    return Effect.gen(function*() {
      for (const bytes of [60, 61]) assert.isTrue(Exit.hasDies(yield* Effect.exit(Allocator.allocate(bytes))))
      yield* isEmpty(100)
    }).pipe(Effect.scoped, Effect.provide(limited(planned, {}, breaking)))
  })

  it.effect("holds a request while the driver works on it, and forgets it when it is interrupted there", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const running = yield* Effect.forkChild(Allocator.allocate(60), { startImmediately: true })
      const { activeBytes, isRetryable, pendingBytes } = yield* outOfMemoryOf(Allocator.allocate(50))
      deepStrictEqual([activeBytes, pendingBytes, isRetryable], [0, 60, true])
      yield* Fiber.interrupt(running)
      strictEqual(faults.allocations, 0)
      faults.delay({ allocations: 0 })
      yield* isEmpty(100)
    }).pipe(Effect.scoped, Effect.provide(limited(planned, { latency: "1 second" }))))

  it.effect("and holds it on when the driver's answer cannot be stopped, until the buffer is freed", () => {
    const made: Array<DeviceBuffer> = []
    const stubborn = decorated((inner) => ({
      ...inner,
      allocate: (bytes, options) =>
        bytes === 60
          ? Effect.delay(
            Effect.tap(inner.allocate(bytes, options), (buffer) => Effect.sync(() => made.push(buffer))),
            10
          )
          : inner.allocate(bytes, options)
    }))
    return Effect.gen(function*() {
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const running = yield* Effect.forkChild(allocate(60), { startImmediately: true })
      const stopped = yield* Effect.forkChild(Fiber.interrupt(running), { startImmediately: true })
      strictEqual((yield* outOfMemoryOf(allocate(50))).pendingBytes, 60)
      yield* TestClock.adjust(10)
      yield* Fiber.join(stopped)
      strictEqual((yield* outOfMemoryOf(allocate(50))).activeBytes, 60)
      strictEqual(made.length, 1)
      for (const buffer of made) yield* freeUnsafe(buffer)
      yield* isEmpty(100)
    }).pipe(Effect.provide(limited(planned, {}, stubborn)))
  })

  it.effect("goes down when a buffer is freed, also when the driver refuses that", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const buffer = yield* allocate(60)
      faults.failFrees()
      assert.isTrue(Exit.isFailure(freeUnsafe(buffer)))
      strictEqual(yield* liveBuffers, 0)
      yield* isEmpty(100)
    }).pipe(Effect.provide(limited(planned))))

  it.effect("goes down once, and only for its own buffers", () =>
    Effect.gen(function*() {
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const device = yield* DeviceContext
      const foreign = yield* device.createBuffer(70, BufferUsage.storage)
      const kept = yield* allocate(40)
      const freed = yield* allocate(30)
      for (const buffer of [freed, freed, foreign, freed]) freeUnsafe(buffer)
      strictEqual(yield* tagOf(allocate(61)), "OutOfMemory")
      const rest = yield* allocate(60)
      for (const buffer of [rest, kept]) freeUnsafe(buffer)
      yield* isEmpty(100)
    }).pipe(Effect.provide(limited(planned))))
})

/** The most bytes that were allocated at one time, each from the driver call to the free. */
class Watch {
  bytes = 0
  most = 0

  readonly layer = decorated((inner) => ({
    ...inner,
    allocate: (bytes, options) =>
      Effect.suspend(() => {
        this.#add(bytes)
        return Effect.onError(inner.allocate(bytes, options), () => Effect.sync(() => this.#add(-bytes)))
      }),
    freeUnsafe: (buffer) => {
      this.#add(-buffer.size)
      return inner.freeUnsafe(buffer)
    }
  }))

  #add(bytes: number): void {
    this.bytes += bytes
    this.most = Math.max(this.most, this.bytes)
  }
}

const everyMilli = Schedule.spaced("1 milli")

/**
 * Retries until it is served, fails for good, or is interrupted after `mostMillis`; then keeps the memory for a time,
 * and releases it.
 */
const program = ({ bytes, holds, mostMillis }: { bytes: number; holds: number; mostMillis: number }) =>
  Effect.andThen(Allocator.allocate(bytes), Effect.sleep(holds)).pipe(
    Effect.scoped,
    Effect.retry({ while: (error) => error.reason._tag === "OutOfMemory", schedule: everyMilli }),
    Effect.timeoutOption(mostMillis),
    Effect.exit
  )

describe("64 fibers under one limit", () => {
  const limit = 1000
  const bytes = fc.integer({ min: 1, max: 300 })
  const millis = fc.integer({ min: 0, max: 20 })
  const fiber = fc.record({ bytes, holds: millis, mostMillis: fc.integer({ min: 1, max: 60 }) })
  const faults = fc.array(
    fc.record({ nth: fc.integer({ min: 1, max: 100 }), error: fc.constant("DriverError" as const) })
  )

  it("never hold a byte more, with delays, failures and interruptions, and leave nothing counted", async () => {
    const law = fc.asyncProperty(fc.array(fiber, { minLength: 64, maxLength: 64 }), faults, async (fibers, planned) => {
      const watch = new Watch()
      const run = Effect.gen(function*() {
        const host = yield* Host.Host
        for (const fault of planned) host.faults.failAllocations(fault)
        const all = yield* Effect.forkChild(Effect.forEach(fibers, program, { concurrency: "unbounded" }))
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(all)
        assert.isAtMost(watch.most, limit)
        // At first every fiber makes a request, which succeeds if it fits.
        const asked = fibers.reduce((sum, { bytes }) => sum + bytes, 0)
        assert.isAtLeast(watch.most, Math.min(asked, limit - 299))
        strictEqual(watch.bytes, 0)
        strictEqual(yield* liveBuffers, 0)
        host.faults.clear()
        host.faults.delay({ allocations: 0 })
        yield* isEmpty(limit)
      })
      const gpu = limited({ maxBytes: limit }, { latency: "5 millis" }, watch.layer)
      await Effect.runPromise(run.pipe(Effect.provide(gpu), Effect.provide(TestClock.layer())))
    })
    await fc.assert(law, { numRuns: 20 })
  })
})

/** Records the calls of the pool, above the limit, and those of the driver, below it. */
const withEvents = (
  maxBytes: number,
  test: (events: () => ReadonlyArray<string>) => Effect.Effect<void, unknown, BufferPool.BufferPool | Host.Host>
) => {
  const events: Array<string> = []
  const gpu = BufferPool.layerNoDeps({ sizePolicy: SizePolicy.exact }).pipe(
    Layer.provideMerge(limited({ maxBytes }, {}, recorded(events)))
  )
  return Effect.provide(test(() => events.splice(0)), gpu)
}

describe("a pool over a limiting allocator", () => {
  it.effect("answers its OutOfMemory as the driver's: it evicts what it holds, and no more than it needs", () =>
    withEvents(100, (events) =>
      Effect.scoped(Effect.gen(function*() {
        yield* hold([60, 30, 10])
        events()
        strictEqual((yield* BufferPool.allocate(50)).capacity, 50)
        deepStrictEqual(events(), ["free 60", "reclaim", "allocate 50"])
        yield* hasStats({ managedBytes: 90, heldBytes: 40 })
      }))))

  it.effect("fails when all that it could evict would not do, and can be retried after a release", () =>
    withEvents(100, () =>
      Effect.gen(function*() {
        const lease = BufferPool.allocate(80, { label: "large" })
        yield* Effect.scoped(Effect.gen(function*() {
          yield* lease
          const { holders, isRetryable } = yield* outOfMemoryOf(BufferPool.allocate(40))
          deepStrictEqual([holders[0]?.label, isRetryable], ["large", true])
        }))
        strictEqual(yield* BufferPool.use(40, ({ capacity }) => Effect.succeed(capacity)), 40)
      })))

  it.effect("lets LimitExceeded pass, and keeps what it holds", () =>
    withEvents(100, (events) =>
      Effect.gen(function*() {
        yield* hold([60, 30])
        events()
        strictEqual((yield* limitOf(Effect.scoped(BufferPool.allocate(101)))).limit, 100)
        deepStrictEqual(events(), [])
        yield* hasStats({ heldBytes: 90, pendingBytes: 0 })
      })))

  it.effect("shares the limit with another one, and gives everything back at its end", () =>
    Effect.gen(function*() {
      const first = yield* BufferPool.make({ sizePolicy: SizePolicy.exact })
      yield* first.allocate(60)
      yield* Effect.scoped(Effect.gen(function*() {
        const second = yield* BufferPool.make({ sizePolicy: SizePolicy.exact })
        yield* second.use(40, () => Effect.void)
        // The second pool's held block is evicted.
        strictEqual((yield* first.allocate(10)).capacity, 10)
        strictEqual(yield* tagOf(first.allocate(40)), "OutOfMemory")
      }))
      strictEqual((yield* first.allocate(30)).capacity, 30)
    }).pipe(Effect.scoped, Effect.provide(limited({ maxBytes: 100 }))))

  it.effect("leaves nothing counted when it is closed during an allocation", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      yield* Effect.scoped(Effect.gen(function*() {
        const pool = yield* BufferPool.make()
        yield* Effect.forkChild(pool.use(60, () => Effect.void), { startImmediately: true })
        strictEqual((yield* outOfMemoryOf(Allocator.allocate(50))).pendingBytes, 60)
      }))
      strictEqual(faults.allocations, 0)
      faults.delay({ allocations: 0 })
      yield* isEmpty(100)
    }).pipe(Effect.provide(limited({ maxBytes: 100 }, { latency: "1 second" }))))
})

/** Builds the layer with options that the types may forbid. */
const built = (options: object) => Effect.scoped(Layer.build(limited(options, { capacityBytes: 1000 })))

describe("the options", () => {
  it.effect("take a share of the device's memory", () =>
    Effect.gen(function*() {
      for (const options of [{ maxFraction: 0.25 }, { maxBytes: "25%" }, { maxBytes: 250n }]) {
        yield* Effect.provide(isEmpty(250), limited(options, { capacityBytes: 1000 }))
      }
    }))

  it.effect("may name no limit, in words", () =>
    Effect.gen(function*() {
      strictEqual((yield* Effect.scoped(Allocator.allocate(500))).size, 500)
    }).pipe(Effect.provide(limited({ maxBytes: Infinity }))))

  it.effect("name one limit", () =>
    Effect.gen(function*() {
      for (
        const options of [
          {},
          { maxBytes: undefined, maxFraction: undefined },
          { maxbytes: 100 },
          { maxBytes: 100, maxFraction: 0.5 },
          { maxBytes: -1 },
          { maxBytes: "lots" },
          { maxFraction: 2 },
          { maxBytes: null }
        ]
      ) {
        const { message } = yield* Effect.flip(built(options))
        assert.match(message, /^LimitingAllocator\.layer: .* (Pass|Did you mean maxBytes\?) /)
      }
    }))

  it.effect("name bytes where the device does not report its memory", () => {
    const silent = Layer.effectContext(Effect.map(Effect.context<HostPool.HostServices>(), (host) => {
      const device = Context.get(host, DeviceContext)
      const info = { ...device.info, limits: { ...device.info.limits, memoryBytes: undefined } }
      return Context.add(host, DeviceContext, { ...device, info })
    })).pipe(Layer.provide(Host.layer()))
    const gpu = LimitingAllocator.layer({ maxFraction: 0.5 }).pipe(
      Layer.provide(Allocator.layerImmediate),
      Layer.provide(silent)
    )
    return Effect.gen(function*() {
      const reason = yield* reasonOf(Effect.scoped(Layer.build(gpu)))
      strictEqual(reason._tag, "Unsupported")
      assert.include(reason.message, "pass bytes")
    })
  })
})
