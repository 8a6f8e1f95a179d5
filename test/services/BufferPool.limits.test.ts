import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as PoolStrategy from "../../src/domain/pool/PoolStrategy.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as DeviceMemory from "../../src/services/pool/DeviceMemory.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import {
  decorated,
  hasStats,
  hold,
  type HostServices,
  layer,
  MiB,
  nextTurn,
  open,
  outOfMemoryOf,
  reasonOf,
  tagOf
} from "../support/hostPool.ts"
import { Clients, patient, quiet } from "../support/poolClients.ts"
import { withEvents } from "../support/poolEvents.ts"

const capacityBytes = 4 * MiB

/** The limit of a pool with these options on a device of 4 MiB. */
const limitWith = (pool: BufferPool.BufferPoolOptions, host?: Host.HostOptions) =>
  Effect.provide(BufferPool.maxBytes, layer({ pool, host: { capacityBytes, ...host } }))

const limits: ReadonlyArray<readonly [BufferPool.BufferPoolOptions, number]> = [
  [{}, Infinity],
  [{ maxBytes: undefined, maxFraction: undefined }, Infinity],
  [{ maxBytes: 1000 }, 1000],
  [{ maxBytes: 0 }, 0],
  [{ maxBytes: Infinity }, Infinity],
  [{ maxBytes: 2 ** 53 - 1 }, 2 ** 53 - 1],
  [{ maxBytes: 1000n }, 1000],
  [{ maxBytes: "1000" }, 1000],
  [{ maxBytes: "3 MiB" }, 3 * MiB],
  [{ maxBytes: "1.5 KiB" }, 1536],
  [{ maxBytes: "50%" }, 2 * MiB],
  [{ maxBytes: "0%" }, 0],
  [{ maxFraction: 0.25 }, MiB],
  [{ maxFraction: 0 }, 0],
  [{ maxFraction: 1 }, 4 * MiB]
]

const refused: ReadonlyArray<readonly [object, ReadonlyArray<string>]> = [
  [{ maxBytes: 1000, maxFraction: 0.5 }, ["1000", "0.5", "leave the other out"]],
  [{ maxBytes: "50%", maxFraction: 0.5 }, ["50%", "0.5"]],
  [{ maxBytes: -1 }, ["-1"]],
  [{ maxBytes: "-1 MiB" }, ["-1 MiB"]],
  [{ maxBytes: 0.5 }, ["0.5"]],
  [{ maxBytes: Number.NaN }, ["NaN"]],
  [{ maxBytes: 2 ** 53 }, ["2^53 - 1"]],
  [{ maxBytes: "half" }, ["half"]],
  [{ maxBytes: "101%" }, ["101%"]],
  [{ maxBytes: null }, ["null"]],
  [{ maxFraction: 1.01 }, ["1.01", "from 0 to 1"]],
  [{ maxFraction: -0.1 }, ["-0.1"]],
  [{ maxFraction: Number.NaN }, ["NaN"]],
  [{ maxFraction: "0.5" }, ["0.5"]]
]

/** The same device, without its amount of memory. */
const tellingNothing = (host: Context.Context<HostServices>): Context.Context<HostServices> => {
  const device = Context.get(host, DeviceContext)
  const info = { ...device.info, limits: { ...device.info.limits, memoryBytes: undefined } }
  // The device's methods live on its prototype.
  return Context.add(host, DeviceContext, Object.create(device, { info: { value: info } }) as typeof device)
}

