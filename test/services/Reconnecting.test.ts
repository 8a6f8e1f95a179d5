import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { type GpuError, invalidRequest } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { Host } from "../../src/host.ts"
import * as Reconnecting from "../../src/services/backend/reconnecting/Reconnecting.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type { PooledBuffer } from "../../src/services/buffers/PooledBuffer.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { KernelCache } from "../../src/services/device/KernelCache.ts"
import * as ImagePool from "../../src/services/images/ImagePool.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { nextTurn, reasonOf, tagOf } from "../support/hostPool.ts"
import { again, lose, series, work } from "../support/reconnecting.ts"

const { generation, provide } = Reconnecting

const kernel = Kernel.make({ name: "nothing", args: [VectorArg("f32", "x")], body: { host: () => {} } })

/** The parts of a generation that a loss takes away. */
const parts = Effect.gen(function*() {
  return {
    device: yield* DeviceContext,
    pool: yield* BufferPool.BufferPool,
    cache: yield* KernelCache,
    queue: yield* CommandQueue.CommandQueue
  }
})

/** The layer in a scope of its own, which the test closes. */
const opened = Effect.fnUntraced(function*(layer: Layer.Layer<Reconnecting.Reconnecting, GpuError>) {
  const scope = yield* Scope.make()
  const context = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
  return {
    provide: Context.get(context, Reconnecting.Reconnecting).provide,
    close: Scope.close(scope, Exit.void)
  }
})

/** Collects what is logged. */
const lines = (into: Array<string>) => Logger.layer([Logger.make(({ message }) => void into.push(String(message)))])

/** Passes a value that the types forbid. */
const bad = <A>(value: unknown): A => value as A

const built = (layer: Layer.Layer<never, GpuError>) => Effect.scoped(Layer.build(layer))

