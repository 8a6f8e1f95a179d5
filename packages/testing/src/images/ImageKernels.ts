/**
 * Kernels that read and write images, with and without samplers.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Kernel, Lease } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import {
  ImageChannel,
  ImageElement,
  ImageFormat,
  ImagePool,
  Images,
  ImageShape,
  ImageUsage,
  SamplerOptions
} from "effect-gpu-pool/images"
import * as ImageSampling from "effect-gpu-pool/ImageSampling"
import { ImageArg, SamplerArg, ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import { KernelCache } from "effect-gpu-pool/KernelCache"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Kernels from "../commands/Kernels.ts"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { failing, invalid, type Mistake, mistakeTests } from "../memory/BadRequests.ts"
import { written } from "../pool/Leases.ts"
import { Random } from "../Random.ts"
import * as AnyImage from "./AnyImage.ts"
import * as ImageBodies from "./ImageBodies.ts"

const test = inGroup("image kernels")

const { defaultUsage, sampled, storage } = ImageUsage
const everything = defaultUsage | storage

const both = (kind: ImageShape.ImageKind) =>
  Effect.gen(function*() {
    const read = yield* Images.formats(sampled, kind)
    const written = yield* Images.formats(storage, kind)
    return read.filter((format) => written.some((other) => ImageFormat.equals(format, other)))
  })

/** Elements that every device reads and writes without a change: each has only one encoding in its format. */
const elements = (format: ImageFormat.ImageFormat, count: number, seed: number): Uint8Array<ArrayBuffer> => {
  const random = new Random(seed)
  const bytes = ImageFormat.elementBytes(format)
  const data = new Uint8Array(count * bytes)
  for (let at = 0; at < count; at++) {
    data.set(
      ImageElement.encodeUnsafe(format, ImageFormat.channels(format).map(() => valueFor(format, random))),
      at * bytes
    )
  }
  return data
}

const valueFor = (format: ImageFormat.ImageFormat, random: Random): number => {
  switch (ImageChannel.of(format)) {
    case "float":
      return format.type.startsWith("unorm") ? random.integer(0, 255) / 255 : random.integer(-127, 127) / 127
    case "int":
      return random.integer(-100, 100)
    case "uint":
      return random.integer(0, 200)
  }
}

const flipped = (data: Uint8Array, width: number, bytes: number): Uint8Array =>
  data.map((_, at) => {
    const element = Math.floor(at / bytes)
    const x = element % width
    return data[(element - x + width - 1 - x) * bytes + at % bytes]!
  })

const shapes: ReadonlyArray<ImageShape.ImageShape> = [
  ImageShape.image1d(7),
  ImageShape.image1dArray(5, 3),
  ImageShape.image1dBuffer(6),
  ImageShape.image2d(4, 3),
  ImageShape.image2dArray(3, 2, 4),
  ImageShape.image3d(3, 4, 2)
]

const uint32: ImageFormat.ImageFormat = { order: "r", type: "uint32" }

const addPlaces = Effect.fnUntraced(function*(shape: ImageShape.ImageShape) {
  const count = ImageShape.elements(shape)
  const [width, height] = ImageShape.extent(shape)
  const source = yield* AnyImage.make(shape, uint32, { usage: everything })
  const target = yield* AnyImage.make(shape, uint32, { usage: everything })
  const sizes = yield* BufferPool.allocate(16)
  const data = Uint32Array.from({ length: count }, (_, at) => at * 1000)
  yield* Images.write(source, data)
  yield* CommandQueue.dispatch(
    ImageBodies.addPlaces(shape.kind),
    { source, result: target, sizes, width, height },
    count
  )
  const places = data.map((value, at) => {
    const [x, y, z] = [at % width, Math.floor(at / width) % height, Math.floor(at / width / height)]
    return value + x + 10 * y + 100 * z
  })
  Expect.numbers(shape.kind, yield* Images.read(target, Uint32Array), places)
  const { depth, layers } = shape
  Expect.numbers(`sizes of ${shape.kind}`, yield* CommandQueue.read(sizes, Uint32Array), [
    shape.width,
    shape.height,
    depth,
    layers
  ])
}, Effect.scoped)

/**
 * Tests every sampler, at coordinates between two elements and far outside. The image has the first of the formats that
 * the device supports.
 */
