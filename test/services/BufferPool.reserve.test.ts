import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import {
  decorated,
  hasStats,
  hold,
  layer,
  nextTurn,
  type OpenOptions,
  outOfMemoryOf,
  tagOf
} from "../support/hostPool.ts"

const limited = (maxBytes: number, pool?: BufferPool.BufferPoolOptions): OpenOptions => ({
  pool: { maxBytes, onExhausted: "wait", ...pool }
})

const nothingIsLeft = hasStats({ activeBlocks: 0, activeBytes: 0, pendingBytes: 0, reservedBytes: 0, waiters: 0 })

/** Runs `f` within a reservation, with the pool outside of it. */
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

type Together = <A>(
  sizes: Readonly<Record<string, number>>,
  f: (leases: Readonly<Record<string, BufferPool.PooledBuffer>>) => Effect.Effect<A>
) => Effect.Effect<A, GpuError, BufferPool.BufferPool>

const lent: Together = (sizes, f) => BufferPool.useAll(sizes, f)

const allocated: Together = (sizes, f) => Effect.scoped(Effect.flatMap(BufferPool.allocateAll(sizes), f))

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
          yield* hasStats({ reservedBytes: 60, activeBytes: 0, managedBytes: 0 })
          yield* Effect.scoped(outer.allocate(40))
          const error = yield* outOfMemoryOf(Effect.scoped(outer.allocate(41, { onExhausted: "fail" })))
          strictEqual(error.reservedBytes, 60)
          assert.include(error.message, "reserved 60")
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
          yield* hasStats({ activeBytes: 80, reservedBytes: 0, managedBytes: 80 })
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
          yield* hasStats({ waiters: 1, reservedBytes: 60 })
          return waiting
        })).pipe(Effect.flatMap(Fiber.join))
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("has again what its leases release, and no lease of another", () =>
    Effect.gen(function*() {
      const before = yield* BufferPool.allocate(20)
      yield* withinReservation(60, () =>
        Effect.gen(function*() {
          const one = yield* BufferPool.allocate(60)
          yield* hasStats({ reservedBytes: 0 })
          yield* Lease.release(one)
          yield* hasStats({ reservedBytes: 60 })
          yield* Lease.release(before)
          yield* hasStats({ reservedBytes: 60, activeBytes: 0 })
        }).pipe(Effect.scoped))
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("leaves the leases that outlive it", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.reserve(BufferPool.allocate(30), 60)
      yield* hasStats({ reservedBytes: 0, activeBytes: 30 })
      yield* Effect.scoped(BufferPool.allocate(70))
      yield* Lease.release(lease)
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("is admitted in order, when all of its bytes are certain", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const first = yield* BufferPool.allocate(50)
      const job = (name: string, bytes: number) =>
        Effect.forkChild(BufferPool.reserve(Effect.sync(() => void log.push(name)), bytes))
      yield* job("large", 80)
      yield* nextTurn
      yield* hasStats({ waiters: 1, reservedBytes: 0 })
      yield* Lease.release(first)
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
      yield* hasStats({ waiters: 0, reservedBytes: 0, activeBytes: 50 })
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
              yield* hasStats({ reservedBytes: 80 })
              yield* Effect.scoped(BufferPool.allocate(60))
              return yield* BufferPool.allocate(20)
            }),
            60
          )
          yield* hasStats({ reservedBytes: 60, activeBytes: 20 })
          yield* fails(outer, 21)
          yield* Lease.release(kept)
          yield* hasStats({ reservedBytes: 80, activeBytes: 0 })
          yield* BufferPool.reserve(Effect.as(hasStats({ reservedBytes: 100 }), undefined), 100)
          yield* hasStats({ reservedBytes: 80 })
        }).pipe(Effect.scoped))
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("is charged to budgets whole, and its leases are charged once", () =>
    Effect.gen(function*() {
      const budget = yield* BufferPool.budget(80)
      const stats = Effect.map(budget.stats, ({ activeBytes, managedBytes, pendingBytes, reservedBytes }) => [
        activeBytes,
        managedBytes,
        pendingBytes,
        reservedBytes
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
          yield* hasStats({ reservedBytes: 0, activeBytes: 90 })
        }).pipe(Effect.scoped))
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("serves a request that went beyond it when its own leases are released", () =>
    Effect.gen(function*() {
      const other = yield* BufferPool.allocate(40)
      yield* withinReservation(60, () =>
        Effect.gen(function*() {
          const first = yield* BufferPool.allocate(50)
          const second = yield* Effect.forkChild(BufferPool.use(30, () => Effect.void))
          yield* nextTurn
          yield* hasStats({ waiters: 1 })
          yield* Lease.release(first)
          yield* Fiber.join(second)
        }).pipe(Effect.scoped))
      yield* Lease.release(other)
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
          yield* hasStats({ reservedBytes: 60, pendingBytes: 0 })
          yield* BufferPool.freeHeld
          faults.failAllocations({ times: Infinity })
          yield* fails(yield* BufferPool.BufferPool, 60)
          yield* hasStats({ reservedBytes: 60, pendingBytes: 0 })
        }),
        60
      )
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))
})

