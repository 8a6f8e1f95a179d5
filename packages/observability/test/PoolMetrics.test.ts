/** The metrics of pools: their values after every step of any program, their attributes, and when they end. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import * as DeviceMemory from "effect-gpu-pool/DeviceMemory"
import { CurrentHub } from "effect-gpu-pool/EventHub"
import { Host } from "effect-gpu-pool/host"
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"
import type { PoolStats } from "effect-gpu-pool/PoolStats"
import * as SizePolicy from "effect-gpu-pool/SizePolicy"
import * as StagingPool from "effect-gpu-pool/StagingPool"
import * as Schedules from "effect-schedules/Schedules"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import { isWhole, runs } from "../../../test/support/explore.ts"
import { run, steps } from "../../../test/support/poolPrograms.ts"
import { countOf, inOwnRegistry, named, series, valueOf } from "../../../test/support/registries.ts"
import { stepsTaken } from "../../../test/support/stepsTaken.ts"
import * as PoolEvents from "../src/events/PoolEvents.ts"
import { PoolPublisher } from "../src/events/PoolPublisher.ts"
import { Subscribers } from "../src/events/Subscribers.ts"
import * as MetricNames from "../src/metrics/MetricNames.ts"
import * as PoolMetrics from "../src/metrics/PoolMetrics.ts"

const metered = Layer.provideMerge(PoolMetrics.layer(), PoolEvents.layer)

const gpu = (pool: BufferPool.BufferPoolOptions = {}, host: Host.HostOptions = {}) =>
  BufferPool.layer({ label: "tested", sizePolicy: SizePolicy.exact, ...pool }).pipe(
    Layer.provideMerge(Host.layer(host)),
    Layer.provideMerge(metered)
  )

const lease = (size: number) => BufferPool.use(size, () => Effect.void)

const described = { ...MetricNames.gauges, ...MetricNames.counters }

/** The counters of a pool, as the metrics show them. */
const statsByMetrics = (attributes: Readonly<Record<string, string>>) =>
  Effect.all(
    Object.fromEntries(Object.entries(described).map(([counter, { name }]) => [counter, valueOf(name, attributes)]))
  )

const events = {
  evictions: (event: PoolEvent) => event._tag === "Freed" && event.why === "evicted",
  refusals: (event: PoolEvent) => event._tag === "Refused",
  outOfMemory: (event: PoolEvent) => event._tag === "RanOut",
  limitExceeded: (event: PoolEvent) => event._tag === "GaveUp" && event.why === "limitExceeded",
  asked: (event: PoolEvent) => event._tag === "DriverAsked"
}

