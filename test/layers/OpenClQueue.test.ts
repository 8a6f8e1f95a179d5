import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { stat } from "node:fs/promises"
import { format } from "../../src/domain/device/DeviceInfo.ts"
import type { GpuError, Reason } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { OpenCl } from "../../src/opencl.ts"
import * as Allocator from "../../src/services/buffers/Allocator.ts"
import * as LazyModule from "../../src/services/calls/LazyModule.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import { QueueDriver } from "../../src/services/device/QueueDriver.ts"
import * as QueueEvent from "../../src/services/device/QueueEvent.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { describeWith } from "../support/required.ts"
import { type Bends, blockQueue, watch, type Watched } from "../support/watchedOpenCl.ts"

type Services = OpenCl.Services | Allocator.Allocator | Scope.Scope

const CL_RUNNING = 1

/** Runs a test on the machine's driver, watched, and proves that the closed layer leaves nothing behind. */
const onDevice = <A, E>(test: (watched: Watched) => Effect.Effect<A, E, Services>, bends?: Bends) =>
  Effect.gen(function*() {
    const watched = yield* watch(bends)
    const layer = Allocator.layerImmediate.pipe(Layer.provideMerge(OpenCl.layerFrom(watched.api)))
    const [result, device] = yield* Effect.scoped(Effect.all([test(watched), DeviceContext])).pipe(
      Effect.provide(layer)
    )
    deepStrictEqual(device.driverObjects.liveByKind, {})
    deepStrictEqual(watched.alive(), {})
    strictEqual(watched.count("clWaitForEventsAsync"), watched.count("clWaitForEventsAsync ended"))
    return result
  })

const reasonOf = <A, R>(effect: Effect.Effect<A, GpuError, R>): Effect.Effect<Reason["_tag"], A, R> =>
  Effect.map(Effect.flip(effect), (error) => error.reason._tag)

const increment = Kernel.make({ name: "increment", args: [VectorArg("u32", "x")], body: { opencl: "x[i] += 1;" } })

/** A buffer, and a queue that waits for `end` from here on. */
const blocked = Effect.gen(function*() {
  const x = yield* Allocator.allocate(64, { label: "x" })
  yield* CommandQueue.fill(x, 0)
  const end = yield* blockQueue(yield* OpenCl.handle(x))
  return { x, end }
})

/** Lets other fibers run until they wait for something outside. */
const settled = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