const reservedJob = (size: number) =>
  Effect.andThen(Effect.yieldNow, BufferPool.use(size, () => Effect.yieldNow)).pipe(BufferPool.reserve(50))

describe("requests of one reservation", () => {
  /** A lease of 80 bytes in a scope of its own, a second request of 80, and the end of the first. */
  const oneAfterTheOther = Effect.gen(function*() {
    const scope = yield* Scope.make()
    yield* Scope.provide(BufferPool.allocate(80), scope)
    const second = yield* Effect.forkChild(BufferPool.use(80, () => Effect.succeed("served")))
    yield* nextTurn
    yield* Scope.close(scope, Exit.void)
    return yield* Fiber.join(second)
  })

  for (const [outsiders, maxBypasses] of [[1, 0], [70, 16]] as const) {
    it.effect(`get what comes back to it before ${outsiders} others who wait for its end`, () =>
      Effect.gen(function*() {
        const outer = yield* BufferPool.BufferPool
        const waiting: Array<Fiber.Fiber<void, GpuError>> = []
        const job = Effect.gen(function*() {
          for (let index = 0; index < outsiders; index++) {
            waiting.push(yield* Effect.forkDetach(outer.use(100, () => Effect.void)))
          }
          yield* nextTurn
          return yield* oneAfterTheOther
        })
        strictEqual(yield* BufferPool.reserve(job, 80), "served")
        yield* Fiber.joinAll(waiting)
        yield* nothingIsLeft
      }).pipe(Effect.provide(layer(limited(100, { maxBypasses, deadlockTimeout: Infinity })))))
  }

  it.effect("get it in a budget's wait queue too", () =>
    Effect.gen(function*() {
      const job = BufferPool.withBudget(BufferPool.reserve(oneAfterTheOther, 80), 100, { onExhausted: "wait" })
      strictEqual(yield* job, "served")
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(1000, { deadlockTimeout: Infinity })))))

  it.effect("get what an interrupted one had in its hands", () =>
    Effect.gen(function*() {
      const job = Effect.gen(function*() {
        const first = yield* Effect.forkChild(BufferPool.use(80, () => Effect.void))
        yield* nextTurn
        const second = yield* Effect.forkChild(BufferPool.use(80, () => Effect.succeed("served")))
        yield* nextTurn
        yield* Fiber.interrupt(first)
        return yield* Fiber.join(second)
      })
      const running = yield* Effect.forkChild(Effect.andThen(hold([100]), BufferPool.reserve(job, 80)))
      for (let turn = 0; turn < 30; turn++) yield* TestClock.adjust("1 second")
      strictEqual(running.pollUnsafe() === undefined ? "waits" : yield* Fiber.join(running), "served")
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer({ host: { latency: "1 second" }, ...limited(100, { deadlockTimeout: Infinity }) }))))

  it.effect("leave it whole where the queue fails to clear what one is given", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      yield* hold([64])
      const job = Effect.gen(function*() {
        faults.failCommands({ nth: 1 })
        yield* Effect.exit(Effect.scoped(BufferPool.allocate(64)))
        yield* Effect.ignore(CommandQueue.finish)
        faults.clear()
        yield* hasStats({ reservedBytes: 64 })
      })
      yield* BufferPool.reserve(job, 64)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100, { clear: "acquire" })))))

  it.effect("are served after the limit was lowered below what is reserved", () =>
    Effect.gen(function*() {
      const both = yield* Effect.forkChild(
        Effect.all([reservedJob(10), reservedJob(20)], { concurrency: 2, discard: true }),
        {
          startImmediately: true
        }
      )
      yield* hasStats({ reservedBytes: 100 })
      yield* BufferPool.setLimit({ maxBytes: 95 })
      yield* Fiber.join(both)
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100, { deadlockTimeout: Infinity })))))

  it.effect("keep nothing of it while they wait for more, so that it goes back at its end", () =>
    Effect.gen(function*() {
      const other = yield* BufferPool.allocate(60)
      const late = yield* BufferPool.reserve(
        Effect.tap(Effect.forkDetach(BufferPool.use(60, () => Effect.void)), () => nextTurn),
        40
      )
      yield* hasStats({ reservedBytes: 0, waiters: 1 })
      yield* Lease.release(other)
      yield* Fiber.join(late)
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100, { deadlockTimeout: Infinity })))))
})

