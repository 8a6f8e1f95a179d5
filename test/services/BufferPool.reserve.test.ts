import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as SizePolicy from "../../src/domain/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/BufferPool.ts"
import * as PooledBuffer from "../../src/services/PooledBuffer.ts"
import { hasStats, hold, layer, nextTurn, type OpenOptions, outOfMemoryOf, tagOf } from "../support/hostPool.ts"

const limited = (maxBytes: number, pool?: BufferPool.BufferPoolOptions): OpenOptions => ({
  pool: { maxBytes, onExhausted: "wait", ...pool }
})

const nothingIsLeft = hasStats({ activeBlocks: 0, activeBytes: 0, reservedBytes: 0, setAsideBytes: 0, waiters: 0 })

/** Runs `f` with the pool around the reservation, which knows nothing of it. */
const withinReservation = <A, E>(
  bytes: number,
  f: (outer: BufferPool.Pool) => Effect.Effect<A, E, BufferPool.BufferPool>
): Effect.Effect<A, E | GpuError, BufferPool.BufferPool> =>
  Effect.flatMap(BufferPool.BufferPool, (outer) => BufferPool.reserve(f(outer), bytes))

const fails = (pool: BufferPool.Pool, size: number) =>
  Effect.map(
    tagOf(Effect.scoped(pool.allocate(size, { onExhausted: "fail" }))),
    (tag) => strictEqual(tag, "OutOfMemory")
  )

const capacities = (bytes: number) =>
  BufferPool.reserve(
    Effect.scoped(Effect.map(BufferPool.allocateAll([33, 33, 33]), (all) => all.map((one) => one.capacity))),
    bytes
  )

