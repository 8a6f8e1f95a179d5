import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError, Reason } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import * as SizePolicy from "../../src/domain/pool/SizePolicy.ts"
import { Host } from "../../src/host.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { QueueDriver } from "../../src/services/device/QueueDriver.ts"
import * as Lease from "../../src/services/lease/Lease.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { withoutHalves } from "../support/withoutHalves.ts"

type Services = Host.Services

const reasonOf = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<Reason["_tag"], A, R> =>
  Effect.map(Effect.flip(effect), (error) => error.reason._tag)

const create = (bytes: number, label?: string) =>
  DeviceContext.use((device) => device.createBuffer(bytes, BufferUsage.defaultUsage, label))

const destroy = (buffer: Effect.Success<ReturnType<typeof create>>) =>
  DeviceContext.use((device) => device.destroyBufferUnsafe(buffer))

const pool = (options: Host.HostOptions = {}) =>
  BufferPool.layer({ sizePolicy: SizePolicy.exact }).pipe(Layer.provideMerge(Host.layer(options)))

describe("Host.layer", () => {
  const bad: ReadonlyArray<Host.HostOptions> = [
    { capacityBytes: -1 },
    { capacityBytes: 1.5 },
    { capacityBytes: NaN },
    { capacityBytes: 2 ** 53 },
    { capacityBytes: "1 giraffe" },
    { maxBufferSize: 0 },
    { maxBufferSize: "101%" },
    { maxBindingSize: NaN },
    { granularity: 0 },
    { granularity: 0.5 },
    { regionAlignment: 0 },
    { regionAlignment: 6 },
    { defaultMaxBytes: -4 },
    { maxVectorArguments: NaN },
    { maxWorkgroupSize: -1 },
    { rangeItems: 0 },
    { byteGranular: 1 as never },
    { kernelCacheCapacity: 0 },
    { latency: -1 },
    { latency: NaN }
  ]
  it.effect.each(bad)("refuses %o", (options) =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Host.layer(options))))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, Object.keys(options)[0]!)
    }))

  it.effect("takes bytes as every option of bytes does, and shares of its own memory", () =>
    Effect.gen(function*() {
      const { info: { limits } } = yield* DeviceContext
      strictEqual(limits.memoryBytes, 2 ** 20)
      strictEqual(limits.maxBufferSize, 2 ** 19)
      strictEqual(limits.maxBindingSize, 4096)
      strictEqual(limits.defaultMaxBytes, Number.MAX_SAFE_INTEGER)
    }).pipe(
      Effect.provide(
        Host.layer({
          capacityBytes: "1 MiB",
          maxBufferSize: "50%",
          maxBindingSize: 4096n,
          defaultMaxBytes: "unlimited"
        })
      )
    ))

  it.effect("has no memory of which its own could be a share", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Host.layer({ capacityBytes: "50%" }))))
      strictEqual(error.reason._tag, "Unsupported")
    }))

  it.effect("has halves where the runtime has, and else says what has them", () => {
    const kernel = Kernel.make({ name: "k", args: [VectorArg("f16", "x")], body: { host: () => {} } })
    const dispatch = Effect.flatMap(create(4), (x) => CommandQueue.dispatch(kernel, { x }, 2))
    const run = Effect.suspend(() => Effect.provide(dispatch, Host.layer()))
    return Effect.gen(function*() {
      yield* run
      const error = yield* Effect.flip(withoutHalves(run))
      strictEqual(error.reason._tag, "Unsupported")
      assert.include(error.message, "f16 (argument \"x\")")
      assert.include(error.message, "Float16Array and Math.f16round, as Node 24")
    })
  })

  it.effect("describes its device by the options", () =>
    Effect.gen(function*() {
      const { info } = yield* DeviceContext
      deepStrictEqual(info.limits, {
        maxBufferSize: 1024,
        maxBindingSize: 1024,
        granularity: 4,
        regionAlignment: 4,
        copyAlignment: 4,
        leastCopyAlignment: 1,
        memoryBytes: 4096,
        defaultMaxBytes: 2048,
        maxWorkgroupSize: 256,
        maxVectorArguments: 8,
        images: { maxReadImages: 16, maxWriteImages: 4, maxSamplers: 16 },
        groups: { maxWorkgroupExtents: [256, 256, 64], maxWorkgroups: 65_535, maxLocalBytes: 16_384 }
      })
    }).pipe(Effect.provide(
      Host.layer({ capacityBytes: 4096, maxBufferSize: 1024, granularity: 4, defaultMaxBytes: 2048 })
    )))

  it.effect("says what was tried when it can't be opened", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      faults.failOpenings({ why: "no driver" })
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Host.layer({ faults }))))
      strictEqual(error.reason._tag, "DeviceUnavailable")
      assert.include(error.message, "no driver")
      yield* Effect.scoped(Layer.build(Host.layer({ faults })))
      strictEqual(faults.openings, 2)
    }))

  it.effect("leaves nothing behind when its scope closes, whatever is still in use", () =>
    Effect.gen(function*() {
      const objects = yield* Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const kept = yield* create(64)
        yield* destroy(yield* create(64))
        yield* CommandQueue.fill(kept, 1)
        deepStrictEqual(driverObjects.liveByKind, { device: 1, buffer: 1 })
        return driverObjects
      }).pipe(Effect.provide(Host.layer()))
      strictEqual(objects.live, 0)
      strictEqual(objects.created, 3)
    }))

  it.effect("leaves nothing behind wherever opening or use is interrupted", () =>
    Effect.gen(function*() {
      class YieldAt extends Scheduler.MixedScheduler {
        constructor(k: number) {
          super()
          this.shouldYield = () => k-- === 0
        }
      }
      const seen: Array<DriverObjects> = []
      const faults = Host.makeFaults()
      const job = Effect.gen(function*() {
        seen.push((yield* DeviceContext).driverObjects)
        const buffer = yield* Allocator.allocate(64)
        yield* CommandQueue.fill(buffer, 7)
        return yield* CommandQueue.read(buffer, Uint32Array)
      }).pipe(
        Effect.scoped,
        Effect.provide(Allocator.layerImmediate),
        Effect.provide(Host.layer({ faults }))
      )
      let finished = false
      for (let k = 0; !finished; k++) {
        const fiber = Effect.runFork(Effect.provideService(job, Scheduler.Scheduler, new YieldAt(k)))
        yield* Fiber.interrupt(fiber)
        finished = Exit.isSuccess(yield* Fiber.await(fiber))
        for (const objects of seen) strictEqual(objects.live, 0)
        strictEqual(faults.allocations, faults.frees)
        assert.isBelow(k, 500)
      }
      assert.isAbove(seen.length, 5)
    }))

  it.effect("answers late calls with a typed error", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Host.layer(), scope)
      const buffer = yield* Effect.provide(create(64), context)
      yield* Scope.close(scope, Exit.void)
      const calls: ReadonlyArray<Effect.Effect<unknown, GpuError, Services>> = [
        create(4),
        CommandQueue.fill(buffer, 0),
        CommandQueue.read(buffer, Uint8Array),
        CommandQueue.finish,
        QueueDriver.use((driver) => driver.reclaim),
        QueueDriver.use((driver) => driver.touch(buffer)),
        QueueDriver.use((driver) => driver.finish),
        Host.bytes(buffer)
      ]
      for (const late of calls) {
        const error = yield* Effect.flip(Effect.provide(late, context))
        strictEqual(error.reason._tag, "DeviceLost")
        assert.include(error.message, "its layer is closed")
      }
      yield* Effect.provide(destroy(buffer), context)
    }))
})

