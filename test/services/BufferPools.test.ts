import * as DeviceArray from "@effect-gpu-pool/arrays/DeviceArray"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as PoolStats from "../../src/domain/pool/PoolStats.ts"
import { Host } from "../../src/host.ts"
import { isDeviceLost } from "../../src/services/backend/reconnecting/Reconnecting.ts"
import * as BufferPools from "../../src/services/backend/several/BufferPools.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import { nextTurn, reasonOf, tagOf } from "../support/hostPool.ts"
import { work } from "../support/reconnecting.ts"
import { type Several, several, type SeveralOptions } from "../support/severalDevices.ts"

const { on } = BufferPools

/** Runs a program on devices of its own, and checks that no driver object is left. */
const onSeveral = (
  title: string,
  options: SeveralOptions,
  program: (own: Several) => Effect.Effect<unknown, unknown, BufferPools.BufferPools | Scope.Scope>
) =>
  it.effect(title, () =>
    Effect.gen(function*() {
      const own = several(options)
      yield* Effect.scoped(program(own)).pipe(Effect.provide(own.layer))
      for (const [opening, left] of Object.entries(own.left())) strictEqual(left, 0, `driver objects of ${opening}`)
      strictEqual(own.alive(), 0, "open devices")
    }))

const sevens = Kernel.make({
  name: "sevens",
  args: [VectorArg("f32", "x")],
  body: { host: (from, to, { x }) => void x.fill(7, from, to) }
})

const info = DeviceContext.useSync((device) => device.info)

const onHost = () => Host.layer()

const moved = (scope: Scope.Scope) =>
  on("0", Effect.scoped(Effect.tap(BufferPool.allocate(64), (lease) => Lease.transfer(lease, scope))))

const failsToBuild = (layer: Layer.Layer<BufferPools.BufferPools, GpuError>) => tagOf(Effect.scoped(Layer.build(layer)))

/** Passes a value that the types forbid. */
const bad = <A>(value: unknown): A => value as A

describe("the devices of one service", () => {
  onSeveral(
    "open at their first use, one for each name, and stay open for all who use them",
    {},
    (own) =>
      Effect.gen(function*() {
        deepStrictEqual(yield* BufferPools.devices, [])
        const [zero, one, again] = [yield* on("0", info), yield* on("1", info), yield* info.pipe(on("0"))]
        assert.isTrue(zero === again && zero !== one)
        yield* Effect.all([on("1", work), on("0", work), on("1", work)], { concurrency: "unbounded" })
        deepStrictEqual(own.openings, ["0", "1"])
        deepStrictEqual(yield* BufferPools.devices, ["0", "1"])
      })
  )

  onSeveral("have all services of a single device, and pools of their own", {}, () =>
    Effect.gen(function*() {
      const pools = yield* Effect.forEach(["0", "1"], (device) =>
        on(device, Effect.all([BufferPool.BufferPool, StagingPool.StagingPool])))
      assert.isFalse(pools[0]![0] === pools[1]![0] || pools[0]![1] === pools[1]![1])
      const x = yield* on("0", BufferPool.allocate(64))
      strictEqual(yield* tagOf(on("1", CommandQueue.fill(x, 7))), "ForeignDevice")
      // The innermost device counts.
      yield* on("1", on("0", CommandQueue.fill(x, 7)))
    }))

  onSeveral("open once for all who ask at the same time, also when the first is interrupted", {
    before: Effect.sleep("1 second")
  }, (own) =>
    Effect.gen(function*() {
      const first = yield* Effect.forkChild(on("0", work), { startImmediately: true })
      const second = yield* Effect.forkChild(on("0", work), { startImmediately: true })
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(second)
      deepStrictEqual(own.openings, ["0"])
    }))

  onSeveral("have limits of their own", {
    pool: (device) => ({ maxBytes: device === "0" ? 64 : "1 KiB" }),
    staging: { maxBytes: 128 }
  }, () =>
    Effect.gen(function*() {
      const limits = yield* Effect.forEach(["0", "1"], (device) =>
        on(device, Effect.all([BufferPool.maxBytes, StagingPool.maxBytes])))
      deepStrictEqual(limits, [[64, 128], [1024, 128]])
      yield* on("1", BufferPool.setLimit(32))
      strictEqual(yield* tagOf(on("1", BufferPool.allocate(64))), "LimitExceeded")
      yield* on("0", BufferPool.allocate(64))
    }))
})

