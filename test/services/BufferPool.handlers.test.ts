import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import { driverError } from "../../src/layers/Host/HostDevice.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { hasStats, hold, layer, nextTurn, open, outOfMemoryOf, tagOf } from "../support/hostPool.ts"
import { Clients, patient, quiet } from "../support/poolClients.ts"
import { withEvents } from "../support/poolEvents.ts"

type Handler = (need: BufferPool.Need) => Effect.Effect<boolean, GpuError>

/** Registers a handler and counts how often it is asked. */
const register = Effect.fnUntraced(function*(handler: Handler) {
  const asked: Array<BufferPool.Need> = []
  yield* BufferPool.onOutOfMemory((need) => {
    asked.push(need)
    return handler(need)
  })
  return asked
})

/** A cache of leases, which gives them up one by one. */
const cacheOf = Effect.fnUntraced(function*(sizes: ReadonlyArray<number>) {
  const cache = yield* Effect.forEach(sizes, (size) => BufferPool.allocate(size, { label: "cached" }))
  const dropOne: Handler = () => {
    const oldest = cache.shift()
    return oldest === undefined ? Effect.succeed(false) : Effect.as(Lease.release(oldest), true)
  }
  return { cache, dropOne }
})

const decline: Handler = () => Effect.succeed(false)

const limited = (maxBytes: number) => layer({ pool: { maxBytes } })

