import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import type { PoolOptions } from "../../src/domain/pool/PoolOptions.ts"
import { Host } from "../../src/host.ts"
import { driverError } from "../../src/layers/Host/HostDevice.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import { runs } from "../support/explore.ts"
import { logsTo, MiB, outOfMemoryOf, reasonOf } from "../support/hostPool.ts"
import { ClientsOf, quiet } from "../support/poolClients.ts"
import * as Pools from "../support/sizedPools.ts"

const sum = (sizes: ReadonlyArray<number>) => sizes.reduce((total, size) => total + size, 0)

const heldBytes = Effect.map(Pools.stats, (stats) => stats.heldBytes)

/** The blocks that were freed, in order. */
const freed = (events: ReadonlyArray<string>) =>
  events.flatMap((event) => event.startsWith("free ") ? [Number(event.slice(5))] : [])

/** Runs a test with the number of fibers that sleep on the pool's clock. */
const withSleepers = <A, E, R>(test: (sleepers: () => number) => Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    let sleeping = 0
    const counted: Clock.Clock = Object.create(clock, {
      sleep: {
        value: (duration: Parameters<Clock.Clock["sleep"]>[0]) =>
          Effect.acquireUseRelease(
            Effect.sync(() => sleeping++),
            () => clock.sleep(duration),
            () => Effect.sync(() => sleeping--)
          )
      }
    }) as Clock.Clock
    return yield* Effect.provideService(test(() => sleeping), Clock.Clock, counted)
  })