describe("the metrics of a pool", () => {
  it("are its counters, after every step of any program", () => {
    const options = fc.record({
      maxHeldBytes: fc.constantFrom(Infinity, 300),
      clear: fc.constantFrom("never" as const, "acquire" as const),
      policy: fc.constantFrom(SizePolicy.exact, SizePolicy.defaultPolicy),
      listens: fc.boolean()
    })
    return fc.assert(
      fc.asyncProperty(steps, options, (steps, { clear, listens, maxHeldBytes, policy }) => {
        const faults = Host.makeFaults()
        const expected = { evictions: 0, refusals: 0, outOfMemory: 0, limitExceeded: 0, asked: 0 }
        const receive = (event: PoolEvent) => {
          for (const name of Object.keys(expected) as Array<keyof typeof expected>) {
            if (events[name](event)) expected[name] += 1
          }
        }
        const program = Effect.gen(function*() {
          if (listens) yield* Effect.forkScoped(PoolEvents.listen(receive), { startImmediately: true })
          const scopes: Array<Scope.Closeable> = []
          for (const step of steps) {
            yield* run(step, scopes, faults)
            const stats: PoolStats = yield* BufferPool.stats
            deepStrictEqual(yield* statsByMetrics({ memory: "tested" }), { ...stats })
            strictEqual(yield* valueOf("gpu_pool_limit_bytes"), yield* BufferPool.maxBytes)
            const refusals = (yield* named("gpu_pool_refusals_total")).reduce((sum, { value }) => sum + value, 0)
            const asked = yield* countOf("gpu_pool_miss_duration_seconds")
            strictEqual(asked, stats.driverAllocations + refusals)
            if (!listens) continue
            const evictions = yield* valueOf("gpu_pool_evictions_total")
            const outOfMemory = yield* valueOf("gpu_pool_out_of_memory_total")
            const limitExceeded = yield* valueOf("gpu_pool_limit_exceeded_total")
            deepStrictEqual({ evictions, refusals, outOfMemory, limitExceeded, asked }, expected)
          }
          yield* Effect.forEach(scopes, (scope) => Scope.close(scope, Exit.void), { discard: true })
        })
        const pool = { maxBytes: 1000, maxHeldBytes, clear, sizePolicy: policy }
        return Effect.runPromise(
          Effect.scoped(program).pipe(
            Effect.provide(gpu(pool, { faults })),
            inOwnRegistry,
            Effect.provide(TestClock.layer())
          )
        )
      }),
      { numRuns: runs(100) }
    )
  })

  it.effect("have a name in the base unit, a unit, a description, and the memory, its number and the device", () =>
    Effect.gen(function*() {
      yield* lease(64)
      for (const { attributes = {}, description, id, type } of yield* Metric.snapshot) {
        assert.match(id, /^gpu_pool_[a-z_]+$/)
        assert.strictEqual(id.endsWith("_bytes"), attributes["unit"] === "bytes", id)
        assert.strictEqual(id.endsWith("_seconds"), attributes["unit"] === "seconds", id)
        assert.strictEqual(id.endsWith("_total"), type === "Counter", id)
        assert.match(description ?? "", /^[A-Z].+\.$/)
        deepStrictEqual([attributes["memory"], attributes["number"], attributes["device"]], [
          "tested",
          "1",
          "host process memory"
        ])
      }
    }).pipe(Effect.provide(gpu()), inOwnRegistry))

  it.effect("count refusals by their reason, and requests that run out of memory", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      strictEqual((yield* named("gpu_pool_refusals_total")).length, 0)
      yield* Effect.exit(BufferPool.use(200, () => lease(100)))
      faults.failAllocations({ error: "DriverError" })
      yield* Effect.exit(lease(8))
      const refusals = yield* named("gpu_pool_refusals_total")
      deepStrictEqual(
        refusals.map(({ attributes, value }) => [attributes["reason"], value]),
        [["OutOfMemory", 2], ["DriverError", 1]]
      )
      strictEqual(yield* valueOf("gpu_pool_out_of_memory_total"), 1)
      strictEqual(yield* countOf("gpu_pool_miss_duration_seconds", { outcome: "refused" }), 3)
      strictEqual(yield* countOf("gpu_pool_miss_duration_seconds", { outcome: "made" }), 1)
    }).pipe(Effect.provide(gpu({}, { capacityBytes: 256, maxBufferSize: 512, faults })), inOwnRegistry)
  })

  it.effect("have the limit while there is one, whatever budgets do", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* named("gpu_pool_limit_bytes"), [])
      yield* BufferPool.setLimit(100)
      strictEqual(yield* valueOf("gpu_pool_limit_bytes"), 100)
      const budgeted = Effect.flatMap(BufferPool.BufferPool, (pool) => pool.setLimit({ maxBytes: 32 }))
      yield* BufferPool.withBudget(budgeted, 64)
      strictEqual(yield* valueOf("gpu_pool_limit_bytes"), 100)
      yield* BufferPool.setLimit(200)
      strictEqual(yield* valueOf("gpu_pool_limit_bytes"), 200)
      yield* BufferPool.setLimit(Infinity)
      deepStrictEqual(yield* named("gpu_pool_limit_bytes"), [])
    }).pipe(Effect.provide(gpu({ maxBytes: Infinity })), inOwnRegistry))
})