describe("memory", () => {
  it.effect("is as scarce as its capacity", () =>
    Effect.gen(function*() {
      const first = yield* create(600)
      const error = yield* Effect.flip(create(401))
      strictEqual(error.reason._tag, "OutOfMemory")
      yield* create(400)
      yield* destroy(first)
      yield* destroy(first)
      strictEqual(yield* Host.usedBytes, 400)
      yield* create(600)
    }).pipe(Effect.provide(Host.layer({ capacityBytes: 1000 }))))

  it.effect("is out of memory when the process has none", () =>
    Effect.gen(function*() {
      strictEqual(yield* reasonOf(create(2 ** 52)), "OutOfMemory")
      strictEqual(yield* Host.usedBytes, 0)
    }).pipe(Effect.provide(Host.layer({ capacityBytes: 2 ** 53 - 1, maxBufferSize: 2 ** 53 - 1 }))))

  it.effect("keeps its contents for the next owner of a block", () =>
    Effect.gen(function*() {
      yield* BufferPool.use(16, (lease) => CommandQueue.fill(lease, 0xabcdef01))
      deepStrictEqual(
        yield* BufferPool.use(16, (lease) => CommandQueue.read(lease, Uint32Array)),
        new Uint32Array(4).fill(0xabcdef01)
      )
    }).pipe(Effect.provide(pool())))

  it.effect("freed late counts until the next finish or reclaim", () =>
    Effect.gen(function*() {
      const driver = yield* QueueDriver
      for (const wait of [CommandQueue.finish, driver.reclaim]) {
        const buffer = yield* create(1000)
        yield* destroy(buffer)
        strictEqual(yield* Host.usedBytes, 1000)
        strictEqual(yield* reasonOf(create(1)), "OutOfMemory")
        yield* wait
        strictEqual(yield* Host.usedBytes, 0)
      }
    }).pipe(Effect.provide(Host.layer({ capacityBytes: 1000, lateFree: true }))))

  it.effect("freed late still serves a pool that holds enough", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.all([BufferPool.allocate(400), BufferPool.allocate(500)]))
      strictEqual(yield* BufferPool.use(1000, (lease) => Effect.succeed(lease.capacity)), 1000)
    }).pipe(Effect.provide(pool({ capacityBytes: 1000, lateFree: true }))))
})