describe("a pool's limit", () => {
  it.effect("may be bytes, a text, a size or a share of the device's memory", () =>
    Effect.forEach(limits, ([options, bytes]) => Effect.map(limitWith(options), (limit) => strictEqual(limit, bytes))))

  it.effect.each(refused)("%j is none", ([options, texts]) =>
    Effect.gen(function*() {
      const reason = yield* reasonOf(limitWith(options))
      strictEqual(reason._tag, "InvalidRequest")
      for (const text of ["BufferPool.layer: maxBytes", ...texts]) assert.include(reason.message, text)
    }))

  it.effect("is the device's own without one, and any other with one", () =>
    Effect.gen(function*() {
      strictEqual(yield* limitWith({}, { defaultMaxBytes: 500 }), 500)
      strictEqual(yield* limitWith({ maxBytes: 1000 }, { defaultMaxBytes: 500 }), 1000)
      strictEqual(yield* limitWith({ maxBytes: Infinity }, { defaultMaxBytes: 500 }), Infinity)
      strictEqual(yield* limitWith({ maxFraction: 0.5 }, { defaultMaxBytes: 500 }), 2 * MiB)
    }))

  it.effect("cannot be a share of memory whose size the device does not report", () =>
    Effect.gen(function*() {
      for (
        const pool of [{ maxFraction: 0.5 }, { maxBytes: "50%" }, { maxHeldBytes: "10%" }, { idleKeepBytes: "1%" }]
      ) {
        const reason = yield* reasonOf(open({ pool, over: tellingNothing }))
        strictEqual(reason._tag, "Unsupported")
        assert.include(reason.message, "pass bytes")
      }
      const opened = yield* open({ pool: { maxBytes: 1000 }, over: tellingNothing })
      for (const change of [{ maxFraction: 0.5 }, { maxBytes: "50%" }]) {
        strictEqual(yield* tagOf(opened.pool.setLimit(change)), "Unsupported")
      }
      strictEqual(yield* tagOf(opened.pool.trimTo("50%")), "Unsupported")
      strictEqual(yield* tagOf(opened.pool.budget("50%")), "Unsupported")
      strictEqual(yield* opened.pool.maxBytes, 1000)
      yield* opened.closePool
      yield* opened.closeHost
    }))

  it.effect("of zero bytes leases nothing but zero bytes", () =>
    Effect.gen(function*() {
      strictEqual((yield* BufferPool.allocate(0)).capacity, 0)
      strictEqual(yield* tagOf(BufferPool.allocate(1)), "LimitExceeded")
      strictEqual(yield* tagOf(BufferPool.allocate(1, patient)), "LimitExceeded")
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: "0%" } }))))

  it("is never exceeded by one byte, however many fibers ask a slow driver at a time", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 64, maxLength: 64 }),
        fc.boolean(),
        (sizes, lateFree) => {
          const maxBytes = 1000
          let most = 0
          const watched = decorated((allocator) => ({
            ...allocator,
            allocate: (bytes, options) => {
              const allocate = Effect.andThen(nextTurn, allocator.allocate(bytes, options))
              return Effect.uninterruptible(Effect.tap(allocate, () => look))
            }
          }))
          let look: Effect.Effect<void> = Effect.void
          return Effect.gen(function*() {
            const { usedBytes } = yield* Host.Host
            look = Effect.map(usedBytes, (used) => {
              most = Math.max(most, used)
            })
            yield* Effect.forEach(sizes, (size, i) =>
              i % 5 === 4
                ? Effect.timeoutOption(BufferPool.use(size, () => nextTurn, patient), i)
                : BufferPool.use(size, () => nextTurn, patient), { concurrency: "unbounded", discard: true })
            assert.isAtMost(most, maxBytes)
            yield* hasStats({ activeBlocks: 0, waiters: 0 })
          }).pipe(
            Effect.provide(layer({ pool: { maxBytes }, host: { lateFree }, allocator: watched })),
            Effect.runPromise
          )
        }
      ),
      { numRuns: 20 }
    ))
})

const configured = (config: BufferPool.BufferPoolConfig, env: Record<string, string>) =>
  BufferPool.maxBytes.pipe(
    Effect.provide(BufferPool.layerConfig(config)),
    Effect.provide(Host.layer({ capacityBytes })),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
  )

