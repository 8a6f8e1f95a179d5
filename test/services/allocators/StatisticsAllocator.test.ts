import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"
import * as BufferUsage from "../../../src/domain/BufferUsage.ts"
import * as SizePolicy from "../../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../../src/host.ts"
import * as Allocator from "../../../src/services/buffers/Allocator.ts"
import * as LimitingAllocator from "../../../src/services/buffers/allocators/LimitingAllocator.ts"
import * as Statistics from "../../../src/services/buffers/allocators/StatisticsAllocator.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import type { DeviceBuffer } from "../../../src/services/device/DeviceBuffer.ts"
import { DeviceContext } from "../../../src/services/device/DeviceContext.ts"
import { type AllocatorLayer, decorated, hold, MiB, recorded, tagOf } from "../../support/hostPool.ts"

const counting = (host?: Host.HostOptions, below: AllocatorLayer = Allocator.layerImmediate) =>
  Statistics.layer.pipe(Layer.provide(below), Layer.provideMerge(Host.layer(host)))

type Triple = readonly [current: number, peak: number, total: number]

const triple = ({ current, peak, total }: Statistics.Counter): Triple => [current, peak, total]

/** Checks the bytes and, if given, the allocations: current, peak, total. */
const areCounters = (counters: Statistics.Counters, bytes: Triple, allocations?: Triple): void => {
  deepStrictEqual(triple(counters.bytes), bytes)
  if (allocations !== undefined) deepStrictEqual(triple(counters.allocations), allocations)
}

const counts = (bytes: Triple, allocations?: Triple) =>
  Effect.map(Statistics.counters, (counters) => areCounters(counters, bytes, allocations))

const zero: Triple = [0, 0, 0]

