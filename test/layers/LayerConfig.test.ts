/** Layers whose options are in configuration, all of them under one name, or one by one. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { LimitingAllocator } from "../../src/allocators.ts"
import { Host } from "../../src/host.ts"
import { Allocator, DeviceContext, DeviceMemory, GpuError } from "../../src/index.ts"
import { OpenCl } from "../../src/opencl.ts"
import { WebGpu } from "../../src/webgpu.ts"

const configured = (options: unknown) => Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(options)))

const infoOf = DeviceContext.DeviceContext.useSync(({ info }) => info)

const messageOf = (layer: Layer.Layer<never, unknown> | Layer.Layer<DeviceContext.DeviceContext, unknown>) =>
  Effect.map(
    Effect.flip(Effect.scoped(Layer.build(layer))),
    (error) => GpuError.isGpuError(error) ? error.message : String(error)
  )

describe("a layer from configuration", () => {
  it.effect("opens the host with options under one name, numbers and truths among them", () =>
    Effect.gen(function*() {
      const gpu = Host.layerConfig("gpu").pipe(
        configured({ gpu: { capacityBytes: "1 MiB", granularity: "4", byteGranular: "true", latency: "1 millis" } })
      )
      const { limits } = yield* Effect.provide(infoOf, gpu)
      deepStrictEqual([limits.memoryBytes, limits.granularity, limits.copyAlignment], [2 ** 20, 4, 1])
    }))

  it.effect("limits an allocator, and the memory of several pools", () =>
    Effect.gen(function*() {
      const limited = LimitingAllocator.layerConfig({ maxBytes: Config.String("limit") }).pipe(
        Layer.provide(Allocator.layerImmediate)
      )
      const gpu = Layer.merge(limited, DeviceMemory.layerConfig("memory")).pipe(
        Layer.provideMerge(Host.layer()),
        configured({ limit: "100", memory: { maxBytes: "4 KiB" } })
      )
      yield* Effect.gen(function*() {
        strictEqual(yield* DeviceMemory.maxBytes, 4096)
        const error = yield* Effect.flip(Effect.scoped(Allocator.allocate(101)))
        strictEqual(error.reason._tag, "LimitExceeded")
      }).pipe(Effect.provide(gpu))
    }))

  it.effect("is refused as in code, by the option's name", () =>
    Effect.gen(function*() {
      const webGpu = WebGpu.layerConfig({ powerPreference: Config.String("power") as Config.Config<"low-power"> })
      assert.match(
        yield* messageOf(configured({ power: "fast" })(webGpu)),
        /^WebGpu\.layer: powerPreference "fast" is unknown\. Pass "low-power" or "high-performance"/
      )
      assert.match(
        yield* messageOf(
          configured({ cl: { library: "libNone.so", hostMemory: "perhaps" } })(OpenCl.layerConfig("cl"))
        ),
        /hostMemory/
      )
      assert.match(
        yield* messageOf(configured({ cl: { library: "libNone.so" } })(OpenCl.layerConfig("cl"))),
        /libNone\.so/
      )
    }))
})
