/** Deno has a WebGPU of its own: the list shows the devices that the layer opens. */
import { describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { webGpuBackend } from "../../src/layers/WebGpu/WebGpuBackend.ts"

const info = { vendor: "4318", architecture: "", device: "1", description: "own adapter", isFallbackAdapter: false }

/** A runtime whose navigator has that GPU object. */
const withOwnGpu = <A, E, R>(gpu: unknown, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => Object.defineProperty(globalThis.navigator, "gpu", { value: gpu, configurable: true })),
    () => effect,
    (navigator) => Effect.sync(() => Reflect.deleteProperty(navigator, "gpu"))
  )

const listed = (gpu: unknown) =>
  Effect.map(
    withOwnGpu(gpu, webGpuBackend.list),
    (devices) => devices.map(({ device, platform, unusable }) => [platform?.name, device?.name, unusable])
  )

describe("on a runtime with a GPU object of its own", () => {
  it.effect("lists its adapters", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* listed({ requestAdapter: async () => ({ info }) }), [
        ["navigator.gpu", "own adapter", undefined]
      ])
    }))

  it.effect("says that it has none", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* listed({ requestAdapter: async () => null }), [
        ["navigator.gpu", undefined, "requestAdapter found none that fits"]
      ])
    }))
})