describe("a statistics allocator", () => {
  it.effect("counts as RMM's: 50, 100, 100 MiB and then 0, 150, 200 MiB", () =>
    Effect.gen(function*() {
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const ten = Effect.replicateEffect(allocate(10 * MiB), 10)
      const live = yield* ten
      yield* counts([100 * MiB, 100 * MiB, 100 * MiB], [10, 10, 10])
      for (const buffer of live.splice(0, 5)) yield* freeUnsafe(buffer)
      yield* counts([50 * MiB, 100 * MiB, 100 * MiB], [5, 10, 10])
      live.push(...yield* ten)
      for (const buffer of live) yield* freeUnsafe(buffer)
      yield* counts([0, 150 * MiB, 200 * MiB], [0, 15, 20])
    }).pipe(Effect.provide(counting())))

  it.effect("starts at zero", () => counts(zero, zero).pipe(Effect.provide(counting())))

  it.effect("counts what was asked for, and only what was given", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      for (const error of ["OutOfMemory", "DriverError"] as const) {
        faults.failAllocations({ error })
        strictEqual(yield* tagOf(Effect.scoped(Allocator.allocate(100))), error)
      }
      for (const bytes of [-1, NaN, 0.5, 2 ** 53]) {
        strictEqual(yield* tagOf(Effect.scoped(Allocator.allocate(bytes))), "InvalidRequest")
      }
      yield* counts(zero, zero)
      yield* Allocator.allocate(33)
      yield* counts([33, 33, 33], [1, 1, 1])
    }).pipe(Effect.scoped, Effect.provide(counting({ granularity: 4 }))))

  it.effect("counts nothing for an allocation that is interrupted", () =>
    Effect.gen(function*() {
      const { allocate } = yield* Allocator.Allocator
      const running = yield* Effect.forkChild(allocate(100), { startImmediately: true })
      yield* counts(zero, zero)
      yield* Fiber.interrupt(running)
      yield* counts(zero, zero)
    }).pipe(Effect.provide(counting({ latency: "1 second" }))))

  it.effect("counts a buffer that came in spite of an interruption", () => {
    const stubborn = decorated((inner) => ({
      ...inner,
      allocate: (bytes, options) => Effect.delay(inner.allocate(bytes, options), "1 second")
    }))
    return Effect.gen(function*() {
      const { allocate } = yield* Allocator.Allocator
      const running = yield* Effect.forkChild(allocate(100), { startImmediately: true })
      const stopped = yield* Effect.forkChild(Fiber.interrupt(running), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopped)
      yield* counts([100, 100, 100], [1, 1, 1])
    }).pipe(Effect.provide(counting({}, stubborn)))
  })

  it.effect("counts a buffer as freed once, also when the driver refuses that", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const buffer = yield* allocate(60)
      yield* allocate(40)
      faults.failFrees()
      assert.isTrue(Exit.isFailure(freeUnsafe(buffer)))
      yield* counts([40, 100, 100], [1, 2, 2])
      yield* freeUnsafe(buffer)
      yield* counts([40, 100, 100], [1, 2, 2])
    }).pipe(Effect.provide(counting())))

  it.effect("counts no buffer of another allocator, and gives it back all the same", () =>
    Effect.gen(function*() {
      const { createBuffer } = yield* DeviceContext
      const foreign = yield* createBuffer(60, BufferUsage.storage)
      yield* (yield* Allocator.Allocator).freeUnsafe(foreign)
      assert.isTrue(foreign.destroyed)
      yield* counts(zero, zero)
    }).pipe(Effect.provide(counting())))

  it.effect("leaves everything else to the one below", () => {
    const events: Array<string> = []
    return Effect.gen(function*() {
      const { allocate, freeUnsafe, immediate, reclaim } = yield* Allocator.Allocator
      const buffer = yield* allocate(8, { label: "mine", usage: BufferUsage.storage })
      deepStrictEqual([buffer.label, buffer.usage, immediate], ["mine", BufferUsage.storage, true])
      yield* freeUnsafe(buffer)
      yield* reclaim
      deepStrictEqual(events, ["allocate 8", "free 8", "reclaim"])
    }).pipe(Effect.provide(counting({}, recorded(events))))
  })

  it.effect("is deferred over a deferred one", () =>
    Effect.gen(function*() {
      strictEqual((yield* Allocator.Allocator).immediate, false)
    }).pipe(Effect.provide(counting({}, Allocator.layerDeferred))))

  it.effect("survives an allocator that dies or throws", () => {
    const breaking = decorated((inner) => ({
      ...inner,
      allocate: (bytes) => {
        if (bytes === 1) throw new Error("broken")
        return Effect.die("broken")
      }
    }))
    return Effect.gen(function*() {
      for (const bytes of [1, 2]) assert.isTrue(Exit.hasDies(yield* Effect.exit(Allocator.allocate(bytes))))
      yield* counts(zero, zero)
    }).pipe(Effect.scoped, Effect.provide(counting({}, breaking)))
  })

  it.effect("counts for itself where the same layer is used for two devices", () => {
    const one = Statistics.layer
    const gpu = () => one.pipe(Layer.provide(Allocator.layerImmediate), Layer.provideMerge(Host.layer()))
    const inner = Effect.andThen(Allocator.allocate(20), Statistics.counters).pipe(
      Effect.scoped,
      Effect.provide(gpu())
    )
    return Effect.gen(function*() {
      yield* Allocator.allocate(10)
      areCounters(yield* inner, [20, 20, 20])
      yield* counts([10, 10, 10])
    }).pipe(Effect.scoped, Effect.provide(gpu()))
  })

  it.effect("stands above or below a limit: the limit's refusals count on neither side", () =>
    Effect.gen(function*() {
      const above = Statistics.layer.pipe(Layer.provide(LimitingAllocator.layer({ maxBytes: 100 })))
      const below = LimitingAllocator.layer({ maxBytes: 100 }).pipe(Layer.provideMerge(Statistics.layer))
      for (const both of [above, below]) {
        const gpu = both.pipe(Layer.provide(Allocator.layerImmediate), Layer.provideMerge(Host.layer()))
        yield* Effect.gen(function*() {
          yield* Allocator.allocate(60)
          strictEqual(yield* tagOf(Allocator.allocate(60)), "OutOfMemory")
          yield* counts([60, 60, 60], [1, 1, 1])
        }).pipe(Effect.scoped, Effect.provide(gpu))
      }
    }))

  it.effect("counts a pool's blocks", () => {
    const gpu = BufferPool.layerNoDeps({ sizePolicy: SizePolicy.exact }).pipe(Layer.provideMerge(counting()))
    return Effect.gen(function*() {
      yield* hold([100, 50])
      yield* Effect.repeat(BufferPool.use(100, () => Effect.void), { times: 9 })
      yield* counts([150, 150, 150], [2, 2, 2])
      yield* BufferPool.freeHeld
      yield* counts([0, 150, 150], [0, 2, 2])
    }).pipe(Effect.provide(gpu))
  })
})