describe("Host.bytes", () => {
  it.effect("shows a lease's requested size in place, until its memory goes", () =>
    Effect.gen(function*() {
      const view = yield* Effect.scoped(Effect.gen(function*() {
        const lease = yield* BufferPool.allocate(6)
        const view = yield* Host.bytes(lease)
        yield* CommandQueue.write(lease, Uint8Array.of(1, 2, 3, 4, 5, 6))
        deepStrictEqual([...view], [1, 2, 3, 4, 5, 6])
        view[5] = 9
        deepStrictEqual([...(yield* CommandQueue.read(lease, Uint8Array))], [1, 2, 3, 4, 5, 9])
        return view
      }))
      yield* Effect.flatMap(BufferPool.BufferPool, (pool) => pool.freeHeld)
      strictEqual(view.byteLength, 0)
    }).pipe(Effect.provide(pool())))

  it.effect("is empty for a zero-byte lease", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(0)
      strictEqual((yield* Host.bytes(lease)).byteLength, 0)
    }).pipe(Effect.scoped, Effect.provide(pool())))

  it.effect("refuses released and foreign buffers", () =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(8)
      const foreign = yield* Effect.provide(create(8), yield* Layer.build(Layer.fresh(Host.layer())))
      yield* Lease.release(lease)
      const gone = yield* create(8)
      yield* destroy(gone)
      strictEqual(yield* reasonOf(Host.bytes(lease)), "Released")
      strictEqual(yield* reasonOf(Host.bytes(gone)), "Released")
      strictEqual(yield* reasonOf(Host.bytes(foreign)), "ForeignDevice")
      strictEqual(yield* reasonOf(destroy(foreign)), "ForeignDevice")
    }).pipe(Effect.scoped, Effect.provide(pool())))
})

const outcome = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<string, never, R> =>
  Effect.match(effect, { onSuccess: () => "done", onFailure: (error) => error.reason._tag })

const outcomes = <A, R>(times: number, effect: Effect.Effect<A, GpuError, R>) =>
  Effect.forEach(Array.from({ length: times }), () => outcome(effect))