describe("the devices of one layer", () => {
  it.effect("open one by one, at the first use and after a loss, and none is left", () =>
    Effect.gen(function*() {
      const devices = series()
      yield* Effect.gen(function*() {
        strictEqual(devices.faults.openings, 0)
        strictEqual(yield* generation, 0)
        const first = yield* provide(parts)
        const same = yield* provide(parts)
        deepStrictEqual([same.device === first.device, same.pool === first.pool], [true, true])
        strictEqual(devices.faults.openings, 1)
        yield* provide(work)
        yield* lose(devices)
        const second = yield* provide(parts)
        for (const part of ["device", "pool", "cache", "queue"] as const) {
          assert.isFalse(second[part] === first[part], part)
        }
        yield* provide(work)
        deepStrictEqual([yield* generation, devices.faults.openings], [2, 2])
        yield* nextTurn
        strictEqual(devices.devices[0]!.live, 0)
        assert.isAbove(devices.devices[1]!.live, 0)
      }).pipe(Effect.provide(devices.layer))
      strictEqual(devices.live(), 0)
    }))

  it.effect("are opened once for all that want one", () =>
    Effect.gen(function*() {
      const devices = series({ before: Effect.sleep("1 second") })
      yield* Effect.gen(function*() {
        const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(provide(parts)))
        yield* TestClock.adjust("999 millis")
        deepStrictEqual([devices.faults.openings, yield* generation], [0, 0])
        yield* TestClock.adjust("1 millis")
        const [one, two, three] = yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
        deepStrictEqual([one!.device === two!.device, two!.device === three!.device], [true, true])
        deepStrictEqual([devices.faults.openings, yield* generation], [1, 1])
      }).pipe(Effect.provide(devices.layer))
    }))

  it.effect("end what runs on a lost one with DeviceLost, at once, and it closes with the last of it", () =>
    Effect.gen(function*() {
      const devices = series({ pool: { maxBytes: 100, onExhausted: "wait" } })
      yield* Effect.gen(function*() {
        devices.faults.delay({ reads: "1 hour" })
        const lease = yield* Deferred.make<PooledBuffer>()
        const gate = yield* Deferred.make<void>()
        const holding = provide(
          Effect.gen(function*() {
            const mine = yield* BufferPool.allocate(80)
            yield* Deferred.succeed(lease, mine)
            yield* Deferred.await(gate)
            return yield* CommandQueue.fill(mine, 0)
          }).pipe(Effect.scoped)
        )
        const using = (use: (lease: PooledBuffer) => Effect.Effect<unknown, GpuError, Reconnecting.Services>) =>
          provide(Effect.flatMap(Deferred.await(lease), use))
        const fibers = yield* Effect.forEach([
          holding,
          provide(BufferPool.use(40, () => Effect.void)),
          using((mine) => CommandQueue.read(mine, Uint8Array)),
          using((mine) => Effect.andThen(Deferred.await(gate), CommandQueue.dispatch(kernel, { x: mine }, 1)))
        ], (effect) => Effect.forkChild(effect, { startImmediately: true }))
        yield* nextTurn
        strictEqual((yield* provide(BufferPool.stats)).waiters, 1)
        yield* lose(devices, "unplugged")
        yield* provide(Effect.void)
        strictEqual(yield* generation, 2)
        for (const waiting of [fibers[1]!, fibers[2]!]) strictEqual(yield* tagOf(Fiber.join(waiting)), "DeviceLost")
        assert.isAbove(devices.devices[0]!.live, 0)
        yield* Deferred.succeed(gate, undefined)
        for (const fiber of fibers) strictEqual(yield* tagOf(Fiber.join(fiber)), "DeviceLost")
        yield* nextTurn
        strictEqual(devices.devices[0]!.live, 0)
      }).pipe(Effect.provide(devices.layer))
      strictEqual(devices.live(), 0)
    }))

  it.effect("let an effect go on at once while the driver of a lost one takes its time", () =>
    Effect.gen(function*() {
      const slow = yield* Deferred.make<void>()
      const faults = Host.makeFaults()
      let closed = 0
      const closing = Effect.suspend(() => {
        closed += 1
        return closed === 1 ? Deferred.await(slow) : Effect.void
      })
      const layer = Reconnecting.layer(
        Layer.effectDiscard(Effect.addFinalizer(() => closing)).pipe(Layer.provideMerge(Host.layer({ faults })))
      )
      yield* Effect.gen(function*() {
        const losing = Effect.andThen(Effect.sync(() => faults.lose()), CommandQueue.finish)
        strictEqual(yield* tagOf(provide(losing)), "DeviceLost")
        yield* provide(work)
        strictEqual(yield* generation, 2)
        yield* Deferred.succeed(slow, undefined)
      }).pipe(Effect.provide(layer))
      strictEqual(closed, 2)
    }))

  it.effect("close at once when one is lost that nobody uses", () =>
    Effect.gen(function*() {
      const devices = series()
      yield* Effect.gen(function*() {
        yield* provide(work)
        assert.isAbove(devices.live(), 0)
        yield* lose(devices)
        yield* nextTurn
        strictEqual(devices.live(), 0)
        strictEqual(devices.faults.openings, 1)
      }).pipe(Effect.provide(devices.layer))
    }))

  it.effect("take a lease along that has outlived its effect", () =>
    Effect.gen(function*() {
      const devices = series()
      yield* Effect.gen(function*() {
        const lease = yield* provide(BufferPool.allocate(64))
        yield* provide(CommandQueue.fill(lease, 7))
        yield* lose(devices)
        strictEqual(yield* tagOf(provide(CommandQueue.fill(lease, 7))), "ForeignDevice")
        yield* nextTurn
        strictEqual(devices.devices[0]!.live, 0)
      }).pipe(Effect.scoped, Effect.provide(devices.layer))
      strictEqual(devices.live(), 0)
    }))

  it.effect("run an effect once, and again where it is retried", () =>
    Effect.gen(function*() {
      const devices = series()
      yield* Effect.gen(function*() {
        let runs = 0
        const job = Effect.gen(function*() {
          runs += 1
          const buffer = yield* BufferPool.allocate(64)
          if (runs % 3 !== 0) yield* lose(devices)
          yield* CommandQueue.fill(buffer, runs)
          return yield* CommandQueue.read(buffer, Uint32Array)
        }).pipe(Effect.scoped)
        strictEqual(yield* tagOf(provide(job)), "DeviceLost")
        strictEqual(runs, 1)
        strictEqual((yield* again(provide(job)))[0], 3)
        deepStrictEqual([runs, yield* generation], [3, 3])
      }).pipe(Effect.provide(devices.layer))
    }))

  it.effect("lose one before it is used, while it opens, and try again", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      let left = 2
      const devices = series({
        faults,
        after: Effect.sync(() => {
          if (left-- > 0) faults.lose("early")
        }),
        schedule: Schedule.recurs(1)
      })
      yield* Effect.gen(function*() {
        const error = yield* Effect.flip(provide(work))
        assert.include(error.message, "early")
        deepStrictEqual([faults.openings, yield* generation, devices.live()], [2, 0, 0])
        yield* provide(work)
        deepStrictEqual([faults.openings, yield* generation], [3, 1])
      }).pipe(Effect.provide(devices.layer))
      strictEqual(devices.live(), 0)
    }))

  it.effect("are shown in one line", () =>
    Effect.gen(function*() {
      const service = yield* Reconnecting.Reconnecting
      yield* service.provide(work)
      strictEqual(String(service), "Reconnecting(1 devices opened)")
    }).pipe(Effect.provide(Reconnecting.layer(Host.layer()))))
})

