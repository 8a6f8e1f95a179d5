import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as LeaseHolder from "../../src/services/lease/LeaseHolder.ts"
import { runs } from "../support/explore.ts"
import {
  decorated,
  hasStats,
  hold,
  isConsistent,
  layer,
  logsTo,
  nextTurn,
  open,
  type OpenOptions,
  outOfMemoryOf,
  ParkAt,
  reasonOf,
  tagOf
} from "../support/hostPool.ts"
import { Clients, patient, quiet } from "../support/poolClients.ts"
import { withEvents } from "../support/poolEvents.ts"

const limited = (maxBytes: number, pool?: BufferPool.BufferPoolOptions): OpenOptions => ({
  pool: { maxBytes, ...pool }
})

/** Checks that no request waits and nothing is leased. */
const nobodyIsLeft = hasStats({ activeBlocks: 0, activeBytes: 0, pendingBytes: 0, waiters: 0 })

describe("requests that wait", () => {
  it.effect("are served first come, first served", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 100, b: 100, c: 100, d: 100 })
      deepStrictEqual(clients.log(), ["a"])
      yield* hasStats({ waiters: 3, activeBytes: 100 })
      for (const [gone, next] of [["a", "b"], ["b", "c"], ["c", "d"]] as const) {
        yield* clients.release(gone)
        deepStrictEqual(clients.log(), [next])
      }
      yield* hasStats({ waiters: 0, driverAllocations: 1, hits: 3 })
      yield* clients.release("d")
      yield* nobodyIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("are served several at a time where there is room for several", () =>
    withEvents(limited(100), (events) =>
      Effect.gen(function*() {
        const clients = new Clients()
        yield* clients.askAll({ a: 100, b: 30, c: 50, d: 40 })
        events()
        yield* clients.release("a")
        deepStrictEqual(clients.log(), ["a", "b", "c"])
        deepStrictEqual(events(), ["free 100", "reclaim", "allocate 30", "reclaim", "allocate 50"])
        yield* hasStats({ waiters: 1, activeBytes: 80 })
        yield* clients.release("b")
        deepStrictEqual(clients.log(), ["d"])
      })))

  it.effect("are there for use as for allocate", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.ask("a", 100)
      const fiber = yield* Effect.forkChild(BufferPool.use(60, (lease) => Effect.succeed(lease.size), patient))
      yield* quiet
      yield* hasStats({ waiters: 1 })
      yield* clients.release("a")
      strictEqual(yield* Fiber.join(fiber), 60)
      yield* nobodyIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("are there for pools that clear", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 100, b: 100, c: 60 })
      yield* clients.release("a")
      yield* clients.release("b")
      deepStrictEqual(clients.log(), ["a", "b", "c"])
      yield* clients.release("c")
      yield* nobodyIsLeft
    }).pipe(Effect.provide(layer(limited(100, { clear: "acquire" })))))

  it.effect("take a larger block that is released, as far as the size policy allows", () =>
    withEvents(
      limited(2048, { sizePolicy: SizePolicy.sizeClasses(4, { borrow: 1 }) }),
      (events) =>
        Effect.gen(function*() {
          const clients = new Clients()
          yield* clients.askAll({ a: 2048, b: 1984 })
          events()
          yield* clients.release("a")
          strictEqual((yield* clients.lease("b")).capacity, 2048)
          deepStrictEqual(events(), [])
          yield* hasStats({ borrows: 1, driverAllocations: 1 })
        })
    ))

  it.effect("take their exact size where padding would take the room of others", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 2048, b: 1025, c: 1200 })
      yield* clients.release("a")
      const leases = yield* Effect.all([clients.lease("b"), clients.lease("c")])
      deepStrictEqual(leases.map(({ capacity }) => capacity), [1025, 1200])
    }).pipe(Effect.provide(layer(limited(2500, { sizePolicy: SizePolicy.sizeClasses(0, { borrow: 1 }) })))))

  it.effect("take the exact size where the block does not fit", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 512, b: 300, c: 600 })
      yield* clients.release("a")
      strictEqual((yield* clients.lease("c")).capacity, 600)
      yield* clients.release("c")
      yield* hasStats({ heldBlocks: 0, managedBytes: 512 })
    }).pipe(Effect.provide(layer(limited(1112, { sizePolicy: SizePolicy.table([512, 1024]) })))))

  it.effect("wait for reserved bytes too, that nobody leases in the end", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const { faults } = yield* Host.Host
      faults.delay({ allocations: "1 second" })
      yield* clients.askAll({ a: 100, b: 60 })
      yield* hasStats({ pendingBytes: 100, waiters: 1 })
      faults.failAllocations({ error: "DriverError" })
      yield* TestClock.adjust("1 second")
      deepStrictEqual(clients.log(), ["a: DriverError"])
      yield* hasStats({ pendingBytes: 60, waiters: 0 })
      yield* TestClock.adjust("1 second")
      deepStrictEqual(clients.log(), ["b"])
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("wait for a block that a request left behind on its way", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const { faults } = yield* Host.Host
      faults.delay({ allocations: "1 second" })
      yield* clients.askAll({ a: 100, b: 100 })
      yield* clients.interrupt("a")
      yield* TestClock.adjust("1 second")
      deepStrictEqual(clients.log(), ["a: interrupted", "b"])
      yield* hasStats({ driverAllocations: 1, hits: 1, waiters: 0 })
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("are served by freeHeld, trimTo and resumed holding as by a release", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const { faults } = yield* Host.Host
      yield* clients.askAll({ a: 50, b: 50 })
      yield* clients.release("b")
      // The driver refuses, and is asked again only after something is freed.
      faults.failAllocations({ times: 3 })
      yield* clients.ask("c", 40)
      deepStrictEqual(clients.log(), ["a", "b"])
      yield* BufferPool.freeHeld
      yield* quiet
      deepStrictEqual(clients.log(), [])
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["c"])
    }).pipe(Effect.provide(layer())))
})

