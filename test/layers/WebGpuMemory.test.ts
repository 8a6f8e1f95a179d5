/** A device that was opened for its memory alone: what it can do, what it refuses, and what it leaves behind. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import type { GpuError } from "../../src/domain/GpuError.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { ImageDriver } from "../../src/services/device/ImageDriver.ts"
import { KernelCache } from "../../src/services/device/KernelCache.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as DeviceMemory from "../../src/services/pool/DeviceMemory.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import * as StagingPool from "../../src/services/staging/StagingPool.ts"
import { WebGpu, WebGpuMemory } from "../../src/webgpu.ts"
import { nothing } from "../support/nullDevice.ts"
import { describeWith } from "../support/required.ts"
import { sharedDevice } from "../support/sharedDevice.ts"
import { watchedGpu } from "../support/watchedGpu.ts"

type Services = WebGpuMemory.Services | BufferPool.BufferPool | Scope.Scope

/** Each test opens a device of its own, and proves that closing it leaves nothing behind. */
const on = <A, E>(layer: Layer.Layer<WebGpuMemory.Services, GpuError>, test: Effect.Effect<A, E, Services>) =>
  Effect.gen(function*() {
    const used = Effect.flatMap(DeviceContext, (device) => Effect.as(Effect.scoped(test), device))
    const { driverObjects } = yield* Effect.provide(used, BufferPool.layer().pipe(Layer.provideMerge(layer)))
    deepStrictEqual(driverObjects.liveByKind, {})
    assert.isAbove(driverObjects.created, 0)
  })

const onNull = <A, E>(test: Effect.Effect<A, E, Services>) => on(WebGpuMemory.layerFrom(watchedGpu({}).gpu), test)

/** An effect on the first queue, which has the service `Images` for it. */
const onFirst = <A, E, R>(effect: Effect.Effect<A, E, R>) => CommandQueue.CommandQueue.use((queue) => queue.on(effect))

const failing = (layer: Layer.Layer<WebGpuMemory.Services, GpuError>) => Effect.flip(Effect.scoped(Layer.build(layer)))

describe("WebGpuMemory", () => {
  it.effect("says which layer has what it lacks, whichever way a program asks for it", () =>
    onNull(Effect.gen(function*() {
      const x = yield* BufferPool.allocate(64)
      const refused: ReadonlyArray<readonly [string, string, Effect.Effect<unknown, GpuError, Services>]> = [
        ["CommandQueue.dispatch", "a kernel", CommandQueue.dispatch(nothing, { x }, 16)],
        ["CommandQueue.copyRect", "a rectangle", CommandQueue.copyRect(x, x, { region: [4, 2] })],
        ["CommandQueue.writeRect", "a rectangle", CommandQueue.writeRect(x, new Uint8Array(8), { region: [4, 2] })],
        ["CommandQueue.readRect", "a rectangle", CommandQueue.readRect(x, Uint8Array, { region: [4, 2] })],
        [
          "CommandQueue.readRectInto",
          "a rectangle",
          CommandQueue.readRectInto(x, new Uint8Array(8), { region: [4, 2] })
        ],
        ["CommandQueue.readView", "a view", CommandQueue.readView(x, Uint8Array, () => Effect.void)],
        [
          "DeviceContext.createBuffer",
          "staging memory",
          BufferPool.allocate(64, { usage: BufferUsage.download })
        ],
        ["Images", "an image", onFirst(Images.make(ImageShape.image2d(4, 4), ImageFormat.rgba8))]
      ]
      for (const [operation, feature, effect] of refused) {
        const error = yield* Effect.flip(effect)
        strictEqual(error.reason._tag, "Unsupported")
        strictEqual(
          error.message,
          `${operation}: ${feature} on a device that was opened for its memory alone is not supported on webgpu. ` +
            "Open the device by a layer of WebGpu, as WebGpu.layer."
        )
      }
    })))

  it.effect("shares its only queue, as every device of WebGPU does", () =>
    onNull(Effect.gen(function*() {
      strictEqual(yield* CommandQueue.make({ share: true }), yield* CommandQueue.CommandQueue)
      const error = yield* Effect.flip(CommandQueue.make({ label: "second" }))
      assert.include(error.message, "CommandQueue.make: a second queue of a device is not supported on webgpu.")
    })))

  it.effect("has no pool of staging memory, which says so when it is built", () =>
    onNull(Effect.gen(function*() {
      const pools = [
        StagingPool.layer(),
        StagingPool.layerShared().pipe(Layer.provide(DeviceMemory.layer()))
      ]
      for (const pool of pools) {
        const { message, reason } = yield* Effect.flip(Effect.scoped(Layer.build(pool)))
        strictEqual(reason._tag, "Unsupported")
        assert.include(message, "StagingPool.layer: staging memory is not supported on webgpu.")
      }
      const x = yield* BufferPool.allocate(64)
      strictEqual((yield* CommandQueue.read(x, Uint8Array)).length, 64)
    })))

  it.effect("has no images and no kernels in its context", () =>
    onNull(Effect.gen(function*() {
      const context = yield* Effect.context<Services>()
      const keys = [Images.Images.key, KernelCache.key, ImageDriver.key]
      deepStrictEqual(keys.filter((key) => context.mapUnsafe.has(key)), [])
    })))

  it.effect("has the handles of WebGpu, and takes buffers of the program's own", () =>
    onNull(Effect.gen(function*() {
      const { device } = yield* WebGpu.WebGpu
      const theirs = device.createBuffer({ size: 64, usage: 0x4 | 0x8 })
      const adopted = yield* WebGpu.adopt(theirs)
      const x = yield* BufferPool.allocate(64)
      yield* CommandQueue.copy(adopted, x)
      yield* CommandQueue.finish
      strictEqual((yield* WebGpu.handle(x)).size, 64)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(WebGpu.texture(x as never))))
    })))

  it.effect("leaves a device as it is that other code has opened", () =>
    Effect.gen(function*() {
      const shared = yield* sharedDevice()
      yield* on(
        WebGpuMemory.layerFromDevice(shared.given),
        BufferPool.use(64, (x) => Effect.andThen(CommandQueue.fill(x, 7), CommandQueue.finish))
      )
      deepStrictEqual(shared.offences, [])
      strictEqual(shared.undestroyed.size, 0)
    }).pipe(Effect.scoped))

  it.effect("fails without a GPU, and for an option that it does not know", () =>
    Effect.gen(function*() {
      strictEqual((yield* failing(WebGpuMemory.layerFrom(undefined))).reason._tag, "DeviceUnavailable")
      const options: object = { kernelCacheCapacity: 4 }
      const error = yield* failing(WebGpuMemory.layer(options))
      strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "there is no option \"kernelCacheCapacity\"")
    }))
})

describeWith(["webgpu"], "WebGpuMemory on a device", () => {
  it.live("writes, copies, fills and reads", () =>
    on(
      WebGpuMemory.layer(),
      Effect.gen(function*() {
        const x = yield* BufferPool.allocate(16)
        const y = yield* BufferPool.allocate(16)
        yield* CommandQueue.write(x, Float32Array.of(1, 2, 3, 4))
        yield* CommandQueue.copy(x, y)
        yield* CommandQueue.fill(y, Float32Array.of(7), { size: 4 })
        deepStrictEqual(yield* CommandQueue.read(y, Float32Array), Float32Array.of(7, 2, 3, 4))
      })
    ))
})
