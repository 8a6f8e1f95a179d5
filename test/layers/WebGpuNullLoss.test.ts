import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { GpuError } from "../../src/domain/GpuError.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { create, held, nothing, onDevice } from "../support/nullDevice.ts"
import { type Bends, watchedGpu } from "../support/watchedGpu.ts"

describe("WebGpu loss", () => {
  it.live("ends everything that waits, and everything later, with DeviceLost", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const device = yield* DeviceContext
        const gpu = yield* WebGpu.WebGpu
        const buffer = yield* held(256)
        const jobs: ReadonlyArray<Effect.Effect<void, GpuError, WebGpu.Services>> = [
          Effect.asVoid(create(4096)),
          Effect.asVoid(CommandQueue.read(buffer, Uint8Array)),
          CommandQueue.finish,
          CommandQueue.dispatch(nothing, { x: buffer }, 1)
        ]
        const waiting = yield* Effect.forEach(
          jobs,
          (job) => Effect.forkChild(Effect.flip(job), { startImmediately: true })
        )
        gpu.device.destroy()
        for (const fiber of waiting) {
          const error = yield* Fiber.join(fiber)
          strictEqual(error.reason._tag, "DeviceLost")
          assert.include(error.message, "destroyed")
        }
        for (const effect of [CommandQueue.fill(buffer, 0), CommandQueue.flush, CommandQueue.finish]) {
          strictEqual((yield* Effect.flip(effect)).reason._tag, "DeviceLost")
        }
        strictEqual((yield* Effect.flip(create(4))).reason._tag, "DeviceLost")
        deepStrictEqual(device.driverObjects.liveByKind, { device: 1, buffer: 1 })
      })))

  it.live("does not take the buffer of a lost device for a good one, although its scopes stay silent", () => {
    let lose: (() => void) | undefined
    const bends: Bends = {
      "GPUDevice.popErrorScope": () => {
        lose?.()
        return Promise.resolve(null)
      }
    }
    return onDevice(bends, () =>
      Effect.gen(function*() {
        const { status } = yield* DeviceContext
        lose = () => {
          status.lose("unplugged")
        }
        assert.include((yield* Effect.flip(create(256))).message, "unplugged")
      }))
  })

  it.live("does not hang when the promises of a lost device never settle", () =>
    onDevice({ "GPUQueue.onSubmittedWorkDone": () => new Promise(() => {}) }, () =>
      Effect.gen(function*() {
        const { device } = yield* WebGpu.WebGpu
        const fiber = yield* Effect.forkChild(Effect.flip(CommandQueue.finish), { startImmediately: true })
        device.destroy()
        strictEqual((yield* Fiber.join(fiber)).reason._tag, "DeviceLost")
      })))

  it.live("answers calls after its layer has closed", () =>
    Effect.gen(function*() {
      const watched = watchedGpu()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(WebGpu.layerFrom(watched.gpu), scope)
      const buffer = yield* Effect.provide(create(256), context)
      const pending = yield* Effect.forkChild(Effect.flip(Effect.provide(create(256), context)), {
        startImmediately: true
      })
      yield* Scope.close(scope, Exit.void)
      assert.include((yield* Fiber.join(pending)).message, "its layer is closed")
      const created = watched.count("GPUDevice.createBuffer")
      const late: ReadonlyArray<Effect.Effect<void, GpuError, WebGpu.Services>> = [
        Effect.asVoid(create(4)),
        CommandQueue.fill(buffer, 0),
        CommandQueue.write(buffer, new Uint8Array(4))
      ]
      for (const effect of late) {
        assert.include((yield* Effect.flip(Effect.provide(effect, context))).message, "its layer is closed")
      }
      strictEqual(watched.count("GPUDevice.createBuffer"), created)
      strictEqual(Context.get(context, DeviceContext).driverObjects.live, 0)
    }))
})