const everySampler = (shape: ImageShape.ImageShape, ...formats: ReadonlyArray<ImageFormat.ImageFormat>) =>
  Effect.gen(function*() {
    const supported = yield* Images.formats(defaultUsage, shape.kind)
    const format = formats.find((format) => supported.some((other) => ImageFormat.equals(format, other))) ?? rgba8
    const { backend } = yield* DeviceContext.useSync((device) => device.info)
    const image = yield* Images.make(shape, format)
    const data = elements(format, ImageShape.elements(shape), 2)
    yield* Images.write(image, data)
    for (const options of samplers) {
      const made = yield* Effect.result(Images.sampler(options))
      if (Result.isFailure(made)) {
        Expect.equal(`${JSON.stringify(options)}: ${made.failure.message}`, made.failure.reason._tag, "Unsupported")
        Expect.equal("which backend lacks samplers", backend, "webgpu")
        continue
      }
      const resolved = SamplerOptions.resolve(options)
      const places = placesIn(shape, resolved)
      const at = yield* BufferPool.allocate(places.length * 12)
      const colors = yield* BufferPool.allocate(places.length * 16)
      yield* CommandQueue.write(at, Float32Array.from(places.flat()))
      yield* CommandQueue.dispatch(
        ImageBodies.sampleAt(shape.kind),
        { image, how: made.success, at, colors },
        places.length
      )
      const found = yield* CommandQueue.read(colors, Float32Array)
      const texel = texelsOf(shape, format, data)
      for (const [index, place] of places.entries()) {
        const expected = ImageSampling.sample(shape, texel, resolved, ...place)
        expectColor(`${shape.kind} by ${JSON.stringify(options)} at ${place}`, found.subarray(index * 4), expected)
      }
    }
  }).pipe(Effect.scoped)

/** Devices interpolate in 256 steps between two elements, and some have no more steps between two colours. */
const expectColor = (what: string, found: Float32Array, expected: ImageElement.Rgba): void => {
  for (let channel = 0; channel < 4; channel++) {
    const difference = Math.abs(found[channel]! - expected[channel]!)
    Expect.isTrue(`${what}: expected ${expected}, got ${found.slice(0, 4)}`, difference <= 1 / 64)
  }
}

const samplers: ReadonlyArray<SamplerOptions.SamplerOptions> = [
  {},
  ...(["nearest", "linear"] as const).flatMap((filter): ReadonlyArray<SamplerOptions.SamplerOptions> => [
    ...(["clampToEdge", "clampToBorder", "repeat", "mirroredRepeat"] as const).map((addressing) => ({
      addressing,
      filter
    })),
    { addressing: "clampToEdge", filter, normalizedCoordinates: false },
    { addressing: "clampToBorder", filter, normalizedCoordinates: false }
  ])
]

/** Offsets in eighths of elements. None is at the border or the middle between two, where rounding decides. */
const steps = [-9, -5, -3, -1, 1, 3, 5, 7, 11, 13, 19, 27].map((eighths) => eighths / 8 + 1 / 32)

const placesIn = (
  { depth, height, kind, layers, width }: ImageShape.ImageShape,
  { normalizedCoordinates }: SamplerOptions.Resolved
): ReadonlyArray<readonly [number, number, number]> => {
  // PoCL treats the layer as normalised if the other coordinates are, so it finds only the first and the last layer.
  const slices = kind === "3d" ? steps : normalizedCoordinates ? [-1, 0, layers - 1, layers] : [-1, 0, 1, 2, 3]
  const [across, down, deep] = normalizedCoordinates ? [width, height, depth] : [1, 1, 1]
  return steps.flatMap((x, column) =>
    steps.map((_, row) => {
      const y = steps[(row + column) % steps.length]!
      const z = slices[(row * 5 + column) % slices.length]!
      return [x / across, y / down, z / deep] as const
    })
  )
}

const texelsOf = (
  shape: ImageShape.ImageShape,
  format: ImageFormat.ImageFormat,
  data: Uint8Array<ArrayBuffer>
): ImageSampling.Texel => {
  const [width, height, slices] = ImageShape.extent(shape)
  const bytes = ImageFormat.elementBytes(format)
  const border = ImageElement.border(format)
  return (x, y, z) => {
    if (x < 0 || x >= width || y < 0 || y >= height || z < 0 || z >= slices) return border
    const at = ((z * height + y) * width + x) * bytes
    return ImageElement.toRgbaUnsafe(format, ImageElement.decodeUnsafe(format, data.subarray(at, at + bytes)))
  }
}