describeWith(["opencl"], "Waiting for an OpenCL queue", () => {
  it.live("shares one native wait among all fibers, and leaves the file system its threads", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { end } = yield* blocked
        const fibers = yield* Effect.forEach(Array(100), () => start(CommandQueue.finish))
        strictEqual(watched.count("clWaitForEventsAsync"), 1)
        const files = yield* Effect.promise(() => Promise.all(Array.from({ length: 8 }, () => stat("/"))))
        assert.isTrue(files.every((file) => file.isDirectory()))
        strictEqual(watched.count("clWaitForEventsAsync ended"), 0)
        end()
        yield* Effect.forEach(fibers, Fiber.join)
        strictEqual(watched.count("clWaitForEventsAsync"), 1)
      })
    ))

  it.live("gives those who record more the next wait, together", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { end, x } = yield* blocked
        const first = yield* Effect.forEach(Array(3), () => start(CommandQueue.finish))
        const reads = yield* Effect.forEach(
          [1, 2, 3],
          (value) => start(Effect.andThen(CommandQueue.fill(x, value), CommandQueue.read(x, Uint32Array)))
        )
        strictEqual(watched.count("clWaitForEventsAsync"), 1)
        end()
        yield* Effect.forEach(first, Fiber.join)
        deepStrictEqual((yield* Effect.forEach(reads, Fiber.join)).map((array) => array[0]), [1, 2, 3])
        assert.isAtMost(watched.count("clWaitForEventsAsync"), 2)
      })
    ))

  it.live("wakes nobody while somebody else is being woken: Effect.forEach runs every item once", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const x = yield* Allocator.allocate(64)
        const items = Array.from({ length: 500 }, (_, item) => item)
        const ran: Array<number> = []
        const work = (item: number) =>
          Effect.andThen(Effect.sync(() => void ran.push(item)), CommandQueue.fill(x, item))
        yield* Effect.forEach(items, (item) => Effect.andThen(work(item), CommandQueue.finish), { concurrency: 50 })
        deepStrictEqual(ran, items)
      })
    ))

  it.live("does not wait for later work than that of an event", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { end: endFirst, x } = yield* blocked
        const first = yield* CommandQueue.event
        const waiting = yield* start(QueueEvent.wait(first))
        yield* CommandQueue.fill(x, 1)
        const second = yield* CommandQueue.event
        const endThird = yield* blockQueue(yield* OpenCl.handle(x))
        const all = yield* start(CommandQueue.finish)
        const both = yield* start(QueueEvent.wait(second))
        endFirst()
        yield* Fiber.join(waiting)
        yield* Fiber.join(both)
        strictEqual(yield* QueueEvent.isDone(second), true)
        strictEqual(all.pollUnsafe(), undefined)
        endThird()
        yield* Fiber.join(all)
      })
    ))

  it.effect("does not wait for what has ended", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        yield* CommandQueue.finish
        yield* CommandQueue.finish
        strictEqual(watched.count("clWaitForEventsAsync"), 0)
        strictEqual(watched.count("clFlush"), 0)
      })
    ))

  it.live("keeps a wait whose fibers were all interrupted, and the data that it is about", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { end, x } = yield* blocked
        yield* CommandQueue.write(x, new Uint32Array(16).fill(7))
        const fiber = yield* start(CommandQueue.read(x, Uint32Array))
        yield* Fiber.interrupt(fiber)
        strictEqual(watched.count("clWaitForEventsAsync ended"), 0)
        const other = yield* start(CommandQueue.read(x, Uint32Array))
        end()
        deepStrictEqual([...(yield* Fiber.join(other))], Array(16).fill(7))
      })
    ))

  it.live("releases nothing under a running native wait when the layer closes", () =>
    Effect.gen(function*() {
      const watched = yield* watch()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(OpenCl.layerFrom(watched.api), scope)
      const { end, device } = yield* Effect.gen(function*() {
        const device = yield* DeviceContext
        const x = yield* device.createBuffer(64, 13)
        const end = yield* blockQueue(yield* OpenCl.handle(x))
        yield* Fiber.interrupt(yield* start(CommandQueue.finish))
        return { end, device }
      }).pipe(Effect.provide(context))
      const closing = yield* start(Scope.close(scope, Exit.void))
      yield* settled
      strictEqual(device.status.error?.reason._tag, "DeviceLost")
      strictEqual(watched.count("clReleaseMemObject") + watched.count("clReleaseCommandQueue"), 0)
      end()
      yield* Fiber.join(closing)
      const order = watched.calls.filter((call) => call.startsWith("clWait") || call.startsWith("clReleaseC"))
      deepStrictEqual(order, [
        "clWaitForEventsAsync",
        "clWaitForEventsAsync ended",
        "clWaitForEvents",
        "clReleaseCommandQueue",
        "clReleaseContext"
      ])
      deepStrictEqual(device.driverObjects.liveByKind, {})
    }))

  it.live("lets a compilation end before its context goes, when the layer closes", () =>
    Effect.gen(function*() {
      yield* LazyModule.all
      const watched = yield* watch()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(OpenCl.layerFrom(watched.api), scope)
      const { driverObjects } = yield* Effect.provide(DeviceContext, context)
      const compiling = yield* start(Effect.exit(
        Effect.provide(KernelCache.KernelCache.use((cache) => cache.get(increment)), context)
      ))
      strictEqual(watched.count("clBuildProgramAsync"), 1)
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(compiling)
      assert.isBelow(watched.calls.indexOf("clBuildProgramAsync ended"), watched.calls.indexOf("clReleaseContext"))
      deepStrictEqual(watched.alive(), {})
      deepStrictEqual(driverObjects.liveByKind, {})
    }))

  it.live("waits for what was recorded but never flushed before it closes", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const x = yield* Allocator.allocate(1 << 20)
        for (let i = 0; i < 10; i++) yield* CommandQueue.write(x, new Uint8Array(1 << 20))
        strictEqual(watched.count("clWaitForEventsAsync"), 0)
      })
    ))

  it.live("reclaims by waiting, since memory is free when the last command on it has ended", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { end } = yield* blocked
        const reclaiming = yield* start(Allocator.Allocator.use((allocator) => allocator.reclaim))
        strictEqual(watched.count("clWaitForEventsAsync"), 1)
        end()
        yield* Fiber.join(reclaiming)
        strictEqual(watched.count("clWaitForEventsAsync ended"), 1)
      })
    ))
})