describe("inside of an effect on the same device", () => {
  onSeveral(
    "budgets and queues of the program stay, and elsewhere they do not count",
    {},
    () =>
      on(
        "0",
        Effect.gen(function*() {
          const queue = yield* CommandQueue.make({ label: "further" })
          const own = Effect.all([BufferPool.maxBytes, CommandQueue.CommandQueue])
          const [without, first] = yield* own
          const [limit, here] = yield* on("0", own).pipe(BufferPool.withBudget(64), CommandQueue.on(queue))
          deepStrictEqual([limit, here === queue, first === queue], [64, true, false])
          const [elsewhere, there] = yield* on("1", own).pipe(BufferPool.withBudget(64), CommandQueue.on(queue))
          deepStrictEqual([elsewhere, there === queue], [without, false])
        })
      )
  )

  onSeveral("transfers read what the queue of the program has recorded, and lease from its budget", {
    host: { rangeItems: 1 }
  }, () =>
    on(
      "0",
      Effect.gen(function*() {
        const queue = yield* CommandQueue.make()
        const x = yield* BufferPool.allocate(400)
        const y = yield* on("1", BufferPool.allocate(400))
        // Each item runs in a turn of its own, so the device's first queue would read in between.
        yield* CommandQueue.dispatch(sevens, { x }, 100).pipe(CommandQueue.on(queue))
        yield* BufferPools.copy(x, y).pipe(CommandQueue.on(queue))
        deepStrictEqual(yield* on("1", CommandQueue.read(y, Float32Array)), new Float32Array(100).fill(7))
        yield* CommandQueue.fill(x, 0).pipe(CommandQueue.on(queue))
        yield* CommandQueue.dispatch(sevens, { x }, 100).pipe(CommandQueue.on(queue))
        const array = yield* DeviceArray.fromLease(x)
        const moved = yield* CommandQueue.on(DeviceArray.to(array, "1"), queue)
        deepStrictEqual(yield* on("1", DeviceArray.toHost(moved)), new Float32Array(100).fill(7))
        strictEqual(yield* tagOf(DeviceArray.to(array, "0").pipe(BufferPool.withBudget(4))), "LimitExceeded")
      })
    ))
})

describe("a device that nobody uses", () => {
  onSeveral(
    "closes after its time, with what its pools kept",
    { idleTimeToLive: "10 seconds" },
    (own) =>
      Effect.gen(function*() {
        yield* on("0", work)
        yield* TestClock.adjust("5 seconds")
        yield* on("1", work)
        yield* TestClock.adjust("5 seconds")
        deepStrictEqual(yield* BufferPools.devices, ["1"])
        strictEqual(own.alive(), 1)
        strictEqual(own.left()["0, opening 0"], 0)
        yield* on("0", work)
        deepStrictEqual(own.openings, ["0", "1", "0"])
      })
  )

  onSeveral("closes at once where its time is 0", { idleTimeToLive: 0 }, (own) =>
    Effect.gen(function*() {
      yield* on("0", work)
      strictEqual(own.alive(), 0)
    }))

  onSeveral(
    "stays open to the end of the layer where its time is infinite",
    { idleTimeToLive: Infinity },
    (own) =>
      Effect.gen(function*() {
        yield* on("0", work)
        yield* TestClock.adjust("10 weeks")
        strictEqual(own.alive(), 1)
      })
  )

  onSeveral("is used as long as an effect runs on it", { idleTimeToLive: 0 }, (own) =>
    Effect.gen(function*() {
      const go = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(on("0", Effect.andThen(Deferred.await(go), work)), {
        startImmediately: true
      })
      yield* on("0", work)
      strictEqual(own.alive(), 1)
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(fiber)
      deepStrictEqual([own.alive(), own.openings.length], [0, 1])
    }))
})