describe("an exclusive section", () => {
  it.effect("of one pool is known within that of another", () =>
    Effect.gen(function*() {
      const outer = yield* BufferPool.BufferPool
      const inner = yield* BufferPool.make({ maxBytes: 100, onExhausted: "wait" })
      const nested = Effect.flatMap(Effect.forkChild(outer.exclusively(Effect.succeed("once"))), Fiber.join)
      strictEqual(yield* outer.exclusively(inner.exclusively(nested)), "once")
    }).pipe(
      Effect.scoped,
      Effect.provide(Allocator.layerImmediate),
      Effect.provide(layer(limited(100, { deadlockTimeout: Infinity })))
    ))

  it.effect("is taken by fibers that outlive a reservation, and not by handlers", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      yield* BufferPool.onOutOfMemory(() => BufferPool.exclusively(Effect.sync(() => log.push("handler") < 0)))
      const gate = yield* Deferred.make<void>()
      const late = yield* BufferPool.reserve(
        Effect.forkDetach(Effect.andThen(
          Deferred.await(gate),
          BufferPool.exclusively(Effect.sync(() => void log.push("late")))
        )),
        10
      )
      const turn = Effect.gen(function*() {
        yield* Deferred.succeed(gate, undefined)
        yield* nextTurn
        deepStrictEqual(log, [])
        yield* tagOf(BufferPool.use(90, () => BufferPool.use(90, () => Effect.void, { onExhausted: "fail" })))
        deepStrictEqual(log, ["handler"])
      })
      yield* BufferPool.exclusively(turn)
      yield* Fiber.join(late)
      deepStrictEqual(log, ["handler", "late"])
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("gets what it requests before a reservation that waits for what it has, however strict the wait queue", () =>
    Effect.gen(function*() {
      const held = yield* Deferred.make<void>()
      const job = yield* Effect.forkChild(
        BufferPool.exclusively(
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
    }).pipe(Effect.provide(layer(limited(64, { maxBypasses: 0 })))))

  it.effect("waits at the head of the wait queue for what others lease", () =>
    Effect.gen(function*() {
      const other = yield* BufferPool.allocate(32)
      const reserved = yield* Effect.forkChild(BufferPool.reserve(Effect.succeed("reserved"), 64))
      const job = yield* Effect.forkChild(
        BufferPool.exclusively(BufferPool.use(32, () => BufferPool.use(32, () => Effect.succeed("turn"))))
      )
      yield* nextTurn
      yield* hasStats({ waiters: 2, activeBytes: 64 })
      yield* Lease.release(other)
      deepStrictEqual([yield* Fiber.join(job), yield* Fiber.join(reserved)], ["turn", "reserved"])
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(64, { maxBypasses: 0 })))))
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
      yield* hasStats({ activeBlocks: 4, reservedBytes: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("have the names that the sizes had at the request, though it waits and the program changes the record", () =>
    Effect.gen(function*() {
      for (const together of [lent, allocated]) {
        const first = yield* BufferPool.allocate(100)
        const sizes: Record<string, number> = { a: 10, b: 20 }
        const waiting = yield* Effect.forkChild(
          together(sizes, (leases) => Effect.succeed(Object.entries(leases).map(([name, { size }]) => [name, size])))
        )
        yield* nextTurn
        yield* hasStats({ waiters: 1 })
        delete sizes["a"]
        sizes["c"] = 30
        yield* Lease.release(first)
        deepStrictEqual(yield* Fiber.join(waiting), [["a", 10], ["b", 20]])
      }
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("have labels in the shape of the sizes, or those of the request and of the pool", () =>
    Effect.gen(function*() {
      for (let run = 0; run < 2; run++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const { a, b } = yield* BufferPool.allocateAll({ a: 10, b: 20 }, { label: "both", labels: { b: "second" } })
          deepStrictEqual([a.label, b.label], ["both", "second"])
          const [one, none] = yield* BufferPool.allocateAll([1, 0], { labels: [undefined, "empty"] })
          deepStrictEqual([one.label, none.label], ["pool", "empty"])
        }))
      }
    }).pipe(Effect.provide(layer(limited(100, { label: "pool" })))))

  it.effect("have names that arrays and objects have, too", () =>
    Effect.gen(function*() {
      const sizes: Readonly<Record<string, number>> = { keys: 10, length: 20, toString: 30 }
      const names: ReadonlyArray<readonly [Readonly<Record<string, string>> | undefined, Array<string>]> = [
        [undefined, ["all", "all", "all"]],
        [{ length: "second" }, ["all", "second", "all"]]
      ]
      for (const [labels, expected] of names) {
        const leases = yield* BufferPool.allocateAll(sizes, { label: "all", labels })
        deepStrictEqual(Object.values(leases).map(({ label }) => label), expected)
      }
    }).pipe(Effect.scoped, Effect.provide(layer(limited(1000)))))

  it.effect("are refused with labels for what has no size, or of no text", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const refused = (labels: unknown, sizes: BufferPool.Sizes = [1, 2]) =>
        Effect.map(Effect.flip(pool.allocateAll(sizes, { labels: labels as never })), ({ message }) => message)
      assert.include(yield* refused(["a", "b", "c"]), `the label of "2" has no size`)
      assert.include(yield* refused({ a: "a" }), `the label of "a" has no size`)
      assert.include(yield* refused([1]), "the label 1 is no string")
      assert.include(yield* refused({ inptu: "a" }, { input: 4 }), `the label of "inptu"`)
      assert.include(yield* refused(["a"], { input: 4 }), `the label of "0"`)
      assert.include(yield* refused({ toString: "a" }, { input: 4 }), `the label of "toString"`)
      assert.include(yield* refused({ length: "a" }), `the label of "length"`)
      assert.include(yield* refused(null), "the labels are null")
      assert.include(yield* refused("ab"), `the labels are "ab"`)
      assert.include(yield* refused(undefined, null as never), "the sizes are null")
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("are all or none, and hold nothing while they wait", () =>
    Effect.gen(function*() {
      const first = yield* BufferPool.allocate(50)
      strictEqual(yield* tagOf(BufferPool.allocateAll([30, 30], { onExhausted: "fail" })), "OutOfMemory")
      strictEqual(yield* tagOf(BufferPool.allocateAll([60, 60])), "LimitExceeded")
      const both = yield* Effect.forkChild(BufferPool.useAll([30, 30], () => Effect.succeed("served")))
      yield* nextTurn
      yield* hasStats({ waiters: 1, activeBytes: 50, pendingBytes: 0, reservedBytes: 0 })
      yield* Lease.release(first)
      strictEqual(yield* Fiber.join(both), "served")
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("take no held block in vain", () =>
    Effect.gen(function*() {
      yield* BufferPool.useAll([20, 20], () => Effect.void)
      yield* hasStats({ heldBlocks: 2, driverAllocations: 2, hits: 0 })
      yield* BufferPool.useAll([20, 20], () => hasStats({ activeBlocks: 2, hits: 2, reservedBytes: 0 }))
      strictEqual(yield* tagOf(BufferPool.allocateAll([20, 81], { onExhausted: "fail" })), "LimitExceeded")
      const rest = yield* BufferPool.allocate(50)
      strictEqual(yield* tagOf(BufferPool.allocateAll([20, 40], { onExhausted: "fail" })), "OutOfMemory")
      yield* hasStats({ heldBlocks: 2, driverAllocations: 3, hits: 2, peakActiveBytes: 50 })
      yield* Lease.release(rest)
      yield* BufferPool.useAll([20, 20, 20], () => hasStats({ activeBlocks: 3, hits: 4, driverAllocations: 4 }))
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100, { sizePolicy: SizePolicy.exact })))))

  it.effect("are refused for what is wrong, held or not", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      yield* BufferPool.use(20, () => Effect.void)
      for (const sizes of [[20], [21], []]) {
        const wrong = { waitAtMost: -1 }
        strictEqual(yield* tagOf(Effect.scoped(pool.allocateAll(sizes, wrong))), "InvalidRequest")
      }
    }).pipe(Effect.provide(layer(limited(100, { sizePolicy: SizePolicy.exact })))))

  it.effect("belong to the scope where they are hits, and are refused where it is closed", () =>
    Effect.gen(function*() {
      yield* BufferPool.useAll([20, 20], () => Effect.void)
      const scope = yield* Scope.make()
      yield* Scope.provide(BufferPool.allocateAll([20, 20]), scope)
      yield* hasStats({ activeBlocks: 2 })
      yield* Scope.close(scope, Exit.void)
      strictEqual(yield* tagOf(Scope.provide(BufferPool.allocateAll([20, 20]), scope)), "Released")
      yield* nothingIsLeft
    }).pipe(Effect.provide(layer(limited(100, { sizePolicy: SizePolicy.exact })))))

  it.effect("release what they have where the driver has no memory for one of them, and wait with nothing", () =>
    Effect.gen(function*() {
      const first = yield* BufferPool.allocate(50)
      const three = yield* Effect.forkChild(BufferPool.useAll([30, 30, 30], () => Effect.succeed("served")))
      yield* nextTurn
      yield* hasStats({ waiters: 1, activeBytes: 50 })
      yield* Lease.release(first)
      strictEqual(yield* Fiber.join(three), "served")
      yield* nothingIsLeft
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ host: { capacityBytes: 100 }, pool: { maxBytes: 1000, onExhausted: "wait" } }))
    ))

  it.effect("of which one is transferred leave that one, as use does", () =>
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const [kept, back] = yield* BufferPool.useAll([8, 9], (both) => Effect.as(Lease.transfer(both[0], scope), both))
      deepStrictEqual([Lease.isLive(kept), Lease.isLive(back)], [true, false])
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("of zero bytes do not wait", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(100)
      const waiting = yield* Effect.forkChild(BufferPool.use(100, () => Effect.void))
      yield* nextTurn
      deepStrictEqual((yield* BufferPool.allocateAll([0, 0], { onExhausted: "fail" })).map(({ size }) => size), [0, 0])
      yield* BufferPool.reserve(Effect.void, 0, { onExhausted: "fail" })
      yield* Fiber.interrupt(waiting)
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100, { maxBypasses: 0 })))))

  it.effect("do not wake each other again and again where the allocator has no memory for all", () =>
    Effect.gen(function*() {
      let asked = 0
      const counting = decorated((allocator) => ({
        ...allocator,
        allocate: (bytes, options) =>
          Effect.suspend(() => {
            asked++
            return allocator.allocate(bytes, options)
          })
      }))
      yield* Effect.gen(function*() {
        const held = yield* BufferPool.allocate(200)
        const jobs = yield* Effect.forEach(
          [[100, 100], [100, 100], [150]],
          (sizes) => Effect.forkChild(BufferPool.useAll(sizes, () => Effect.void))
        )
        for (let turn = 0; turn < 200; turn++) yield* nextTurn
        assert.isBelow(asked, 40)
        yield* Lease.release(held)
        yield* Fiber.joinAll(jobs)
        yield* nothingIsLeft
      }).pipe(
        Effect.scoped,
        Effect.provide(layer({ host: { capacityBytes: 300 }, ...limited(1000), allocator: counting }))
      )
    }))

  it.effect("end with InvalidRequest for what are no sizes", () =>
    Effect.gen(function*() {
      for (const sizes of [[-1], [1.5], { a: Number.NaN }]) {
        strictEqual(yield* tagOf(BufferPool.allocateAll(sizes)), "InvalidRequest")
      }
      yield* nothingIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))
})
