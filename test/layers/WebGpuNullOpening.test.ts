import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as DType from "../../src/domain/data/DType.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { held, interruptEverywhere, nothing } from "../support/nullDevice.ts"
import { watchedGpu } from "../support/watchedGpu.ts"
import { withoutHalves } from "../support/withoutHalves.ts"

const failing = (gpu: GPU) => Effect.flip(Effect.scoped(Layer.build(WebGpu.layerFrom(gpu))))

const dtypesOf = (gpu: GPU) =>
  Effect.map(DeviceContext, ({ info }) => [...info.dtypes]).pipe(Effect.provide(WebGpu.layerFrom(gpu)))

describe("WebGpu opening", () => {
  it.effect("says what to install when no adapter answers", () =>
    Effect.gen(function*() {
      const error = yield* failing(watchedGpu({ "GPU.requestAdapter": () => Promise.resolve(null) }).gpu)
      strictEqual(error.reason._tag, "DeviceUnavailable")
      assert.include(error.message, "requestAdapter found none")
      assert.include(error.message, "Mesa 23 or newer")
      assert.include(error.message, "`npx @effect-gpu-pool/cli doctor` says what is missing")
    }))

  it.effect("says why an adapter or a device was refused", () =>
    Effect.gen(function*() {
      const adapter = yield* failing(
        watchedGpu({
          "GPU.requestAdapter": () => {
            throw new TypeError("no such preference")
          }
        }).gpu
      )
      strictEqual(adapter.reason._tag, "DeviceUnavailable")
      assert.include(adapter.message, "no such preference")
      const device = yield* failing(
        watchedGpu({ "GPUAdapter.requestDevice": () => Promise.reject(new Error("limit too high")) }).gpu
      )
      strictEqual(device.reason._tag, "DeviceUnavailable")
      assert.include(device.message, "null-backend: requestDevice failed: limit too high")
      assert.include(device.message, "close other programs that use it")
    }))

  it.effect("destroys the device when a later step fails", () =>
    Effect.gen(function*() {
      const watched = watchedGpu()
      const opened = Layer.build(WebGpu.layerFrom(watched.gpu))
      strictEqual(yield* Effect.flip(Effect.scoped(Effect.andThen(opened, Effect.fail("later")))), "later")
      strictEqual(watched.count("GPUDevice.destroy"), 1)
    }))

  it.effect("asks for the adapter's largest limits, and passes its choices on", () =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const watched = watchedGpu({
        "GPU.requestAdapter": (proceed, options) => {
          asked.push(options)
          return proceed()
        },
        "GPUAdapter.requestDevice": (proceed, descriptor) => {
          asked.push((descriptor as GPUDeviceDescriptor).label)
          return proceed()
        }
      })
      const options = { powerPreference: "low-power", forceFallbackAdapter: false, label: "mine" } as const
      yield* Effect.gen(function*() {
        const { adapter, device } = yield* WebGpu.WebGpu
        deepStrictEqual(asked, [{ powerPreference: "low-power", forceFallbackAdapter: false }, "mine"])
        for (
          const name of ["maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage"] as const
        ) {
          strictEqual(device.limits[name], adapter?.limits[name])
        }
      }).pipe(Effect.provide(WebGpu.layerFrom(watched.gpu, options)))
    }))

  it.live("leaves no device behind, wherever it is interrupted", () =>
    Effect.gen(function*() {
      const { count, gpu } = watchedGpu()
      const use = Effect.gen(function*() {
        const x = yield* held(256)
        yield* CommandQueue.dispatch(nothing, { x }, 1)
        yield* CommandQueue.read(x, Uint8Array)
      })
      let devices: Array<DeviceContext["Service"]> = []
      const program = Effect.suspend(() => {
        const keep = Effect.tap(DeviceContext, (device) => Effect.sync(() => devices.push(device)))
        return Effect.scoped(Effect.provide(Effect.andThen(keep, use), WebGpu.layerFrom(gpu)))
      })
      const steps = yield* interruptEverywhere(program, (step) => {
        strictEqual(count("GPUDevice.destroy"), count("GPUAdapter.requestDevice"), `step ${step}`)
        for (const { driverObjects } of devices) deepStrictEqual(driverObjects.liveByKind, {}, `step ${step}`)
        devices = []
      })
      assert.isAbove(steps, 50)
      assert.isAbove(count("GPUQueue.submit"), 0)
    }))

  it.live("leaves no device behind when it is interrupted while the driver opens it", () =>
    Effect.gen(function*() {
      const gate = Deferred.makeUnsafe<void>()
      const asked = Deferred.makeUnsafe<void>()
      const watched = watchedGpu({
        "GPUAdapter.requestDevice": (proceed) => {
          Deferred.doneUnsafe(asked, Exit.void)
          return Effect.runPromise(Deferred.await(gate)).then(proceed)
        }
      })
      const fiber = yield* Effect.forkChild(Effect.scoped(Layer.build(WebGpu.layerFrom(watched.gpu))))
      yield* Deferred.await(asked)
      fiber.interruptUnsafe()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.await(fiber)
      strictEqual(watched.count("GPUDevice.destroy"), 1)
    }))

  it.effect("has halves only where the device and the runtime have", () =>
    Effect.gen(function*() {
      const plain = watchedGpu({
        "GPUAdapter.requestDevice": (proceed, descriptor) => {
          Object.assign(descriptor as object, { requiredFeatures: [] })
          return proceed()
        }
      })
      const all = DType.all.filter((dtype) => dtype !== "f64")
      const without = all.filter((dtype) => dtype !== "f16")
      assert.sameMembers(yield* dtypesOf(watchedGpu().gpu), all)
      assert.sameMembers(yield* dtypesOf(plain.gpu), without)
      assert.sameMembers(yield* withoutHalves(dtypesOf(watchedGpu().gpu)), without)
    }))
})