describe("a schedule", () => {
  it.effect("comes between attempts to open a device, and bounds them", () =>
    Effect.gen(function*() {
      const devices = series({ schedule: Schedule.spaced("1 second").pipe(Schedule.upTo({ times: 3 })) })
      yield* Effect.gen(function*() {
        devices.faults.failOpenings({ nth: 1, times: 3 })
        const fiber = yield* Effect.forkChild(provide(work))
        for (let attempt = 1; attempt <= 3; attempt++) {
          yield* nextTurn
          strictEqual(devices.faults.openings, attempt)
          yield* TestClock.adjust("1 second")
        }
        yield* Fiber.join(fiber)
        deepStrictEqual([devices.faults.openings, yield* generation], [4, 1])

        yield* lose(devices)
        devices.faults.failOpenings({ nth: 1, times: 4 })
        const refused = yield* Effect.forkChild(provide(work))
        yield* nextTurn
        yield* TestClock.adjust("1 minute")
        strictEqual(yield* tagOf(Fiber.join(refused)), "DeviceUnavailable")
        deepStrictEqual([devices.faults.openings, yield* generation], [8, 1])

        yield* provide(work)
        deepStrictEqual([devices.faults.openings, yield* generation], [9, 2])
      }).pipe(Effect.provide(devices.layer))
      strictEqual(devices.live(), 0)
    }))

  it.effect("is for a device that is not there now, and no other error", () =>
    Effect.gen(function*() {
      let attempts = 0
      const devices = series({
        before: Effect.suspend(() => {
          attempts += 1
          return invalidRequest("test", "wrong", "")
        }),
        schedule: Schedule.recurs(5)
      })
      strictEqual(yield* tagOf(Effect.provide(provide(work), devices.layer)), "InvalidRequest")
      strictEqual(attempts, 1)
    }))

  it.effect("starts anew with each generation", () =>
    Effect.gen(function*() {
      const devices = series({ schedule: Schedule.recurs(1) })
      yield* Effect.gen(function*() {
        for (let loss = 0; loss < 5; loss++) {
          devices.faults.failOpenings({ nth: 1 })
          yield* provide(work)
          yield* lose(devices)
        }
        deepStrictEqual([devices.faults.openings, yield* generation], [10, 5])
      }).pipe(Effect.provide(devices.layer))
    }))
})

describe("an interruption while a device opens", () => {
  it.effect("of the one who asked first does not concern the others", () =>
    Effect.gen(function*() {
      const devices = series({ before: Effect.sleep("1 second") })
      yield* Effect.gen(function*() {
        const first = yield* Effect.forkChild(provide(work), { startImmediately: true })
        const second = yield* Effect.forkChild(provide(work), { startImmediately: true })
        yield* TestClock.adjust("500 millis")
        yield* Fiber.interrupt(first)
        yield* TestClock.adjust("500 millis")
        yield* Fiber.join(second)
        deepStrictEqual([devices.faults.openings, yield* generation], [1, 1])
      }).pipe(Effect.provide(devices.layer))
      strictEqual(devices.live(), 0)
    }))

  it.effect("of all who want it ends the attempts", () =>
    Effect.gen(function*() {
      const devices = series({ schedule: Schedule.spaced("1 second") })
      yield* Effect.gen(function*() {
        devices.faults.failOpenings({ nth: 1, times: 10 })
        const fibers = yield* Effect.forEach(
          [work, work],
          (effect) => Effect.forkChild(provide(effect), { startImmediately: true })
        )
        yield* TestClock.adjust("1 second")
        yield* Fiber.interruptAll(fibers)
        const { openings } = devices.faults
        yield* TestClock.adjust("1 hour")
        strictEqual(devices.faults.openings, openings)
        devices.faults.clear()
        yield* provide(work)
        deepStrictEqual([devices.faults.openings, yield* generation], [openings + 1, 1])
      }).pipe(Effect.provide(devices.layer))
      strictEqual(devices.live(), 0)
    }))

  it.effect("waits for a driver that cannot be interrupted, while others get the next device", () =>
    Effect.gen(function*() {
      const slow = yield* Deferred.make<void>()
      let isFirst = true
      const devices = series({
        after: Effect.uninterruptible(Effect.suspend(() => {
          if (!isFirst) return Effect.void
          isFirst = false
          return Deferred.await(slow)
        }))
      })
      yield* Effect.gen(function*() {
        const first = yield* Effect.forkChild(provide(work), { startImmediately: true })
        const interruption = yield* Effect.forkChild(Fiber.interrupt(first), { startImmediately: true })
        yield* provide(work)
        deepStrictEqual([devices.faults.openings, yield* generation], [2, 1])
        yield* Deferred.succeed(slow, undefined)
        yield* Fiber.join(interruption)
        strictEqual(devices.devices[0]!.live, 0)
        deepStrictEqual([devices.faults.openings, yield* generation], [2, 1])
      }).pipe(Effect.provide(devices.layer))
      strictEqual(devices.live(), 0)
    }))
})