describe("a release", () => {
  const newcomer = outOfMemoryOf(BufferPool.allocate(64, { onExhausted: "fail" }))

  it.effect("hands its block over in the same step, so that a newcomer cannot take it", () =>
    withEvents(limited(64), (events) =>
      Effect.gen(function*() {
        const clients = new Clients()
        yield* clients.askAll({ a: 64, b: 64 })
        events()
        yield* Lease.release(yield* clients.lease("a"))
        yield* hasStats({ waiters: 0, activeBytes: 64, heldBytes: 0 })
        strictEqual((yield* newcomer).holders[0]?.label, "b")
        strictEqual((yield* outOfMemoryOf(BufferPool.use(64, () => Effect.void))).holders[0]?.label, "b")
        yield* quiet
        deepStrictEqual(clients.log(), ["a", "b"])
        deepStrictEqual(events(), [])
      })))

  it.effect("or the bytes of it, for a block that has still to be made", () =>
    withEvents(limited(100), (events) =>
      Effect.gen(function*() {
        const clients = new Clients()
        yield* clients.askAll({ a: 100, b: 64 })
        events()
        yield* Lease.release(yield* clients.lease("a"))
        yield* hasStats({ waiters: 0, activeBytes: 0, managedBytes: 0, pendingBytes: 64 })
        deepStrictEqual(events(), ["free 100"])
        strictEqual((yield* newcomer).pendingBytes, 64)
        // Any request may have the remaining bytes.
        yield* BufferPool.use(36, () => Effect.void)
        yield* quiet
        deepStrictEqual(clients.log(), ["a", "b"])
      })))

  it.effect("keeps the bytes for the first in the wait queue while blocks are evicted and a slow driver makes the new one", () =>
    Effect.gen(function*() {
      const gates = { reclaim: Deferred.makeUnsafe<void>(), allocate: Deferred.makeUnsafe<void>() }
      let open = true
      const gated = decorated((allocator) => ({
        ...allocator,
        allocate: (bytes, options) =>
          Effect.andThen(
            Effect.suspend(() => open ? Effect.void : Deferred.await(gates.allocate)),
            allocator.allocate(bytes, options)
          ),
        reclaim: Effect.andThen(Effect.suspend(() => Deferred.await(gates.reclaim)), allocator.reclaim)
      }))
      yield* Effect.gen(function*() {
        const clients = new Clients()
        yield* hold([30, 20])
        yield* clients.askAll({ a: 50, b: 100 })
        open = false
        yield* clients.release("a")
        for (const gate of [gates.reclaim, gates.allocate]) {
          yield* hasStats({ waiters: 0, managedBytes: 0, pendingBytes: 100 })
          for (const size of [1, 20, 100]) {
            strictEqual((yield* outOfMemoryOf(BufferPool.use(size, () => Effect.void))).pendingBytes, 100)
          }
          deepStrictEqual(clients.log().includes("b"), false)
          yield* Deferred.succeed(gate, undefined)
          yield* quiet
        }
        deepStrictEqual(clients.log(), ["b"])
        yield* hasStats({ activeBytes: 100, pendingBytes: 0, driverFrees: 3 })
      }).pipe(Effect.provide(layer({ ...limited(100), allocator: gated })))
    }))

  it.effect("gives the kept bytes to the next in the wait queue when the first one does not want them any more", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const { faults } = yield* Host.Host
      yield* clients.askAll({ a: 100, b: 64, c: 60 })
      faults.delay({ allocations: "1 second" })
      yield* clients.release("a")
      yield* hasStats({ pendingBytes: 64, waiters: 1 })
      faults.failAllocations({ error: "DriverError" })
      yield* TestClock.adjust("1 second")
      deepStrictEqual(clients.log(), ["a", "b: DriverError"])
      yield* TestClock.adjust("1 second")
      deepStrictEqual(clients.log(), ["c"])
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("serves whoever is next when the first one goes away", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 40, b: 80, c: 60 })
      yield* clients.interrupt("b")
      deepStrictEqual(clients.log(), ["a", "b: interrupted", "c"])
    }).pipe(Effect.provide(layer(limited(100, { maxBypasses: 0 })))))
})