const { rgba8 } = ImageFormat
const flipRgba8 = ImageBodies.flip(rgba8)
const row = ImageShape.image2d(4, 1)

/** The bytes of colours with these red channels. */
const reds = (...values: ReadonlyArray<number>): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(values.flatMap((value) => [value, 0, 0, 255]))

const redsOf = (image: Parameters<typeof Images.read>[0]) =>
  Effect.map(Images.read(image, Uint8Array), (data) => data.filter((_, at) => at % 4 === 0))

const backwards = (values: ReadonlyArray<number>): ReadonlyArray<number> =>
  values.map((_, at) => values[values.length - 1 - at]!)

/**
 * The result of dispatches on 1 2 3 4, which alternately reverse all four into the other image, and three of them back.
 */
const turned = (rounds: number): ReadonlyArray<number> => {
  let values: ReadonlyArray<number> = [1, 2, 3, 4]
  for (let round = 0; round < rounds; round++) {
    const two = backwards(values)
    values = [two[2]!, two[1]!, two[0]!, values[3]!]
  }
  return values
}

const withPool = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, Layer.fresh(ImagePool.layer()))

const pooledImages = withPool(Effect.gen(function*() {
  for (let round = 0; round < 3; round++) {
    const found = yield* Effect.scoped(Effect.gen(function*() {
      const source = yield* ImagePool.allocate(row, rgba8)
      const target = yield* ImagePool.allocate(row, rgba8, { usage: storage | ImageUsage.copySrc })
      yield* Images.write(source, reds(round, 2, 3, 4))
      yield* CommandQueue.dispatch(flipRgba8, { source, result: target, width: 4 }, 4)
      return yield* redsOf(target)
    }))
    Expect.numbers(`round ${round}`, found, [4, 3, 2, round])
  }
  Expect.equal("images made", (yield* ImagePool.stats).misses, 2)
}))

const withImages = (
  call: (
    source: Effect.Success<ReturnType<typeof Images.make>>,
    target: Effect.Success<ReturnType<typeof Images.make>>
  ) => Effect.Effect<unknown, unknown, CommandQueue.CommandQueue | Images.Images | DeviceContext>
) =>
  Effect.scoped(Effect.gen(function*() {
    const source = yield* Images.make(row, rgba8)
    const target = yield* Images.make(row, rgba8, { usage: everything })
    return yield* call(source, target)
  }))

const replaced = (shape: ImageShape.ImageShape, format: ImageFormat.ImageFormat, usage: number = everything) =>
  withImages((_, target) =>
    Effect.scoped(Effect.flatMap(
      Images.make(shape, format, { usage }),
      (source) => CommandQueue.dispatch(flipRgba8, { source, result: target, width: 4 }, 4)
    ))
  )

const released = Effect.gen(function*() {
  const source = yield* Effect.scoped(Images.make(row, rgba8))
  return yield* withImages((_, target) => CommandQueue.dispatch(flipRgba8, { source, result: target, width: 4 }, 4))
})

const releasedLease = withPool(Effect.scoped(Effect.gen(function*() {
  const source = yield* ImagePool.allocate(row, rgba8)
  yield* Lease.release(source)
  return yield* withImages((_, target) => CommandQueue.dispatch(flipRgba8, { source, result: target, width: 4 }, 4))
})))

const endedSampler = Effect.gen(function*() {
  const how = yield* Effect.scoped(Images.sampler())
  const buffer = yield* BufferPool.allocate(16)
  const at = yield* BufferPool.allocate(12)
  return yield* withImages((image) =>
    CommandQueue.dispatch(ImageBodies.sampleAt("2d"), { image, how, at, colors: buffer }, 1)
  )
})

const tooMany = Effect.gen(function*() {
  const { images } = yield* DeviceContext.useSync((device) => device.info.limits)
  const count = (images?.maxReadImages ?? 0) + 1
  const args = Array.from({ length: count }, (_, index) => ImageArg(`x${index}`))
  return yield* KernelCache.use((cache) => cache.get(Kernel.make({ name: "many", args, body: { host: () => {} } })))
})