describe("out-of-memory handlers", () => {
  it.effect("are asked in the order of their registration, until one has freed something", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const { dropOne } = yield* cacheOf([50, 50])
      for (const name of ["a", "b", "c", "d"]) {
        yield* register((need) => {
          asked.push(name)
          return name === "c" ? dropOne(need) : Effect.succeed(false)
        })
      }
      yield* BufferPool.allocate(50)
      deepStrictEqual(asked.splice(0), ["a", "b", "c"])
      yield* BufferPool.allocate(50)
      yield* outOfMemoryOf(BufferPool.allocate(50))
      deepStrictEqual(asked, ["a", "b", "c", "a", "b", "c", "d"])
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect.each([1, 2, 3, 7])(
    "that free one block a time are asked exactly %i times for as many blocks",
    (blocks) =>
      Effect.gen(function*() {
        const { cache, dropOne } = yield* cacheOf(Array.from({ length: 10 }, () => 10))
        const asked = yield* register(dropOne)
        yield* BufferPool.allocate(10 * blocks)
        deepStrictEqual([asked.length, cache.length], [blocks, 10 - blocks])
      }).pipe(Effect.scoped, Effect.provide(limited(100)))
  )

  it.effect.each([1, 2, 5])(
    "also where it is the driver that lacks memory for %i blocks",
    (blocks) =>
      Effect.gen(function*() {
        const { cache, dropOne } = yield* cacheOf(Array.from({ length: 10 }, () => 10))
        const asked = yield* register(dropOne)
        yield* BufferPool.allocate(10 * blocks - 1)
        deepStrictEqual([asked.length, cache.length], [blocks, 10 - blocks])
      }).pipe(Effect.scoped, Effect.provide(layer({ host: { capacityBytes: 100, lateFree: true } })))
  )

  it.effect("begin the request anew at the bin: what they released is leased again without the driver", () =>
    withEvents({ pool: { maxBytes: 100 } }, (events) =>
      Effect.gen(function*() {
        const { dropOne } = yield* cacheOf([60, 40])
        yield* register(dropOne)
        events()
        yield* BufferPool.allocate(60)
        deepStrictEqual(events(), [])
        yield* hasStats({ hits: 1, misses: 2 })
        yield* BufferPool.allocate(30)
        deepStrictEqual(events(), ["free 40", "reclaim", "allocate 30"])
      })))

  it.effect("get the number of missing bytes", () =>
    Effect.gen(function*() {
      const asked = yield* register(decline)
      yield* BufferPool.allocate(90)
      yield* hold([10])
      yield* outOfMemoryOf(BufferPool.allocate(70, { label: "frame" }))
      deepStrictEqual(asked, [{ requested: 70, blockSize: 70, label: "frame", missing: 60 }])
    }).pipe(Effect.scoped, Effect.provide(limited(110))))

  it.effect("get the size of the block that the policy made of it, and no number where the driver refused", () =>
    Effect.gen(function*() {
      const asked = yield* register(decline)
      yield* BufferPool.allocate(900)
      yield* outOfMemoryOf(BufferPool.allocate(300))
      deepStrictEqual(asked, [{ requested: 300, blockSize: 512, label: undefined, missing: 0 }])
    }).pipe(
      Effect.scoped,
      Effect.provide(layer({ host: { capacityBytes: 1000 }, pool: { sizePolicy: SizePolicy.table([512]) } }))
    ))

  it.effect("that decline are a step of the error", () =>
    Effect.gen(function*() {
      const asked = yield* register(decline)
      yield* BufferPool.allocate(60)
      deepStrictEqual((yield* outOfMemoryOf(BufferPool.allocate(50))).stepsTried, ["bin", "handlers"])
      const { faults } = yield* Host.Host
      faults.failAllocations({ times: Infinity })
      const error = yield* outOfMemoryOf(BufferPool.use(40, () => Effect.void))
      deepStrictEqual(error.stepsTried, ["bin", "driver", "reclaim", "handlers"])
      assert.include(error.message, "tried bin, driver, reclaim, handlers")
      strictEqual(asked.length, 2)
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect.each([undefined, patient])(
    "are asked where a driver without memory refuses the only request: %j",
    (options) => {
      const faults = Host.makeFaults()
      faults.failAllocations({ times: Infinity })
      return Effect.gen(function*() {
        const asked = yield* register(decline)
        yield* outOfMemoryOf(BufferPool.allocate(50, options))
        yield* outOfMemoryOf(BufferPool.reserve(Effect.scoped(BufferPool.allocate(50, options)), 50, options))
        deepStrictEqual(asked.map(({ missing, requested }) => [requested, missing]), [[50, 0], [50, 0]])
      }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 100 }, host: { faults } })))
    }
  )

  it.effect("are no step where there are none", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      yield* Effect.scoped(register(decline))
      deepStrictEqual((yield* outOfMemoryOf(BufferPool.allocate(50))).stepsTried, ["bin"])
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("are asked for nothing that is no lack of memory", () =>
    Effect.gen(function*() {
      const asked = yield* register(decline)
      const { faults } = yield* Host.Host
      faults.failAllocations({ error: "DriverError" })
      strictEqual(yield* tagOf(BufferPool.allocate(10)), "DriverError")
      strictEqual(yield* tagOf(BufferPool.allocate(101)), "LimitExceeded")
      strictEqual(yield* tagOf(BufferPool.allocate(-1)), "InvalidRequest")
      yield* hold([50, 50])
      // Held blocks are evicted before any handler is asked.
      yield* BufferPool.allocate(100)
      yield* BufferPool.allocate(0)
      strictEqual(asked.length, 0)
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("are asked before a request waits", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const { dropOne } = yield* cacheOf([40])
      const asked = yield* register(dropOne)
      yield* clients.askAll({ a: 60, b: 40 })
      deepStrictEqual([clients.log(), asked.length], [["a", "b"], 1])
      yield* clients.ask("c", 50, { waitAtMost: "1 second" })
      strictEqual(asked.length, 2)
      yield* TestClock.adjust("1 second")
      const reason = yield* clients.reason("c")
      assert(reason._tag === "OutOfMemory")
      deepStrictEqual(reason.stepsTried, ["bin", "handlers", "wait"])
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("see the services of their registration", () =>
    Effect.gen(function*() {
      class Cache extends Context.Service<Cache, { readonly name: string }>()("Cache") {}
      const names: Array<string> = []
      yield* Effect.provideService(
        BufferPool.onOutOfMemory(() =>
          Effect.map(Cache, ({ name }) => {
            names.push(name)
            return false
          })
        ),
        Cache,
        { name: "tiles" }
      )
      yield* BufferPool.allocate(60)
      yield* outOfMemoryOf(BufferPool.allocate(50))
      deepStrictEqual(names, ["tiles"])
    }).pipe(Effect.scoped, Effect.provide(limited(100))))
})

describe("a handler's registration", () => {
  it.effect("ends with its scope", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      const scope = Scope.makeUnsafe()
      const first = yield* Scope.provide(register(decline), scope)
      const second = yield* register(decline)
      yield* outOfMemoryOf(BufferPool.allocate(50))
      yield* Scope.close(scope, Exit.void)
      yield* outOfMemoryOf(BufferPool.allocate(50))
      deepStrictEqual([first.length, second.length], [1, 2])
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("counts as often as it was made", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      let asked = 0
      const handler = () =>
        Effect.sync(() => {
          asked++
          return false
        })
      yield* BufferPool.onOutOfMemory(handler)
      yield* Effect.scoped(Effect.gen(function*() {
        yield* BufferPool.onOutOfMemory(handler)
        yield* outOfMemoryOf(BufferPool.allocate(50))
        strictEqual(asked, 2)
      }))
      yield* outOfMemoryOf(BufferPool.allocate(50))
      strictEqual(asked, 3)
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("that comes while handlers are at work counts from the next time on", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      const scope = yield* Effect.scope
      const pool = yield* BufferPool.BufferPool
      const late: Array<number> = []
      let registered = false
      yield* register(() => {
        if (registered) return Effect.succeed(false)
        registered = true
        const registering = pool.onOutOfMemory(({ requested }) => {
          late.push(requested)
          return Effect.succeed(false)
        })
        return Effect.as(Scope.provide(registering, scope), false)
      })
      yield* outOfMemoryOf(BufferPool.allocate(50))
      deepStrictEqual(late, [])
      yield* outOfMemoryOf(BufferPool.allocate(51))
      deepStrictEqual(late, [51])
    }).pipe(Effect.scoped, Effect.provide(limited(100))))
})

describe("a handler that fails", () => {
  it.effect("fails the request with its failure", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      const after = yield* Effect.gen(function*() {
        yield* register(() => driverError("spill", "no room on disk", []))
        const after = yield* register(decline)
        strictEqual(yield* tagOf(BufferPool.allocate(50)), "DriverError")
        strictEqual(yield* tagOf(BufferPool.use(50, () => Effect.void, patient)), "DriverError")
        return after
      }).pipe(Effect.scoped)
      strictEqual(after.length, 0)
      yield* hasStats({ pendingBytes: 0, waiters: 0, activeBytes: 60 })
      // The earlier handler's failure does not affect the next request.
      const asked = yield* register(decline)
      yield* outOfMemoryOf(BufferPool.allocate(50))
      strictEqual(asked.length, 1)
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("passes a defect through as it is", () =>
    Effect.gen(function*() {
      const defect = new Error("a bug in the cache")
      yield* BufferPool.allocate(60)
      yield* Effect.scoped(Effect.gen(function*() {
        yield* register(() => Effect.die(defect))
        const exit = yield* Effect.exit(BufferPool.allocate(50))
        assert(Exit.isFailure(exit))
        strictEqual(Cause.squash(exit.cause), defect)
      }))
      yield* Effect.scoped(Effect.gen(function*() {
        yield* register(() => {
          throw defect
        })
        const exit = yield* Effect.exit(BufferPool.use(50, () => Effect.void, patient))
        assert(Exit.isFailure(exit))
        strictEqual(Cause.squash(exit.cause), defect)
      }))
      yield* hasStats({ pendingBytes: 0, waiters: 0, activeBytes: 60 })
      const asked = yield* register(decline)
      yield* outOfMemoryOf(BufferPool.allocate(50))
      strictEqual(asked.length, 1)
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("is not the failure of others who waited for it", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      const gate = Deferred.makeUnsafe<void>()
      let first = true
      yield* register(() => {
        if (!first) return Effect.succeed(false)
        first = false
        return Effect.andThen(Deferred.await(gate), Effect.die("a bug"))
      })
      const one = yield* Effect.forkChild(Effect.exit(BufferPool.allocate(50)), { startImmediately: true })
      const other = yield* Effect.forkChild(tagOf(BufferPool.allocate(50)), { startImmediately: true })
      yield* quiet
      yield* Deferred.succeed(gate, undefined)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(one)))
      strictEqual(yield* Fiber.join(other), "OutOfMemory")
    }).pipe(Effect.scoped, Effect.provide(limited(100))))
})

describe("many requests at a time", () => {
  it.effect("have the handlers run one at a time", () =>
    Effect.gen(function*() {
      const { cache, dropOne } = yield* cacheOf(Array.from({ length: 20 }, () => 5))
      let running = 0
      let most = 0
      const asked = yield* register((need) =>
        Effect.gen(function*() {
          most = Math.max(most, ++running)
          yield* nextTurn
          const freed = yield* dropOne(need)
          yield* nextTurn
          running--
          return freed
        })
      )
      yield* Effect.forEach(Array.from({ length: 20 }), () => BufferPool.allocate(5), { concurrency: "unbounded" })
      deepStrictEqual([most, cache.length], [1, 0])
      assert.isAtMost(asked.length, 20)
      yield* hasStats({ misses: 20, hits: 20, activeBytes: 100 })
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("ask a driver in vain no more often than they have to", () =>
    Effect.gen(function*() {
      const count = 40
      yield* BufferPool.allocate(90)
      const asked = yield* register(() => Effect.as(nextTurn, false))
      const { faults } = yield* Host.Host
      const before = faults.allocations
      const tags = yield* Effect.forEach(
        Array.from({ length: count }),
        () => tagOf(BufferPool.allocate(20)),
        { concurrency: "unbounded" }
      )
      deepStrictEqual(new Set(tags), new Set(["OutOfMemory"]))
      assert.isAtMost(asked.length, count)
      // Each is refused before and after a reclaim, and not again for handlers that decline.
      strictEqual(faults.allocations - before, 2 * count)
    }).pipe(Effect.scoped, Effect.provide(layer({ host: { capacityBytes: 100 } }))))

  it.effect("go on when the one that had the handlers run is interrupted", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      const { dropOne } = yield* cacheOf([40])
      let first = true
      yield* register((need) => {
        if (!first) return dropOne(need)
        first = false
        return Effect.never
      })
      const one = yield* Effect.forkChild(BufferPool.allocate(40), { startImmediately: true })
      const other = yield* Effect.forkChild(BufferPool.allocate(40, { label: "other" }), { startImmediately: true })
      yield* quiet
      deepStrictEqual([one.pollUnsafe(), other.pollUnsafe()], [undefined, undefined])
      yield* Fiber.interrupt(one)
      strictEqual((yield* Fiber.join(other)).label, "other")
      yield* hasStats({ activeBytes: 100, pendingBytes: 0 })
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("are answered when the scope, the pool or the device ends while a handler is at work", () =>
    Effect.gen(function*() {
      for (const ending of ["scopeClosed", "poolClosed", "lost"] as const) {
        const opened = yield* open({ pool: { maxBytes: 100 } })
        const [mine, others] = [Scope.makeUnsafe(), Scope.makeUnsafe()]
        const gate = Deferred.makeUnsafe<void>()
        yield* Scope.provide(opened.pool.allocate(60), others)
        yield* Scope.provide(opened.pool.onOutOfMemory(() => Effect.as(Deferred.await(gate), true)), others)
        const fiber = yield* Effect.forkChild(Scope.provide(opened.pool.allocate(50), mine), { startImmediately: true })
        yield* quiet
        if (ending === "scopeClosed") yield* Scope.close(mine, Exit.void)
        else if (ending === "poolClosed") yield* opened.closePool
        else opened.faults.lose()
        yield* Deferred.succeed(gate, undefined)
        const { reason } = yield* Effect.flip(Fiber.join(fiber))
        strictEqual(reason._tag === "Released" ? reason.why : "lost", ending)
        yield* Scope.close(others, Exit.void)
        yield* opened.closePool
        yield* opened.closeHost
        strictEqual(opened.driverObjects.live, 0)
      }
    }))
})

describe("what a handler asks of the pool itself", () => {
  it.effect("is served where it fits", () =>
    Effect.gen(function*() {
      const { cache, dropOne } = yield* cacheOf([30, 30])
      const asked = yield* BufferPool.BufferPool.pipe(Effect.flatMap((pool) =>
        register((need) =>
          // It needs some memory in order to free more.
          pool.use(10, () => dropOne(need))
        )
      ))
      yield* BufferPool.allocate(60)
      deepStrictEqual([asked.length, cache.length], [2, 0])
    }).pipe(Effect.scoped, Effect.provide(limited(70))))

  it.effect.each([undefined, patient, { ...patient, waitAtMost: "1 hour" }] as const)(
    "fails where it does not, without asking the handlers again and without waiting: %j",
    (options) =>
      Effect.gen(function*() {
        const pool = yield* BufferPool.BufferPool
        yield* pool.allocate(60)
        const seen: Array<unknown> = []
        const asked = yield* register(() =>
          Effect.gen(function*() {
            const error = yield* outOfMemoryOf(Effect.scoped(pool.allocate(50, options)))
            const used = yield* outOfMemoryOf(pool.use(50, () => Effect.void, options))
            const budget = yield* pool.budget(55, patient)
            const under = yield* outOfMemoryOf(Effect.scoped(budget.allocate(50)))
            const first = yield* Effect.forkChild(outOfMemoryOf(Effect.scoped(pool.allocate(50, options))))
            seen.push(error.stepsTried, used.stepsTried, under.stepsTried, (yield* Fiber.join(first)).stepsTried)
            return false
          }).pipe(Effect.orDie)
        )
        deepStrictEqual((yield* outOfMemoryOf(BufferPool.allocate(50))).stepsTried, ["bin", "handlers"])
        deepStrictEqual(seen, [["bin"], ["bin"], ["bin"], ["bin"]])
        strictEqual(asked.length, 1)
        yield* hasStats({ waiters: 0, pendingBytes: 0 })
      }).pipe(Effect.scoped, Effect.provide(limited(100)))
  )

  it.effect("does not wait while others do", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      const pool = yield* BufferPool.BufferPool
      yield* clients.askAll({ a: 100, b: 100 })
      const asked = yield* register(() => Effect.as(Effect.exit(pool.use(50, () => Effect.void, patient)), false))
      yield* outOfMemoryOf(BufferPool.allocate(60))
      strictEqual(asked.length, 1)
      yield* hasStats({ waiters: 1 })
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["a", "b"])
    }).pipe(Effect.scoped, Effect.provide(limited(100))))
})

describe("a handler that says true, and whose own leases are all that is released", () => {
  const scratch = Effect.fnUntraced(function*() {
    const pool = yield* BufferPool.BufferPool
    return yield* register(() => Effect.as(pool.use(10, () => Effect.void), true))
  })
  const within = { ...patient, waitAtMost: "1 second" } as const

  it.effect.each([undefined, within])(
    "is asked once where the byte limit is short: %j",
    (options) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(60)
        const asked = yield* scratch()
        const fiber = yield* Effect.forkChild(outOfMemoryOf(BufferPool.allocate(50, options)))
        yield* TestClock.adjust("1 second")
        const { waitedMillis } = yield* Fiber.join(fiber)
        deepStrictEqual([asked.length, waitedMillis], [1, options && 1000])
        yield* hasStats({ pendingBytes: 0, waiters: 0, activeBytes: 60 })
      }).pipe(Effect.scoped, Effect.provide(limited(100)))
  )

  it.effect.each([undefined, within])("is asked once where a budget is short: %j", (options) =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      const asked = yield* scratch()
      const fiber = yield* Effect.forkChild(outOfMemoryOf(BufferPool.allocate(50, options)))
      yield* TestClock.adjust("1 second")
      const { waitedMillis } = yield* Fiber.join(fiber)
      deepStrictEqual([asked.length, waitedMillis], [1, options && 1000])
      yield* hasStats({ pendingBytes: 0, waiters: 0, activeBytes: 60 })
    }).pipe(BufferPool.withBudget(100), Effect.scoped, Effect.provide(layer())))

  it.effect.each([undefined, within])(
    "is believed 16 times where it is the driver that is short: %j",
    (options) =>
      Effect.gen(function*() {
        yield* BufferPool.allocate(60)
        const asked = yield* scratch()
        const fiber = yield* Effect.forkChild(outOfMemoryOf(BufferPool.allocate(50, options)))
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(fiber)
        strictEqual(asked.length, 17)
        yield* hasStats({ pendingBytes: 0, waiters: 0, activeBytes: 60 })
      }).pipe(Effect.scoped, Effect.provide(layer({ host: { capacityBytes: 100 } })))
  )

  it.effect("is of no help either if it keeps them", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      const pool = yield* BufferPool.BufferPool
      const scope = yield* Effect.scope
      const asked = yield* register(() => Effect.as(Scope.provide(pool.allocate(5), scope), true))
      yield* outOfMemoryOf(BufferPool.allocate(50))
      strictEqual(asked.length, 1)
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect("does not keep the next one from being asked", () =>
    Effect.gen(function*() {
      yield* BufferPool.allocate(60)
      const { dropOne } = yield* cacheOf([40])
      const first = yield* scratch()
      const second = yield* register(dropOne)
      yield* BufferPool.allocate(40)
      deepStrictEqual([first.length, second.length], [1, 1])
    }).pipe(Effect.scoped, Effect.provide(limited(110))))

  it.effect("is asked no more often than others are served meanwhile", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 60, b: 30 })
      const asked = yield* scratch()
      const turns = Array.from({ length: 40 }, (_, i) => `${i}`)
      yield* clients.ask("large", 90, { waitAtMost: "1 hour" })
      for (const name of turns) yield* clients.ask(name, 1)
      // Each small request bypasses the large one at most once, and the large one asks the handlers too.
      assert.isAtMost(asked.length, 2 * turns.length + 1)
      yield* clients.release("a", "b", ...turns.slice(0, 16))
      assert.include(clients.log(), "large")
    }).pipe(Effect.scoped, Effect.provide(limited(100))))
})