describe("bypassing", () => {
  // The large request never fits beside a, and each small one does.
  it.effect.each([0, 1, 3, 16])(
    "happens exactly %i times with maxBypasses as much",
    (maxBypasses) =>
      Effect.gen(function*() {
        const clients = new Clients()
        yield* clients.askAll({ a: 60, large: 80 })
        for (let i = 0; i < maxBypasses; i++) {
          yield* clients.ask(`small ${i}`, 20)
          yield* clients.release(`small ${i}`)
        }
        strictEqual(clients.log().length, 1 + maxBypasses)
        yield* clients.ask("late", 20)
        strictEqual(yield* tagOf(BufferPool.use(20, () => Effect.void)), "OutOfMemory")
        yield* hasStats({ waiters: 2, activeBytes: 60 })
        deepStrictEqual(clients.log(), [])
        yield* clients.release("a")
        deepStrictEqual(clients.log(), ["large", "late"])
      }).pipe(Effect.provide(layer(limited(100, { maxBypasses }))))
  )

  it.effect("happens 16 times by default", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 60, large: 80 })
      for (let i = 0; i < 20; i++) {
        yield* clients.ask(`small ${i}`, 20)
        yield* clients.release(`small ${i}`)
      }
      strictEqual(clients.log().filter((line) => /^small \d+$/.test(line)).length, 16)
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("counts requests that do not wait, and hits, as any other", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* hold([20])
      yield* clients.askAll({ a: 60, large: 90 })
      const small = BufferPool.use(20, () => Effect.void)
      for (let i = 0; i < 4; i++) yield* small
      strictEqual((yield* outOfMemoryOf(small)).heldBytes, 20)
      strictEqual((yield* outOfMemoryOf(Effect.scoped(BufferPool.allocate(20)))).heldBytes, 20)
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["a", "large"])
    }).pipe(Effect.provide(layer(limited(100, { maxBypasses: 4 })))))

  it.effect("is counted for each one that is passed", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 60, first: 80 })
      yield* clients.ask("s1", 20)
      yield* clients.release("s1")
      yield* clients.ask("second", 90)
      yield* clients.ask("s2", 20)
      yield* clients.release("s2")
      deepStrictEqual(clients.log(), ["a", "s1", "s2"])
      // The first was passed twice now, the second once.
      yield* clients.ask("s3", 20)
      yield* clients.interrupt("first")
      deepStrictEqual(clients.log(), ["first: interrupted", "s3"])
      yield* clients.release("s3")
      yield* clients.ask("s4", 20)
      deepStrictEqual(clients.log(), [])
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["second"])
      yield* clients.release("second")
      deepStrictEqual(clients.log(), ["s4"])
    }).pipe(Effect.provide(layer(limited(100, { maxBypasses: 2 })))))

  it.effect("is bounded also where one release has room for several", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 50, b: 50, large: 80, s1: 20, s2: 20 })
      yield* clients.release("b")
      deepStrictEqual(clients.log(), ["a", "b", "s1"])
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["large"])
    }).pipe(Effect.provide(layer(limited(100, { maxBypasses: 1 })))))

  it.effect("makes no convoy: a small request does not wait behind a large one", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 60, large: 80, small: 20, smaller: 10 })
      deepStrictEqual(clients.log(), ["a", "small", "smaller"])
      yield* hasStats({ waiters: 1 })
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("looks at the first 64 in the wait queue", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.ask("a", 60)
      for (let i = 0; i < 63; i++) yield* clients.ask(`large ${i}`, 80)
      yield* clients.ask("64th", 10)
      yield* clients.ask("large 64", 80)
      yield* clients.ask("65th", 10)
      deepStrictEqual(clients.log(), ["a", "64th"])
      yield* clients.interrupt("large 7")
      deepStrictEqual(clients.log(), ["large 7: interrupted", "65th"])
    }).pipe(Effect.provide(layer(limited(100, { maxBypasses: 1000 })))))

  it.effect("never starves a large request, however many small ones come without end", () =>
    Effect.gen(function*() {
      let served = 0
      const worker = BufferPool.use(10, () => Effect.sync(() => served++), patient).pipe(
        Effect.andThen(Effect.yieldNow),
        Effect.forever
      )
      const workers = yield* Effect.forEach(Array.from({ length: 30 }), () => Effect.forkChild(worker))
      for (let round = 0; round < 5; round++) {
        yield* nextTurn
        const before = served
        const most = yield* BufferPool.use(100, () => Effect.succeed(served - before), patient)
        assert.isAtMost(most, 16)
        // Both sides go on.
        const others = served
        yield* turns(20)
        assert.isAbove(served, others)
      }
      yield* Fiber.interruptAll(workers)
      yield* nobodyIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))
})

