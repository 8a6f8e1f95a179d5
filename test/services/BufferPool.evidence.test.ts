import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fc from "fast-check"
import * as GpuError from "../../src/domain/GpuError.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as LimitingAllocator from "../../src/services/buffers/allocators/LimitingAllocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type { PooledBuffer } from "../../src/services/buffers/PooledBuffer.ts"
import * as CallSite from "../../src/services/calls/CallPlaces.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { runs } from "../support/explore.ts"
import { hold, layer, outOfMemoryOf } from "../support/hostPool.ts"
import { stepsTaken } from "../support/stepsTaken.ts"

/** What a request says that does not fit beside a lease of 60 bytes, on a device of 100. */
const fullMessage = (maxBytes: number) =>
  Effect.gen(function*() {
    yield* BufferPool.allocate(60)
    return (yield* outOfMemoryOf(BufferPool.allocate(80))).message
  }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes }, host: { capacityBytes: 100 } })))

describe("OutOfMemory", () => {
  const layout = Effect.gen(function*() {
    yield* hold([40, 60])
    yield* BufferPool.allocate(100, { label: "weights" })
    yield* BufferPool.allocate(300, { label: "frames" })
    yield* BufferPool.allocate(50, { label: "scratch" })
    yield* BufferPool.allocate(200)
    yield* BufferPool.allocate(0, { label: "nothing" })
  })

  it.effect("does not advise to raise a limit that has refused nothing", () =>
    Effect.gen(function*() {
      const byDriver = yield* fullMessage(Infinity)
      assert.include(byDriver, "driver")
      assert.match(byDriver, /\(isRetryable is true\)\.$/)
      assert.match(yield* fullMessage(200), /\(isRetryable is true\)\.$/)
      assert.match(yield* fullMessage(90), /\(isRetryable is true\), or raise maxBytes\.$/)
    }))

  it.effect("carries the evidence, field by field", () =>
    Effect.gen(function*() {
      yield* layout
      const error = yield* outOfMemoryOf(BufferPool.allocate(400))
      const evidence = {
        _tag: "OutOfMemory",
        requested: 400,
        blockSize: 400,
        limitName: "maxBytes",
        limit: 1000,
        activeBytes: 650,
        heldBytes: 100,
        managedBytes: 750,
        pendingBytes: 0,
        reservedBytes: 0,
        deadlock: [],
        largestHeldBytes: 60,
        pooled: true,
        stepsTried: ["bin"],
        waitedMillis: undefined,
        holders: [
          { label: "frames", size: 300, capacity: 300, age: 3 },
          { label: undefined, size: 200, capacity: 200, age: 1 },
          { label: "weights", size: 100, capacity: 100, age: 4 }
        ],
        holderGroups: [
          { label: "frames", callSite: undefined, leases: 1, bytes: 300 },
          { label: undefined, callSite: undefined, leases: 1, bytes: 200 },
          { label: "weights", callSite: undefined, leases: 1, bytes: 100 },
          { label: "scratch", callSite: undefined, leases: 1, bytes: 50 }
        ]
      }
      deepStrictEqual<object>({ ...error }, evidence)
      deepStrictEqual(JSON.parse(JSON.stringify(error)), JSON.parse(JSON.stringify(evidence)))
      assert.include(error.message, "400 bytes requested (block of 400 B), maxBytes 1000 B")
      assert.include(
        error.message,
        "held by frames: 1 lease, 300 B; (no label): 1 lease, 200 B; weights: 1 lease, 100 B"
      )
      assert.include(error.message, "Release leases and retry")
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 1000 } }))))

  it.effect("is final when nothing is leased or under way", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      yield* hold([10])
      faults.failAllocations({ times: Infinity })
      const error = yield* Effect.flip(BufferPool.allocate(400))
      strictEqual(error.reason._tag, "OutOfMemory")
      assert.isFalse(error.isRetryable)
      assert.include(error.message, "There is no lease to release")
    }).pipe(Effect.scoped, Effect.provide(layer())))

  it.effect("can be retried into success", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(80)
      let failures = 0
      const patient = Effect.retry(BufferPool.allocate(60), {
        while: (error) => {
          failures += 1
          return Effect.as(failures === 3 ? Effect.orDie(Lease.release(lease)) : Effect.void, error.isRetryable)
        }
      })
      strictEqual((yield* patient).size, 60)
      strictEqual(failures, 3)
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 100 } }))))

  it("is the only reason that is ever retryable", () => {
    const reasons: ReadonlyArray<GpuError.Reason> = [
      new GpuError.LimitExceeded({ operation: "o", requested: 2, limitName: "l", limit: 1 }),
      new GpuError.InvalidRequest({ operation: "o", problem: "p", hint: "h" }),
      new GpuError.DeviceUnavailable({ tried: [], hint: "h" }),
      new GpuError.DeviceLost({ backend: "b", detail: "d" }),
      new GpuError.Released({ operation: "o", label: undefined, size: 1, why: "released" }),
      new GpuError.ForeignDevice({ operation: "o", label: undefined, owner: "a", expected: "b" }),
      new GpuError.Unsupported({ operation: "o", backend: "b", feature: "f", hint: "h" }),
      new GpuError.DriverError({
        backend: "b",
        call: "c",
        codeName: undefined,
        code: 1,
        log: "l",
        commands: [],
        hint: "h"
      }),
      GpuError.outOfMemory(1).reason
    ]
    deepStrictEqual(reasons.filter((reason) => GpuError.make(reason).isRetryable), [])
  })
})