describe("what an effect leaves in the scope around it", () => {
  const short = { idleTimeToLive: 0 } as const

  onSeveral("keeps the device open: a lease", short, (own) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const x = yield* on("0", BufferPool.allocate(64)).pipe(Scope.provide(scope))
      assert.isTrue(Lease.isLive(x))
      yield* on("0", CommandQueue.fill(x, 7))
      strictEqual((yield* on("0", CommandQueue.read(x, Uint32Array)))[0], 7)
      deepStrictEqual([own.alive(), own.openings.length], [1, 1])
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(Lease.isLive(x))
      strictEqual(own.alive(), 0)
    }))

  onSeveral("keeps the device open: a fiber", short, (own) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const go = yield* Deferred.make<void>()
      const fiber = yield* on("0", Effect.forkScoped(Effect.andThen(Deferred.await(go), work))).pipe(
        Scope.provide(scope)
      )
      strictEqual(own.alive(), 1)
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(fiber)
      yield* Scope.close(scope, Exit.void)
      strictEqual(own.alive(), 0)
    }))

  onSeveral("keeps the device open after a failure as well", short, (own) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const failing = Effect.andThen(BufferPool.allocate(64), BufferPool.allocate(-1))
      strictEqual(yield* tagOf(Scope.provide(on("0", failing), scope)), "InvalidRequest")
      strictEqual(own.alive(), 1)
      yield* Scope.close(scope, Exit.void)
      strictEqual(own.alive(), 0)
    }))

  onSeveral(
    "is nothing: then a long scope keeps neither the device nor a trace of it",
    short,
    (own) =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        yield* Scope.provide(on("0", work), scope)
        deepStrictEqual([own.alive(), scope.state._tag], [0, "Empty"])
      })
  )

  onSeveral("ends while the effect still runs: the device stays open for it", short, (own) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* on(
        "0",
        Effect.gen(function*() {
          const x = yield* BufferPool.allocate(64)
          yield* Scope.close(scope, Exit.void)
          strictEqual(yield* tagOf(CommandQueue.fill(x, 7)), "Released")
          yield* work
          strictEqual(own.alive(), 1)
        })
      ).pipe(Scope.provide(scope))
      strictEqual(own.alive(), 0)
    }))

  onSeveral("goes at once into a scope that is closed already", short, (own) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      yield* Scope.close(scope, Exit.void)
      const exit = yield* Effect.exit(Scope.provide(on("0", BufferPool.allocate(64)), scope))
      assert.isTrue(Exit.isFailure(exit))
      strictEqual(own.alive(), 0)
    }))

  onSeveral("does not keep the device open in another scope, which open does", short, (own) =>
    Effect.gen(function*() {
      const keeping = yield* Scope.make()
      const plain = yield* Scope.make()
      const lost = yield* moved(plain)
      deepStrictEqual([Lease.isLive(lost), own.alive()], [false, 0])
      yield* Scope.provide(BufferPools.open("0"), keeping)
      const x = yield* moved(keeping)
      deepStrictEqual([Lease.isLive(x), own.alive()], [true, 1])
      yield* Scope.close(keeping, Exit.void)
      deepStrictEqual([Lease.isLive(x), own.alive()], [false, 0])
      yield* Scope.close(plain, Exit.void)
    }))
})

class Gpus extends BufferPools.Service<Gpus>()(
  "test/Gpus",
  () => ImagePool.layer({ maxBytes: "64 KiB" }).pipe(Layer.provideMerge(Host.layer())),
  { pool: { maxBytes: 256 }, idleTimeToLive: 0 }
) {}

describe("a service with more on each device", () => {
  it.effect("provides it, and the pools, on the devices of BufferPools", () =>
    Effect.gen(function*() {
      const all = Effect.all([
        ImagePool.maxBytes,
        BufferPool.maxBytes,
        Effect.map(Host.Host, ({ faults }) => faults.openings)
      ])
      deepStrictEqual(yield* Gpus.on("0", all), [65536, 256, 1])
      const scope = yield* Scope.make()
      const services = yield* Scope.provide(Gpus.open("0"), scope)
      const x = yield* Effect.provideContext(BufferPool.allocate(4), services).pipe(Scope.provide(scope))
      const y = yield* Scope.provide(BufferPools.on("1", BufferPool.allocate(4)), scope)
      yield* Gpus.onDeviceOf(x, Host.Host.use(({ bytes }) => Effect.map(bytes(x), (all) => all.fill(7))))
      yield* BufferPools.copy(x, y)
      const copied = yield* Gpus.onDeviceOf(y, Effect.andThen(CommandQueue.finish, CommandQueue.read(y, Uint8Array)))
      deepStrictEqual(Array.from(copied), [7, 7, 7, 7])
      deepStrictEqual(yield* BufferPools.devices, ["0", "1"])
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual(yield* BufferPools.devices, [])
      const error = yield* Effect.flip(Gpus.on("", CommandQueue.finish))
      assert.include(String(error), "the device \"\" is no name")
    }).pipe(Effect.provide(Gpus.layer)))

  it.effect("is named by its errors", () =>
    Effect.gen(function*() {
      class Wrong extends BufferPools.Service<Wrong>()("test/Wrong", onHost, bad<BufferPools.Options>({ pools: {} })) {}
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Wrong.layer)))
      assert.include(error.message, "test/Wrong: there is no option")
    }))
})