const mistakes: ReadonlyArray<Mistake> = [
  ...(["source", "result"] as const).map((name) =>
    invalid(
      `a ${name} that is mapped`,
      withImages((source, result) =>
        Effect.scoped(Effect.andThen(
          Images.map(name === "source" ? source : result, { access: "read" }),
          CommandQueue.dispatch(flipRgba8, { source, result, width: 4 }, 4)
        ))
      )
    )
  ),
  ...failing("InvalidRequest", {
    "an image of another kind": replaced(ImageShape.image2dArray(4, 1, 1), rgba8),
    "an image of other channels": replaced(row, { order: "rgba", type: "uint8" }),
    "an image that kernels may not read": replaced(row, rgba8, storage),
    "an image that kernels may not write": withImages((source, target) =>
      CommandQueue.dispatch(flipRgba8, { source: target, result: source, width: 4 }, 4)
    ),
    "an image of another format than a kernel writes": withImages((source) =>
      Effect.scoped(Effect.flatMap(
        Images.make(row, { order: "rgba", type: "float32" }, { usage: everything }),
        (target) => CommandQueue.dispatch(flipRgba8, { source, result: target, width: 4 }, 4)
      ))
    ),
    "one image read and written": withImages((_, image) =>
      CommandQueue.dispatch(flipRgba8, { source: image, result: image, width: 4 }, 4)
    ),
    "writing an image of no declared format": KernelCache.use((cache) =>
      cache.get(Kernel.make({ name: "unformatted", args: [ImageArg("x", { access: "write" })], body: {} }))
    )
  }),
  ...failing("Released", {
    "an image after its scope": released,
    "a lease on an image after its release": releasedLease,
    "a sampler after its scope": endedSampler
  }),
  ...failing("Unsupported", {
    "no body for the backend": withImages((x) =>
      CommandQueue.dispatch(Kernel.make({ name: "bodiless", args: [ImageArg("x")], body: {} }), { x }, 1)
    )
  }),
  ...failing("LimitExceeded", {
    "more images than the device takes": tooMany
  })
]