/** What a random program does with a lease of one label. */
interface Step {
  readonly begins: boolean
  readonly label: string
  readonly size: number
  readonly inBudget: boolean
  readonly ends: number | undefined
  readonly fails: number
}

const step: fc.Arbitrary<Step> = fc.record({
  begins: fc.boolean(),
  label: fc.constantFrom("a", "b", "c", "d", "e", "f", "g"),
  size: fc.integer({ min: 0, max: 50 }),
  inBudget: fc.boolean(),
  ends: fc.option(fc.nat({ max: 40 }), { nil: undefined }),
  fails: fc.integer({ min: 0, max: 2 })
})

/** The sums by their definition. */
const sumsOf = (leases: ReadonlyArray<{ readonly label: string | undefined; readonly size: number }>) => {
  const labels = new Set(leases.filter(({ size }) => size > 0).map(({ label }) => label))
  const sums = [...labels].map((label) => {
    const sizes = leases.filter((lease) => lease.label === label && lease.size > 0).map(({ size }) => size)
    return { label, callSite: undefined, leases: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
  })
  return sums.sort((one, other) => other.bytes - one.bytes)
}

const expectGroups = (error: GpuError.OutOfMemory, all: ReturnType<typeof sumsOf>): void => {
  const { holderGroups } = error
  deepStrictEqual(holderGroups.map(({ bytes }) => bytes), all.slice(0, 5).map(({ bytes }) => bytes))
  for (const group of holderGroups) deepStrictEqual(group, all.find(({ label }) => label === group.label))
}

/** The steps of a failing request beside so many leases, after another one has failed. */
const steps = (leases: number) =>
  Effect.gen(function*() {
    const context = yield* Effect.context<BufferPool.BufferPool>()
    yield* Effect.replicateEffect(BufferPool.allocate(1), leases)
    const failing = Effect.provide(Effect.exit(BufferPool.use(2, () => Effect.void)), context)
    Effect.runSync(failing)
    return stepsTaken("/src/", () => Effect.runSync(failing))
  }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: leases + 1 } })), Effect.runPromise)

describe("leases summed by label", () => {
  it("are those of now, of a pool and of a budget, however often requests fail and whatever came between", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), (steps) =>
        Effect.gen(function*() {
          const pool = yield* BufferPool.BufferPool
          const budget = yield* BufferPool.withBudget(BufferPool.BufferPool, 4000, { label: "budget" })
          // While these leases live, no request below can be served.
          const first = [yield* pool.allocate(100), yield* budget.allocate(2)]
          const live: Array<{ readonly lease: PooledBuffer; readonly inBudget: boolean }> = []
          for (const { begins, ends, fails, inBudget, label, size } of steps) {
            if (begins) live.push({ lease: yield* (inBudget ? budget : pool).allocate(size, { label }), inBudget })
            if (ends !== undefined && ends < live.length) yield* Lease.release(live.splice(ends, 1)[0]!.lease)
            for (let time = 0; time < fails; time++) {
              const all = [...first, ...live.map(({ lease }) => lease)]
              expectGroups(yield* outOfMemoryOf(pool.allocate(4001)), sumsOf(all))
              const charged = live.filter(({ inBudget }) => inBudget).map(({ lease }) => lease)
              expectGroups(yield* outOfMemoryOf(budget.allocate(3999)), sumsOf([first[1]!, ...charged]))
            }
          }
        }).pipe(
          Effect.scoped,
          Effect.provide(layer({ pool: { maxBytes: 4100, onExhausted: "fail" } })),
          Effect.runPromise
        )),
      { numRuns: runs(100) }
    ))

  it("are looked at once for any number of requests that fail while nothing comes or goes", async () => {
    const [few, many] = [await steps(10), await steps(2000)]
    assert.isAbove(few, 0)
    assert.isBelow(many, few + 100)
  })
})

