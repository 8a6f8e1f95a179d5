/** A device that the library and other code use together, on a driver that runs commands. */
import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { describeWith } from "../support/required.ts"
import { expectedReport, runFrames } from "../support/sharedFrames.ts"

/** A device that the test opens itself, and destroys with the scope. */
const opened = Effect.gen(function*() {
  const { gpu } = yield* WebGpu.WebGpu
  const adapter = yield* Effect.promise(() => gpu!.requestAdapter())
  return yield* Effect.acquireRelease(
    Effect.promise(() => adapter!.requestDevice()),
    (device) => Effect.sync(() => device.destroy())
  )
})

describeWith(["webgpu"], "A device that is shared", () => {
  it.live("runs 10,000 pooled frames, and then the other code's own buffers and handlers still work", () =>
    Effect.gen(function*() {
      const frames = 10_000
      const { stats, ...report } = yield* Effect.flatMap(
        opened,
        (device) => Effect.promise(() => runFrames(device, frames))
      )
      deepStrictEqual(report, expectedReport(frames))
      strictEqual(stats.hits + stats.misses, frames)
      assert.isAtMost(stats.driverAllocations, 4)
    }).pipe(Effect.scoped, Effect.provide(WebGpu.layer())))

  it.live("does what was recorded on the other code's buffers before it closes", () =>
    Effect.gen(function*() {
      const device = yield* opened
      const buffer = device.createBuffer({ size: 64, usage: 0x8c })
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(WebGpu.layerFromDevice(device), scope)
      const adopted = yield* Effect.provide(Scope.provide(WebGpu.adopt(buffer), yield* Scope.make()), context)
      const fill = Effect.provide(CommandQueue.fill(adopted, 0x07070707), context)
      Effect.runSync(Effect.andThen(fill, Scope.close(scope, Exit.void)))
      const bytes = yield* Effect.flatMap(WebGpu.adopt(buffer), (again) => CommandQueue.read(again, Uint8Array)).pipe(
        Effect.scoped,
        Effect.provide(WebGpu.layerFromDevice(device))
      )
      deepStrictEqual([...bytes], Array.from({ length: 64 }, () => 7))
    }).pipe(Effect.scoped, Effect.provide(WebGpu.layer())))
})