export const tests: ReadonlyArray<ConformanceTest> = [
  /** A kernel copies every element without a change. */
  test("a kernel copies images of every format that it can read and write", function*() {
    const formats = yield* both("2d")
    Expect.isTrue("some format can be read and written", formats.length > 0)
    const [width, height] = [5, 3]
    for (const format of formats) {
      const shape = ImageShape.image2d(width, height)
      const source = yield* Images.make(shape, format, { usage: everything })
      const target = yield* Images.make(shape, format, { usage: everything })
      const data = elements(format, width * height, 1)
      yield* Images.write(source, data)
      yield* CommandQueue.dispatch(ImageBodies.flip(format), { source, result: target, width }, width * height)
      const bytes = ImageFormat.elementBytes(format)
      const found = yield* Images.read(target, Uint8Array)
      Expect.numbers(ImageFormat.format(format), found, flipped(data, width, bytes))
    }
  }),
  /** A kernel reads each element at its coordinates, and the dimensions of the image. */
  test("kernels find each element of every kind of image, and its sizes", function*() {
    const { optionalImages } = yield* DeviceContext.useSync((device) => device.info.traits)
    for (const shape of shapes) {
      const tried = yield* Effect.result(addPlaces(shape))
      if (Result.isSuccess(tried)) continue
      Expect.equal(`${shape.kind}: ${tried.failure.message}`, tried.failure.reason._tag, "Unsupported")
      Expect.isTrue(`a kind that may be missing: ${shape.kind}`, optionalImages.includes(shape.kind))
    }
  }),
  test("samplers read a picture as the specification says", everySampler(ImageShape.image2d(3, 4))),
  test(
    "samplers read floats as the specification says",
    everySampler(ImageShape.image2d(2, 3), { order: "rg", type: "float16" }, { order: "rgba", type: "float16" })
  ),
  test("samplers read volumes as the specification says", everySampler(ImageShape.image3d(3, 2, 4))),
  test("samplers read the requested layer", everySampler(ImageShape.image2dArray(3, 2, 3))),
  /** Arguments of every kind in any order; one image is two of them. */
  test("images, samplers, vectors and scalars come in any order", function*() {
    const [width, height] = [4, 2]
    const shape = ImageShape.image2d(width, height)
    const kernel = Kernels.perItem({
      name: "mixed",
      args: [
        SamplerArg("how"),
        ScalarArg("f32", "a"),
        ImageArg("one"),
        VectorArg("f32", "y", { access: "write", withOffset: true }),
        ImageArg("two"),
        ScalarArg("i32", "width")
      ],
      wgsl: `
  let place = vec2<i32>(i32(i) % width, i32(i) / width);
  let middle = (vec2<f32>(place) + 0.5) / vec2<f32>(textureDimensions(two));
  y[y_offset + i] = a * textureLoad(one, place, 0).x + textureSampleLevel(two, how, middle, 0.0).y;`,
      opencl: `
  const int2 place = (int2)((int) i % width, (int) i / width);
  const float2 middle = (convert_float2(place) + 0.5f) / convert_float2(get_image_dim(two));
  y[y_offset + i] = a * read_imagef(one, place).x + read_imagef(two, how, middle).y;`,
      item: (i, { a, how, one, two, width, y, y_offset }) => {
        const [x, line] = [i % width, Math.floor(i / width)]
        const green = two.sample(how, (x + 0.5) / two.width, (line + 0.5) / two.height)[1]
        y[y_offset + i] = a * one.load(x, line)[0] + green
      }
    })
    const data = Float32Array.from({ length: width * height * 4 }, (_, at) => at)
    const image = yield* Images.make(shape, { order: "rgba", type: "float16" })
    const half = { order: "rgba", type: "float16" } as const
    const bytes = new Uint8Array(data.length * 2)
    for (let at = 0; at < width * height; at++) {
      bytes.set(ImageElement.encodeUnsafe(half, [...data.subarray(at * 4, at * 4 + 4)]), at * 8)
    }
    yield* Images.write(image, bytes)
    const y = yield* BufferPool.allocate(width * height * 4 + 8)
    const how = yield* Images.sampler()
    yield* CommandQueue.fill(y, 0)
    yield* CommandQueue.dispatch(
      kernel,
      { how, a: 2, one: image, y: { buffer: y, offset: 2 }, two: image, width },
      width * height
    )
    const expected = Array.from({ length: width * height }, (_, at) => 2 * (at * 4) + at * 4 + 1)
    Expect.numbers("the sums", yield* CommandQueue.read(y, Float32Array), [0, 0, ...expected])
  }),
  test("kernels and commands on images run in queue order", function*() {
    const one = yield* Images.make(row, rgba8, { usage: everything })
    const two = yield* Images.make(row, rgba8, { usage: everything })
    yield* Images.write(one, reds(1, 2, 3, 4))
    for (let round = 0; round < 3; round++) {
      yield* CommandQueue.dispatch(flipRgba8, { source: one, result: two, width: 4 }, 4)
      yield* CommandQueue.dispatch(flipRgba8, { source: two, result: one, width: 3 }, 3)
    }
    Expect.numbers("after six dispatches", yield* redsOf(one), turned(3))
    yield* CommandQueue.dispatch(flipRgba8, { source: one, result: two, width: 4 }, 4)
    yield* Images.fill(one, [1, 0, 0, 1])
    Expect.numbers("before the fill", yield* redsOf(two), backwards(turned(3)))
    Expect.numbers("after the fill", yield* redsOf(one), [255, 255, 255, 255])
  }),
  /** More sets of images than the queue keeps bind groups for, and sets that differ only in the sampler. */
  test("dispatches of one kernel with many images and samplers, one after the other", function*() {
    const target = yield* Images.make(row, rgba8, { usage: everything })
    const images = yield* Effect.forEach(
      Array.from({ length: 70 }, (_, index) => index),
      (index) => Images.fromArray(reds(index, index + 1, index + 2, index + 3), row, { channels: 4, normalized: true })
    )
    for (const [index, source] of [...images.entries(), ...images.slice(0, 5).entries()]) {
      yield* CommandQueue.dispatch(flipRgba8, { source, result: target, width: 4 }, 4)
      const found = yield* redsOf(target)
      Expect.numbers(`image ${index}`, found, [index + 3, index + 2, index + 1, index])
    }
    const colors = yield* BufferPool.allocate(16)
    const at = yield* written(Float32Array.of(0.5, 0.5, 0))
    const image = yield* Images.fromArray(reds(0, 0, 200, 200), row, { channels: 4, normalized: true })
    for (const [filter, red] of [["nearest", 200], ["linear", 100], ["nearest", 200]] as const) {
      const how = yield* Images.sampler({ filter })
      yield* CommandQueue.dispatch(ImageBodies.sampleAt("2d"), { image, how, at, colors }, 1)
      const [found] = yield* CommandQueue.read(colors, Float32Array)
      Expect.isTrue(`${filter}: ${red} expected, got ${found! * 255}`, Math.abs(found! * 255 - red) < 2)
    }
  }),
  test("a kernel takes leases on images", pooledImages),
  ...mistakeTests("bad image arguments", mistakes)
]