describeWith(["opencl"], "Recording OpenCL commands", () => {
  it.live("has copied the data when write completes", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { end, x } = yield* blocked
        const data = new Uint32Array(16).fill(1)
        yield* CommandQueue.write(x, data)
        data.fill(2)
        structuredClone(data, { transfer: [data.buffer] })
        const reading = yield* start(CommandQueue.read(x, Uint32Array))
        end()
        deepStrictEqual([...(yield* Fiber.join(reading))], Array(16).fill(1))
      })
    ))

  it.effect("starts work at the end of the turn of the event loop, at 64 commands and when asked, and not without work", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const x = yield* Allocator.allocate(64)
        yield* CommandQueue.finish
        const before = watched.count("clFlush")
        yield* CommandQueue.flush
        strictEqual(watched.count("clFlush"), before)
        yield* CommandQueue.fill(x, 1)
        strictEqual(watched.count("clFlush"), before)
        yield* Effect.promise(() => Promise.resolve())
        strictEqual(watched.count("clFlush"), before + 1)
        for (let i = 0; i < 64; i++) yield* CommandQueue.fill(x, i)
        strictEqual(watched.count("clFlush"), before + 2)
        yield* CommandQueue.fill(x, 1)
        yield* CommandQueue.flush
        yield* CommandQueue.flush
        strictEqual(watched.count("clFlush"), before + 3)
      })
    ))

  it.live("lets go of the events of commands that have ended, without being asked", () =>
    onDevice(() =>
      Effect.gen(function*() {
        const { driverObjects } = yield* DeviceContext
        const x = yield* Allocator.allocate(64)
        for (let i = 0; i < 5000; i++) {
          yield* CommandQueue.fill(x, i)
          if (i % 64 === 0) yield* settled
        }
        assert.isBelow(driverObjects.liveByKind["event"] ?? 0, 2500)
        strictEqual((yield* CommandQueue.read(x, Uint32Array))[0], 4999)
        strictEqual(driverObjects.liveByKind["event"], undefined)
      })
    ))
})

/** Records the events of fills until their release, after which the driver may reuse the address. */
const notingFills = (api: OpenCl.OpenClApi, events: Array<bigint | undefined>) => ({
  clEnqueueFillBuffer: (...args: Parameters<typeof api.clEnqueueFillBuffer>): number => {
    const code = api.clEnqueueFillBuffer(...args)
    const event = args.at(-1)
    if (event instanceof BigUint64Array) events.push(event[0])
    return code
  },
  clReleaseEvent: (event: bigint): number => {
    const index = events.indexOf(event)
    if (index >= 0) events[index] = undefined
    return api.clReleaseEvent(event)
  }
})

/** The driver's answer for the one event that a test breaks, that of the second fill. */
const failingEvent = (status: number): Bends => (api) => {
  const fills: Array<bigint | undefined> = []
  return {
    ...notingFills(api, fills),
    clGetEventInfo: (event, what, bytes, value, needed) => {
      const code = api.clGetEventInfo(event, what, bytes, value, needed)
      if (event === fills[1] && value instanceof Int32Array && value[0]! <= 0) value[0] = status
      return code
    }
  }
}

/**
 * The second fill loses the device. No command is reported as ended before a native wait has started, and the third
 * fill not before the second wait.
 */
const lossBetweenWaits: Bends = (api) => {
  const fills: Array<bigint | undefined> = []
  let waits = 0
  return {
    ...notingFills(api, fills),
    clWaitForEventsAsync: (...args) => {
      waits += 1
      api.clWaitForEventsAsync(...args)
    },
    clGetEventInfo: (event, what, bytes, value, needed) => {
      const code = api.clGetEventInfo(event, what, bytes, value, needed)
      if (!(value instanceof Int32Array)) return code
      if (waits < (event === fills[2] ? 2 : 1)) value[0] = CL_RUNNING
      else if (event === fills[1]) value[0] = -9999
      return code
    }
  }
}

const MiB = 1024 * 1024

describeWith(["opencl"], "Writes to a busy OpenCL queue", () => {
  it.live("keep no more copies than 64 MiB, and are all made in the end", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { end, x } = yield* blocked
        const y = yield* Allocator.allocate(MiB)
        const data = new Uint8Array(MiB)
        const writes = yield* Effect.forEach(
          Array.from({ length: 200 }, (_, at) => at),
          (at) => start(Effect.suspend(() => CommandQueue.write(y, data.fill(at))))
        )
        yield* settled
        const whileBusy = watched.count("clEnqueueWriteBuffer")
        yield* CommandQueue.fill(x, 1)
        end()
        strictEqual(whileBusy, 64)
        yield* Fiber.joinAll(writes)
        strictEqual(watched.count("clEnqueueWriteBuffer"), 200)
        const found = yield* CommandQueue.read(y, Uint8Array)
        strictEqual(found.every((byte) => byte === 199), true)
      })
    ))
})