describe("push and pop", () => {
  it.effect("nest as RMM's", () =>
    Effect.gen(function*() {
      const ten = 10 * MiB
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const first = yield* allocate(ten)
      yield* counts([ten, ten, ten], [1, 1, 1])
      areCounters(yield* Statistics.push, [ten, ten, ten], [1, 1, 1])
      yield* counts(zero, zero)
      const second = yield* allocate(ten)
      yield* Statistics.push
      yield* counts(zero, zero)
      yield* freeUnsafe(yield* allocate(ten))
      yield* counts([0, ten, ten], [0, 1, 1])
      areCounters(yield* Statistics.pop, [0, ten, ten], [0, 1, 1])
      yield* freeUnsafe(first)
      areCounters(yield* Statistics.pop, [0, 2 * ten, 2 * ten], [0, 2, 2])
      yield* freeUnsafe(second)
      yield* counts([0, 3 * ten, 3 * ten], [0, 3, 3])
      const reason = yield* Effect.flip(Statistics.pop)
      strictEqual(reason.reason._tag, "InvalidRequest")
      assert.match(reason.message, /^StatisticsAllocator\.pop: .* Call push before/)
      yield* counts([0, 3 * ten, 3 * ten], [0, 3, 3])
    }).pipe(Effect.provide(counting())))

  it.effect("go below zero when more is freed than allocated since the push", () =>
    Effect.gen(function*() {
      const { allocate, freeUnsafe } = yield* Allocator.Allocator
      const buffer = yield* allocate(70)
      yield* Statistics.push
      yield* freeUnsafe(buffer)
      yield* allocate(30)
      yield* counts([-40, 0, 30], [0, 0, 1])
      areCounters(yield* Statistics.pop, [-40, 0, 30], [0, 0, 1])
      yield* counts([30, 70, 100], [1, 1, 2])
    }).pipe(Effect.provide(counting())))
})

/** A list of all changes, from which all counters are computed. */
class History {
  readonly changes: Array<number> = []

  /** Counters from the changes alone; a free is a negative change. */
  counters(amountOf: (bytes: number) => number): Triple {
    let current = 0
    let peak = 0
    let total = 0
    for (const bytes of this.changes) {
      current += amountOf(bytes)
      peak = Math.max(peak, current)
      if (bytes > 0) total += amountOf(bytes)
    }
    return [current, peak, total]
  }

  check(counters: Statistics.Counters): void {
    areCounters(counters, this.counters((bytes) => bytes), this.counters(Math.sign))
  }
}

