/** Images as host kernels see them. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { CommandQueue, Kernel, KernelArgument, MemoryObjects } from "effect-gpu-pool"
import { Host } from "effect-gpu-pool/host"
import { ImageFormat, Images, ImageShape, ImageUsage, type KernelImage } from "effect-gpu-pool/images"
import * as Effect from "effect/Effect"

const { ImageArg, SamplerArg } = KernelArgument

/** What a body finds in an image of a format, whose elements are 1, 2, 3 and so on in their first channel. */
const look = <A>(
  shape: ImageShape.ImageShape,
  format: ImageFormat.ImageFormat,
  see: (image: KernelImage.ReadableImage, how: KernelImage.Sampler) => A
) =>
  Effect.gen(function*() {
    const found: Array<A> = []
    const channel = format.type === "uint8" ? "uint" : "float"
    const kernel = Kernel.make({
      name: "look",
      args: [ImageArg("x", { kind: shape.kind, channel }), SamplerArg("how")],
      body: {
        host: (_from, _to, { how, x }) => {
          found.push(see(x, how))
        }
      }
    })
    const bytesOfAll = ImageFormat.imageBytes(format, shape)
    const x = shape.kind === "1dBuffer"
      ? yield* Effect.flatMap(
        MemoryObjects.fromHost(new Uint8Array(bytesOfAll)),
        (buffer) => Images.overBuffer(buffer, format)
      )
      : yield* Images.make(shape, format)
    const channels = ImageFormat.channelCount(format)
    const bytes = Uint8Array.from(
      { length: ImageShape.elements(shape) * channels },
      (_, at) => at % channels === 0 ? at / channels + 1 : 0
    )
    yield* Images.write(x, bytes)
    const how = yield* Images.sampler({ filter: "linear", normalizedCoordinates: false })
    yield* CommandQueue.dispatch(kernel, { x, how }, 1)
    yield* CommandQueue.finish
    return found[0]
  }).pipe(Effect.scoped, Effect.provide(Host.layer()))

const uint8 = (order: ImageFormat.ChannelOrder) => ImageFormat.make(order, "uint8")

const at = (shape: ImageShape.ImageShape, x: number, y?: number, z?: number) =>
  look(shape, uint8("r"), (image) => image.load(x, y, z))

describe("images in host kernels", () => {
  it.effect("are loaded by whole coordinates, of which those that a kind lacks are ignored", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* at(ImageShape.image1d(4), 2, 7, 7), [3, 0, 0, 1])
      deepStrictEqual(yield* at(ImageShape.image1dArray(4, 2), 2, 7, 1), [7, 0, 0, 1])
      deepStrictEqual(yield* at(ImageShape.image2d(4, 2), 1, 1, 7), [6, 0, 0, 1])
      deepStrictEqual(yield* at(ImageShape.image2dArray(2, 2, 2), 1, 0, 1), [6, 0, 0, 1])
      deepStrictEqual(yield* at(ImageShape.image3d(2, 2, 2), 1, 1, 1), [8, 0, 0, 1])
      deepStrictEqual(yield* at(ImageShape.image2d(4, 2), 1), [2, 0, 0, 1])
    }))

  it.effect("have zeros outside", () =>
    Effect.gen(function*() {
      for (
        const [x, y, z] of [[-1, 0, 0], [2, 0, 0], [0, -1, 0], [0, 2, 0], [0, 0, -1], [0, 0, 2], [NaN, 0, 0]] as const
      ) {
        deepStrictEqual(
          yield* look(ImageShape.image3d(2, 2, 2), uint8("rgba"), (image) => image.load(x, y, z)),
          [0, 0, 0, 0]
        )
      }
    }))

  it.effect("know their sizes", () =>
    Effect.gen(function*() {
      const found = yield* look(ImageShape.image2dArray(2, 3, 4), uint8("r"), ({ depth, height, layers, width }) => [
        width,
        height,
        depth,
        layers
      ])
      deepStrictEqual(found, [2, 3, 1, 4])
    }))

  it.effect("are sampled between their elements, whole numbers apart", () =>
    Effect.gen(function*() {
      const found = yield* look(
        ImageShape.image2d(4, 1),
        ImageFormat.make("r", "unorm8"),
        (image, how) => image.sample(how, 2, 0.5)[0]
      )
      assert.closeTo(found ?? NaN, 2.5 / 255, 1e-12)
      const error = yield* Effect.flip(
        look(ImageShape.image2d(4, 1), uint8("r"), (image, how) => image.sample(how, 2, 0.5))
      )
      strictEqual(error.reason._tag, "DriverError")
      assert.include(error.message, "a linear sampler reads no r uint8 image")
    }))

  it.effect("over buffers are loaded, and sampled by none", () =>
    Effect.gen(function*() {
      deepStrictEqual(yield* at(ImageShape.image1dBuffer(4), 2, 7, 7), [3, 0, 0, 1])
      const sampled = look(ImageShape.image1dBuffer(4), ImageFormat.make("r", "unorm8"), (image, how) =>
        image.sample(how, 2))
      assert.include((yield* Effect.flip(sampled)).message, "no sampler reads an image over a buffer")
    }))

  it.effect("are stored as the format can, and not outside", () =>
    Effect.gen(function*() {
      const kernel = Kernel.make({
        name: "store",
        args: [ImageArg("y", { access: "write", format: ImageFormat.make("bgra", "unorm8") })],
        body: {
          host: (_from, _to, { y }) => {
            y.store(0, 0, 0, [1, 0.5, 0, 2])
            for (const [at, line] of [[-1, 0], [2, 0], [0, 1], [0, -1], [NaN, 0]] as const) {
              y.store(at, line, 0, [1, 1, 1, 1])
            }
          }
        }
      })
      const usage = ImageUsage.defaultUsage | ImageUsage.storage
      const y = yield* Images.make(ImageShape.image2d(2, 1), ImageFormat.make("bgra", "unorm8"), { usage })
      yield* Images.fill(y, 0)
      yield* CommandQueue.dispatch(kernel, { y }, 1)
      deepStrictEqual([...yield* Images.read(y, Uint8Array)], [0, 128, 255, 255, 0, 0, 0, 0])
    }).pipe(Effect.scoped, Effect.provide(Host.layer())))
})
