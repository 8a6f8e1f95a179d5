import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { WebGpu, WebGpuCharacteristics } from "../../src/webgpu.ts"

describe("what a WebGPU device says", () => {
  it.effect("is at least what every device has", () =>
    Effect.gen(function*() {
      const found = yield* WebGpuCharacteristics.characteristics
      assert.isAtLeast(found.localMemoryBytes, 16384)
      strictEqual(found.hasDoubleSupport, false)
      const { adapter } = yield* WebGpu.WebGpu
      strictEqual(found.simdGroupSize?.least, adapter?.info.subgroupMinSize || undefined)
      assert.isAtLeast(found.simdGroupSize?.most ?? 1, found.simdGroupSize?.least ?? 1)
    }).pipe(Effect.provide(WebGpu.layer())))
})