describe("under stopHolding", () => {
  it.effect("a waiting request continues when the driver has freed the released block, and not before", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const gate = Deferred.makeUnsafe<void>()
      let slow = false
      const gated = decorated((allocator) => ({
        ...allocator,
        allocate: (bytes, options) =>
          Effect.suspend(() => {
            events.push(`allocate ${bytes}`)
            return allocator.allocate(bytes, options)
          }),
        reclaim: Effect.suspend(() => {
          events.push("reclaim")
          return Effect.andThen(slow ? Deferred.await(gate) : Effect.void, allocator.reclaim)
        })
      }))
      yield* Effect.gen(function*() {
        const clients = new Clients()
        yield* BufferPool.stopHolding
        yield* clients.askAll({ a: 100, b: 100 })
        slow = true
        events.length = 0
        yield* clients.release("a")
        deepStrictEqual(events, ["reclaim"])
        yield* hasStats({ managedBytes: 0, pendingBytes: 100, waiters: 0 })
        yield* Deferred.succeed(gate, undefined)
        yield* quiet
        deepStrictEqual(events, ["reclaim", "allocate 100"])
        deepStrictEqual(clients.log(), ["a", "b"])
      }).pipe(
        Effect.provide(layer({ ...limited(100), host: { capacityBytes: 100, lateFree: true }, allocator: gated }))
      )
    }))

  it.effect("every waiter is served in order", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* BufferPool.stopHolding
      yield* clients.askAll({ a: 100, b: 60, c: 60, d: 100 })
      for (const name of ["a", "b", "c", "d"]) yield* clients.release(name)
      deepStrictEqual(clients.log(), ["a", "b", "c", "d"])
      yield* hasStats({ driverAllocations: 4, driverFrees: 4, waiters: 0 })
    }).pipe(Effect.provide(layer({ host: { capacityBytes: 100, lateFree: true } }))))
})

describe("waiters that the driver refused", () => {
  const full = { host: { capacityBytes: 100, lateFree: true } } as const

  it.effect("try again one at a time, and only when bytes became free", () =>
    withEvents(full, (events) =>
      Effect.gen(function*() {
        const clients = new Clients()
        yield* clients.askAll({ a: 30, b: 30, c: 30, w: 70, x: 70, y: 70, z: 70 })
        deepStrictEqual(clients.log(), ["a", "b", "c"])
        yield* hasStats({ waiters: 4 })
        events()
        yield* quiet
        deepStrictEqual(events(), [])
        // 30 bytes are free and 60 leased: each request asks before and after a reclaim, and not again.
        yield* clients.release("a")
        const asked = events().filter((event) => event === "allocate 70").length
        strictEqual(asked, 4 * 2)
        deepStrictEqual(clients.log(), [])
        yield* quiet
        deepStrictEqual(events(), [])
        yield* clients.release("b")
        deepStrictEqual(clients.log(), ["w"])
        yield* hasStats({ waiters: 3 })
        for (const [gone, next] of [["w", "x"], ["x", "y"], ["y", "z"]] as const) {
          events()
          yield* clients.release(gone)
          deepStrictEqual(clients.log(), [next])
          deepStrictEqual(events(), [])
        }
        yield* clients.release("c", "z")
        yield* nobodyIsLeft
      })))

  it.effect("are served by eviction where the released blocks have other sizes", () =>
    withEvents(full, (events) =>
      Effect.gen(function*() {
        const clients = new Clients()
        yield* clients.askAll({ a: 50, b: 50, w: 60, x: 40 })
        events()
        yield* clients.release("a", "b")
        deepStrictEqual(clients.log(), ["a", "b", "w", "x"])
        assert.isAtMost(events().filter((event) => event.startsWith("allocate")).length, 6)
        yield* clients.release("w", "x")
        yield* nobodyIsLeft
      })))

  it.effect("do not forget the next when the first found a block that was released meanwhile", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const done = Deferred.makeUnsafe<void>()
      yield* clients.askAll({ a: 60, b: 40 })
      const first = yield* Effect.forkChild(BufferPool.use(40, () => Deferred.await(done), patient))
      yield* quiet
      yield* clients.ask("second", 30)
      yield* hasStats({ waiters: 2 })
      yield* clients.release("a", "b")
      // 40 bytes are in use for all that time; the other 60 are held, and no other request can use them.
      deepStrictEqual(clients.log(), ["a", "b", "second"])
      yield* Deferred.succeed(done, undefined)
      yield* Fiber.join(first)
    }).pipe(Effect.provide(layer(full))))

  it.effect("fail together when nothing is leased that could help them", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const { faults } = yield* Host.Host
      yield* clients.ask("a", 50)
      faults.failAllocations({ times: Infinity })
      yield* clients.askAll({ b: 60, c: 60, d: 60 })
      yield* hasStats({ waiters: 3 })
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["a", "b: OutOfMemory", "c: OutOfMemory", "d: OutOfMemory"])
      yield* nobodyIsLeft
    }).pipe(Effect.provide(layer())))
})

const never = (options: OpenOptions, size: number) =>
  Effect.gen(function*() {
    yield* BufferPool.allocate(10)
    strictEqual(yield* tagOf(BufferPool.allocate(size, patient)), "LimitExceeded")
    strictEqual(yield* tagOf(BufferPool.use(size, () => Effect.void, patient)), "LimitExceeded")
    yield* hasStats({ waiters: 0 })
  }).pipe(Effect.scoped, Effect.provide(layer(options)))

describe("a request that cannot be helped by waiting", () => {
  it.effect("fails at once over maxBytes", () => never(limited(100), 101))
  it.effect("and over the largest buffer", () => never({ host: { maxBufferSize: 64 } }, 65))
  it.effect("and over the device's memory", () => never({ host: { capacityBytes: 64 } }, 65))
  it.effect("and over what the granularity makes of it", () => never({ host: { granularity: 8 }, ...limited(36) }, 35))

  it.effect("fails when the driver has no memory and nothing is leased", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      yield* hold([10])
      faults.failAllocations({ times: Infinity })
      const error = yield* outOfMemoryOf(BufferPool.allocate(60, patient))
      deepStrictEqual([error.stepsTried, error.isRetryable], [["bin", "driver", "reclaim", "evict"], false])
      yield* nobodyIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer())))
})

