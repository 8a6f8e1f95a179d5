/** How long kernels run: on each backend that reports it, and what is special to one backend. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as BufferUsage from "effect-gpu-pool/BufferUsage"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import { Host } from "effect-gpu-pool/host"
import * as Kernel from "effect-gpu-pool/Kernel"
import { VectorArg } from "effect-gpu-pool/KernelArgument"
import { OpenCl } from "effect-gpu-pool/opencl"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Schedules from "effect-schedules/Schedules"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { dispatches, double, square, tellsTimes, timed, told } from "../../../test/support/kernelTimes.ts"
import { inOwnRegistry, named } from "../../../test/support/registries.ts"
import { describeWith } from "../../../test/support/required.ts"
import { otherCode } from "../../../test/support/sharedHandles.ts"
import { stepsTaken } from "../../../test/support/stepsTaken.ts"
import { watch } from "../../../test/support/watchedOpenCl.ts"
import * as KernelMetrics from "../src/metrics/KernelMetrics.ts"

/** A clock on which time passes only where a test says so. */
const settableClock = () => {
  let nanos = 0n
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => Number(nanos / 1_000_000n),
    currentTimeMillis: Effect.sync(() => Number(nanos / 1_000_000n)),
    currentTimeNanosUnsafe: () => nanos,
    currentTimeNanos: Effect.sync(() => nanos),
    monotonicTimeNanosUnsafe: () => nanos,
    monotonicTimeNanos: Effect.sync(() => nanos),
    sleep: () => Effect.never
  }
  const pass = (milliseconds: number): void => {
    nanos += BigInt(milliseconds) * 1_000_000n
  }
  return { clock, pass }
}

const slow = (pass: (milliseconds: number) => void) =>
  Kernel.make({ name: "slow", args: [VectorArg("f32", "x")], body: { host: () => pass(250) } })

describe("on the host", () => {
  tellsTimes(Host.layer())

  it.effect("they are those of the body alone, in all its pieces", () => {
    const { clock, pass } = settableClock()
    const runs = Effect.gen(function*() {
      const x = yield* BufferPool.allocate(16)
      yield* CommandQueue.dispatch(slow(pass), { x }, 4)
      // Time between the pieces, which are tasks of the event loop, is not the kernel's.
      yield* Effect.raceFirst(
        CommandQueue.finish,
        Effect.forever(Effect.andThen(Effect.sync(() => pass(1)), Effect.yieldNow))
      )
      const [found] = yield* named("gpu_kernel_duration_seconds")
      deepStrictEqual(found?.attributes, { kernel: "slow", device: "host process memory", unit: "seconds" })
      deepStrictEqual([found?.count, found?.sum], [1, 1])
      assert.isAbove(Number(clock.currentTimeNanosUnsafe()), 1e9)
    })
    return Effect.provideService(timed(Host.layer({ rangeItems: 1 }), runs), Clock.Clock, clock)
  })

  it.effect("a kernel that throws has none", () => {
    const throwing = Kernel.make({
      name: "throwing",
      args: [VectorArg("f32", "x")],
      body: {
        host: () => {
          throw new Error("no")
        }
      }
    })
    return timed(
      Host.layer(),
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(16)
        yield* CommandQueue.dispatch(throwing, { x }, 4)
        yield* CommandQueue.dispatch(double, { x }, 4)
        strictEqual((yield* Effect.flip(CommandQueue.finish)).reason._tag, "DriverError")
        deepStrictEqual((yield* told).counts, { double: 1 })
      })
    )
  })

  it.effect("they are those of all queues", () =>
    timed(
      Host.layer(),
      Effect.gen(function*() {
        const further = yield* CommandQueue.make({ label: "further" })
        yield* dispatches(double, 2)
        yield* CommandQueue.on(Effect.andThen(dispatches(square, 3), CommandQueue.finish), further)
        yield* CommandQueue.finish
        deepStrictEqual((yield* told).counts, { double: 2, square: 3 })
      })
    ))

  it.effect("there is one for each run, wherever fibers are interrupted, and none is left when the device closes, in every order", () =>
    Effect.gen(function*() {
      let most = 0
      const program = Effect.gen(function*() {
        let ran = 0
        const counted = Kernel.make({
          name: "counted",
          args: [VectorArg("f32", "x")],
          body: {
            host: (_, to) => {
              if (to === 2) ran += 1
            }
          }
        })
        const job = BufferPool.use(
          8,
          (x) => Effect.andThen(CommandQueue.dispatch(counted, { x }, 2), CommandQueue.finish)
        )
        const scope = yield* Scope.make()
        const gpu = BufferPool.layer().pipe(Layer.provideMerge(Layer.fresh(Host.layer({ rangeItems: 1 }))))
        const context = yield* Layer.buildWithScope(gpu, scope)
        const jobs = yield* Effect.forkChild(Effect.provide(Effect.all([job, job], { concurrency: 2 }), context))
        yield* Effect.yieldNow
        yield* Fiber.interrupt(jobs)
        yield* Effect.provide(CommandQueue.finish, context)
        strictEqual((yield* told).counts.counted ?? 0, ran)
        yield* Effect.forkChild(Effect.provide(job, context))
        yield* Effect.yieldNow
        yield* Scope.close(scope, Exit.void)
        assert.isAtMost((yield* told).counts.counted ?? 0, ran)
        const { driverObjects } = yield* Effect.provide(DeviceContext, context)
        deepStrictEqual(driverObjects.liveByKind, {})
        most = Math.max(most, ran)
      })
      const { schedules } = yield* Schedules.explore(
        program.pipe(Effect.scoped, Effect.provide(KernelMetrics.layer()), inOwnRegistry),
        { deviations: 1 }
      )
      assert.isAbove(schedules, 30)
      assert.isAtLeast(most, 2)
    }))

  it.effect("nothing of them runs without their layer", () =>
    Effect.gen(function*() {
      const context = yield* Effect.context<CommandQueue.CommandQueue | BufferPool.BufferPool>()
      const run = () => Effect.runSyncWith(context)(dispatches(double, 10))
      yield* dispatches(double, 1)
      strictEqual(stepsTaken("/observability/src/", run), 0)
    }).pipe(Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(Host.layer())))))

  it.effect("the series end with the layer, and wrong options fail", () =>
    inOwnRegistry(Effect.gen(function*() {
      const gpu = BufferPool.layer().pipe(Layer.provideMerge(Host.layer()), Layer.provideMerge(KernelMetrics.layer()))
      const job = Effect.gen(function*() {
        yield* Effect.andThen(dispatches(double, 1), CommandQueue.finish)
        return (yield* told).counts
      })
      deepStrictEqual(yield* Effect.provide(job, gpu), { double: 1 })
      deepStrictEqual((yield* told).counts, {})
      const wrong = yield* Effect.flip(Effect.scoped(Layer.build(KernelMetrics.layer({ durationBoundaries: [2, 1] }))))
      strictEqual(wrong.reason._tag, "InvalidRequest")
      assert.include(wrong.message, "KernelMetrics.layer")
    })))
})