describe("what handlers take of the time that a request may wait", () => {
  it.effect("is not exceeded by handlers that answer in the step in which they are asked", () =>
    Effect.gen(function*() {
      let now = 0
      const clock: Clock.Clock = {
        ...(yield* Clock.Clock),
        currentTimeMillisUnsafe: () => now,
        currentTimeMillis: Effect.sync(() => now)
      }
      const { cache, dropOne } = yield* cacheOf(Array.from({ length: 10 }, () => 10))
      const asked = yield* register((need) => {
        now += 300
        return dropOne(need)
      })
      const error = yield* outOfMemoryOf(BufferPool.allocate(100, { waitAtMost: "1 second" })).pipe(
        Effect.provideService(Clock.Clock, clock)
      )
      deepStrictEqual([error.waitedMillis, asked.length, cache.length], [1200, 4, 6])
      yield* hasStats({ pendingBytes: 0, waiters: 0, activeBytes: 60 })
    }).pipe(Effect.scoped, Effect.provide(limited(100))))
})

describe("requests that come while others wait", () => {
  it.effect("ask the handlers too, which helps whoever is first", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.ask("a", 60)
      const { cache, dropOne } = yield* cacheOf([])
      const asked = yield* register(dropOne)
      yield* clients.ask("large", 80)
      // The cache may fill while the large request waits; then only the cache can free memory.
      cache.push(yield* BufferPool.allocate(30))
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["a"])
      asked.length = 0
      yield* clients.ask("small", 80)
      deepStrictEqual(clients.log(), ["large"])
      strictEqual(asked.length, 2)
    }).pipe(Effect.scoped, Effect.provide(limited(100))))

  it.effect.each(["fail", "wait"] as const)(
    "pass nobody by way of the handlers, if they %s",
    (onExhausted) =>
      Effect.gen(function*() {
        const clients = new Clients()
        yield* clients.ask("a", 60)
        const { cache, dropOne } = yield* cacheOf([10, 10, 10])
        yield* clients.ask("large", 90)
        yield* register(dropOne)
        yield* clients.ask("small", 10, { onExhausted })
        deepStrictEqual([clients.log(), cache.length], [[
          "a",
          ...(onExhausted === "fail" ? ["small: OutOfMemory"] : [])
        ], 0])
        yield* clients.release("a")
        deepStrictEqual(clients.log(), ["large", ...(onExhausted === "fail" ? [] : ["small"])])
      }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 100, maxBypasses: 0 } })))
  )
})