describe("a pool from configuration", () => {
  it.effect("takes all that has a text by the name of each option under one name", () =>
    Effect.gen(function*() {
      strictEqual(
        yield* configured("pool", { pool_maxBytes: "2 MiB", pool_idleSteps: "7", pool_label: "frames" }),
        2 * MiB
      )
      strictEqual(yield* configured("pool", { pool_maxFraction: "0.25", other: "1" }), MiB)
      strictEqual(yield* configured("pool", {}), Infinity)
      const wrong = yield* Effect.flip(configured("pool", { pool_maxBytes: "12 parsecs" }))
      assert.match(wrong.message, /^BufferPool\.layer: maxBytes "12 parsecs" is no whole number of bytes/)
      const noNumber = yield* Effect.flip(configured("pool", { pool_idleSteps: "many" }))
      strictEqual(noNumber._tag, "ConfigError")
    }))

  it.effect("takes its limit as bytes, as a size and as a share", () =>
    Effect.gen(function*() {
      const maxBytes = Config.String("LIMIT")
      for (const [text, bytes] of [["1000", 1000], ["2 MiB", 2 * MiB], ["50%", 2 * MiB]] as const) {
        strictEqual(yield* configured({ maxBytes }, { LIMIT: text }), bytes)
      }
      strictEqual(yield* configured({ maxFraction: Config.Number("SHARE") }, { SHARE: "0.25" }), MiB)
    }))

  it.effect("takes none, as a word, and one of no bytes, which is none in CuPy", () =>
    Effect.gen(function*() {
      const maxBytes = Config.String("LIMIT")
      for (const text of ["unlimited", "Infinity"]) {
        strictEqual(yield* configured({ maxBytes }, { LIMIT: text }), Infinity)
      }
      strictEqual(yield* configured({ maxBytes: Config.Number("LIMIT") }, { LIMIT: "Infinity" }), Infinity)
      for (const text of ["0", "0%", "0 B"]) {
        strictEqual(yield* configured({ maxBytes }, { LIMIT: text }), 0)
      }
      strictEqual(yield* configured({ maxFraction: Config.Number("SHARE") }, { SHARE: "0" }), 0)
    }))

  it.effect("takes options one by one, or whole, and defaults", () =>
    Effect.gen(function*() {
      const whole = Config.all({ maxBytes: Config.Int("LIMIT"), idleTimeToLive: Config.Duration("IDLE") })
      strictEqual(yield* configured(whole, { LIMIT: "1000", IDLE: "5 seconds" }), 1000)
      const optional = Config.String("LIMIT").pipe(Config.withDefault("25%"))
      strictEqual(yield* configured({ maxBytes: optional, onExhausted: "wait" }, {}), MiB)
    }))

  it.effect("takes its strategy by name", () =>
    Effect.gen(function*() {
      const strategy = PoolStrategy.config("STRATEGY")
      const managed = (name: string) =>
        Effect.andThen(BufferPool.allocate(1000), BufferPool.stats).pipe(
          Effect.map(({ managedBytes }) => managedBytes),
          Effect.scoped,
          Effect.provide(BufferPool.layerConfig({ strategy })),
          Effect.provide(Host.layer()),
          Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { STRATEGY: name } })))
        )
      strictEqual(yield* managed("arena"), MiB)
      strictEqual(yield* managed("blocks"), 1024)
      strictEqual((yield* Effect.flip(managed("heap")))._tag, "ConfigError")
    }))

  it.effect("fails with what is wrong of the configuration, or of the limit", () =>
    Effect.gen(function*() {
      const maxBytes = Config.String("LIMIT")
      const missing = yield* Effect.flip(configured({ maxBytes }, {}))
      strictEqual(missing._tag, "ConfigError")
      const wrong = yield* Effect.flip(configured({ maxBytes }, { LIMIT: "much" }))
      assert(wrong._tag === "GpuError")
      assert.include(wrong.message, `maxBytes "much"`)
    }))
})