describe("what a request says itself", () => {
  it.effect("counts more than what the pool says", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(100)
      const { stepsTried } = yield* outOfMemoryOf(BufferPool.allocate(60, { onExhausted: "fail" }))
      deepStrictEqual(stepsTried, ["bin"])
      const fiber = yield* Effect.forkChild(outOfMemoryOf(BufferPool.allocate(60)))
      const short = yield* Effect.forkChild(outOfMemoryOf(BufferPool.allocate(60, { waitAtMost: "1 second" })))
      yield* quiet
      yield* TestClock.adjust("1 second")
      strictEqual((yield* Fiber.join(short)).waitedMillis, 1000)
      strictEqual(fiber.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 minute")
      strictEqual((yield* Fiber.join(fiber)).waitedMillis, 60_000)
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100, { onExhausted: "wait", waitAtMost: "1 minute" })))))

  it.effect("a pool's waitAtMost holds for requests that wait in a pool that fails", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(100)
      strictEqual((yield* outOfMemoryOf(BufferPool.allocate(60))).waitedMillis, undefined)
      const fiber = yield* Effect.forkChild(outOfMemoryOf(BufferPool.use(60, () => Effect.void, patient)))
      yield* quiet
      yield* TestClock.adjust("1 second")
      strictEqual((yield* Fiber.join(fiber)).waitedMillis, 1000)
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100, { waitAtMost: "1 second" })))))

  it.effect("is refused where it makes no sense", () =>
    Effect.gen(function*() {
      const bad: ReadonlyArray<object> = [
        { waitAtMost: -1 },
        { waitAtMost: "soon" },
        { onExhausted: "waits" }
      ]
      for (const options of bad) {
        for (
          const [operation, effect] of [
            ["allocate", BufferPool.allocate(60, options)],
            ["reserve", BufferPool.reserve(Effect.void, 60, options)],
            ["budget", BufferPool.budget(60, options)]
          ] as const
        ) {
          const reason = yield* reasonOf(effect)
          strictEqual(reason._tag, "InvalidRequest")
          assert.include(reason.message, `BufferPool.${operation}: `)
        }
      }
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))
})