describe("of two layers", () => {
  it.effect("they are counted together, and end with the last of these", () =>
    inOwnRegistry(Effect.gen(function*() {
      const open = Effect.gen(function*() {
        const scope = yield* Scope.make()
        const gpu = BufferPool.layer().pipe(Layer.provideMerge(Host.layer()), Layer.provideMerge(KernelMetrics.layer()))
        const context = yield* Layer.buildWithScope(Layer.fresh(gpu), scope)
        const job = Effect.andThen(dispatches(double, 2), CommandQueue.finish).pipe(Effect.provide(context))
        return { job, close: Scope.close(scope, Exit.void) }
      })
      const one = yield* open
      yield* one.job
      const other = yield* open
      yield* other.job
      yield* one.job
      deepStrictEqual((yield* told).counts, { double: 6 })
      yield* one.close
      yield* other.job
      deepStrictEqual((yield* told).counts, { double: 8 })
      yield* other.close
      deepStrictEqual((yield* told).counts, {})
    })))
})

const CL_QUEUE_PROFILING_ENABLE = 2
const CL_INVALID_QUEUE_PROPERTIES = -35

describeWith(["opencl"], "on OpenCL", () => {
  tellsTimes(OpenCl.layer())

  it.live("they are those of the driver, and more than nothing", () =>
    timed(
      OpenCl.layer(),
      Effect.gen(function*() {
        const further = yield* CommandQueue.make({ label: "further" })
        yield* dispatches(double, 2)
        yield* CommandQueue.on(Effect.andThen(dispatches(square, 3), CommandQueue.finish), further)
        yield* CommandQueue.finish
        const { counts, seconds } = yield* told
        deepStrictEqual(counts, { double: 2, square: 3 })
        assert.isAbove(seconds, 0)
        for (const name of ["gpu_kernel_queued_seconds", "gpu_kernel_submitted_seconds"]) {
          const waits = Object.fromEntries(
            (yield* named(name)).map(({ attributes, count }) => [attributes.kernel, count])
          )
          deepStrictEqual(waits, counts, name)
        }
      })
    ))

  it.live("how long dispatches waited is told where the driver's times are in order", () =>
    Effect.gen(function*() {
      const start = 5_000_000_000n
      const waitsWith = (queued: bigint, submit: bigint) =>
        Effect.gen(function*() {
          const times = new Map([[0x1280, queued], [0x1281, submit], [0x1282, start], [0x1283, start + 1_000_000_000n]])
          const watched = yield* watch(() => ({
            clGetEventProfilingInfo: (_event, what, _bytes, value) => {
              const time = times.get(what)
              if (time === undefined || !(value instanceof BigUint64Array)) return -7
              value[0] = time
              return 0
            }
          }))
          return yield* timed(
            OpenCl.layerFrom(watched.api),
            Effect.gen(function*() {
              yield* Effect.andThen(dispatches(double, 2), CommandQueue.finish)
              strictEqual((yield* told).seconds, 2)
              const found = [
                ...(yield* named("gpu_kernel_queued_seconds")),
                ...(yield* named("gpu_kernel_submitted_seconds"))
              ]
              return found.map(({ attributes, count, sum }) => [attributes.kernel, count, sum])
            })
          )
        })
      deepStrictEqual(yield* waitsWith(1_000_000_000n, 1_500_000_000n), [["double", 2, 1], ["double", 2, 7]])
      deepStrictEqual(yield* waitsWith(start, start), [["double", 2, 0], ["double", 2, 0]])
      deepStrictEqual(yield* waitsWith(2_000_000_000n, 1_500_000_000n), [])
      deepStrictEqual(yield* waitsWith(1_000_000_000n, start + 1n), [])
    }))

  it.live("no queue is profiled, and nothing asked, without their layer", () =>
    Effect.gen(function*() {
      const properties: Array<number> = []
      const watched = yield* watch((api) => ({
        clCreateCommandQueue: (context, device, asked, code) => {
          properties.push(asked)
          return api.clCreateCommandQueue(context, device, asked, code)
        }
      }))
      const layer = OpenCl.layerFrom(watched.api)
      yield* Effect.andThen(dispatches(double, 2), CommandQueue.finish).pipe(
        Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(layer)))
      )
      deepStrictEqual(properties, [0])
      strictEqual(watched.count("clGetEventProfilingInfo"), 0)
      yield* timed(layer, Effect.andThen(dispatches(double, 2), CommandQueue.finish))
      deepStrictEqual(properties, [0, CL_QUEUE_PROFILING_ENABLE])
      // Queued, submit, start and end.
      strictEqual(watched.count("clGetEventProfilingInfo"), 8)
      deepStrictEqual(watched.alive(), {})
    }))

  it.live("a device that cannot profile has none, and runs as before", () =>
    Effect.gen(function*() {
      const watched = yield* watch((api) => ({
        clCreateCommandQueue: (context, device, asked, code) => {
          if (asked === 0) return api.clCreateCommandQueue(context, device, asked, code)
          if (code instanceof Int32Array) code[0] = CL_INVALID_QUEUE_PROPERTIES
          return null
        }
      }))
      yield* timed(
        OpenCl.layerFrom(watched.api),
        Effect.gen(function*() {
          yield* Effect.andThen(dispatches(double, 2), CommandQueue.finish)
          deepStrictEqual((yield* told).counts, {})
        })
      )
      deepStrictEqual(watched.alive(), {})
    }))

  it.live("a queue of other code has them if it was made with profiling", () =>
    Effect.gen(function*() {
      const { handles, queue } = yield* otherCode
      const counts = (queue: bigint) =>
        timed(
          OpenCl.layerFromHandles({ ...handles, queue }),
          Effect.gen(function*() {
            yield* Effect.andThen(dispatches(double, 2), CommandQueue.finish)
            return (yield* told).counts
          })
        )
      deepStrictEqual(yield* counts(handles.queue), {})
      deepStrictEqual(yield* counts(queue(CL_QUEUE_PROFILING_ENABLE)), { double: 2 })
    }).pipe(Effect.scoped))
})