/** The driver's answer for the event of the first read. */
const failingRead: Bends = (api) => {
  let read: bigint | undefined
  return {
    clEnqueueReadBuffer: (...args) => {
      const code = api.clEnqueueReadBuffer(...args)
      const event = args.at(-1)
      if (event instanceof BigUint64Array) read ??= event[0]
      return code
    },
    clGetEventInfo: (event, what, bytes, value, needed) => {
      const code = api.clGetEventInfo(event, what, bytes, value, needed)
      if (event === read && value instanceof Int32Array && value[0]! <= 0) value[0] = -5
      return code
    }
  }
}

describeWith(["opencl"], "Failures of recorded OpenCL commands", () => {
  it.effect("fail the next read with the label of the one that failed among many", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const [x, y] = [
            yield* Allocator.allocate(64, { label: "good" }),
            yield* Allocator.allocate(32, { label: "bad" })
          ]
          yield* CommandQueue.fill(x, 1)
          yield* CommandQueue.fill(y, 2)
          yield* CommandQueue.copy(y, x)
          const error = yield* Effect.flip(CommandQueue.read(x, Uint32Array))
          assert.include(
            error.message,
            "opencl: a command failed (CL_MEM_OBJECT_ALLOCATION_FAILURE -4): recorded work failed. Commands: fill 32 B -> bad. "
          )
          deepStrictEqual([x.recyclable, y.recyclable], [true, false])
          strictEqual((yield* CommandQueue.read(x, Uint32Array))[0], 2)
        }),
      failingEvent(-4)
    ))

  it.effect("fail the read that failed itself, also where another fiber got the error before", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* Allocator.allocate(64)
          yield* CommandQueue.fill(x, 1)
          const driver = yield* QueueDriver
          const answers: Array<Effect.Effect<ArrayBuffer, GpuError>> = []
          driver.readUnsafe(x, 0, 64, (bytes) => answers.push(bytes))
          assert.include((yield* Effect.flip(CommandQueue.finish)).message, "CL_OUT_OF_RESOURCES -5")
          const error = yield* Effect.flip(answers[0]!)
          assert.include(error.message, "clEnqueueReadBuffer")
          assert.include(error.message, "CL_OUT_OF_RESOURCES -5")
        }),
      failingRead
    ))

  it.effect("wait for a finish when the work only reclaims", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* Allocator.allocate(64)
          yield* CommandQueue.fill(x, 1)
          yield* CommandQueue.fill(x, 2)
          yield* Allocator.Allocator.use((allocator) => allocator.reclaim)
          strictEqual(yield* reasonOf(CommandQueue.finish), "DriverError")
          yield* CommandQueue.finish
        }),
      failingEvent(-4)
    ))

  it.effect("lose the device when the code says so", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const device = yield* DeviceContext
          const x = yield* Allocator.allocate(64, { label: "x" })
          yield* CommandQueue.fill(x, 1)
          yield* CommandQueue.fill(x, 1)
          const error = yield* Effect.flip(CommandQueue.finish)
          strictEqual(error.reason._tag, "DeviceLost")
          assert.include(error.message, "fill 64 B -> x")
          assert.include(error.message, "NVIDIA_ILLEGAL_ACCESS -9999")
          strictEqual(device.status.error, error)
          strictEqual(yield* reasonOf(CommandQueue.fill(x, 1)), "DeviceLost")
          strictEqual(yield* reasonOf(CommandQueue.read(x, Uint8Array)), "DeviceLost")
          strictEqual(yield* reasonOf(Allocator.allocate(64)), "DeviceLost")
        }),
      failingEvent(-9999)
    ))

  it.live("let a listener for the loss close the layer at once, during the wait that found it", () =>
    Effect.gen(function*() {
      const watched = yield* onDevice((watched) =>
        Effect.gen(function*() {
          const x = yield* Allocator.allocate(64)
          yield* CommandQueue.fill(x, 1)
          yield* CommandQueue.fill(x, 2)
          const waiting = yield* start(reasonOf(CommandQueue.finish))
          yield* CommandQueue.fill(x, 3)
          strictEqual(yield* Fiber.join(waiting), "DeviceLost")
          return watched
        }), lossBetweenWaits)
      strictEqual(watched.count("clWaitForEventsAsync"), 2)
    }))

  it.effect.each([-2, -36])("lose the device when an enqueue answers %i", (code) =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* Allocator.allocate(64)
          strictEqual(yield* reasonOf(CommandQueue.dispatch(increment, { x }, 1)), "DeviceLost")
          strictEqual(yield* reasonOf(CommandQueue.finish), "DeviceLost")
        }),
      () => ({ clEnqueueNDRangeKernel: () => code })
    ))

  it.live("fail fibers that wait when the device is lost, without waiting for the driver", () =>
    onDevice((watched) =>
      Effect.gen(function*() {
        const { end } = yield* blocked
        const waiting = yield* start(Effect.flip(CommandQueue.finish))
        const { status } = yield* DeviceContext
        status.lose("unplugged")
        strictEqual((yield* Fiber.join(waiting)).reason._tag, "DeviceLost")
        strictEqual(watched.count("clWaitForEventsAsync ended"), 0)
        end()
      })
    ))

  it.effect("name everything under way when the wait fails and no event has the reason", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* Allocator.allocate(64, { label: "x" })
          yield* CommandQueue.fill(x, 1)
          const error = yield* Effect.flip(CommandQueue.finish)
          strictEqual(error.reason._tag, "DriverError")
          assert.include(error.message, "CL_OUT_OF_RESOURCES -5")
          assert.include(error.message, "touch x, fill 64 B -> x")
          yield* CommandQueue.finish
        }),
      () => ({
        clWaitForEventsAsync: (_count, _events, callback) => callback(null, -5),
        clGetEventInfo: (_event, _what, _bytes, value) => {
          if (value instanceof Int32Array) value[0] = CL_RUNNING
          return 0
        }
      })
    ))

  it.effect("are reported when an event cannot be asked", () =>
    onDevice(
      () =>
        Effect.gen(function*() {
          yield* Allocator.allocate(64, { label: "x" })
          assert.include((yield* Effect.flip(CommandQueue.finish)).message, "CL_INVALID_EVENT -58")
        }),
      () => ({ clGetEventInfo: () => -58 })
    ))

  it.effect("of a flush are reported at once when the program asked for it, else by the next finish", () => {
    let code = 0
    return onDevice(
      () =>
        Effect.gen(function*() {
          const x = yield* Allocator.allocate(64, { label: "x" })
          yield* CommandQueue.finish
          code = -59
          yield* CommandQueue.fill(x, 1)
          assert.include((yield* Effect.flip(CommandQueue.flush)).message, "clFlush failed (CL_INVALID_OPERATION -59)")
          yield* CommandQueue.fill(x, 1)
          yield* Effect.promise(() => Promise.resolve())
          code = 0
          const error = yield* Effect.flip(CommandQueue.finish)
          assert.include(error.message, "clFlush failed (CL_INVALID_OPERATION -59)")
          assert.include(error.message, "fill 64 B -> x")
          yield* CommandQueue.finish
        }),
      (api) => ({ clFlush: (queue) => code === 0 ? api.clFlush(queue) : code })
    )
  })
})

