/** Laws of kernel times on every device that reports them. */
import * as KernelMetrics from "@effect-gpu-pool/observability/KernelMetrics"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { format } from "../../src/domain/device/DeviceInfo.ts"
import type { DriverObjects } from "../../src/domain/device/DriverObjects.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import type * as Device from "../../src/services/backend/Device.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { inOwnRegistry, named } from "./registries.ts"

const kernel = (name: string, to: string) =>
  Kernel.make({
    name,
    args: [VectorArg("f32", "x")],
    body: {
      wgsl: `x[i] = ${to};`,
      opencl: `x[i] = ${to};`,
      host: (from, to, { x }) => {
        for (let i = from; i < to; i++) x[i] = name === "double" ? 2 * x[i]! : x[i]! * x[i]!
      }
    }
  })

export const double = kernel("double", "2.0f * x[i]")
export const square = kernel("square", "x[i] * x[i]")

const items = 256

/** Dispatches a kernel so many times, on a buffer of its own. */
export const dispatches = (of: typeof double, times: number) =>
  BufferPool.use(
    4 * items,
    (x) => Effect.replicateEffect(CommandQueue.dispatch(of, { x }, items), times, { discard: true })
  )

export type Services = Device.Services | BufferPool.BufferPool

/**
 * Runs a test with kernel times and a registry of its own, and checks that nothing is left when the device has closed.
 */
export const timed = <A, E, S>(
  device: Layer.Layer<S | Device.Services, GpuError>,
  test: Effect.Effect<A, E, S | Services | Scope.Scope>
): Effect.Effect<A, E | GpuError> =>
  inOwnRegistry(Effect.gen(function*() {
    const pool = BufferPool.layer().pipe(Layer.provideMerge(Layer.fresh(device)))
    const [result, objects] = yield* Effect.scoped(
      Effect.all([test, Effect.map(DeviceContext, ({ driverObjects }) => driverObjects)])
    ).pipe(Effect.provide(pool.pipe(Layer.provideMerge(KernelMetrics.layer()))))
    deepStrictEqual(objects.liveByKind, {})
    return result
  }))

/** The count and the total seconds of each kernel's measurements. */
export const told = Effect.map(named("gpu_kernel_duration_seconds"), (found) => ({
  counts: Object.fromEntries(found.map(({ attributes, count }) => [attributes.kernel, count])),
  devices: new Set(found.map(({ attributes }) => attributes.device)),
  seconds: found.reduce((sum, one) => sum + one.sum, 0)
}))

/** The number of objects that only measurements need; events belong to the commands. */
const forTimes = ({ liveByKind }: DriverObjects): number =>
  (liveByKind.querySet ?? 0) + (liveByKind.timestamps ?? 0) + (liveByKind.staging ?? 0)

export const tellsTimes = (device: Layer.Layer<Device.Services, GpuError>): void => {
  describe("the times of kernels", () => {
    it.live("are there by name and device, of each dispatch once", () =>
      timed(
        device,
        Effect.gen(function*() {
          yield* dispatches(double, 5)
          yield* dispatches(square, 3)
          yield* dispatches(double, 2)
          yield* CommandQueue.finish
          const { info } = yield* DeviceContext
          const { counts, devices, seconds } = yield* told
          deepStrictEqual(counts, { double: 7, square: 3 })
          deepStrictEqual([...devices], [format(info)])
          assert.isAtLeast(seconds, 0)
        })
      ))

    it.live("of 10,000 dispatches need few driver objects", () =>
      timed(
        device,
        Effect.gen(function*() {
          const { driverObjects } = yield* DeviceContext
          yield* dispatches(double, 1)
          yield* CommandQueue.finish
          const before = driverObjects.liveByKind
          let most = 0
          const look = Effect.sync(() => {
            most = Math.max(most, forTimes(driverObjects))
          })
          yield* BufferPool.use(
            256,
            (x) =>
              Effect.replicateEffect(
                Effect.andThen(look, CommandQueue.dispatch(square, { x }, 64)),
                10_000,
                { discard: true }
              )
          )
          yield* CommandQueue.finish
          deepStrictEqual((yield* told).counts, { double: 1, square: 10_000 })
          assert.isAtMost(most, 8 + 10_000 / 2048)
          // The second kernel is still cached, and the second block still held.
          strictEqual(forTimes(driverObjects), 0)
          strictEqual(driverObjects.liveByKind.event ?? 0, before.event ?? 0)
        })
      ))

    it.live("are there for fibers that were interrupted, and leave nothing", () =>
      timed(
        device,
        Effect.gen(function*() {
          yield* dispatches(double, 1)
          yield* dispatches(square, 1)
          const running = yield* Effect.forEach(
            Array.from({ length: 8 }),
            () => Effect.forkChild(Effect.forever(dispatches(square, 1)), { startImmediately: true })
          )
          yield* CommandQueue.finish
          yield* Effect.forEach(running, Fiber.interrupt, { discard: true })
          yield* CommandQueue.finish
          const { double: once, square: often } = (yield* told).counts
          strictEqual(once, 1)
          assert.isAbove(often ?? 0, 1)
        })
      ))

    it.live("leave nothing when the device closes before they are known", () =>
      inOwnRegistry(Effect.gen(function*() {
        const scope = yield* Scope.make()
        const layer = BufferPool.layer().pipe(
          Layer.provideMerge(Layer.fresh(device)),
          Layer.provideMerge(KernelMetrics.layer())
        )
        const context = yield* Layer.buildWithScope(layer, scope)
        const { driverObjects } = yield* Effect.provideContext(DeviceContext, context)
        yield* Effect.provideContext(Effect.andThen(dispatches(double, 300), CommandQueue.flush), context)
        yield* Scope.close(scope, Exit.void)
        deepStrictEqual(driverObjects.liveByKind, {})
        deepStrictEqual((yield* told).counts, {})
      })))

    it.live("are lost with the device, and nothing is left", () =>
      timed(
        device,
        Effect.gen(function*() {
          yield* dispatches(double, 300)
          yield* CommandQueue.flush
          const { driverObjects, status } = yield* DeviceContext
          status.lose("unplugged")
          strictEqual((yield* Effect.flip(CommandQueue.finish)).reason._tag, "DeviceLost")
          strictEqual((yield* Effect.flip(dispatches(double, 1))).reason._tag, "DeviceLost")
          strictEqual(forTimes(driverObjects), 0)
          assert.isAtMost((yield* told).counts.double ?? 0, 300)
        })
      ))

    it.live("are not there on a device that was opened without them", () =>
      inOwnRegistry(Effect.gen(function*() {
        const pool = BufferPool.layer().pipe(Layer.provideMerge(Layer.fresh(device)))
        yield* Effect.andThen(dispatches(double, 3), CommandQueue.finish).pipe(
          Effect.provide(KernelMetrics.layer()),
          Effect.provide(pool)
        )
        deepStrictEqual((yield* told).counts, {})
      })))
  })
}