describe("the end of the layer", () => {
  it.effect("ends the opening, and effects that wait for it fail because there is no device", () =>
    Effect.gen(function*() {
      const devices = series({ after: Effect.sleep("1 second") })
      const { close, provide } = yield* opened(devices.layer)
      const fiber = yield* Effect.forkChild(provide(work), { startImmediately: true })
      yield* nextTurn
      assert.isAbove(devices.live(), 0)
      yield* close
      const reason = yield* reasonOf(Fiber.join(fiber))
      assert(reason._tag === "DeviceUnavailable", reason.message)
      assert.include(reason.message, "The layer of Reconnecting.layer is closed")
      strictEqual(devices.live(), 0)
    }))

  it.effect("closes the device under what runs on it, and a retry ends", () =>
    Effect.gen(function*() {
      const told: Array<number> = []
      const devices = series({ onLost: (_, number) => Effect.sync(() => told.push(number)) })
      const { close, provide } = yield* opened(devices.layer)
      const gate = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        again(provide(Effect.andThen(Deferred.await(gate), CommandQueue.finish))),
        { startImmediately: true }
      )
      yield* nextTurn
      yield* close
      strictEqual(devices.live(), 0)
      yield* Deferred.succeed(gate, undefined)
      strictEqual(yield* tagOf(Fiber.join(fiber)), "DeviceUnavailable")
      strictEqual(yield* tagOf(provide(work)), "DeviceUnavailable")
      deepStrictEqual([devices.faults.openings, told], [1, []])
    }))

  it.effect("waits for a lost device that is closing", () =>
    Effect.gen(function*() {
      const slow = yield* Deferred.make<void>()
      const host = Host.makeFaults()
      let ended = false
      const layer = Reconnecting.layer(
        Layer.effectDiscard(Effect.addFinalizer(() =>
          Effect.andThen(
            Deferred.await(slow),
            Effect.sync(() => {
              ended = true
            })
          )
        )).pipe(Layer.provideMerge(Host.layer({ faults: host })))
      )
      const { close, provide } = yield* opened(layer)
      yield* provide(work)
      host.lose()
      yield* nextTurn
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      yield* nextTurn
      strictEqual(closing.pollUnsafe(), undefined)
      yield* Deferred.succeed(slow, undefined)
      yield* Fiber.join(closing)
      assert.isTrue(ended)
    }))
})

describe("an observer", () => {
  it.effect("is called once for each loss, and not at the end of the layer", () =>
    Effect.gen(function*() {
      const told: Array<string> = []
      const devices = series({
        onLost: ({ reason }, number) =>
          Effect.sync(() => told.push(`${number} ${reason._tag === "DeviceLost" ? reason.detail : reason._tag}`))
      })
      yield* Effect.gen(function*() {
        yield* provide(work)
        yield* lose(devices, "one")
        yield* nextTurn
        yield* provide(Effect.andThen(lose(devices, "two"), Effect.ignore(work)))
        yield* provide(work)
      }).pipe(Effect.provide(devices.layer))
      deepStrictEqual(told, ["1 one", "2 two"])
    }))

  it.effect("that fails, dies or throws is logged, and nobody fails with it", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const ways: ReadonlyArray<() => Effect.Effect<unknown, unknown>> = [
        () => Effect.fail("failed"),
        () => Effect.die("died"),
        () => {
          throw new Error("thrown")
        }
      ]
      for (const onLost of ways) {
        const devices = series({ onLost })
        yield* Effect.gen(function*() {
          yield* provide(work)
          yield* lose(devices)
          yield* nextTurn
          yield* provide(work)
        }).pipe(Effect.provide(devices.layer), Effect.provide(lines(logged)))
      }
      strictEqual(logged.length, ways.length)
      for (const line of logged) assert.include(line, "onLost of Reconnecting.layer failed when device 1 was lost")
    }))

  it.effect("that never ends holds up nothing, and ends with the layer", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const devices = series({
        onLost: () => Effect.never.pipe(Effect.onInterrupt(() => Effect.sync(() => seen.push("interrupted"))))
      })
      yield* Effect.gen(function*() {
        for (let loss = 0; loss < 3; loss++) {
          yield* provide(work)
          yield* lose(devices)
          yield* nextTurn
        }
        yield* provide(work)
        deepStrictEqual(seen, [])
      }).pipe(Effect.provide(devices.layer))
      strictEqual(seen.length, 3)
      strictEqual(devices.live(), 0)
    }))
})