describe("a reservation", () => {
  it.effect("keeps its bytes from other requests, and gives them back at its end", () =>
    Effect.gen(function*() {
      yield* withinReservation(60, (outer) =>
        Effect.gen(function*() {
          yield* hasStats({ setAsideBytes: 60, activeBytes: 0, managedBytes: 0 })
          yield* Effect.scoped(outer.allocate(40))
          const error = yield* outOfMemoryOf(Effect.scoped(outer.allocate(41, { onExhausted: "fail" })))
          strictEqual(error.setAsideBytes, 60)
          assert.include(error.message, "set aside 60")
        }))
      yield* Effect.scoped(BufferPool.allocate(100))
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("keeps held blocks from other requests as well, and evicts them for its own", () =>
    Effect.gen(function*() {
      yield* hold([50, 50])
      yield* withinReservation(80, (outer) =>
        Effect.gen(function*() {
          yield* fails(outer, 50)
          yield* BufferPool.allocate(80)
          yield* hasStats({ activeBytes: 80, setAsideBytes: 0, managedBytes: 80 })
        }).pipe(Effect.scoped))
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("serves its requests past those who wait", () =>
    Effect.gen(function*() {
      yield* withinReservation(60, (outer) =>
        Effect.gen(function*() {
          const waiting = yield* Effect.forkChild(Effect.scoped(outer.allocate(100)))
          yield* nextTurn
          yield* hasStats({ waiters: 1 })
          yield* BufferPool.use(30, () => BufferPool.use(30, () => Effect.void))
          yield* hasStats({ waiters: 1, setAsideBytes: 60 })
          return waiting
        })).pipe(Effect.flatMap(Fiber.join))
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("has again what its leases give back, and no lease of another", () =>
    Effect.gen(function*() {
      const before = yield* BufferPool.allocate(20)
      yield* withinReservation(60, () =>
        Effect.gen(function*() {
          const one = yield* BufferPool.allocate(60)
          yield* hasStats({ setAsideBytes: 0 })
          yield* PooledBuffer.release(one)
          yield* hasStats({ setAsideBytes: 60 })
          yield* PooledBuffer.release(before)
          yield* hasStats({ setAsideBytes: 60, activeBytes: 0 })
        }).pipe(Effect.scoped))
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("leaves the leases that outlive it", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.reserve(BufferPool.allocate(30), 60)
      yield* hasStats({ setAsideBytes: 0, activeBytes: 30 })
      yield* Effect.scoped(BufferPool.allocate(70))
      yield* PooledBuffer.release(lease)
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("is admitted in turn, when all of its bytes are certain", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const first = yield* BufferPool.allocate(50)
      const job = (name: string, bytes: number) =>
        Effect.forkChild(BufferPool.reserve(Effect.sync(() => void log.push(name)), bytes))
      yield* job("large", 80)
      yield* nextTurn
      yield* hasStats({ waiters: 1, setAsideBytes: 0 })
      yield* PooledBuffer.release(first)
      yield* nextTurn
      deepStrictEqual(log, ["large"])
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("gives up after waitAtMost, at once with fail, and leaves nothing behind when it is interrupted", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(50)
      const error = yield* outOfMemoryOf(BufferPool.reserve(Effect.void, 80, { onExhausted: "fail", label: "job" }))
      strictEqual(error.requested, 80)
      const waiting = yield* Effect.forkChild(BufferPool.reserve(Effect.void, 80))
      yield* nextTurn
      yield* Fiber.interrupt(waiting)
      yield* hasStats({ waiters: 0, setAsideBytes: 0, activeBytes: 50 })
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("is LimitExceeded where it can never fit, and InvalidRequest for what is no size", () =>
    Effect.gen(function*() {
      strictEqual(yield* tagOf(BufferPool.reserve(Effect.void, 101)), "LimitExceeded")
      strictEqual(yield* tagOf(BufferPool.withBudget(BufferPool.reserve(Effect.void, 51), 50)), "LimitExceeded")
      for (const bytes of [-1, Number.NaN, "much", 2 ** 53]) {
        strictEqual(yield* tagOf(BufferPool.reserve(Effect.void, bytes)), "InvalidRequest")
      }
      strictEqual(yield* BufferPool.reserve(Effect.succeed(1), "100%"), 1)
    }).pipe(Effect.provide(layer({ host: { capacityBytes: 100 }, pool: { onExhausted: "wait" } }))))

  it.effect("may be larger than the largest buffer of the device", () =>
    Effect.gen(function*() {
      yield* BufferPool.reserve(Effect.scoped(BufferPool.allocateAll([40, 40])), 80)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer({ host: { maxBufferSize: 50 }, pool: { maxBytes: 100 } }))))

  it.effect("pays the slack of a size policy from what is free, and does without where nothing is", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* capacities(99), [63, 33, 33])
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(130, { sizePolicy: SizePolicy.leadingBits(0) })))))

  it.effect("nests: the inner one draws from the outer one, which has it again afterwards", () =>
    Effect.gen(function*() {
      yield* withinReservation(80, (outer) =>
        Effect.gen(function*() {
          const kept = yield* BufferPool.reserve(
            Effect.gen(function*() {
              yield* hasStats({ setAsideBytes: 80 })
              yield* Effect.scoped(BufferPool.allocate(60))
              return yield* BufferPool.allocate(20)
            }),
            60
          )
          yield* hasStats({ setAsideBytes: 60, activeBytes: 20 })
          yield* fails(outer, 21)
          yield* PooledBuffer.release(kept)
          yield* hasStats({ setAsideBytes: 80, activeBytes: 0 })
          yield* BufferPool.reserve(Effect.as(hasStats({ setAsideBytes: 100 }), undefined), 100)
          yield* hasStats({ setAsideBytes: 80 })
        }).pipe(Effect.scoped))
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("is charged to budgets whole, and its leases are charged once", () =>
    Effect.gen(function*() {
      const budget = yield* BufferPool.budget(80)
      const stats = Effect.map(budget.stats, ({ activeBytes, managedBytes, reservedBytes, setAsideBytes }) => [
        activeBytes,
        managedBytes,
        reservedBytes,
        setAsideBytes
      ])
      yield* budget.reserve(60, (reserved) =>
        Effect.gen(function*() {
          deepStrictEqual(yield* stats, [0, 0, 0, 60])
          yield* fails(budget, 21)
          yield* Effect.scoped(Effect.gen(function*() {
            yield* reserved.allocate(50)
            deepStrictEqual(yield* stats, [50, 50, 0, 10])
            yield* fails(budget, 21)
            const inner = yield* reserved.budget(10)
            yield* inner.use(10, () => Effect.map(stats, (now) => deepStrictEqual(now, [60, 60, 0, 0])))
            strictEqual(yield* tagOf(inner.use(11, () => Effect.void)), "LimitExceeded")
          }))
          deepStrictEqual(yield* stats, [0, 0, 0, 60])
        }))
      deepStrictEqual(yield* stats, [0, 0, 0, 0])
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("asks the pool for what goes beyond it, with what is left of it in hand", () =>
    Effect.gen(function*() {
      yield* withinReservation(30, () =>
        Effect.gen(function*() {
          yield* BufferPool.allocate(90)
          yield* hasStats({ setAsideBytes: 0, activeBytes: 90 })
        }).pipe(Effect.scoped))
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("tops up a request that went beyond it when its own leases come back", () =>
    Effect.gen(function*() {
      const other = yield* BufferPool.allocate(40)
      yield* withinReservation(60, () =>
        Effect.gen(function*() {
          const first = yield* BufferPool.allocate(50)
          const second = yield* Effect.forkChild(BufferPool.use(30, () => Effect.void))
          yield* nextTurn
          yield* hasStats({ waiters: 1 })
          yield* PooledBuffer.release(first)
          yield* Fiber.join(second)
        }).pipe(Effect.scoped))
      yield* PooledBuffer.release(other)
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("is over for fibers that outlive its effect: they ask as others do", () =>
    Effect.gen(function*() {
      const late = yield* Deferred.make<void>()
      const fiber = yield* BufferPool.reserve(
        Effect.forkDetach(Effect.andThen(Deferred.await(late), BufferPool.use(100, () => Effect.void))),
        60
      )
      yield* nothingIsLeft
      yield* Deferred.succeed(late, undefined)
      yield* Fiber.join(fiber)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("is whole again after a driver that refuses, whether the request then succeeds or not", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      yield* BufferPool.reserve(
        Effect.gen(function*() {
          faults.failAllocations({ nth: 1 })
          yield* Effect.scoped(BufferPool.allocate(60))
          yield* hasStats({ setAsideBytes: 60, reservedBytes: 0 })
          yield* BufferPool.freeHeld
          faults.failAllocations({ times: Infinity })
          yield* fails(yield* BufferPool.BufferPool, 60)
          yield* hasStats({ setAsideBytes: 60, reservedBytes: 0 })
        }),
        60
      )
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))
})

describe("a turn", () => {
  it.effect("gets what it asks for before a reservation that waits for what it holds, however strict the line", () =>
    Effect.gen(function*() {
      const held = yield* Deferred.make<void>()
      const job = yield* Effect.forkChild(
        BufferPool.inTurn(
          BufferPool.use(
            32,
            () => Effect.andThen(Deferred.await(held), BufferPool.use(32, () => Effect.succeed("turn")))
          )
        )
      )
      yield* nextTurn
      const reserved = yield* Effect.forkChild(BufferPool.reserve(Effect.succeed("reserved"), 64))
      yield* nextTurn
      yield* hasStats({ waiters: 1, activeBytes: 32 })
      yield* Deferred.succeed(held, undefined)
      deepStrictEqual([yield* Fiber.join(job), yield* Fiber.join(reserved)], ["turn", "reserved"])
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(64, { maxOvertakes: 0 })))))

  it.effect("waits at the head of the line for what others lease", () =>
    Effect.gen(function*() {
      const other = yield* BufferPool.allocate(32)
      const reserved = yield* Effect.forkChild(BufferPool.reserve(Effect.succeed("reserved"), 64))
      const job = yield* Effect.forkChild(
        BufferPool.inTurn(BufferPool.use(32, () => BufferPool.use(32, () => Effect.succeed("turn"))))
      )
      yield* nextTurn
      yield* hasStats({ waiters: 2, activeBytes: 64 })
      yield* PooledBuffer.release(other)
      deepStrictEqual([yield* Fiber.join(job), yield* Fiber.join(reserved)], ["turn", "reserved"])
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(64, { maxOvertakes: 0 })))))
})

describe("leases that are wanted together", () => {
  it.effect("come in the shape of the sizes", () =>
    Effect.gen(function*() {
      const { input, nothing, output } = yield* BufferPool.allocateAll({ input: 10, output: 20, nothing: 0 })
      deepStrictEqual([input.size, output.size, nothing.size], [10, 20, 0])
      const [one, two] = yield* BufferPool.allocateAll([1, 2])
      deepStrictEqual([one.size, two.size], [1, 2])
      deepStrictEqual(yield* BufferPool.allocateAll([]), [])
      strictEqual(yield* BufferPool.useAll([3, 4], ([left, right]) => Effect.succeed(left.size * right.size)), 12)
      yield* hasStats({ activeBlocks: 4, setAsideBytes: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("are all or none, and hold nothing while they wait", () =>
    Effect.gen(function*() {
      const first = yield* BufferPool.allocate(50)
      strictEqual(yield* tagOf(BufferPool.allocateAll([30, 30], { onExhausted: "fail" })), "OutOfMemory")
      strictEqual(yield* tagOf(BufferPool.allocateAll([60, 60])), "LimitExceeded")
      const both = yield* Effect.forkChild(BufferPool.useAll([30, 30], () => Effect.succeed("served")))
      yield* nextTurn
      yield* hasStats({ waiters: 1, activeBytes: 50, reservedBytes: 0, setAsideBytes: 0 })
      yield* PooledBuffer.release(first)
      strictEqual(yield* Fiber.join(both), "served")
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("give back what they have where the driver has no memory for one of them, and wait with nothing", () =>
    Effect.gen(function*() {
      const first = yield* BufferPool.allocate(50)
      const three = yield* Effect.forkChild(BufferPool.useAll([30, 30, 30], () => Effect.succeed("served")))
      yield* nextTurn
      yield* hasStats({ waiters: 1, activeBytes: 50 })
      yield* PooledBuffer.release(first)
      strictEqual(yield* Fiber.join(three), "served")
      yield* nothingIsLeft
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ host: { capacityBytes: 100 }, pool: { maxBytes: 1000, onExhausted: "wait" } }))
    ))

  it.effect("end with InvalidRequest for what are no sizes", () =>
    Effect.gen(function*() {
      for (const sizes of [[-1], [1.5], { a: Number.NaN }]) {
        strictEqual(yield* tagOf(BufferPool.allocateAll(sizes)), "InvalidRequest")
      }
      const wrong: unknown = null
      strictEqual(yield* tagOf(BufferPool.allocateAll(wrong as Array<number>)), "InvalidRequest")
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))
})