describe("times", () => {
  it.effect("of waits, by who was served", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* Scope.provide(BufferPool.allocate(64), scope)
      const served = yield* Effect.forkChild(lease(64), { startImmediately: true })
      const late = yield* Effect.forkChild(
        Effect.exit(BufferPool.use(64, () => Effect.void, { waitAtMost: "1 second" })),
        { startImmediately: true }
      )
      const interrupted = yield* Effect.forkChild(lease(64), { startImmediately: true })
      strictEqual(yield* valueOf("gpu_pool_waiters"), 3)
      yield* TestClock.adjust("500 millis")
      yield* Fiber.interrupt(interrupted)
      yield* TestClock.adjust("500 millis")
      yield* Fiber.join(late)
      yield* TestClock.adjust("2 seconds")
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(served)
      const waits = yield* named("gpu_pool_wait_duration_seconds")
      deepStrictEqual(waits.map(({ attributes: { outcome, pool }, count, sum }) => ({ outcome, pool, count, sum })), [
        { outcome: "ended", pool: "BufferPool", count: 2, sum: 1.5 },
        { outcome: "served", pool: "BufferPool", count: 1, sum: 3 }
      ])
    }).pipe(
      Effect.provide(gpu({ maxBytes: 64, onExhausted: "wait", deadlockTimeout: Infinity })),
      inOwnRegistry
    ))

  it.effect("of waits for what the driver has not, until a try succeeds", () =>
    Effect.gen(function*() {
      const received: Array<string> = []
      const receive = (event: PoolEvent) => {
        if (event._tag === "Waiting" || event._tag === "Waited") received.push(event._tag)
      }
      yield* Effect.forkScoped(PoolEvents.listen(receive), { startImmediately: true })
      const scope = yield* Scope.make()
      yield* Scope.provide(BufferPool.allocate(200), scope)
      const waiting = yield* Effect.forkChild(lease(100), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(waiting)
      deepStrictEqual(received, ["Waiting", "Waited"])
      const [wait] = yield* named("gpu_pool_wait_duration_seconds", { outcome: "served" })
      deepStrictEqual([wait?.count, wait?.sum], [1, 2])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        gpu({ onExhausted: "wait", deadlockTimeout: Infinity }, { capacityBytes: 256, maxBufferSize: 512 })
      ),
      inOwnRegistry
    ))

  it.effect("of driver calls, and of one whose request was interrupted", () => {
    const faults = Host.makeFaults()
    return Effect.gen(function*() {
      faults.delay({ allocations: "2 seconds" })
      const fiber = yield* Effect.forkChild(lease(64), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      strictEqual(yield* countOf("gpu_pool_miss_duration_seconds"), 0)
      strictEqual(yield* valueOf("gpu_pool_pending_bytes"), 64)
      yield* TestClock.adjust("1 second")
      const [miss, ...others] = yield* named("gpu_pool_miss_duration_seconds")
      deepStrictEqual([miss?.attributes["outcome"], miss?.count, miss?.sum], ["kept", 1, 2])
      strictEqual(others.length, 0)
      strictEqual(yield* valueOf("gpu_pool_held_bytes"), 64)
    }).pipe(Effect.provide(gpu({}, { faults })), inOwnRegistry)
  })

  it.effect("are by the pool that was asked, of those that share a memory", () =>
    Effect.gen(function*() {
      yield* lease(64)
      yield* StagingPool.allocate(16, Uint8Array)
      const pools = (yield* named("gpu_pool_miss_duration_seconds")).map(({ attributes }) => attributes["pool"])
      deepStrictEqual(pools, ["BufferPool", "StagingPool"])
      strictEqual((yield* named("gpu_pool_misses_total", { memory: "shared" })).length, 1)
      strictEqual(yield* valueOf("gpu_pool_misses_total"), 2)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        Layer.merge(BufferPool.layerShared(), StagingPool.layerShared()).pipe(
          Layer.provideMerge(DeviceMemory.layer({ label: "shared" })),
          Layer.provideMerge(Host.layer()),
          Layer.provideMerge(metered)
        )
      ),
      inOwnRegistry
    ))

  it.effect("are one for each wait and driver call, wherever a request is interrupted, in every order", () =>
    Effect.gen(function*() {
      const most = { asked: 0, waits: 0 }
      const program = Effect.gen(function*() {
        const expected = { asked: 0, waits: 0 }
        const receive = ({ _tag }: PoolEvent) => {
          if (_tag === "DriverAsked") expected.asked += 1
          if (_tag === "Waiting") expected.waits += 1
        }
        // Subscribes in this step; a listener on a fiber of its own would begin at any later step.
        Subscribers.of(yield* CurrentHub).add({
          of: (memory) => new PoolPublisher(memory, () => 0, receive),
          ofLeases: true
        })
        const fiber = yield* Effect.forkChild(Effect.all([lease(64), lease(64), lease(32)], { concurrency: 3 }), {
          startImmediately: true
        })
        yield* Effect.sleep("1 millis")
        yield* Fiber.interrupt(fiber)
        // A driver call continues after its request was interrupted.
        yield* Effect.sleep("1 minute")
        const asked = yield* countOf("gpu_pool_miss_duration_seconds")
        const waits = yield* countOf("gpu_pool_wait_duration_seconds")
        deepStrictEqual({ asked, waits }, expected)
        strictEqual(yield* valueOf("gpu_pool_waiters"), 0)
        strictEqual(yield* valueOf("gpu_pool_pending_bytes"), 0)
        strictEqual(yield* valueOf("gpu_pool_active_bytes"), 0)
        most.asked = Math.max(most.asked, asked)
        most.waits = Math.max(most.waits, waits)
      })
      const pool = gpu({ maxBytes: 64, onExhausted: "wait" }, { latency: "1 millis" })
      const { schedules } = yield* Schedules.explore(
        Effect.scoped(program).pipe(Effect.provide(pool), inOwnRegistry),
        { deviations: 1 }
      )
      assert.isAbove(schedules, 50)
      deepStrictEqual(most, { asked: 2, waits: 2 })
    }))

  it.effect("have the buckets that were asked for", () =>
    Effect.gen(function*() {
      const pool = BufferPool.layer().pipe(
        Layer.provideMerge(Host.layer()),
        Layer.provideMerge(PoolMetrics.layer({ durationBoundaries: [0.25, 2] })),
        Layer.provideMerge(PoolEvents.layer)
      )
      const states = yield* Effect.gen(function*() {
        yield* lease(64)
        return (yield* Metric.snapshot).flatMap((one) => one.type === "Histogram" ? [one.state.buckets] : [])
      }).pipe(Effect.provide(pool))
      deepStrictEqual(states, [[[0.25, 1], [2, 1]]])
    }).pipe(inOwnRegistry))

  it.effect("must have buckets that grow", () =>
    Effect.gen(function*() {
      for (const durationBoundaries of [[], [1, 1], [2, 1], [0], [-1], [Number.NaN], [1, Infinity], ["1"], 7]) {
        const layer = PoolMetrics.layer({ durationBoundaries } as never)
        const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
        strictEqual(error.reason._tag, "InvalidRequest")
      }
      deepStrictEqual(yield* series, [])
    }).pipe(inOwnRegistry))
})