describe.each(Pools.kinds)("in a pool of %s,", (kind) => {
  const service = { buffers: "BufferPool", images: "ImagePool", staging: "StagingPool" }[kind]

  const idle = (options?: PoolOptions) => Pools.layer(kind, { pool: { idleTimeToLive: "4 seconds", ...options } })

  describe("trimTo", () => {
    const layouts = fc.record({
      held: fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 15 }),
      active: fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 5 }),
      target: fc.nat(800),
      lateFree: fc.boolean()
    })

    it("frees at least what is too much, and less than one block more", () =>
      fc.assert(
        fc.asyncProperty(layouts, ({ active, held, lateFree, target }) =>
          Pools.withEvents(kind, { host: { lateFree } }, (events) =>
            Effect.gen(function*() {
              yield* Effect.forEach(active, (size) =>
                Pools.allocate(size))
              yield* Pools.hold(held)
              events()
              yield* Pools.trimTo(target)
              const gone = freed(events())
              const stats = yield* Pools.stats
              const { managedBytes } = stats
              const need = Math.max(0, sum(active) + sum(held) - target)
              if (need > sum(held)) {
                strictEqual(stats.heldBytes, 0)
              } else {
                assert.isAtMost(managedBytes, target)
                assert.isAtLeast(sum(gone), need)
                assert.isTrue(gone.length === 0 || sum(gone) - Math.min(...gone) < need)
              }
              strictEqual(yield* Host.usedBytes, managedBytes)
              strictEqual(stats.activeBytes, sum(active))
            })).pipe(Effect.runPromise)),
        { numRuns: runs(200) }
      ))

    it.effect("takes bytes, sizes and shares of the device's memory, and nothing else", () =>
      Effect.gen(function*() {
        yield* Pools.hold(Array.from({ length: 4 }, () => MiB))
        const targets = [[3 * MiB, 3], ["2 MiB", 2], ["12.5%", 1], [0n, 0]] as const
        for (const [target, blocks] of targets) {
          yield* Pools.trimTo(target)
          yield* Pools.hasStats({ heldBlocks: blocks })
        }
        for (const bad of [-1, 0.5, Number.NaN, "little", "101%", undefined, null]) {
          const reason = yield* reasonOf(Pools.trimTo(bad as number))
          strictEqual(reason._tag, "InvalidRequest")
          assert.include(reason.message, `${service}.trimTo`)
        }
        yield* Pools.trimTo(Infinity)
      }).pipe(Effect.provide(Pools.layer(kind, { host: { capacityBytes: 8 * MiB } }))))

    it.effect("is a reason to ask the driver again, for those whom it refused", () =>
      Pools.withEvents(kind, { host: { capacityBytes: 100 } }, (events) =>
        Effect.gen(function*() {
          const clients = new ClientsOf(Pools.allocate)
          yield* Pools.hold([10])
          yield* clients.askAll({ a: 70, w: 40 })
          deepStrictEqual(clients.log(), ["a"])
          events()
          yield* Pools.trimTo(70)
          yield* quiet
          deepStrictEqual(events().slice(0, 3), ["free 10", "reclaim", "allocate 40"])
          yield* Pools.hasStats({ waiters: 1, managedBytes: 70 })
        })))
  })

  describe("maxHeldBytes", () => {
    it.effect("lets the longest held blocks go, and only while more is held", () =>
      Pools.withEvents(kind, { pool: { maxHeldBytes: 100 } }, (events) =>
        Effect.gen(function*() {
          for (const size of [30, 40, 20]) yield* Pools.hold([size])
          deepStrictEqual(freed(events()), [])
          yield* Pools.hold([50])
          deepStrictEqual(freed(events()), [30, 40])
          yield* Pools.hasStats({ heldBytes: 70 })
          yield* Pools.hold([100])
          deepStrictEqual(freed(events()), [20, 50])
          yield* Pools.hasStats({ heldBytes: 100 })
        })))

    it.effect("counts from the last release of a block", () =>
      Pools.withEvents(kind, { pool: { maxHeldBytes: 100 } }, (events) =>
        Effect.gen(function*() {
          for (const size of [30, 40, 20]) yield* Pools.hold([size])
          yield* Pools.use(30, () => Effect.void)
          yield* Pools.hold([11])
          deepStrictEqual(freed(events()), [40])
        })))

    it.effect("sends a block that is larger back at once", () =>
      Pools.withEvents(kind, { pool: { maxHeldBytes: 100 } }, (events) =>
        Effect.gen(function*() {
          yield* Pools.hold([60])
          yield* Pools.hold([101])
          deepStrictEqual(events(), ["allocate 60", "allocate 101", "free 101"])
          yield* Pools.hasStats({ heldBytes: 60 })
        })))

    it.effect("of zero holds nothing", () =>
      Effect.gen(function*() {
        yield* Pools.hold([60, 1])
        yield* Pools.hasStats({ heldBytes: 0, heldBlocks: 0, driverFrees: 2 })
      }).pipe(Effect.provide(Pools.layer(kind, { pool: { maxHeldBytes: 0 } }))))

    it.effect("may be a size or a share, and nothing else", () =>
      Effect.gen(function*() {
        for (const maxHeldBytes of [1024, 1024n, "1 KiB", "50%"]) {
          const pool = Pools.layer(kind, { host: { capacityBytes: 2048 }, pool: { maxHeldBytes } })
          yield* Effect.provide(Effect.andThen(Pools.hold([1000, 24, 1]), Pools.hasStats({ heldBytes: 1024 })), pool)
        }
        for (const maxHeldBytes of [-1, 0.5, "much"]) {
          const reason = yield* reasonOf(Pools.open(kind, { pool: { maxHeldBytes } }))
          strictEqual(reason._tag, "InvalidRequest")
          assert.include(reason.message, "maxHeldBytes")
        }
      }))

    it.effect("does not keep a released block from those who wait", () =>
      Pools.withEvents(kind, { pool: { maxBytes: 100, maxHeldBytes: 60 } }, (events) =>
        Effect.gen(function*() {
          const clients = new ClientsOf(Pools.allocate)
          yield* clients.askAll({ a: 60, b: 40, c: 60, d: 50 })
          events()
          yield* clients.release("a")
          deepStrictEqual(clients.log(), ["a", "b", "c"])
          deepStrictEqual(events(), [])
          yield* clients.release("c")
          deepStrictEqual(clients.log(), ["d"])
        })))

    it.effect("leaves no block behind when its lease is one that the driver gave too late", () =>
      Effect.gen(function*() {
        const { faults } = yield* Host.Host
        yield* Pools.hold([50])
        faults.delay({ allocations: "1 second" })
        const fiber = yield* Effect.forkChild(Pools.allocate(60))
        yield* quiet
        yield* Fiber.interrupt(fiber)
        yield* TestClock.adjust("1 second")
        yield* Pools.hasStats({ heldBytes: 60, driverFrees: 1 })
      }).pipe(Effect.scoped, Effect.provide(Pools.layer(kind, { pool: { maxHeldBytes: 100 } }))))
  })

  describe("idle memory", () => {
    const curves = [
      [1, [80, 80, 80, 80, 80, 80, 80, 0, 0]],
      [4, [80, 60, 60, 40, 40, 20, 20, 0, 0]],
      [8, [70, 60, 50, 40, 30, 20, 10, 0, 0]]
    ] as const

    it.effect.each(curves)("falls in %i steps over its time to live", ([idleSteps, curve]) =>
      Effect.gen(function*() {
        yield* Pools.hold(Array.from({ length: 8 }, () => 10))
        for (const bytes of curve) {
          yield* TestClock.adjust("499 millis")
          const before = yield* heldBytes
          yield* TestClock.adjust("1 millis")
          deepStrictEqual([before >= bytes, yield* heldBytes], [true, bytes])
        }
      }).pipe(Effect.provide(idle({ idleSteps }))))

    it.effect.each([[1, 1000, 3], [100, 1000, 101], [250, 4, 250]] as const)(
      "of %i ms goes in time, in %i steps, whatever a timer can do",
      ([idleTimeToLive, idleSteps, latest]) =>
        Effect.gen(function*() {
          const clock = yield* Clock.Clock
          let sleeps = 0
          // Like a platform's timers: whole milliseconds, at least one.
          const coarse: Clock.Clock = {
            ...clock,
            sleep: (duration) => {
              sleeps++
              return clock.sleep(Duration.millis(Math.max(1, Math.ceil(Duration.toMillis(duration)))))
            }
          }
          yield* Effect.gen(function*() {
            yield* Pools.hold([10, 20])
            yield* quiet
            for (let millis = 0; millis < latest; millis++) yield* TestClock.adjust("1 millis")
            yield* Pools.hasStats({ heldBytes: 0 })
            assert.isAtMost(sleeps, latest)
          }).pipe(
            Effect.provide(Layer.provide(idle({ idleTimeToLive, idleSteps }), Layer.succeed(Clock.Clock, coarse)))
          )
        })
    )

    it.effect("goes the longest idle first, never below the share that may stay, and is reclaimed at each step", () =>
      Pools.withEvents(kind, { pool: { idleTimeToLive: "4 seconds" } }, (events) =>
        Effect.gen(function*() {
          // A scope releases its last lease first.
          yield* Pools.hold([15, 40, 10, 25, 10])
          events()
          const steps: Array<ReadonlyArray<string>> = []
          for (let second = 1; second <= 5; second++) {
            yield* TestClock.adjust("1 second")
            steps.push(events())
          }
          deepStrictEqual(steps, [
            ["free 10", "reclaim"],
            ["free 25", "free 10", "reclaim"],
            [],
            ["free 40", "free 15", "reclaim"],
            []
          ])
        })))

    it.effect("stays for at most one step more when it is released between two steps", () =>
      Effect.gen(function*() {
        yield* Pools.hold([10])
        yield* TestClock.adjust("1 millis")
        yield* Pools.hold([20])
        yield* TestClock.adjust("3999 millis")
        strictEqual(yield* heldBytes, 20)
        yield* TestClock.adjust("999 millis")
        strictEqual(yield* heldBytes, 20)
        yield* TestClock.adjust("1 millis")
        strictEqual(yield* heldBytes, 0)
      }).pipe(Effect.provide(idle())))

    it.effect("goes by parts of what became idle together, not by the clock of the first", () =>
      Effect.gen(function*() {
        yield* Pools.hold([100])
        yield* TestClock.adjust("2 seconds")
        yield* Pools.hold(Array.from({ length: 4 }, () => 25))
        const seen: Array<number> = []
        for (let second = 3; second <= 7; second++) {
          yield* TestClock.adjust("1 second")
          seen.push(yield* heldBytes)
        }
        // The first held block is freed as a whole after its 4 seconds; the others are freed one by one.
        deepStrictEqual(seen, [200, 75, 50, 25, 0])
      }).pipe(Effect.provide(idle())))

    it.effect("stays up to the floor", () =>
      Effect.gen(function*() {
        yield* Pools.hold(Array.from({ length: 10 }, () => 10))
        yield* TestClock.adjust("1 minute")
        yield* Pools.hasStats({ heldBytes: 40 })
        yield* TestClock.adjust("1 hour")
        yield* Pools.hasStats({ heldBytes: 40 })
      }).pipe(Effect.provide(idle({ idleKeepBytes: 35 }))))

    it.effect("starts anew when it is touched, and only that", () =>
      Effect.gen(function*() {
        yield* Pools.hold([64, 32, 32])
        for (let second = 0; second < 20; second++) {
          yield* TestClock.adjust("1 second")
          yield* Pools.use(64, () => Effect.void)
        }
        yield* Pools.hasStats({ heldBytes: 64, heldBlocks: 1, hits: 20, misses: 3 })
        yield* TestClock.adjust("5 seconds")
        yield* Pools.hasStats({ heldBytes: 0 })
      }).pipe(Effect.provide(idle())))

    it.effect("does not go while it is leased", () =>
      Effect.gen(function*() {
        const lease = yield* Pools.allocate(64)
        yield* Pools.hold([10])
        yield* TestClock.adjust("1 hour")
        yield* Pools.hasStats({ activeBytes: 64, heldBytes: 0 })
        yield* Lease.release(lease)
        yield* TestClock.adjust("3 seconds")
        yield* Pools.hasStats({ heldBytes: 64 })
        yield* TestClock.adjust("2 seconds")
        yield* Pools.hasStats({ heldBytes: 0 })
      }).pipe(Effect.scoped, Effect.provide(idle())))

    it.effect("is really back at the driver", () =>
      Effect.gen(function*() {
        yield* Pools.hold([30, 20, 10])
        yield* TestClock.adjust("5 seconds")
        yield* quiet
        strictEqual(yield* Host.usedBytes, 0)
      }).pipe(Effect.provide(Pools.layer(kind, { host: { lateFree: true }, pool: { idleTimeToLive: "4 seconds" } }))))

    it.effect("is a reason to ask the driver again, for those whom it refused", () =>
      Pools.withEvents(
        kind,
        { host: { capacityBytes: 100 }, pool: { idleTimeToLive: "4 seconds" } },
        (events) =>
          Effect.gen(function*() {
            const clients = new ClientsOf(Pools.allocate)
            yield* Pools.hold([10])
            yield* clients.askAll({ a: 70, w: 40 })
            events()
            yield* TestClock.adjust("4 seconds")
            yield* quiet
            deepStrictEqual(events().filter((event) => event !== "reclaim").slice(0, 2), ["free 10", "allocate 40"])
            yield* Pools.hasStats({ waiters: 1, managedBytes: 70 })
          })
      ))

    it.effect("that the driver fails to free is logged, and the others are freed", () => {
      const logs: Array<string> = []
      const failing: Pools.Watch = { reclaiming: () => driverError("reclaim", "a planned fault", []) }
      return Effect.gen(function*() {
        yield* Pools.hold([10, 20, 30, 40])
        yield* TestClock.adjust("5 seconds")
        yield* Pools.hasStats({ heldBytes: 0, driverFrees: 4 })
        assert.isAtLeast(logs.length, 1)
        for (const line of logs) assert.match(line, /^Warn Idle memory was freed.*a planned fault/)
        yield* Pools.hold([10])
        yield* TestClock.adjust("5 seconds")
        yield* Pools.hasStats({ heldBytes: 0 })
      }).pipe(
        Effect.provide(Pools.layer(kind, { watch: failing, pool: { idleTimeToLive: "4 seconds" } })),
        Effect.provide(logsTo(logs))
      )
    })

    it.effect("needs options that make sense", () =>
      Effect.gen(function*() {
        const bad: ReadonlyArray<PoolOptions> = [
          { idleTimeToLive: 0 },
          { idleTimeToLive: -1 },
          { idleTimeToLive: "soon" as "1 second" },
          { idleTimeToLive: "1 second", idleSteps: 0 },
          { idleTimeToLive: "1 second", idleSteps: 1.5 },
          { idleTimeToLive: "1 second", idleSteps: 1001 },
          { idleTimeToLive: "1 second", idleKeepBytes: -1 },
          { idleTimeToLive: "1 second", idleKeepBytes: "little" }
        ]
        for (const pool of bad) {
          const reason = yield* reasonOf(Pools.open(kind, { pool }))
          strictEqual(reason._tag, "InvalidRequest", JSON.stringify(pool))
          assert.include(reason.message, `${service}.layer`)
        }
        const opened = yield* Pools.open(kind, { pool: { idleTimeToLive: Infinity } })
        yield* Effect.provide(Pools.hold([10]), opened.context)
        yield* TestClock.adjust("10000 days")
        strictEqual((yield* opened.pool.stats).heldBytes, 10)
        yield* opened.closePool
        yield* opened.closeHost
      }))
  })

  describe("the timer of idle memory", () => {
    it.effect("runs only while something is held that may go", () =>
      withSleepers((sleepers) =>
        Effect.gen(function*() {
          yield* quiet
          strictEqual(sleepers(), 0)
          const lease = yield* Pools.allocate(10)
          strictEqual(sleepers(), 0)
          yield* Lease.release(lease)
          yield* quiet
          strictEqual(sleepers(), 1)
          yield* Pools.hold([20, 30])
          strictEqual(sleepers(), 1)
          yield* TestClock.adjust("5 seconds")
          yield* Pools.hasStats({ heldBytes: 0 })
          strictEqual(sleepers(), 0)
          yield* Pools.hold([10])
          yield* quiet
          strictEqual(sleepers(), 1)
          yield* Pools.freeHeld
          yield* TestClock.adjust("1 second")
          strictEqual(sleepers(), 0)
        }).pipe(Effect.scoped, Effect.provide(idle()))
      ))

    it.effect("not for what is under the floor", () =>
      withSleepers((sleepers) =>
        Effect.gen(function*() {
          yield* Pools.hold([50, 50])
          yield* quiet
          strictEqual(sleepers(), 0)
          // The oldest block can only be freed as a whole, which would go below the floor.
          yield* Pools.hold([20])
          yield* quiet
          strictEqual(sleepers(), 1)
          yield* TestClock.adjust("10 seconds")
          yield* Pools.hasStats({ heldBytes: 120 })
          strictEqual(sleepers(), 0)
          yield* Pools.hold([60])
          yield* quiet
          strictEqual(sleepers(), 1)
          yield* TestClock.adjust("10 seconds")
          yield* Pools.hasStats({ heldBytes: 130 })
          strictEqual(sleepers(), 0)
        }).pipe(Effect.provide(idle({ idleKeepBytes: 100 })))
      ))

    it.effect("not in a pool without a time to live", () =>
      withSleepers((sleepers) =>
        Effect.gen(function*() {
          yield* Pools.hold([50, 50])
          yield* quiet
          strictEqual(sleepers(), 0)
        }).pipe(Effect.provide(Pools.layer(kind, { pool: { maxHeldBytes: 60 } })))
      ))

    it.effect("ends with the pool, and with the device", () =>
      withSleepers((sleepers) =>
        Effect.gen(function*() {
          const closed = yield* Pools.open(kind, { pool: { idleTimeToLive: "4 seconds" } })
          yield* Effect.provide(Pools.hold([10]), closed.context)
          yield* quiet
          strictEqual(sleepers(), 1)
          yield* closed.closePool
          yield* quiet
          strictEqual(sleepers(), 0)
          yield* closed.closeHost

          const lost = yield* Pools.open(kind, { pool: { idleTimeToLive: "4 seconds" } })
          yield* Effect.provide(Pools.hold([10]), lost.context)
          yield* quiet
          lost.faults.lose()
          yield* TestClock.adjust("1 second")
          strictEqual(sleepers(), 0)
          yield* lost.closePool
          yield* lost.closeHost
        })
      ))

    it.effect("is not started by leases that end after the pool", () =>
      withSleepers((sleepers) =>
        Effect.gen(function*() {
          const opened = yield* Pools.open(kind, { pool: { idleTimeToLive: "4 seconds" } })
          const scope = Scope.makeUnsafe()
          yield* Scope.provide(opened.pool.allocate(10), scope)
          yield* opened.closePool
          yield* Scope.close(scope, Exit.void)
          yield* quiet
          strictEqual(sleepers(), 0)
          yield* opened.closeHost
        })
      ))
  })

  describe("stopHolding and resumeHolding", () => {
    it.effect("are each other's opposite", () =>
      Effect.gen(function*() {
        yield* Pools.hold([10, 20])
        yield* Pools.stopHolding
        yield* Pools.hasStats({ heldBlocks: 0, driverFrees: 2 })
        yield* Pools.hold([30])
        yield* Pools.hasStats({ heldBlocks: 0, driverFrees: 3 })
        yield* Pools.resumeHolding
        yield* Pools.hold([30])
        yield* Pools.hasStats({ heldBytes: 30, driverFrees: 3 })
        yield* Pools.use(30, () => Effect.void)
        yield* Pools.hasStats({ hits: 1 })
      }).pipe(Effect.provide(Pools.layer(kind))))

    it.effect("leave active leases to their release", () =>
      Effect.gen(function*() {
        const [a, b] = [yield* Pools.allocate(10), yield* Pools.allocate(20)]
        yield* Pools.stopHolding
        yield* Lease.release(a)
        yield* Pools.resumeHolding
        yield* Lease.release(b)
        yield* Pools.hasStats({ heldBytes: 20, driverFrees: 1 })
      }).pipe(Effect.scoped, Effect.provide(Pools.layer(kind))))

    it.effect("hold nothing on a lost device, nor in a closed pool", () =>
      Effect.gen(function*() {
        const lost = yield* Pools.open(kind)
        const scope = Scope.makeUnsafe()
        yield* Scope.provide(lost.pool.allocate(10), scope)
        lost.faults.lose()
        yield* lost.pool.resumeHolding
        yield* Scope.close(scope, Exit.void)
        strictEqual((yield* lost.pool.stats).managedBlocks, 0)
        yield* lost.closePool
        yield* lost.pool.resumeHolding
        yield* lost.closeHost
        strictEqual(lost.driverObjects.live, 0)
      }))

    it.effect("and a pool that is over its limit keeps what is under it only", () =>
      Effect.gen(function*() {
        const leases = yield* Effect.forEach([40, 40, 40], (size) => Pools.allocate(size))
        yield* Pools.setLimit({ maxBytes: 80 })
        yield* Pools.stopHolding
        yield* Pools.resumeHolding
        yield* Effect.forEach(leases, Lease.release)
        yield* Pools.hasStats({ heldBytes: 80 })
        strictEqual((yield* outOfMemoryOf(Pools.use(40, () => Pools.use(41, () => Effect.void)))).limit, 80)
      }).pipe(Effect.scoped, Effect.provide(Pools.layer(kind, { pool: { maxBytes: 200 } }))))
  })
})
