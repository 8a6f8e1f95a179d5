import { assert, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ImageElement from "../../src/domain/images/ImageElement.ts"
import * as ImageFormat from "../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../src/domain/images/ImageShape.ts"
import * as ImageUsage from "../../src/domain/images/ImageUsage.ts"
import * as Kernel from "../../src/domain/kernel/Kernel.ts"
import { ImageArg, SamplerArg, ScalarArg, VectorArg } from "../../src/domain/kernel/KernelArgument.ts"
import { encode } from "../../src/layers/OpenCl/images/OpenClImageFormat.ts"
import { description } from "../../src/layers/OpenCl/images/OpenClImageLayout.ts"
import { OpenCl, OpenClMemory } from "../../src/opencl.ts"
import * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import * as Images from "../../src/services/images/Images.ts"
import * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { useOclgrind } from "../support/oclgrind.ts"
import { describeWith } from "../support/required.ts"
import { watch } from "../support/watchedOpenCl.ts"

useOclgrind()

const scale = Kernel.make({
  name: "scale",
  args: [
    VectorArg("f32", "x", { access: "read", withOffset: true }),
    VectorArg("f32", "y"),
    ScalarArg("f32", "a")
  ],
  body: { opencl: "y[i] = a * x[x_offset + i] + y_length;" }
})

/** The element to the left of an image, and its first one. */
const atTheEdge = Kernel.make({
  name: "at_the_edge",
  args: [ImageArg("x"), SamplerArg("s"), VectorArg("f32", "y")],
  body: { opencl: "vstore4(read_imagef(x, s, (int2)((int)i - 1, 0)), i, y);" }
})

/** Runs a test on Oclgrind, watched, and proves that the closed layer leaves nothing behind. */
const onDevice = <A, E>(test: Effect.Effect<A, E, OpenCl.Services | BufferPool.BufferPool>) =>
  Effect.gen(function*() {
    const watched = yield* watch()
    const layer = BufferPool.layer().pipe(Layer.provideMerge(OpenCl.layerFrom(watched.api)))
    const device = yield* Effect.andThen(test, DeviceContext).pipe(Effect.provide(layer))
    deepStrictEqual(device.driverObjects.liveByKind, {})
    deepStrictEqual(watched.alive(), {})
  })

describeWith(["oclgrind"], "OpenCL 1.2 on Oclgrind, which checks every access", () => {
  it.effect("is the only platform of this process", () =>
    Effect.gen(function*() {
      deepStrictEqual((yield* OpenCl.devices).map(({ name }) => name), ["Oclgrind"])
      const { info } = yield* Effect.provide(DeviceContext, OpenCl.layer())
      assert.include(info.driver, "OpenCL 1.2")
      assert.include(info.name, "Oclgrind")
    }))

  it.effect("runs a pooled program", () =>
    onDevice(Effect.gen(function*() {
      for (let round = 0; round < 3; round++) {
        yield* Effect.scoped(Effect.gen(function*() {
          const [x, y] = [yield* BufferPool.allocate(400), yield* BufferPool.allocate(40)]
          yield* CommandQueue.write(x, Float32Array.from({ length: 100 }, (_, i) => i))
          yield* CommandQueue.fill(y, 0)
          yield* CommandQueue.dispatch(scale, { x: { buffer: x, offset: 90 }, y, a: 2 }, 10)
          deepStrictEqual(
            [...(yield* CommandQueue.read(y, Float32Array))],
            Array.from({ length: 10 }, (_, i) => 2 * (90 + i) + 10)
          )
        }))
      }
      strictEqual((yield* BufferPool.stats).driverAllocations, 2)
    })))

  it.effect.each(["r", "rg", "rx", "rgx"] as const)(
    "has images of the order %s, with the border of that order",
    (order) =>
      onDevice(Effect.scoped(Effect.gen(function*() {
        const format = ImageFormat.make(order, "unorm8")
        const usages = [ImageUsage.sampled, ImageUsage.copySrc]
        for (const usage of usages) assert.deepInclude(yield* Images.formats(usage, "2d"), format)
        const image = yield* Images.make(ImageShape.image2d(3, 2), format)
        const bytes = Uint8Array.from({ length: ImageFormat.imageBytes(format, image.shape) }, (_, at) => 17 * at)
        yield* Images.write(image, bytes)
        deepStrictEqual(yield* Images.read(image), bytes)
        const sampler = yield* Images.sampler({ addressing: "clampToBorder", normalizedCoordinates: false })
        const seen = yield* BufferPool.allocate(32)
        yield* CommandQueue.dispatch(atTheEdge, { x: image, s: sampler, y: seen }, 2)
        const first = ImageElement.toRgbaUnsafe(format, ImageElement.decodeUnsafe(format, bytes))
        const values = [...ImageElement.border(format), ...first]
        deepStrictEqual(yield* CommandQueue.read(seen, Float32Array), Float32Array.from(values))
      })))
  )

  it.effect.each([1, 3, 5, 11])("fills and copies %i bytes", (size) =>
    onDevice(Effect.scoped(Effect.gen(function*() {
      const [x, y] = [yield* BufferPool.allocate(size), yield* BufferPool.allocate(size)]
      yield* CommandQueue.fill(x, Uint8Array.of(9))
      yield* CommandQueue.copy(x, y)
      deepStrictEqual([...(yield* CommandQueue.read(y, Uint8Array))], Array.from({ length: size }, () => 9))
    }))))

  it.effect("takes no notice of gaps in host memory, so that images in it have none", () =>
    onDevice(Effect.scoped(Effect.gen(function*() {
      const shape = ImageShape.image2d(2, 2)
      const data = Uint32Array.from({ length: 8 }, (_, at) => at)
      const format = ImageFormat.make("r", "uint32")
      const { api, context } = yield* OpenCl.OpenCl
      const code = new Int32Array(1)
      const flags = 1 | 8
      const theirs = api.clCreateImage(context, flags, encode(format), description(shape, { rowPitch: 16 }), data, code)
      assert(theirs !== null, `clCreateImage ${code[0]}`)
      const raw = yield* OpenClMemory.adoptImage(theirs, { takeOver: true })
      // The second row begins with 4.
      deepStrictEqual([...(yield* Images.read(raw, Uint32Array))], [0, 1, 2, 3])
      const error = yield* Effect.flip(Images.fromHost(data, shape, format, { mode: "use", rowPitch: 16 }))
      strictEqual(error.reason._tag, "Unsupported")
      const copy = yield* Images.fromHost(data, shape, format, { rowPitch: 16 })
      deepStrictEqual([...(yield* Images.read(copy, Uint32Array))], [0, 1, 4, 5])
    }))))

  it.effect("reports a compile error with the compiler's log", () =>
    onDevice(Effect.gen(function*() {
      const broken = Kernel.make({ name: "broken", args: [], body: { opencl: "no_such_thing = 1;" } })
      const error = yield* Effect.flip(CommandQueue.dispatch(broken, {}, 1))
      strictEqual(error.reason._tag, "DriverError")
      assert.include(error.message, "no_such_thing")
      assert.match(error.message, /The source that was compiled:\n[^]*\n> +\d+ \| no_such_thing = 1;\n[^]*\nCorrect/)
    })))

  it.effect("finishes for many fibers at once", () =>
    onDevice(Effect.scoped(Effect.gen(function*() {
      const x = yield* BufferPool.allocate(64)
      yield* Effect.forEach(
        Array.from({ length: 50 }, (_, i) => i),
        (i) => Effect.andThen(CommandQueue.fill(x, i), CommandQueue.finish),
        { concurrency: "unbounded" }
      )
      strictEqual((yield* CommandQueue.read(x, Uint32Array))[0], 49)
    }))))
})