const built = (durationBoundaries?: ReadonlyArray<number>) => Layer.build(PoolMetrics.layer({ durationBoundaries }))

/** A pool on the device in context, in a scope of its own. */
const open = (label: string | undefined) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const layer = BufferPool.layer(label === undefined ? {} : { label })
    const context = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
    return { close: Scope.close(scope, Exit.void), lease: (size: number) => Effect.provide(lease(size), context) }
  })

const numbers = Effect.map(
  named("gpu_pool_misses_total"),
  (found) => found.map(({ attributes: { memory, number }, value }) => `${memory} ${number}: ${value}`).sort()
)

const device = Layer.provideMerge(Host.layer(), metered)

describe("series", () => {
  it.effect("of pools with one label on one device have numbers, which are used again", () =>
    Effect.gen(function*() {
      const one = yield* open("same")
      const two = yield* open("same")
      const other = yield* open("other")
      const unnamed = yield* open(undefined)
      yield* two.lease(64)
      yield* other.lease(64)
      deepStrictEqual(yield* numbers, ["other 1: 1", "same 1: 0", "same 2: 1", "undefined 1: 0"])
      yield* one.close
      deepStrictEqual(yield* numbers, ["other 1: 1", "same 2: 1", "undefined 1: 0"])
      const three = yield* open("same")
      yield* three.lease(8)
      yield* three.lease(16)
      deepStrictEqual(yield* numbers, ["other 1: 1", "same 1: 2", "same 2: 1", "undefined 1: 0"])
      yield* Effect.all([two.close, three.close, other.close, unnamed.close])
      deepStrictEqual(yield* series, [])
    }).pipe(Effect.provide(device), inOwnRegistry))

  it.effect("of pools that were open before the layer begin with what these have counted", () =>
    Effect.gen(function*() {
      yield* lease(64)
      yield* lease(64)
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(PoolMetrics.layer(), scope)
      strictEqual(yield* valueOf("gpu_pool_hits_total"), 1)
      strictEqual(yield* valueOf("gpu_pool_misses_total"), 1)
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual(yield* series, [])
      yield* lease(64)
      strictEqual((yield* BufferPool.stats).hits, 2)
    }).pipe(
      Effect.provide(BufferPool.layer().pipe(Layer.provide(Host.layer()), Layer.provideMerge(PoolEvents.layer))),
      inOwnRegistry
    ))

  it.effect("of a memory are there once, however many layers there are, until the last of these closes", () =>
    Effect.gen(function*() {
      const inner = yield* Scope.make()
      const later = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.merge(PoolMetrics.layer(), PoolMetrics.layer()), inner)
      yield* lease(64)
      yield* Effect.exit(lease(Number.MAX_SAFE_INTEGER))
      const before = yield* series
      deepStrictEqual(yield* numbers, ["tested 1: 1"])
      strictEqual(yield* countOf("gpu_pool_miss_duration_seconds", { outcome: "made" }), 1)
      yield* Layer.buildWithScope(PoolMetrics.layer(), later)
      deepStrictEqual(yield* series, before)
      yield* Scope.close(inner, Exit.void)
      deepStrictEqual(yield* series, before)
      yield* BufferPool.freeHeld
      yield* lease(64)
      deepStrictEqual(yield* numbers, ["tested 1: 2"])
      strictEqual(yield* countOf("gpu_pool_miss_duration_seconds", { outcome: "made" }), 2)
      yield* Scope.close(later, Exit.void)
      deepStrictEqual(yield* series, [])
    }).pipe(
      Effect.provide(
        BufferPool.layer({ label: "tested" }).pipe(Layer.provide(Host.layer()), Layer.provideMerge(PoolEvents.layer))
      ),
      inOwnRegistry
    ))

  it.effect("are there once while a layer is open, and never after, in every order of layers, pools and interrupts", () =>
    Effect.gen(function*() {
      let most = 0
      const program = Effect.gen(function*() {
        let layers = 0
        const observer = Effect.scoped(Effect.gen(function*() {
          yield* Layer.build(PoolMetrics.layer())
          layers += 1
          yield* Effect.addFinalizer(() => Effect.sync(() => void (layers -= 1)))
          yield* Effect.yieldNow
        }))
        const user = Effect.scoped(Effect.flatMap(
          Layer.build(BufferPool.layer({ label: "tested" })),
          (context) => Effect.provide(lease(64), context)
        ))
        const looker = Effect.gen(function*() {
          for (let round = 0; round < 4; round++) {
            const found = yield* numbers
            // Layers are counted within their scopes, so that there may be series when the count is 0.
            if (layers > 0) deepStrictEqual(found.slice(1), [])
            assert.isAtMost(found.length, 1)
            most = Math.max(most, found.length + layers)
            yield* Effect.yieldNow
          }
        })
        const ended = Effect.race(observer, Effect.yieldNow)
        yield* Effect.all([observer, ended, observer, user, looker], { concurrency: "unbounded" })
        deepStrictEqual(yield* series, [])
        yield* Layer.build(PoolMetrics.layer())
        yield* Layer.build(BufferPool.layer({ label: "tested" }))
        deepStrictEqual(yield* numbers, ["tested 1: 0"])
      })
      const device = Layer.provideMerge(Host.layer(), PoolEvents.layer)
      const whole = program.pipe(Effect.scoped, Effect.provide(device), inOwnRegistry)
      const { schedules } = isWhole
        ? yield* Schedules.explore(whole, { deviations: 1 })
        : yield* Schedules.random(whole, { schedules: 200 })
      assert.isAbove(schedules, 50)
      strictEqual(most, 4)
    }))

  it.effect("of two layers have the same buckets, or the second one says what there is", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        yield* built([0.25, 2])
        yield* built([0.25, 2])
        yield* built()
        const error = yield* Effect.flip(built([0.25, 3]))
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, "durationBoundaries is [0.25, 3], and a layer that is open has [0.25, 2]")
      }))
      yield* Effect.scoped(built([0.25, 3]))
    }).pipe(Effect.provide(PoolEvents.layer), inOwnRegistry))

  it.effect("come back for nobody, also when the layer ends in the step in which a pool publishes something", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const receive = ({ _tag }: PoolEvent) => {
        if (_tag === "Refused") Effect.runSync(Scope.close(scope, Exit.void))
      }
      yield* Effect.forkScoped(PoolEvents.listen(receive), { startImmediately: true })
      yield* Layer.buildWithScope(PoolMetrics.layer(), scope)
      assert.isAbove((yield* series).length, 20)
      yield* Effect.exit(BufferPool.use(200, () => lease(100)))
      deepStrictEqual(yield* series, [])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        BufferPool.layer().pipe(
          Layer.provide(Host.layer({ capacityBytes: 256, maxBufferSize: 512 })),
          Layer.provideMerge(PoolEvents.layer)
        )
      ),
      inOwnRegistry
    ))

  it.effect("of a lost device say that nothing is left, and go when the pool closes", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(BufferPool.layer({ label: "tested" }), scope)
      yield* Effect.gen(function*() {
        yield* lease(32)
        yield* BufferPool.allocate(64)
        const { status } = yield* DeviceContext
        status.lose("unplugged")
        strictEqual((yield* Effect.flip(lease(64))).reason._tag, "DeviceLost")
        deepStrictEqual(yield* statsByMetrics({ memory: "tested" }), { ...(yield* BufferPool.stats) })
        strictEqual(yield* valueOf("gpu_pool_held_bytes"), 0)
        strictEqual(yield* valueOf("gpu_pool_waiters"), 0)
      }).pipe(Scope.provide(scope), Effect.provide(context))
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual(yield* series, [])
    }).pipe(Effect.provide(device), inOwnRegistry))

  it.effect("keep what distinguishes memories, whatever attributes the program adds", () =>
    Effect.gen(function*() {
      yield* open("one")
      yield* open("other")
      yield* open(undefined)
      deepStrictEqual(yield* numbers, ["one 1: 0", "one 2: 0", "other 1: 0"])
      const found = yield* named("gpu_pool_hits_total")
      deepStrictEqual(new Set(found.map(({ attributes }) => attributes["device"])), new Set(["host process memory"]))
    }).pipe(
      Effect.provide(device),
      Effect.provideService(Metric.CurrentMetricAttributes, { device: "x", memory: "one", number: "7" }),
      inOwnRegistry
    ))

  it.effect("have the attributes of the fiber that builds the layer", () =>
    Effect.gen(function*() {
      yield* lease(64)
      const found = yield* series
      assert.isAbove(found.length, 20)
      assert.isTrue(found.every(({ attributes }) => attributes["service"] === "resizer"))
    }).pipe(
      Effect.provide(gpu()),
      Effect.provideService(Metric.CurrentMetricAttributes, { service: "resizer" }),
      inOwnRegistry
    ))

  it.effect("of a pool are all there or none, while others close it, in every order", () =>
    Effect.gen(function*() {
      let most = 0
      const program = Effect.gen(function*() {
        const pools = Layer.provideMerge(Host.layer({ latency: "1 millis" }), metered)
        const user = Effect.scoped(Effect.gen(function*() {
          const context = yield* Layer.build(BufferPool.layer({ label: "tested", maxBytes: 64, onExhausted: "wait" }))
          yield* Effect.all([lease(64), lease(64)], { concurrency: 2 }).pipe(Effect.provide(context))
        }))
        const exporter = Effect.gen(function*() {
          for (let round = 0; round < 3; round++) {
            const found = yield* series
            const scalars = found.filter(({ count }) => Number.isNaN(count))
            // All of PoolStats, and evictions, requests that fail with OutOfMemory or LimitExceeded, and the limit.
            assert.include([0, Object.keys(described).length + 4], scalars.length)
            assert.isTrue(scalars.every(({ value }) => value >= 0))
            most = Math.max(most, scalars.length)
            yield* Effect.yieldNow
          }
        })
        const both = Effect.all([Effect.race(user, Effect.sleep("1 millis")), exporter], { concurrency: 2 })
        yield* Effect.scoped(Effect.flatMap(Layer.build(pools), (context) => Effect.provide(both, context)))
        deepStrictEqual(yield* series, [])
      }).pipe(inOwnRegistry)
      const { schedules } = yield* Schedules.explore(program, { deviations: 1 })
      assert.isAbove(schedules, 50)
      assert.isAbove(most, 20)
    }))
})

/** How many steps a hit takes with a layer: the fewest of several hits, since a count may include a call made before it. */
const hits = (layer: Layer.Layer<never, unknown>) =>
  Effect.gen(function*() {
    const context = yield* Effect.context<BufferPool.BufferPool>()
    yield* lease(64)
    // The first calls load lazy parts.
    for (let warm = 0; warm < 3; warm++) Effect.runSync(Effect.provide(lease(64), context))
    const hit = () => Effect.runSync(Effect.provide(lease(64), context))
    return Math.min(...Array.from({ length: 5 }, () => stepsTaken("/src/", hit)))
  }).pipe(
    Effect.provide(
      BufferPool.layer().pipe(
        Layer.provideMerge(Host.layer()),
        Layer.provideMerge(layer),
        Layer.provideMerge(PoolEvents.layer)
      )
    ),
    inOwnRegistry,
    Effect.runPromise
  )

describe("a hit", () => {
  it("takes exactly as many steps with metrics as without", async () => {
    const without = await hits(Layer.empty)
    assert.isAbove(without, 0)
    strictEqual(await hits(PoolMetrics.layer()), without)
  })
})