describe("a wait that takes too long", () => {
  it.effect("ends in OutOfMemory that names the largest holders with labels and ages", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ weights: 50, frames: 30, scratch: 10, mask: 5 })
      const fiber = yield* Effect.forkChild(
        Effect.flip(BufferPool.allocate(60, { ...patient, waitAtMost: "1500 millis", label: "late" }))
      )
      yield* quiet
      yield* hasStats({ waiters: 1 })
      yield* TestClock.adjust("1499 millis")
      strictEqual(fiber.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(fiber)
      assert(error.reason._tag === "OutOfMemory")
      deepStrictEqual(error.reason.holders, [
        { label: "weights", size: 50, capacity: 50, age: 3 },
        { label: "frames", size: 30, capacity: 30, age: 2 },
        { label: "scratch", size: 10, capacity: 10, age: 1 }
      ])
      const { activeBytes, limit, limitName, stepsTried, waitedMillis } = error.reason
      deepStrictEqual([limitName, limit, activeBytes, waitedMillis], ["maxBytes", 100, 95, 1500])
      deepStrictEqual(stepsTried, ["bin", "wait"])
      assert.include(error.message, "waited 1500 ms; held by weights: 1 lease, 50 B; frames: 1 lease, 30 B")
      yield* hasStats({ waiters: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("says so of one that came when others were waiting, and tried no more than it did", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 100, b: 60 })
      yield* clients.ask("c", 60, { waitAtMost: "1 second" })
      yield* TestClock.adjust("1 second")
      const reason = yield* clients.reason("c")
      assert(reason._tag === "OutOfMemory")
      deepStrictEqual([reason.stepsTried, reason.waitedMillis], [["bin", "wait"], 1000])
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("counts all of its waiting, however often it was woken in vain", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 20, b: 20, c: 60 })
      yield* clients.ask("w", 90, { waitAtMost: "1 second" })
      for (const name of ["a", "b"]) {
        yield* TestClock.adjust("400 millis")
        yield* clients.release(name)
      }
      yield* TestClock.adjust("199 millis")
      deepStrictEqual(clients.log(), ["a", "b", "c"])
      yield* TestClock.adjust("1 millis")
      deepStrictEqual(clients.log(), ["w: OutOfMemory"])
      const reason = yield* clients.reason("w")
      assert(reason._tag === "OutOfMemory")
      strictEqual(reason.waitedMillis, 1000)
    }).pipe(Effect.provide(layer({ host: { capacityBytes: 100, lateFree: true } }))))

  it.effect("is over at once when it may take no time", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(100)
      const error = yield* outOfMemoryOf(BufferPool.allocate(60, { ...patient, waitAtMost: 0 }))
      deepStrictEqual([error.stepsTried, error.waitedMillis], [["bin", "wait"], 0])
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("also in a region that cannot be interrupted", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(100)
      const fiber = yield* Effect.forkChild(
        Effect.uninterruptible(outOfMemoryOf(BufferPool.allocate(60, { ...patient, waitAtMost: "1 second" })))
      )
      yield* quiet
      yield* TestClock.adjust("1 second")
      strictEqual((yield* Fiber.join(fiber)).waitedMillis, 1000)
      yield* hasStats({ waiters: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("is a lease after all when it came in the very step in which the time was over", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.ask("a", 100)
      const release = Effect.andThen(Effect.sleep("1 second"), clients.release("a"))
      yield* Effect.forkChild(release, { startImmediately: true })
      yield* clients.ask("b", 100, { waitAtMost: "1 second" })
      yield* TestClock.adjust("1 second")
      yield* quiet
      deepStrictEqual(clients.log(), ["a", "b"])
      yield* clients.release("b")
      yield* nobodyIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))
})

/** For k = 0, 1, ... until there is no k-th step any more. */
const atEveryStep = <E>(test: (k: number) => Effect.Effect<boolean, E>) =>
  Effect.gen(function*() {
    let k = 0
    while (yield* test(k)) k++
    assert.isAtLeast(k, 5)
    assert.isBelow(k, 500)
  })

/** A request that has to wait for a lease of 100 bytes, and stops before its k-th operation. */
const parkedAt = Effect.fnUntraced(function*(k: number, size: number) {
  const opened = yield* open({ ...limited(100), host: { lateFree: true } })
  const lease = yield* Scope.provide(opened.pool.allocate(100), Scope.makeUnsafe())
  const scheduler = new ParkAt(k)
  const request = opened.pool.use(size, ({ capacity }) => Effect.succeed(capacity), patient)
  const fiber = Effect.runForkWith(opened.context)(request, { scheduler })
  yield* quiet
  return { opened, lease, scheduler, fiber, end: Effect.andThen(opened.closePool, opened.closeHost) }
})

const untilDone = Effect.fnUntraced(function*(fiber: Fiber.Fiber<unknown, unknown>, scheduler: ParkAt) {
  // Its driver call stops too, and continues when no request waits for it any more.
  for (let turns = 0; turns === 0 || fiber.pollUnsafe() === undefined; turns++) {
    assert.isBelow(turns, 100, "it hangs")
    scheduler.resume()
    yield* nextTurn
  }
})

describe("a wait that is given up leaves no trace", () => {
  const requests = {
    allocate: Effect.scoped(Effect.andThen(BufferPool.allocate(60, patient), Effect.never)),
    use: BufferPool.use(60, () => Effect.never, patient),
    extract: Effect.scoped(LeaseHolder.extract(BufferPool.allocate(60, patient))),
    "allocate with an end of its own": Effect.scoped(BufferPool.allocate(60, { ...patient, waitAtMost: "1 hour" }))
  }

  it.effect.each(Object.entries(requests))("by Effect.timeout of %s", ([_name, request]) =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const lease = yield* BufferPool.allocate(100)
      const before = yield* pool.stats
      const fiber = yield* Effect.forkChild(Effect.exit(Effect.timeout(request, "1 second")))
      yield* quiet
      yield* hasStats({ waiters: 1 })
      yield* TestClock.adjust("1 second")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
      deepStrictEqual(yield* pool.stats, before)
      yield* Lease.release(lease)
      yield* quiet
      yield* hasStats({ heldBytes: 100, activeBlocks: 0, pendingBytes: 0, hits: 0, misses: 1 })
      // Without waiting requests the pool leases as before.
      yield* BufferPool.use(100, () => Effect.void)
      yield* hasStats({ hits: 1 })
    }).pipe(Effect.scoped, Effect.provide(layer(limited(100)))))

  it.effect("in the scope that it was made in", () =>
    Effect.gen(function*() {
      const scope = Scope.makeUnsafe()
      const finalizers = () => scope.state._tag === "Open" ? scope.state.finalizers?.size : undefined
      yield* Scope.provide(BufferPool.allocate(100), scope)
      const before = finalizers()
      for (let i = 0; i < 5; i++) {
        const fiber = yield* Effect.forkChild(Scope.provide(BufferPool.allocate(60, patient), scope))
        yield* quiet
        yield* Fiber.interrupt(fiber)
      }
      strictEqual(finalizers(), before)
      yield* Scope.close(scope, Exit.void)
      yield* nobodyIsLeft
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect.each([100, 60])(
    "wherever the interruption comes while %i of 100 bytes are handed over",
    (size) =>
      atEveryStep(Effect.fnUntraced(function*(k) {
        const { end, fiber, lease, opened, scheduler } = yield* parkedAt(k, size)
        yield* Lease.release(lease)
        yield* quiet
        fiber.interruptUnsafe()
        yield* untilDone(fiber, scheduler)
        yield* quiet
        const stats = yield* opened.pool.stats
        isConsistent(stats, opened.driverObjects)
        deepStrictEqual([stats.activeBlocks, stats.pendingBytes, stats.waiters], [0, 0, 0], `k = ${k}`)
        yield* end
        return scheduler.reached
      }))
  )
})

describe("no wake-up is lost", () => {
  it.effect.each([100, 60])(
    "wherever the release comes on the way of a request for %i of 100 bytes",
    (size) =>
      atEveryStep(Effect.fnUntraced(function*(k) {
        const { end, fiber, lease, scheduler } = yield* parkedAt(k, size)
        yield* Lease.release(lease)
        yield* untilDone(fiber, scheduler)
        strictEqual(yield* Fiber.join(fiber), size)
        yield* end
        return scheduler.reached
      }))
  )
})

const turns = (count: number) => Effect.replicateEffect(nextTurn, count, { discard: true })

describe("everybody is served in the end", () => {
  const policies = [
    SizePolicy.exact,
    SizePolicy.table([128]),
    SizePolicy.table([32, 64, 128], { borrow: 1 }),
    SizePolicy.sizeClasses(1, { borrow: 1 })
  ]
  const jobs = fc.record({
    size: fc.integer({ min: 1, max: 100 }),
    usage: fc.constantFrom(BufferUsage.defaultUsage, BufferUsage.storage),
    place: fc.nat(3),
    scoped: fc.boolean(),
    /** In turns of the event loop: when the request starts, how long it has its lease, and when it is interrupted. */
    comes: fc.nat(6),
    stays: fc.nat(4),
    givesUp: fc.nat(30)
  })
  const settings = fc.record({
    policy: fc.constantFrom(...policies),
    capacityBytes: fc.constantFrom(100, 128, 150, 100_000),
    maxBytes: fc.constantFrom(100, 128, 140, 300, Infinity),
    maxHeldBytes: fc.constantFrom(Infinity, 60, 0),
    maxBypasses: fc.constantFrom(0, 1, 16),
    lateFree: fc.boolean(),
    driverTurns: fc.nat(2),
    holds: fc.boolean(),
    clear: fc.constantFrom("never", "acquire")
  })
  it("whatever is short: the limit, the driver, budgets or both, and whoever gives up", () =>
    fc.assert(
      fc.asyncProperty(fc.array(jobs, { minLength: 5, maxLength: 60, size: "max" }), settings, (jobs, given) => {
        const { capacityBytes, clear, driverTurns, lateFree, maxBytes, maxHeldBytes, maxBypasses, policy } = given
        const slow = decorated((allocator) => ({
          ...allocator,
          allocate: (bytes, options) =>
            Effect.uninterruptible(Effect.andThen(turns(driverTurns), allocator.allocate(bytes, options))),
          reclaim: Effect.andThen(turns(driverTurns), allocator.reclaim)
        }))
        return Effect.gen(function*() {
          const pool = yield* BufferPool.BufferPool
          const outer = yield* pool.budget(120)
          const places = [pool, pool, outer, yield* outer.budget(100)]
          if (!given.holds) yield* pool.stopHolding
          const fibers = yield* Effect.forEach(jobs, ({ comes, place, scoped, size, stays, usage }) => {
            const options = { ...patient, usage }
            const job = scoped
              ? Effect.scoped(Effect.andThen(places[place]!.allocate(size, options), turns(stays)))
              : places[place]!.use(size, () => turns(stays), options)
            return Effect.forkChild(Effect.andThen(turns(comes), job))
          })
          for (const [i, { givesUp }] of jobs.entries()) {
            if (givesUp < 6) yield* Effect.forkChild(Effect.andThen(turns(givesUp), Fiber.interrupt(fibers[i]!)))
          }
          for (let passed = 0; fibers.some((fiber) => fiber.pollUnsafe() === undefined); passed++) {
            assert.isBelow(passed, 20_000, "somebody waits for ever")
            yield* nextTurn
          }
          for (const fiber of fibers) {
            const exit = yield* Fiber.await(fiber)
            assert.isTrue(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause), String(exit))
          }
          // Driver calls of interrupted requests may still be under way.
          yield* turns(50)
          for (const place of places) yield* Effect.provideService(nobodyIsLeft, BufferPool.BufferPool, place)
        }).pipe(
          Effect.provide(layer({
            host: { capacityBytes, lateFree },
            allocator: slow,
            pool: { sizePolicy: policy, maxBytes, maxHeldBytes, maxBypasses, clear }
          })),
          Effect.runPromise
        )
      }),
      { numRuns: runs(200) }
    ))
})

describe("requests in the wait queue are answered", () => {
  it.effect("with Released when their scope closes", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 100, b: 100, c: 60 })
      yield* clients.release("b")
      deepStrictEqual(clients.log(), ["a", "b: Released"])
      const reason = yield* clients.reason("b")
      assert(reason._tag === "Released")
      deepStrictEqual([reason.why, reason.label, reason.size], ["scopeClosed", "b", 100])
      yield* hasStats({ waiters: 1 })
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["c"])
    }).pipe(Effect.provide(layer(limited(100)))))

  it.effect("and the next is served when it was only that one who kept it waiting", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 60, b: 100, c: 40 })
      yield* clients.release("b")
      deepStrictEqual(clients.log(), ["a", "b: Released", "c"])
    }).pipe(Effect.provide(layer(limited(100, { maxBypasses: 0 })))))

  const endings = {
    "Released when the pool closes": {
      end: (opened: Effect.Success<ReturnType<typeof open>>) => opened.closePool,
      tag: "Released"
    },
    "DeviceLost when the device is lost": {
      end: (opened: Effect.Success<ReturnType<typeof open>>) => Effect.sync(() => opened.faults.lose()),
      tag: "DeviceLost"
    }
  }

  it.effect.each(Object.entries(endings))("with %s", ([_name, { end, tag }]) =>
    Effect.gen(function*() {
      const opened = yield* open({ ...limited(100), host: { lateFree: true } })
      const clients = new Clients()
      yield* Effect.gen(function*() {
        yield* clients.ask("a", 50)
        yield* clients.askAll({ b: 60, c: 100 })
        yield* clients.ask("d", 60, { waitAtMost: "1 hour" })
        yield* clients.askAll({ x: 10, y: 40 }).pipe(BufferPool.withBudget(40))
        clients.log()
        yield* hasStats({ waiters: 4 })
        yield* end(opened)
        yield* quiet
        deepStrictEqual([...clients.log()].sort(), ["b", "c", "d", "y"].map((name) => `${name}: ${tag}`))
        yield* hasStats({ waiters: 0, pendingBytes: 0 })
      }).pipe(Effect.provide(opened.context))
      yield* opened.closePool
      yield* opened.closeHost
      strictEqual(opened.driverObjects.live, 0)
    }))
})