describe("while a handler is at work that frees nothing", () => {
  const limits = { "the byte limit": { pool: { maxBytes: 100 } }, "the driver": { host: { capacityBytes: 100 } } }

  it.effect.each(Object.entries(limits))(
    "a release by others is enough, where %s is short",
    ([_name, options]) =>
      Effect.gen(function*() {
        for (const size of [60, 70]) {
          const gate = Deferred.makeUnsafe<void>()
          const lease = yield* BufferPool.allocate(60)
          yield* Effect.gen(function*() {
            yield* register(() => Effect.as(Deferred.await(gate), false))
            const fiber = yield* Effect.forkChild(BufferPool.use(size, ({ capacity }) => Effect.succeed(capacity)))
            yield* quiet
            yield* Lease.release(lease)
            yield* Deferred.succeed(gate, undefined)
            strictEqual(yield* Fiber.join(fiber), size)
          }).pipe(Effect.scoped)
        }
      }).pipe(Effect.scoped, Effect.provide(layer(options)))
  )

  it.effect("and so it is under a budget", () =>
    Effect.gen(function*() {
      const gate = Deferred.makeUnsafe<void>()
      const lease = yield* BufferPool.allocate(60)
      yield* register(() => Effect.as(Deferred.await(gate), false))
      const fiber = yield* Effect.forkChild(BufferPool.allocate(60))
      yield* quiet
      yield* Lease.release(lease)
      yield* Deferred.succeed(gate, undefined)
      strictEqual((yield* Fiber.join(fiber)).size, 60)
    }).pipe(BufferPool.withBudget(100), Effect.scoped, Effect.provide(layer())))
})