describeWith(["webgpu"], "on WebGPU", () => {
  tellsTimes(WebGpu.layer())

  it.live("a device without timestamps has none", () =>
    Effect.gen(function*() {
      const { gpu } = yield* WebGpu.WebGpu
      const adapter = yield* Effect.promise(() => gpu!.requestAdapter())
      const theirs = yield* Effect.acquireRelease(
        Effect.promise(() => adapter!.requestDevice()),
        (theirs) => Effect.sync(() => theirs.destroy())
      )
      yield* timed(
        WebGpu.layerFromDevice(theirs),
        Effect.gen(function*() {
          yield* Effect.andThen(dispatches(double, 2), CommandQueue.finish)
          deepStrictEqual((yield* told).counts, {})
        })
      )
    }).pipe(Effect.scoped, Effect.provide(WebGpu.layer())))

  it.live("a kernel that runs long has a time", () =>
    timed(
      WebGpu.layer(),
      Effect.gen(function*() {
        const long = Kernel.make({
          name: "long",
          args: [VectorArg("f32", "x")],
          body: { wgsl: "for (var k = 0; k < 100000; k++) { x[i] = x[i] * 0.999 + 1.0; }" }
        })
        const x = yield* BufferPool.allocate(4 * 1024)
        yield* CommandQueue.dispatch(long, { x }, 1024)
        yield* CommandQueue.finish
        assert.isAbove((yield* told).seconds, 0)
      })
    ))

  it.live("a submit that fails has none, and takes no time of another one", () =>
    timed(
      WebGpu.layer(),
      Effect.gen(function*() {
        yield* Effect.andThen(dispatches(square, 3), CommandQueue.finish)
        const device = yield* DeviceContext
        const x = yield* device.createBuffer(256, BufferUsage.defaultUsage)
        yield* CommandQueue.dispatch(double, { x }, 64)
        yield* device.destroyBufferUnsafe(x)
        strictEqual((yield* Effect.flip(CommandQueue.finish)).reason._tag, "DriverError")
        yield* Effect.andThen(dispatches(square, 3), CommandQueue.finish)
        deepStrictEqual((yield* told).counts, { square: 6 })
      })
    ))
})