describe("Faults", () => {
  it.effect("fail the nth allocation, counted from when they are planned", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      faults.failAllocations({ nth: 2 })
      faults.failAllocations({ nth: 4, times: 2, error: "DriverError" })
      deepStrictEqual(
        yield* outcomes(6, create(4)),
        ["done", "OutOfMemory", "done", "DriverError", "DriverError", "done"]
      )
      faults.failAllocations()
      deepStrictEqual(yield* outcomes(2, create(4)), ["OutOfMemory", "done"])
      strictEqual(faults.allocations, 8)
      strictEqual(yield* Host.usedBytes, 16)
    }).pipe(Effect.provide(Host.layer())))

  it.effect("fail for ever until they are cleared", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      faults.failAllocations({ times: Infinity })
      deepStrictEqual(yield* outcomes(3, create(4)), ["OutOfMemory", "OutOfMemory", "OutOfMemory"])
      faults.clear()
      strictEqual(yield* outcome(create(4)), "done")
    }).pipe(Effect.provide(Host.layer())))

  it.effect("fail a free, whose memory becomes free all the same", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      faults.failFrees({ nth: 2, log: "stuck" })
      const first = yield* create(4)
      const second = yield* create(4)
      yield* destroy(first)
      const error = yield* Effect.flip(destroy(second))
      strictEqual(error.reason._tag, "DriverError")
      assert.include(error.message, "stuck")
      strictEqual(yield* Host.usedBytes, 0)
      strictEqual((yield* DeviceContext).driverObjects.liveByKind["buffer"], undefined)
      strictEqual(faults.frees, 2)
    }).pipe(Effect.provide(Host.layer())))

  it.effect("fail a recorded command where it is awaited, with its label and once", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const buffer = yield* create(8, "x")
      faults.failCommands({ nth: 2 })
      yield* CommandQueue.fill(buffer, 1)
      yield* CommandQueue.fill(buffer, 2, { size: 4 })
      yield* CommandQueue.fill(buffer, 3, { offset: 4 })
      const { reason } = yield* Effect.flip(CommandQueue.finish)
      assert(reason._tag === "DriverError")
      deepStrictEqual(reason.commands, ["fill 4 B -> x"])
      deepStrictEqual([...(yield* CommandQueue.read(buffer, Uint32Array))], [1, 3])
      faults.failCommands()
      yield* CommandQueue.write(buffer, Uint32Array.of(4, 4))
      const failed = (yield* Effect.flip(CommandQueue.read(buffer, Uint32Array))).reason
      assert(failed._tag === "DriverError")
      deepStrictEqual(failed.commands, ["write 8 B -> x"])
      deepStrictEqual([...(yield* CommandQueue.read(buffer, Uint32Array))], [1, 3])
      strictEqual(faults.commands, 4)
      strictEqual(faults.reads, 3)
    }).pipe(Effect.provide(Host.layer())))

  it.effect("lose the device now: requests that wait and later ones fail", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      faults.delay({ reads: "1 hour" })
      const buffer = yield* create(8)
      const reading = yield* Effect.forkChild(outcome(CommandQueue.read(buffer, Uint8Array)), {
        startImmediately: true
      })
      yield* CommandQueue.fill(buffer, 0)
      faults.lose("unplugged")
      strictEqual(yield* Fiber.join(reading), "DeviceLost")
      const error = yield* Effect.flip(CommandQueue.finish)
      assert.include(error.message, "unplugged")
      strictEqual(yield* outcome(create(4)), "DeviceLost")
      strictEqual(yield* outcome(destroy(buffer)), "done")
      strictEqual(yield* Host.usedBytes, 0)
    }).pipe(Effect.provide(Host.layer())))

  it.effect("lose the device at its nth operation", () =>
    Effect.gen(function*() {
      for (let nth = 1; nth <= 7; nth++) {
        const faults = Host.makeFaults()
        faults.loseAt(nth, "planned")
        const steps = yield* Effect.gen(function*() {
          const driver = yield* QueueDriver
          const first = yield* create(8)
          const operations: ReadonlyArray<Effect.Effect<unknown, GpuError, Services>> = [
            create(8),
            CommandQueue.write(first, new Uint32Array(2)),
            CommandQueue.fill(first, 0),
            CommandQueue.read(first, Uint32Array),
            CommandQueue.finish,
            driver.reclaim
          ]
          return yield* Effect.forEach(operations, outcome)
        }).pipe(Effect.catch((error) => Effect.succeed([error.reason._tag])), Effect.provide(Host.layer({ faults })))
        const expected = nth === 1
          ? ["DeviceLost"]
          : Array.from({ length: 6 }, (_, step) => step < nth - 2 ? "done" : "DeviceLost")
        deepStrictEqual(steps, expected)
        strictEqual(faults.operations, nth)
      }
    }))

  it.effect("outlive their device and go on with the next", () =>
    Effect.gen(function*() {
      const faults = Host.makeFaults()
      const one = Effect.scoped(BufferPool.allocate(4)).pipe(Effect.provide(pool({ faults })))
      yield* one
      faults.failAllocations({ error: "DriverError" })
      strictEqual(yield* outcome(one), "DriverError")
      yield* one
      strictEqual(faults.openings, 3)
      strictEqual(faults.frees, 2)
      faults.lose()
      yield* one
    }))
})

describe("latency", () => {
  it.effect("passes on Effect's clock", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const running = yield* Effect.forkChild(Effect.flatMap(create(8), (b) => CommandQueue.read(b, Uint8Array)))
      yield* TestClock.adjust("9 millis")
      strictEqual(faults.allocations, 0)
      yield* TestClock.adjust("1 millis")
      strictEqual(faults.allocations, 1)
      strictEqual(running.pollUnsafe(), undefined)
      yield* TestClock.adjust("10 millis")
      strictEqual((yield* Fiber.join(running)).byteLength, 8)
    }).pipe(Effect.provide(Host.layer({ latency: "10 millis" }))))

  it.effect("interrupted during an allocation creates nothing, through the allocator and the pool too", () =>
    Effect.gen(function*() {
      const { faults } = yield* Host.Host
      const requests = [
        Effect.asVoid(create(8)),
        Effect.scoped(Effect.asVoid(Allocator.allocate(8))).pipe(Effect.provide(Allocator.layerImmediate))
      ]
      for (const request of requests) {
        const running = yield* Effect.forkChild(request, { startImmediately: true })
        yield* TestClock.adjust("1 second")
        yield* Fiber.interrupt(running)
      }
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(BufferPool.layer(), scope)
      const waiting = yield* Effect.forkChild(
        outcome(Effect.provide(Effect.scoped(BufferPool.allocate(8)), context)),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 second")
      yield* Scope.close(scope, Exit.void)
      strictEqual(yield* Fiber.join(waiting), "Released")
      yield* TestClock.adjust("2 minutes")
      strictEqual(faults.allocations, 0)
      strictEqual(yield* Host.usedBytes, 0)
    }).pipe(Effect.provide(Host.layer({ latency: "1 minute" }))))
})