/** As many as would be too deep for a stack, if one were on another. */
const crowded = runs(100_000, 20_000)

describe(`${crowded} requests in the wait queue`, () => {
  const count = crowded
  const crowd = <A, E, R>(request: Effect.Effect<A, E, R>, length = count) =>
    Effect.forEach(Array.from({ length }), () => Effect.forkChild(request))

  it.effect("are served one after the other without a stack that grows", () =>
    Effect.gen(function*() {
      let served = 0
      const lease = yield* BufferPool.allocate(64)
      const fibers = yield* crowd(BufferPool.use(64, () => Effect.sync(() => served++), patient))
      yield* quiet
      yield* hasStats({ waiters: count })
      yield* Lease.release(lease)
      yield* Fiber.awaitAll(fibers)
      strictEqual(served, count)
      yield* nobodyIsLeft
    }).pipe(Effect.scoped, Effect.provide(layer(limited(64)))))

  it.effect("and all at once when a limit is raised", () =>
    Effect.gen(function*() {
      let served = 0
      yield* BufferPool.allocate(64)
      const fibers = yield* crowd(BufferPool.use(1, () => Effect.sync(() => served++), patient))
      yield* quiet
      yield* hasStats({ waiters: count })
      yield* BufferPool.setLimit({ maxBytes: Infinity })
      yield* Fiber.awaitAll(fibers)
      strictEqual(served, count)
    }).pipe(Effect.scoped, Effect.provide(layer(limited(64)))))

  it.effect("are given up one by one", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(64)
      const fibers = yield* crowd(BufferPool.use(64, () => Effect.void, patient))
      yield* quiet
      yield* Fiber.interruptAll(fibers)
      yield* hasStats({ waiters: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer(limited(64)))))

  /** How many requests end in each turn of the event loop. */
  const heardByTurn = Effect.fnUntraced(function*(heard: () => number) {
    const turns: Array<number> = []
    for (let before = heard(); before < 10_000; before = heard()) {
      yield* nextTurn
      turns.push(heard() - before)
      assert.isBelow(turns.length, 10_000)
    }
    return turns
  })

  it.effect("are answered in many turns of the event loop when a limit is raised or the pool ends", () =>
    Effect.gen(function*() {
      for (const ending of ["raised", "closed"]) {
        let heard = 0
        const opened = yield* open(limited(64))
        const scope = Scope.makeUnsafe()
        yield* Scope.provide(opened.pool.allocate(64), scope)
        const request = Effect.onExit(opened.pool.use(1, () => Effect.void, patient), () => Effect.sync(() => heard++))
        const fibers = yield* crowd(Effect.exit(request), 10_000)
        yield* quiet
        yield* ending === "raised" ? opened.pool.setLimit({ maxBytes: Infinity }) : opened.closePool
        const turns = yield* heardByTurn(() => heard)
        // The turns of the test and those of the pool alternate, or two of the pool's come between.
        assert.isAtMost(Math.max(...turns), 512, ending)
        yield* Fiber.awaitAll(fibers)
        yield* Scope.close(scope, Exit.void)
        yield* opened.closePool
        yield* opened.closeHost
      }
    }).pipe(Effect.provide(logsTo([]))))

  it.effect("are answered by the end of the pool", () =>
    Effect.gen(function*() {
      const opened = yield* open(limited(64))
      yield* Effect.gen(function*() {
        const scope = Scope.makeUnsafe()
        yield* Scope.provide(BufferPool.allocate(64), scope)
        const fibers = yield* crowd(Effect.exit(BufferPool.use(64, () => Effect.void, patient)))
        yield* quiet
        yield* opened.closePool
        const exits = yield* Effect.forEach(fibers, Fiber.join)
        strictEqual(exits.filter(Exit.isFailure).length, count)
        yield* hasStats({ waiters: 0 })
      }).pipe(Effect.provide(opened.context))
      yield* opened.closeHost
    }).pipe(Effect.provide(logsTo([]))))
})