describe("a limit that is changed", () => {
  it.effect("is the limit that is read, and without one the device's default holds again", () =>
    Effect.gen(function*() {
      const changes: ReadonlyArray<readonly [Parameters<typeof BufferPool.setLimit>[0], number]> = [
        [{ maxBytes: "1 KiB" }, 1024],
        ["2 KiB", 2048],
        [{ maxFraction: 0.5 }, 2 * MiB],
        ["25%", MiB],
        [{ maxBytes: Infinity }, Infinity],
        [{ maxBytes: 5n }, 5],
        [Infinity, Infinity],
        [6n, 6],
        [7, 7],
        ["unlimited", Infinity],
        [{ maxBytes: "0" }, 0],
        ["0%", 0],
        [0, 0],
        [{}, 777]
      ]
      for (const [change, bytes] of changes) {
        yield* BufferPool.setLimit(change)
        strictEqual(yield* BufferPool.maxBytes, bytes)
      }
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 100 }, host: { capacityBytes, defaultMaxBytes: 777 } }))))

  it.effect.each(
    [...refused, [-1, []], ["much", []], [{ maxByte: 3 }, []], [undefined, []], [null, []]] as const
  )(
    "to %j is refused, and stays as it was",
    ([change]) =>
      Effect.gen(function*() {
        const reason = yield* reasonOf(BufferPool.setLimit(change as BufferPool.PoolLimit))
        strictEqual(reason._tag, "InvalidRequest")
        assert.include(reason.message, "BufferPool.setLimit")
        strictEqual(yield* BufferPool.maxBytes, 100)
      }).pipe(Effect.provide(layer({ pool: { maxBytes: 100 }, host: { capacityBytes } })))
  )

  it.effect("by a name that it does not know is refused with the near one", () =>
    Effect.gen(function*() {
      const change: object = { maxByte: 3 }
      assert.include((yield* reasonOf(BufferPool.setLimit(change))).message, "Did you mean maxBytes?")
    }).pipe(Effect.provide(layer())))

  it.effect("to no bytes fits leases of none, and lifted fits all that the device has", () =>
    Effect.gen(function*() {
      for (const nothing of [0, "0", "0%", 0n]) {
        yield* BufferPool.setLimit(nothing)
        strictEqual((yield* reasonOf(BufferPool.allocate(1)))._tag, "LimitExceeded")
        strictEqual((yield* BufferPool.allocate(0)).size, 0)
      }
      yield* BufferPool.setLimit(Infinity)
      strictEqual((yield* BufferPool.allocate(capacityBytes)).size, capacityBytes)
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 100 }, host: { capacityBytes } }))))

  it.effect("downwards gives held blocks back, just enough of them", () =>
    withEvents({}, (events) =>
      Effect.gen(function*() {
        yield* hold([100, 50, 30])
        events()
        yield* BufferPool.setLimit({ maxBytes: 140 })
        deepStrictEqual(events(), ["free 50", "reclaim"])
        yield* hasStats({ managedBytes: 130 })
        yield* BufferPool.setLimit({ maxBytes: 130 })
        deepStrictEqual(events().filter((event) => event !== "reclaim"), [])
        yield* BufferPool.setLimit({ maxBytes: 0 })
        deepStrictEqual(events(), ["free 100", "free 30", "reclaim"])
        yield* hasStats({ managedBytes: 0, heldBlocks: 0 })
      })))

  it.effect("waits until the driver has them", () =>
    Effect.gen(function*() {
      yield* hold([100, 50])
      strictEqual(yield* Host.usedBytes, 150)
      yield* BufferPool.setLimit({ maxBytes: 60 })
      strictEqual(yield* Host.usedBytes, 50)
    }).pipe(Effect.provide(layer({ host: { lateFree: true } }))))

  it.effect("downwards takes no lease away: what is released goes to the driver until the rest fits", () =>
    withEvents({ pool: { maxBytes: 200 } }, (events) =>
      Effect.gen(function*() {
        const leases = yield* Effect.forEach([60, 50, 40, 30], (size) => BufferPool.allocate(size))
        events()
        yield* BufferPool.setLimit({ maxBytes: 100 })
        yield* hasStats({ activeBytes: 180, managedBytes: 180 })
        deepStrictEqual(leases.filter(Lease.isLive).length, 4)
        strictEqual((yield* outOfMemoryOf(BufferPool.allocate(1))).limit, 100)
        events()
        yield* Lease.release(leases[0]!)
        yield* Lease.release(leases[3]!)
        deepStrictEqual(events(), ["free 60", "free 30"])
        strictEqual(yield* tagOf(BufferPool.allocate(11)), "OutOfMemory")
        yield* BufferPool.use(10, () => Effect.void)
        events()
        yield* Lease.release(leases[1]!)
        yield* Lease.release(leases[2]!)
        deepStrictEqual(events(), [])
        yield* hasStats({ heldBytes: 100, managedBytes: 100, activeBlocks: 0 })
      })))

  it.effect("downwards makes what is released go even while it is asked for again and again", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 50, b: 50, c: 50, d: 50 })
      deepStrictEqual(clients.log(), ["a", "b", "c", "d"])
      yield* BufferPool.setLimit({ maxBytes: 100 })
      yield* clients.askAll({ e: 50, f: 50 })
      yield* clients.release("a", "b")
      yield* hasStats({ managedBytes: 100, waiters: 2 })
      yield* clients.release("c")
      deepStrictEqual(clients.log(), ["e"])
      yield* clients.release("d")
      deepStrictEqual(clients.log(), ["f"])
      yield* hasStats({ managedBytes: 100, waiters: 0 })
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 200 } }))))

  it.effect("counts allocations under way", () =>
    Effect.gen(function*() {
      yield* hold([40])
      const { faults } = yield* Host.Host
      faults.delay({ allocations: "1 second" })
      const fiber = yield* Effect.forkChild(BufferPool.allocate(50))
      yield* quiet
      yield* BufferPool.setLimit({ maxBytes: 60 })
      yield* hasStats({ heldBytes: 0, pendingBytes: 50 })
      strictEqual((yield* outOfMemoryOf(BufferPool.allocate(11))).pendingBytes, 50)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      yield* hasStats({ managedBytes: 50, pendingBytes: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 200 } }))))

  it.effect("downwards fails the waiting requests that can never fit any more, and only those", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 100, b: 90, c: 40, d: 60 })
      yield* BufferPool.setLimit({ maxBytes: 50 })
      yield* quiet
      deepStrictEqual(clients.log(), ["a", "b: LimitExceeded", "d: LimitExceeded"])
      const reason = yield* clients.reason("d")
      assert(reason._tag === "LimitExceeded")
      deepStrictEqual([reason.requested, reason.limitName, reason.limit], [60, "maxBytes", 50])
      yield* hasStats({ waiters: 1 })
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["c"])
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 100 } }))))

  it.effect("downwards fails them wherever they wait", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* BufferPool.withBudget(Effect.andThen(clients.ask("a", 70), clients.askAll({ b: 80, c: 40 })), 80)
      yield* BufferPool.setLimit({ maxBytes: 75 })
      yield* quiet
      deepStrictEqual(clients.log(), ["a", "b: LimitExceeded"])
      yield* clients.release("a")
      deepStrictEqual(clients.log(), ["c"])
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 100 } }))))

  it.effect("downwards serves those who waited behind one that can never fit", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 40, b: 90, c: 20 })
      deepStrictEqual(clients.log(), ["a"])
      yield* BufferPool.setLimit({ maxBytes: 70 })
      yield* quiet
      deepStrictEqual(clients.log(), ["b: LimitExceeded", "c"])
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 100, maxBypasses: 0 } }))))

  it.effect("fails a request on its way to the driver that can never fit any more", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      faults.delay({ allocations: "1 second" })
      faults.failAllocations()
      const fiber = yield* Effect.forkChild(BufferPool.allocate(80))
      yield* quiet
      yield* BufferPool.setLimit({ maxBytes: 50 })
      yield* TestClock.adjust("1 second")
      strictEqual(yield* tagOf(Fiber.join(fiber)), "LimitExceeded")
      yield* hasStats({ pendingBytes: 0, managedBytes: 0 })
    }).pipe(Effect.scoped, Effect.provide(layer({ pool: { maxBytes: 100 } }))))

  it.effect("upwards serves everybody who fits now, in order", () =>
    Effect.gen(function*() {
      const clients = new Clients()
      yield* clients.askAll({ a: 100, b: 60, c: 50, d: 40 })
      yield* BufferPool.setLimit({ maxBytes: 210 })
      yield* quiet
      deepStrictEqual(clients.log(), ["a", "b", "c"])
      yield* BufferPool.setLimit({ maxBytes: 250 })
      yield* quiet
      deepStrictEqual(clients.log(), ["d"])
      yield* BufferPool.setLimit({})
      yield* hasStats({ waiters: 0, activeBytes: 250 })
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 100 } }))))

  it.effect("changes which blocks the size policy can make", () =>
    Effect.gen(function*() {
      const capacities: Array<number> = []
      for (const maxBytes of [300, 1000, 300]) {
        yield* BufferPool.setLimit({ maxBytes })
        capacities.push(yield* BufferPool.use(200, ({ capacity }) => Effect.succeed(capacity)))
        yield* BufferPool.freeHeld
      }
      deepStrictEqual(capacities, [200, 512, 200])
    }).pipe(Effect.provide(layer({ pool: { sizePolicy: SizePolicy.table([512]) } }))))

  it.effect("up and down under load is never exceeded by what comes after it", () =>
    Effect.gen(function*() {
      const pool = yield* BufferPool.BufferPool
      const job = (size: number) => Effect.exit(pool.use(size, () => nextTurn, patient))
      const fibers = yield* Effect.forEach(
        Array.from({ length: 60 }, (_, i) => 10 + i * 7 % 50),
        (size) => Effect.forkChild(Effect.replicateEffect(job(size), 10))
      )
      for (const maxBytes of [300, 100, 1000, 59, 400, 200]) {
        const { managedBytes, pendingBytes } = yield* pool.stats
        yield* pool.setLimit({ maxBytes })
        for (let turn = 0; turn < 5; turn++) {
          yield* nextTurn
          const stats = yield* pool.stats
          assert.isAtMost(stats.managedBytes + stats.pendingBytes, Math.max(maxBytes, managedBytes + pendingBytes))
        }
      }
      const exits = (yield* Effect.forEach(fibers, Fiber.join)).flat()
      deepStrictEqual(exits.filter(Exit.isFailure).length, 0)
      yield* hasStats({ activeBlocks: 0, pendingBytes: 0, waiters: 0 })
      const { managedBytes } = yield* pool.stats
      assert.isAtMost(managedBytes, 200)
    }).pipe(Effect.provide(layer({ pool: { maxBytes: 300 } }))))
})

describe("a strategy that is none", () => {
  const none = { strategy: { name: "none" } as PoolStrategy.PoolStrategy }
  const layers: ReadonlyArray<readonly [string, Layer.Layer<never, unknown, Host.Services>]> = [
    ["BufferPool.layer", BufferPool.layer(none)],
    ["ImagePool.layer", ImagePool.layer(none)],
    ["StagingPool.layer", StagingPool.layer(none)],
    ["DeviceMemory.layer", DeviceMemory.layer(none)]
  ]

  it.effect.each(layers)("is refused by %s", ([name, layer]) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Layer.provide(layer, Host.layer()))))
      assert.include(String(error), `${name}: strategy an object is no PoolStrategy`)
    }))
})