describe("call sites", () => {
  it.effect("say where the largest holders were requested, hits included", () =>
    Effect.gen(function*() {
      yield* hold([400])
      yield* BufferPool.allocate(400, { label: "recycled" })
      const error = yield* Effect.flip(BufferPool.allocate(700))
      assert(error.reason._tag === "OutOfMemory")
      const [recycled] = error.reason.holders
      assert.match(recycled?.callSite ?? "", /BufferPool\.evidence\.test\.ts:\d+:\d+$/)
      assert.include(error.message, `recycled at ${recycled?.callSite}: 1 lease, 400 B`)
    }).pipe(
      Effect.scoped,
      CallSite.track,
      Effect.provide(layer({ pool: { maxBytes: 1000 } }))
    ))

  it.effect("are left out while nobody keeps them", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(400)
      deepStrictEqual(yield* BufferPool.holders(), [{ label: undefined, size: 400, capacity: 400, age: 0 }])
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

const messageOf = <A, R>(effect: Effect.Effect<A, GpuError.GpuError, R>) =>
  Effect.map(Effect.flip(effect), ({ message, reason }) => {
    strictEqual(reason._tag, "LimitExceeded")
    return message
  })

const expected = (name: string) =>
  `101 bytes are over the budget${name}, 100 bytes, so they can never fit. Ask for less, split the work, or raise ` +
  "the budget."

describe("LimitExceeded", () => {
  it.effect("names the pool's limit, with units, its label and that of the request", () =>
    Effect.gen(function*() {
      strictEqual(
        yield* messageOf(BufferPool.allocate(1001, { label: "weights" })),
        `BufferPool.allocate, "weights": 1001 bytes are over maxBytes of the pool "model", 1000 bytes, so they can never ` +
          "fit. Ask for less, split the work, or raise maxBytes."
      )
      assert.include(
        yield* messageOf(BufferPool.reserve(Effect.void, 1001)),
        `BufferPool.reserve, "model": 1001 bytes are over maxBytes of the pool "model", 1000 bytes`
      )
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 1000, label: "model" } }))))

  it.effect("names the budget by its own label", () =>
    Effect.gen(function*() {
      const asked = BufferPool.allocate(101)
      const tenant = yield* messageOf(BufferPool.withBudget(asked, 100, { label: "tenant A" }))
      assert.include(tenant, expected(` "tenant A"`))
      assert.include(yield* messageOf(BufferPool.withBudget(asked, 100)), expected(""))
      const inner = BufferPool.withBudget(asked, 200)
      assert.include(
        yield* messageOf(BufferPool.withBudget(inner, 100, { label: "tenant A" })),
        expected(` "tenant A"`)
      )
      const full = Effect.andThen(BufferPool.allocate(60), BufferPool.allocate(60))
      const reason = yield* outOfMemoryOf(BufferPool.withBudget(full, 100, { label: "tenant A" }))
      strictEqual(reason.limitLabel, "tenant A")
      assert.include(reason.message, `budget "tenant A" 100 B, active 60 B`)
    }).pipe(Effect.scoped, Effect.provide(layer({}))))

  it.effect("names the device's limit, and that it cannot be raised", () =>
    Effect.gen(function*() {
      assert.include(
        yield* messageOf(BufferPool.allocate(501)),
        "501 bytes are over maxBufferSize of the device, 500 bytes, so they can never fit. Ask for less, split the work, " +
          "or choose a device that takes more."
      )
      assert.include(
        yield* messageOf(Effect.provide(Allocator.allocate(501), Allocator.layerImmediate)),
        "501 bytes are over maxBufferSize of the device, 500 bytes"
      )
      const limited = LimitingAllocator.layer({ maxBytes: 100 }).pipe(Layer.provide(Allocator.layerImmediate))
      assert.include(
        yield* messageOf(Effect.provide(Allocator.allocate(101), limited)),
        "101 bytes are over maxBytes of the allocator, 100 bytes"
      )
    }).pipe(Effect.scoped, Effect.provide(layer({ host: { maxBufferSize: 500 } }))))
})