describe("whatever is allocated, freed, pushed and popped", () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("allocate" as const), bytes: fc.integer({ min: 1, max: 99 }) })
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("free" as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("push" as const, "pop" as const) }) }
  )

  it("each level counts what happened since its push, its own and that of the levels above it", async () => {
    const law = fc.asyncProperty(fc.array(step, { maxLength: 100 }), (steps) =>
      Effect.gen(function*() {
        const { allocate, freeUnsafe } = yield* Allocator.Allocator
        const levels = [new History()]
        const live: Array<DeviceBuffer> = []
        for (const next of steps) {
          switch (next.kind) {
            case "allocate": {
              live.push(yield* allocate(next.bytes))
              for (const { changes } of levels) changes.push(next.bytes)
              break
            }
            case "free": {
              const [buffer] = live.splice(next.which % live.length, 1)
              if (buffer === undefined) break
              yield* freeUnsafe(buffer)
              for (const { changes } of levels) changes.push(-buffer.size)
              break
            }
            case "push": {
              levels.at(-1)?.check(yield* Statistics.push)
              levels.push(new History())
              break
            }
            case "pop": {
              if (levels.length === 1) strictEqual(yield* tagOf(Statistics.pop), "InvalidRequest")
              else levels.pop()?.check(yield* Statistics.pop)
            }
          }
          levels.at(-1)?.check(yield* Statistics.counters)
        }
        while (levels.length > 1) levels.pop()?.check(yield* Statistics.pop)
        levels[0]?.check(yield* Statistics.counters)
      }).pipe(Effect.provide(counting()), Effect.runPromise))
    await fc.assert(law)
  })
})

const holdFor = (bytes: number, millis: number) =>
  Statistics.measure(Effect.scoped(Effect.andThen(Allocator.allocate(bytes), Effect.sleep(millis))))

describe("measure", () => {
  it.effect("counts one effect from zero, and answers its result", () =>
    Effect.gen(function*() {
      yield* Allocator.allocate(100)
      const [counters, size] = yield* Statistics.measure(Effect.map(Allocator.allocate(30), (buffer) => buffer.size))
      strictEqual(size, 30)
      areCounters(counters, [30, 30, 30], [1, 1, 1])
      yield* Allocator.allocate(50)
      areCounters(counters, [30, 30, 30], [1, 1, 1])
      yield* counts([180, 180, 180], [3, 3, 3])
    }).pipe(Effect.scoped, Effect.provide(counting())))

  it.effect("counts apart from the stack, and may be within another", () =>
    Effect.gen(function*() {
      const [outer, [inner]] = yield* Statistics.measure(Effect.gen(function*() {
        yield* Allocator.allocate(10)
        yield* Statistics.push
        const answer = yield* Statistics.measure(Effect.scoped(Allocator.allocate(20)))
        yield* counts([0, 20, 20])
        areCounters(yield* Statistics.pop, [0, 20, 20])
        return answer
      }))
      areCounters(inner, [0, 20, 20], [0, 1, 1])
      areCounters(outer, [10, 30, 30], [1, 2, 2])
      yield* counts([10, 30, 30])
    }).pipe(Effect.scoped, Effect.provide(counting())))

  it.effect("counts side by side, each what happens meanwhile", () =>
    Effect.gen(function*() {
      const both = yield* Effect.forkChild(
        Effect.all([holdFor(10, 100), Effect.delay(holdFor(20, 10), 50)], { concurrency: 2 })
      )
      yield* TestClock.adjust("1 second")
      const [[long], [short]] = yield* Fiber.join(both)
      areCounters(long, [0, 30, 30], [0, 2, 2])
      areCounters(short, [0, 20, 20], [0, 1, 1])
    }).pipe(Effect.provide(counting())))

  it.effect("keeps the failure of the effect, and its interruption", () =>
    Effect.gen(function*() {
      strictEqual(yield* Effect.flip(Statistics.measure(Effect.fail("no"))), "no")
      const running = yield* Effect.forkChild(Statistics.measure(Effect.never), { startImmediately: true })
      yield* Fiber.interrupt(running)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(running)))
      areCounters((yield* Statistics.measure(Effect.scoped(Allocator.allocate(8))))[0], [0, 8, 8], [0, 1, 1])
    }).pipe(Effect.provide(counting())))

  it.effect("counts anew each time it is run", () =>
    Effect.gen(function*() {
      const measured = Statistics.measure(Effect.scoped(Allocator.allocate(8)))
      for (const [counters] of [yield* measured, yield* measured]) areCounters(counters, [0, 8, 8], [0, 1, 1])
    }).pipe(Effect.provide(counting())))
})
