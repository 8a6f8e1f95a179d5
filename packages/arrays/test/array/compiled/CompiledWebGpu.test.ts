/** What runs of a compiled function ask of WebGPU, counted at Dawn's null device. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import * as KernelCache from "effect-gpu-pool/KernelCache"
import { WebGpu } from "effect-gpu-pool/webgpu"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { watchedGpu } from "../../../../../test/support/watchedGpu.ts"
import * as DeviceArray from "../../../src/array/DeviceArray.ts"

describe("A compiled function on WebGPU", () => {
  it.effect("makes no driver object, no bind group and no kernel in its second run", () => {
    const { calls, gpu } = watchedGpu()
    /** What was made so far, apart from the encoder of each submit. */
    const made = () =>
      Object.fromEntries(
        [...calls].filter(([name]) => name.startsWith("GPUDevice.create") && !name.endsWith("Encoder"))
      )
    return Effect.gen(function*() {
      const compiled = DeviceArray.compile(Effect.fnUntraced(function*(x: DeviceArray.DeviceArray<"f32">) {
        const squares = yield* Effect.tap(DeviceArray.multiply(x, x), DeviceArray.evaluate)
        return yield* DeviceArray.sum(yield* DeviceArray.matmul(squares, squares))
      }))
      const x = yield* DeviceArray.zeros([64, 64])
      const run = Effect.andThen(Effect.scoped(compiled(x)), CommandQueue.finish)
      yield* run
      const [before, { hits, misses }, { misses: kernels }] = [
        made(),
        yield* BufferPool.stats,
        yield* KernelCache.stats
      ]
      yield* run
      const after = yield* BufferPool.stats
      deepStrictEqual(made(), before)
      strictEqual(after.misses, misses)
      strictEqual(after.hits > hits, true)
      strictEqual((yield* KernelCache.stats).misses, kernels)
    }).pipe(Effect.scoped, Effect.provide(BufferPool.layer().pipe(Layer.provideMerge(WebGpu.layerFrom(gpu)))))
  })
})