describe("a service of one's own", () => {
  const faults = Host.makeFaults()
  class Gpu extends Reconnecting.Service<Gpu>()("test/Gpu", {
    layer: Layer.mergeAll(BufferPool.layer({ maxBytes: 4096 }), ImagePool.layer()).pipe(
      Layer.provideMerge(Host.layer({ faults }))
    )
  }) {}

  it.effect("has in a generation whatever its layer has", () =>
    Effect.gen(function*() {
      const both = Effect.gen(function*() {
        return [yield* BufferPool.maxBytes, (yield* ImagePool.stats).managedBlocks, yield* Host.usedBytes]
      })
      deepStrictEqual(yield* Gpu.provide(both), [4096, 0, 0])
      yield* Effect.sync(() => faults.lose())
      deepStrictEqual(yield* Gpu.provide(both), [4096, 0, 0])
      strictEqual(yield* Gpu.generation, 2)
      strictEqual(yield* (yield* Gpu).generation, 2)
    }).pipe(Effect.provide(Gpu.layer)))

  it.effect("takes what its layer and its options need from outside", () =>
    Effect.gen(function*() {
      class Words extends Context.Service<Words, Array<string>>()("test/Words") {}
      const note = (word: string) => Words.useSync((words) => void words.push(word))
      const own = Host.makeFaults()
      class Mine extends Reconnecting.Service<Mine>()("test/Mine", {
        layer: Layer.tap(Host.layer({ faults: own }), () => note("open")),
        schedule: Schedule.recurs(2).pipe(Schedule.tap(() => note("again"))),
        onLost: () => note("lost")
      }) {}
      own.failOpenings({ nth: 2 })
      const words: Array<string> = []
      yield* Effect.gen(function*() {
        yield* Mine.provide(CommandQueue.finish)
        own.lose()
        yield* nextTurn
        yield* Mine.provide(CommandQueue.finish)
      }).pipe(Effect.provide(Mine.layer), Effect.provideService(Words, words))
      deepStrictEqual(words, ["open", "lost", "again", "open"])
    }))
})

describe("values that the types forbid", () => {
  it.effect("are InvalidRequest", () =>
    Effect.gen(function*() {
      const service = (options: unknown) =>
        Reconnecting.Service<never>()("test/Bad", bad<Reconnecting.ServiceOptions<never, never, never>>(options)).layer
      const layers: Readonly<Record<string, Layer.Layer<never, GpuError>>> = {
        "there is no option \"pol\"": Reconnecting.layer(Host.layer(), bad({ pol: {} })),
        "5 was given for options": Reconnecting.layer(Host.layer(), bad(5)),
        "was given for options": service(null)
      }
      for (const [text, layer] of Object.entries(layers)) {
        const error = yield* Effect.flip(built(layer))
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, text)
      }
    }))

  it.effect("are InvalidRequest where the device would open", () =>
    Effect.gen(function*() {
      const layers: Readonly<Record<string, Layer.Layer<Reconnecting.Reconnecting, GpuError>>> = {
        "capacityBytes": Reconnecting.layer(Host.layer({ capacityBytes: -1 })),
        "maxByte": Reconnecting.layer(Host.layer(), { pool: bad({ maxByte: 5 }) })
      }
      for (const [text, layer] of Object.entries(layers)) {
        const error = yield* Effect.flip(Effect.provide(provide(Effect.void), layer))
        strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, text)
      }
      class None
        extends Reconnecting.Service<None>()("test/None", { layer: bad<Layer.Layer<DeviceContext>>(Layer.empty) })
      {}
      const without = yield* Effect.flip(Effect.provide(None.provide(Effect.void), None.layer))
      assert.include(without.message, "test/None: the layer provides no device")
    }))
})