describe("opening a device in a scope", () => {
  onSeveral("gives its services, and keeps it open", { idleTimeToLive: 0 }, (own) =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const services = yield* Scope.provide(BufferPools.open("0"), scope)
      yield* Effect.provideContext(work, services)
      assert.isTrue(Context.get(services, DeviceContext).info === (yield* on("0", info)))
      strictEqual(own.alive(), 1)
      yield* Scope.close(scope, Exit.void)
      strictEqual(own.alive(), 0)
    }))

  onSeveral("leaves nothing in the scope when it fails", {}, (own) =>
    Effect.gen(function*() {
      own.faultsOf("0").failOpenings()
      const scope = yield* Scope.make()
      strictEqual(yield* tagOf(Scope.provide(BufferPools.open("0"), scope)), "DeviceUnavailable")
      strictEqual(scope.state._tag, "Empty")
    }))
})

describe("a device that cannot be opened", () => {
  onSeveral("fails who asked for it, and is tried again by the next", {}, (own) =>
    Effect.gen(function*() {
      own.faultsOf("0").failOpenings({ why: "busy" })
      const reason = yield* reasonOf(on("0", work))
      assert.include(reason.message, "busy")
      yield* on("0", work)
      yield* on("1", work)
      deepStrictEqual(own.openings, ["0", "1"])
    }))

  onSeveral("is tried again by the schedule", { schedule: Schedule.recurs(2) }, (own) =>
    Effect.gen(function*() {
      own.faultsOf("0").failOpenings({ times: 2 })
      yield* on("0", work)
    }))

  onSeveral(
    "is one without pools for wrong options of it",
    { pool: (device) => ({ maxBytes: bad(device) }) },
    () =>
      Effect.gen(function*() {
        strictEqual(yield* tagOf(on("much", work)), "InvalidRequest")
      })
  )
})

describe("a lost device", () => {
  const lost: Array<readonly [string, number]> = []
  onSeveral("is replaced at its next use, and the others stay", {
    onLost: (_, device, generation) => Effect.sync(() => lost.push([device, generation]))
  }, (own) =>
    Effect.gen(function*() {
      const before = yield* Effect.forEach(["0", "1"], (device) => on(device, info))
      own.faultsOf("0").lose()
      deepStrictEqual(yield* BufferPools.devices, ["1"])
      const after = yield* Effect.forEach(["0", "1"], (device) => on(device, Effect.andThen(work, info)))
      deepStrictEqual([after[0] === before[0], after[1] === before[1]], [false, true])
      deepStrictEqual(own.openings, ["0", "1", "0"])
      yield* nextTurn
      deepStrictEqual(lost, [["0", 1]])
      strictEqual(own.left()["0, opening 0"], 0)
    }))

  onSeveral("fails what runs on it, which can be tried again", {}, (own) =>
    Effect.gen(function*() {
      let runs = 0
      const job = Effect.gen(function*() {
        const x = yield* BufferPool.allocate(64)
        if (runs++ === 0) own.faultsOf("0").lose()
        yield* CommandQueue.fill(x, 7)
      }).pipe(Effect.scoped)
      yield* Effect.retry(on("0", job), { while: isDeviceLost, times: 1 })
      strictEqual(runs, 2)
    }))

  onSeveral(
    "keeps its leases until their scope closes, and says so",
    { idleTimeToLive: 0 },
    (own) =>
      Effect.gen(function*() {
        const scope = yield* Scope.make()
        const x = yield* Scope.provide(on("0", BufferPool.allocate(64)), scope)
        own.faultsOf("0").lose()
        strictEqual(yield* tagOf(BufferPools.onDeviceOf(x, CommandQueue.fill(x, 7))), "DeviceLost")
        strictEqual(yield* tagOf(on("0", CommandQueue.fill(x, 7))), "ForeignDevice")
        yield* Scope.close(scope, Exit.void)
        strictEqual(yield* tagOf(BufferPools.onDeviceOf(x, CommandQueue.fill(x, 7))), "Released")
      })
  )
})

