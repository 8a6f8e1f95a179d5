/** Kernels with images on a device that validates everything and runs nothing. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ImageArg, SamplerArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { KernelCache } from "../../src/services/device/KernelCache.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { held, onDevice } from "../support/nullDevice.ts"
import type { Bends } from "../support/watchedGpu.ts"

/** A device without some features, whatever the adapter has. */
const without = (...missing: ReadonlyArray<string>): Bends => ({
  "GPUAdapter.requestDevice": (proceed, descriptor) => {
    const asked = descriptor as { requiredFeatures: ReadonlyArray<string> }
    asked.requiredFeatures = asked.requiredFeatures.filter((feature) => !missing.includes(feature))
    return proceed()
  }
})

const floats: ImageFormat.ImageFormat = { order: "r", type: "float32" }
const picture = ImageShape.image2d(8, 8)

const sampling = Kernel.make({
  name: "sampling",
  args: [ImageArg("x"), SamplerArg("s"), VectorArg("f32", "y")],
  body: { wgsl: "  y[i] = textureSampleLevel(x, s, vec2<f32>(0.5), 0.0).x;" }
})

const loading = Kernel.make({
  name: "loading",
  args: [ImageArg("x"), VectorArg("f32", "y")],
  body: { wgsl: "  y[i] = textureLoad(x, vec2<u32>(i, 0u), 0).x;" }
})

const sampleAndLoad = (format: ImageFormat.ImageFormat) =>
  Effect.gen(function*() {
    const x = yield* Images.make(picture, format)
    const y = yield* held(64)
    const s = yield* Images.sampler({ filter: "linear" })
    yield* CommandQueue.dispatch(loading, { x, y }, 8)
    yield* CommandQueue.dispatch(sampling, { x, s, y }, 8)
    yield* CommandQueue.finish
  })

const compile = (kernel: Kernel.Kernel) => Effect.flip(KernelCache.use((cache) => cache.get(kernel)))

describe("WebGpu kernels with images", () => {
  it.live("sample floats of 32 bits where the device can filter them", () => onDevice({}, () => sampleAndLoad(floats)))

  it.live("only load them where it cannot, and sample all others", () =>
    onDevice(without("float32-filterable"), () =>
      Effect.gen(function*() {
        yield* sampleAndLoad(ImageFormat.rgba8)
        const error = yield* Effect.flip(sampleAndLoad(floats))
        strictEqual(error.reason._tag, "Unsupported")
        assert.include(error.message, `float32 image (argument "x")`)
        assert.include(error.message, "float16")
        // The command recorded before it, the load, is valid.
        yield* CommandQueue.finish
      })))

  it.live("write only the formats that the device can write, and say which they are", () =>
    onDevice(without("texture-formats-tier1", "bgra8unorm-storage"), () =>
      Effect.gen(function*() {
        for (const format of [ImageFormat.make("bgra", "unorm8"), ImageFormat.make("rg", "float16")]) {
          const kernel = Kernel.make({
            name: "writing",
            args: [ImageArg("x", { access: "write", format })],
            body: { wgsl: "" }
          })
          const error = yield* compile(kernel)
          strictEqual(error.reason._tag, "Unsupported")
          assert.include(error.message, `${ImageFormat.format(format)} images that kernels write (argument "x")`)
          assert.include(error.message, "rgba unorm8")
        }
      })))

  it.live("take no arrays of rows", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const kernel = Kernel.make({ name: "rows", args: [ImageArg("x", { kind: "1dArray" })], body: { wgsl: "" } })
        strictEqual((yield* compile(kernel)).reason._tag, "Unsupported")
      })))

  it.live("bind what a body leaves unused", () =>
    onDevice({}, () =>
      Effect.gen(function*() {
        const { sampled, storage } = ImageUsage
        const kernel = Kernel.make({
          name: "careless",
          args: [
            SamplerArg("s"),
            ImageArg("a", { kind: "3d", channel: "uint" }),
            ImageArg("b", { kind: "1d", channel: "int" }),
            ImageArg("c", { access: "write", kind: "2dArray", format: ImageFormat.rgba8 })
          ],
          body: { wgsl: "" }
        })
        const s = yield* Images.sampler()
        const a = yield* Images.make(ImageShape.image3d(2, 2, 2), { order: "r", type: "uint32" }, { usage: sampled })
        const b = yield* Images.make(ImageShape.image1d(4), { order: "rg", type: "sint16" }, { usage: sampled })
        const c = yield* Images.make(ImageShape.image2dArray(2, 2, 1), ImageFormat.rgba8, { usage: storage })
        yield* CommandQueue.dispatch(kernel, { s, a, b, c }, 1)
        yield* CommandQueue.finish
      })))

  it.live("make one bind group for the same images, however often they are dispatched", () =>
    onDevice({}, ({ count }) =>
      Effect.gen(function*() {
        const [one, two] = [yield* Images.make(picture, floats), yield* Images.make(picture, floats)]
        const [s, t] = [yield* Images.sampler(), yield* Images.sampler({ filter: "linear" })]
        const y = yield* held(64)
        const groups: Array<number> = []
        for (const args of [{ x: one, s, y }, { x: two, s, y }, { x: one, s: t, y }]) {
          for (let time = 0; time < 3; time++) yield* CommandQueue.dispatch(sampling, args, 8)
          yield* CommandQueue.finish
          groups.push(count("GPUDevice.createBindGroup"))
        }
        yield* CommandQueue.dispatch(sampling, { x: one, s, y }, 8)
        yield* CommandQueue.finish
        deepStrictEqual([...groups, count("GPUDevice.createBindGroup")], [1, 2, 3, 3])
      })))
})
