/**
 * Dawn's null device for tests: no driver, a budget of 512 MiB, and every call watched.
 */
import { assert } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import type * as Scope from "effect/Scope"
import * as BufferUsage from "../../src/domain/BufferUsage.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { type Bends, type Watched, watchedGpu } from "./watchedGpu.ts"

export const mebi = 1024 * 1024

export const create = (bytes: number, label?: string) =>
  DeviceContext.use((device) => device.createBuffer(bytes, BufferUsage.defaultUsage, label))

export const destroy = (buffer: Effect.Success<ReturnType<typeof create>>) =>
  DeviceContext.use((device) => device.destroyBufferUnsafe(buffer))

export const held = (bytes: number, label?: string) =>
  Effect.acquireRelease(create(bytes, label), (b) => Effect.orDie(destroy(b)))

export const nothing = Kernel.make({ name: "nothing", args: [VectorArg("f32", "x")], body: { wgsl: "" } })

export const turn = Effect.promise(() => Promise.resolve())

/** Runs a test on a watched null device and proves that the closed layer leaves nothing behind. */
export const onDevice = <A, E>(
  bends: Bends,
  test: (watched: Watched) => Effect.Effect<A, E, WebGpu.Services | Scope.Scope>
) =>
  Effect.gen(function*() {
    const watched = watchedGpu(bends)
    const layer = WebGpu.layerFrom(watched.gpu)
    const device = yield* Effect.flatMap(DeviceContext, (device) => Effect.as(Effect.scoped(test(watched)), device))
      .pipe(
        Effect.provide(layer)
      )
    deepStrictEqual(device.driverObjects.liveByKind, {})
    assert.isAbove(watched.count("GPUDevice.destroy"), 0)
    strictEqual(device.status.error?.reason._tag, "DeviceLost")
  })

/** Interrupts a fiber at one step of its run, before or after whatever it waits for. */
class InterruptAt extends Scheduler.MixedScheduler {
  constructor(step: number) {
    super()
    this.shouldYield = (fiber) => {
      if (step-- !== 0) return false
      fiber.interruptUnsafe()
      return true
    }
  }
}

/** Runs an effect anew for each of its steps, interrupted there, until it gets through; the number of steps. */
export const interruptEverywhere = <A, E, R>(effect: Effect.Effect<A, E, R>, check: (step: number) => void) =>
  Effect.gen(function*() {
    const context = yield* Effect.context<R>()
    for (let step = 0;; step++) {
      const fiber = Effect.runForkWith(context)(
        Effect.provideService(effect, Scheduler.Scheduler, new InterruptAt(step))
      )
      const exit = yield* Fiber.await(fiber)
      check(step)
      if (Exit.isSuccess(exit)) return step
    }
  })