describe("counters and held memory", () => {
  onSeveral("are those of the open devices, and their sums", {}, (own) =>
    Effect.gen(function*() {
      deepStrictEqual(yield* BufferPools.stats, {
        devices: new Map(),
        total: { buffers: PoolStats.sum([]), staging: PoolStats.sum([]) }
      })
      yield* on("0", BufferPool.allocate(100))
      yield* on("1", BufferPool.allocate(200))
      yield* on("1", StagingPool.allocate(4, Float32Array))
      const { devices, total } = yield* BufferPools.stats
      deepStrictEqual(
        Array.from(devices, ([device, { buffers, staging }]) => [
          device,
          buffers.activeBytes,
          staging.activeBytes
        ]),
        [["0", 100, 0], ["1", 200, 16]]
      )
      for (const pool of ["buffers", "staging"] as const) {
        for (const name of Object.keys(total[pool]) as Array<keyof PoolStats.PoolStats>) {
          strictEqual(total[pool][name], devices.get("0")![pool][name] + devices.get("1")![pool][name], name)
        }
      }
      strictEqual(own.openings.length, 2)
    }))

  onSeveral("are freed on one device or on all, and no device is opened for it", {}, (own) =>
    Effect.gen(function*() {
      yield* BufferPools.freeHeld()
      yield* BufferPools.freeHeld("0")
      deepStrictEqual(own.openings, [])
      for (const device of ["0", "1", "2"]) {
        yield* on(device, Effect.andThen(work, Effect.scoped(StagingPool.allocate(4, Uint8Array))))
      }
      const held = Effect.map(BufferPools.stats, ({ devices }) =>
        Array.from(devices.values(), ({ buffers, staging }) => [buffers.heldBlocks, staging.heldBlocks]))
      deepStrictEqual(yield* held, [[1, 1], [1, 1], [1, 1]])
      yield* BufferPools.freeHeld("1")
      deepStrictEqual(yield* held, [[1, 1], [0, 0], [1, 1]])
      yield* BufferPools.freeHeld()
      deepStrictEqual(yield* held, [[0, 0], [0, 0], [0, 0]])
    }))

  onSeveral(
    "a device that is lost meanwhile leaves the others to free theirs",
    { host: { lateFree: true } },
    (own) =>
      Effect.gen(function*() {
        for (const device of ["0", "1"]) yield* on(device, work)
        const fiber = yield* Effect.forkChild(BufferPools.freeHeld(), { startImmediately: true })
        own.faultsOf("0").lose()
        yield* Fiber.await(fiber)
        strictEqual((yield* BufferPools.stats).devices.get("1")!.buffers.heldBlocks, 0)
      })
  )
})

describe("the end of the layer", () => {
  it.effect("closes every device, under whatever runs on it, and refuses later uses", () =>
    Effect.gen(function*() {
      const own = several()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Layer.fresh(own.layer), scope)
      const pools = Context.get(context, BufferPools.BufferPools)
      const x = yield* pools.on("0", BufferPool.allocate(64))
      const waiting = yield* Effect.forkChild(pools.on("1", Effect.never), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      deepStrictEqual([own.alive(), own.live(), Lease.isLive(x)], [0, 0, false])
      yield* Fiber.interrupt(waiting)
      strictEqual(yield* tagOf(pools.on("0", work)), "DeviceUnavailable")
      strictEqual(yield* tagOf(pools.open("0")), "DeviceUnavailable")
      deepStrictEqual(yield* pools.devices, [])
      yield* pools.freeHeld()
      yield* pools.freeHeld("0")
    }))
})

describe("wrong arguments", () => {
  it.effect("are refused when the service is made", () =>
    Effect.gen(function*() {
      const options: ReadonlyArray<unknown> = [
        { maxBytes: 4 },
        { idleTimeToLive: "soon" },
        { idleTimeToLive: -1 },
        3
      ]
      for (const one of options) strictEqual(yield* failsToBuild(BufferPools.layer(onHost, bad(one))), "InvalidRequest")
    }))

  onSeveral("are refused by each call, and open nothing", {}, (own) =>
    Effect.gen(function*() {
      strictEqual(yield* tagOf(on("", work)), "InvalidRequest")
      strictEqual(yield* tagOf(BufferPools.open("")), "InvalidRequest")
      // Its properties cannot all be read, so nothing may make a key of it.
      strictEqual(yield* tagOf(BufferPools.open(globalThis as never)), "InvalidRequest")
      strictEqual(yield* tagOf(BufferPools.freeHeld("")), "InvalidRequest")
      deepStrictEqual(own.openings, [])
    }))
})