describeWith(["opencl"], "A closed OpenCL layer", () => {
  it.effect("answers late calls with a typed error, and asks the driver nothing", () =>
    Effect.gen(function*() {
      const watched = yield* watch()
      const { allocator, device, queue, x } = yield* Effect.gen(function*() {
        return {
          device: yield* DeviceContext,
          queue: yield* CommandQueue.CommandQueue,
          allocator: yield* Allocator.Allocator,
          x: yield* DeviceContext.use((device) => device.createBuffer(64, 13))
        }
      }).pipe(Effect.provide(Allocator.layerImmediate.pipe(Layer.provideMerge(OpenCl.layerFrom(watched.api)))))
      const before = watched.calls.length
      const late: ReadonlyArray<Effect.Effect<unknown, GpuError>> = [
        queue.fill(x, 1),
        queue.write(x, new Uint8Array(64)),
        queue.read(x, Uint8Array),
        queue.dispatch(increment, { x }, 1),
        queue.flush,
        queue.finish,
        device.createBuffer(64, 13),
        allocator.allocate(64),
        allocator.reclaim
      ]
      for (const effect of late) strictEqual(yield* reasonOf(effect), "DeviceLost")
      assert.isTrue(Exit.isSuccess(device.destroyBufferUnsafe(x)))
      assert.include(device.status.error?.message, "its layer is closed")
      deepStrictEqual(watched.calls.slice(before), [])
      strictEqual(x.destroyed, true)
      assert.include(format(device.info), "opencl")
    }))
})
