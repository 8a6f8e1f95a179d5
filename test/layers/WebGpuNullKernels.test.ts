import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as KernelCache from "../../src/services/device/KernelCache.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { WebGpu } from "../../src/webgpu.ts"
import { held, onDevice } from "../support/nullDevice.ts"

const dispatch = (kernel: Kernel.Kernel<readonly []>) => Effect.flip(CommandQueue.dispatch(kernel, {}, 1))

const withScalars = (count: number): Kernel.Kernel =>
  Kernel.make({
    name: "many",
    args: Array.from({ length: count }, (_, index) => ScalarArg("f32", `s${index}`)),
    body: { wgsl: "" }
  })

describe("WebGpu kernels", () => {
  it.live("shows the compiler's log with the lines it is about", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const error = yield* dispatch(Kernel.make({ name: "bad", args: [], body: { wgsl: "  let y = nope + 1;" } }))
        if (error.reason._tag !== "DriverError") throw error
        strictEqual(error.reason.call, "GPUDevice.createShaderModule")
        strictEqual(error.reason.log, "10:11 error: unresolved value 'nope'")
        strictEqual(
          error.reason.source,
          [
            "   8 |   let i = item__id.y * (group__counts.x * 64u) + item__id.x;",
            "   9 |   if (i >= count) { return; }",
            "> 10 |   let y = nope + 1;",
            "  11 | }"
          ].join("\n")
        )
        assert.include(error.message, `compiled:\n${error.reason.source}\nCorrect the kernel's body`)
        deepStrictEqual(error.reason.commands, ["kernel bad"])
        yield* CommandQueue.finish
      })))

  it.live("checks the device's limits before it compiles", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const { limits } = (yield* DeviceContext).info
        const big = Kernel.make({
          name: "big",
          args: [],
          body: { wgsl: "" },
          workgroupSize: limits.maxWorkgroupSize + 1
        })
        assert.include((yield* dispatch(big)).message, "maxWorkgroupSize")
        const args = Array.from({ length: limits.maxVectorArguments + 1 }, (_, index) => VectorArg("f32", `v${index}`))
        const many = yield* Effect.flip(
          Effect.flatMap(
            KernelCache.KernelCache,
            (cache) => cache.get(Kernel.make({ name: "many", args, body: { wgsl: "" } }))
          )
        )
        strictEqual(many.reason._tag, "LimitExceeded")
        strictEqual(watched.count("GPUDevice.createShaderModule"), 0)
      })))

  it.live("checks that all scalars fit into the uniform block", () =>
    onDevice({}, (watched) =>
      Effect.gen(function*() {
        const { device } = yield* WebGpu.WebGpu
        // The number of items is in the block too.
        const most = device.limits.maxUniformBufferBindingSize / 4 - 1
        const cache = yield* KernelCache.KernelCache
        assert.include((yield* Effect.flip(cache.get(withScalars(most + 1)))).message, "maxUniformBufferBindingSize")
        strictEqual(watched.count("GPUDevice.createShaderModule"), 0)
        yield* cache.get(withScalars(1000))
      })))

  it.live("binds as many vectors as the device says", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { limits } = (yield* DeviceContext).info
        const args = Array.from({ length: limits.maxVectorArguments }, (_, index) => VectorArg("f32", `v${index}`))
        const cache = yield* KernelCache.KernelCache
        yield* cache.get(Kernel.make({ name: "many", args, body: { wgsl: "v0[i] = 1.0;" } }))
      })))

  it.live("refuses more items than two dimensions of workgroups hold", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const x = yield* held(256)
        const single = Kernel.make({
          name: "single",
          args: [VectorArg("f32", "x")],
          body: { wgsl: "" },
          workgroupSize: 1
        })
        const error = yield* Effect.flip(CommandQueue.dispatch(single, { x }, 0xffffffff))
        strictEqual(error.reason._tag, "LimitExceeded")
      })))
})
