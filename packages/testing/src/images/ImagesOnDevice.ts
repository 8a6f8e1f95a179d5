/**
 * Images: writes, reads, fills, copies, mappings and samplers, against arrays of bytes.
 *
 * @internal
 */
import { BufferPool, CommandQueue, Mapping, SubRegion } from "effect-gpu-pool"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DeviceImage } from "effect-gpu-pool/DeviceImage"
import type { ImageArray } from "effect-gpu-pool/ImageArray"
import { ImageElement, ImageFormat, Images, ImageShape, type ImageUsage } from "effect-gpu-pool/images"
import { boxesOverlap } from "effect-gpu-pool/MemorySpan"
import { type Addressing, resolve, type SamplerOptions } from "effect-gpu-pool/SamplerOptions"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { mistakeTests } from "../memory/BadRequests.ts"
import { forSeeds, Random, seeds } from "../Random.ts"
import * as AnyImage from "./AnyImage.ts"
import { copies, ended, picture, unsupported, wrongCommands, wrongImages } from "./ImageMistakes.ts"
import * as ImageModel from "./ImageModel.ts"
import { operations, stepwise } from "./InterruptedImages.ts"

const test = inGroup("images")

/** An image, and the bytes that it must contain. */
interface Pair {
  readonly image: DeviceImage
  readonly model: ImageModel.ImageModel
}

type Step = Effect.Effect<void, unknown, TestServices>

const regionOptions = ({ extent, origin }: ImageModel.Region): ImageShape.RegionOptions => ({ origin, extent })

const makePair = Effect.fnUntraced(function*(
  random: Random,
  shape: ImageShape.ImageShape,
  format: ImageFormat.ImageFormat,
  usage: ImageUsage.ImageUsage = copies
) {
  const image = yield* AnyImage.make(shape, format, { usage })
  const bytes = ImageModel.anyElements(random, format, ImageShape.elements(shape))
  yield* Images.write(image, bytes)
  return { image, model: { shape, format, bytes } }
})

const expectSame = Effect.fnUntraced(function*(what: string, { image, model }: Pair) {
  const text = `${what}: ${ImageShape.format(model.shape)} of ${ImageFormat.format(model.format)}`
  Expect.numbers(text, yield* Images.read(image, Uint8Array), model.bytes)
})

/** The kinds that the device has, with the formats of each. */
const eachKind = <E, R>(
  usage: ImageUsage.ImageUsage,
  body: (
    kind: ImageShape.ImageKind,
    formats: ReadonlyArray<ImageFormat.ImageFormat>
  ) => Effect.Effect<void, E, R>
) =>
  Effect.forEach(
    ImageShape.kinds,
    (kind) =>
      Effect.flatMap(
        Images.formats(usage, kind),
        (formats) => formats.length === 0 ? Effect.void : body(kind, formats)
      ),
    { discard: true }
  )

/** A test over each format of each kind of image that the device has. */
const eachFormat = (
  name: string,
  body: (
    random: Random,
    shape: ImageShape.ImageShape,
    format: ImageFormat.ImageFormat
  ) => Effect.gen.Return<unknown, unknown, TestServices>
): ConformanceTest =>
  test(
    name,
    eachKind(copies, (kind, formats) =>
      Effect.forEach(formats, (format, index) => {
        const random = new Random(index + 1)
        return Effect.scoped(Effect.gen(() => body(random, ImageModel.anyShape(random, kind), format)))
      }, { discard: true }))
  )

/** A part of any size that fits into both images. */
const commonExtent = (random: Random, source: Pair, target: Pair): ImageModel.Region["extent"] => {
  const [from, to] = [ImageShape.extent(source.model.shape), ImageShape.extent(target.model.shape)]
  return [
    random.integer(1, Math.min(from[0], to[0])),
    random.integer(1, Math.min(from[1], to[1])),
    random.integer(1, Math.min(from[2], to[2]))
  ]
}

const copyPart = (random: Random, source: Pair, target: Pair): Step => {
  const extent = commonExtent(random, source, target)
  const from = ImageModel.anyPart(random, ImageShape.extent(source.model.shape), extent)
  const to = ImageModel.anyPart(random, ImageShape.extent(target.model.shape), extent)
  if (source === target && boxesOverlap(from, to)) return Effect.void
  ImageModel.write(target.model, to, ImageModel.read(source.model, from))
  return Images.copy(source.image, target.image, { sourceOrigin: from.origin, targetOrigin: to.origin, extent })
}

/** An offset in a buffer that every device allows. */
const anyOffset = (random: Random, format: ImageFormat.ImageFormat): number => {
  const size = ImageFormat.elementBytes(format)
  return random.integer(0, 3) * (size % 4 === 0 ? size : 4 * size)
}

/** Copies a part of an image to a lease and some of that back to another part. The lease's other bytes must stay. */
const throughBuffer = Effect.fnUntraced(function*(random: Random, { image, model }: Pair) {
  const region = ImageModel.anyRegion(random, model.shape)
  const offset = anyOffset(random, model.format)
  const data = ImageModel.read(model, region)
  const background = random.bytes(offset + data.length)
  const lease = yield* BufferPool.allocate(background.length)
  yield* CommandQueue.write(lease, background)
  yield* Images.toBuffer(image, lease, { ...regionOptions(region), offset })
  background.set(data, offset)
  Expect.numbers("an image in a buffer", yield* CommandQueue.read(lease, Uint8Array), background)
  const target = ImageModel.anyPart(random, ImageShape.extent(model.shape), region.extent)
  const elements = ImageModel.anyElements(random, model.format, ImageShape.count(region))
  const written = new Uint8Array(offset + elements.length)
  written.set(elements, offset)
  yield* CommandQueue.write(lease, written)
  yield* Images.fromBuffer(lease, image, { ...regionOptions(target), offset })
  ImageModel.write(model, target, elements)
})

const step = (random: Random, pairs: ReadonlyArray<Pair>): Step => {
  const pair = random.pick(pairs)
  const { image, model } = pair
  const region = ImageModel.anyRegion(random, model.shape)
  switch (random.integer(0, 6)) {
    case 0: {
      const data = ImageModel.anyElements(random, model.format, ImageShape.count(region))
      ImageModel.write(model, region, data)
      return Images.write(image, data, regionOptions(region))
    }
    case 1: {
      const values = ImageModel.anyValues(random, model.format)
      ImageModel.fill(model, region, values)
      return Images.fill(image, values, regionOptions(region))
    }
    case 2:
      return Effect.scoped(throughBuffer(random, pair))
    case 3:
      return expectSame("in between", pair)
    case 4:
      return Effect.scoped(Effect.flatMap(Images.map(image, regionOptions(region)), ({ data }) =>
        Effect.sync(() => {
          const bytes = new Uint8Array(data.buffer as ArrayBuffer)
          bytes.set(ImageModel.anyElements(random, model.format, ImageShape.count(region)))
          ImageModel.write(model, region, bytes)
        })))
    default:
      return copyPart(random, pair, random.pick(pairs))
  }
}

const sequence = (steps: number) => (random: Random): Step =>
  Effect.scoped(Effect.gen(function*() {
    const pairs: Array<Pair> = []
    yield* eachKind(copies, (kind, formats) =>
      Effect.gen(function*() {
        const format = formats.find((each) => ImageFormat.equals(each, ImageFormat.rgba8)) ?? formats[0]!
        for (let at = 0; at < 2; at++) pairs.push(yield* makePair(random, ImageModel.anyShape(random, kind), format))
      }))
    if (pairs.length === 0) return
    for (let at = 0; at < steps; at++) yield* step(random, pairs)
    for (const pair of pairs) yield* expectSame("the end", pair)
  }))

const sequences = Effect.flatMap(scaled(10, 2), (count) => forSeeds(seeds(count), sequence(60)))

const addressings: ReadonlyArray<Addressing> = ["clampToEdge", "clampToBorder", "repeat", "mirroredRepeat", "none"]

export const tests: ReadonlyArray<ConformanceTest> = [
  eachFormat(
    "every format of every kind comes back as it was written, whole and in parts",
    function*(random, shape, format) {
      const pair = yield* makePair(random, shape, format)
      yield* expectSame("as written", pair)
      const region = ImageModel.anyRegion(random, shape)
      const data = ImageModel.anyElements(random, format, ImageShape.count(region))
      yield* Images.write(pair.image, data, regionOptions(region))
      ImageModel.write(pair.model, region, data)
      yield* expectSame("after a part", pair)
      const other = ImageModel.anyRegion(random, shape)
      const found = yield* Images.read(pair.image, Uint8Array, regionOptions(other))
      Expect.numbers("a part that is read", found, ImageModel.read(pair.model, other))
    }
  ),
  eachFormat("a fill converts values to what the format stores", function*(random, shape, format) {
    const pair = yield* makePair(random, shape, format)
    const region = ImageModel.anyRegion(random, shape)
    const values = ImageModel.anyValues(random, format)
    yield* Images.fill(pair.image, values, regionOptions(region))
    ImageModel.fill(pair.model, region, values)
    yield* expectSame(`a part filled with ${values.join(", ")}`, pair)
    for (const value of [0, 1]) {
      yield* Images.fill(pair.image, value)
      ImageModel.fill(pair.model, ImageShape.whole(shape), ImageFormat.channels(format).map(() => value))
      yield* expectSame(`filled with ${value}`, pair)
    }
  }),
  /** Every value of a byte, to find a driver that rounds some of them to the next number. */
  test("a fill is exact for each byte of a normalised format", function*() {
    const formats = yield* Images.formats(copies, "2d")
    for (const type of ["unorm8", "snorm8"] as const) {
      const format = formats.find((format) => format.order === "rgba" && format.type === type)
      if (format === undefined) continue
      const image = yield* Images.make(ImageShape.image2d(64, 1), format, { usage: copies })
      const expected = new Uint8Array(256)
      for (let x = 0; x < 64; x++) {
        const element = Uint8Array.from([0, 64, 128, 192], (first) => first + x)
        const values = ImageElement.decodeUnsafe(format, element)
        yield* Images.fill(image, values, { origin: [x], extent: [1] })
        expected.set(ImageElement.encodeUnsafe(format, values), x * 4)
      }
      Expect.numbers(`each byte of ${type}`, yield* Images.read(image, Uint8Array), expected)
    }
  }),
  eachFormat("a copy moves exactly its part, in every format", function*(random, shape, format) {
    const source = yield* makePair(random, shape, format)
    const target = yield* makePair(random, ImageModel.anyShape(random, shape.kind), format)
    yield* copyPart(random, source, target)
    yield* expectSame("the target of a copy", target)
    yield* expectSame("the source of a copy", source)
  }),
  eachFormat("parts of images go to leases and back, at any offset", function*(random, shape, format) {
    const pair = yield* makePair(random, shape, format)
    yield* throughBuffer(random, pair)
    yield* expectSame("from a buffer", pair)
  }),
  /** PoCL ended the process on a copy between an image and its own sub-buffer, so sub-regions have a test. */
  test("parts of images go to sub-regions of leases and back", function*() {
    const { info } = yield* DeviceContext
    const from = info.limits.regionAlignment
    const image = yield* Images.make(ImageShape.image2d(8, 4), ImageFormat.rgba8)
    const elements = Uint8Array.from({ length: 128 }, (_, at) => at + 1)
    yield* Images.write(image, elements)
    const parent = yield* BufferPool.allocate(from + 256)
    yield* CommandQueue.fill(parent, 0)
    const region = yield* SubRegion.make(parent, { offset: from, size: 256 })
    yield* Images.toBuffer(image, region, { offset: 64 })
    const expected = new Uint8Array(from + 256)
    expected.set(elements, from + 64)
    Expect.numbers("an image in a sub-region", yield* CommandQueue.read(parent, Uint8Array), expected)
    yield* Images.fill(image, 0)
    yield* Images.fromBuffer(region, image, { offset: 64 })
    const back = new Uint8Array(128)
    yield* Images.readInto(image, back)
    Expect.numbers("the sub-region in an image", back, elements)
  }),
  test("rows of host data may have gaps", function*() {
    const random = new Random(6)
    const shape = ImageShape.image2d(5, 3)
    const pair = yield* makePair(random, shape, ImageFormat.rgba8)
    const data = random.bytes(3 * 32 - 12)
    yield* Images.write(pair.image, data, { rowPitch: 32 })
    for (let row = 0; row < 3; row++) pair.model.bytes.set(data.subarray(row * 32, row * 32 + 20), row * 20)
    yield* expectSame("rows with gaps", pair)
    const target = random.bytes(200)
    const expected = target.slice()
    for (let row = 0; row < 2; row++) {
      expected.set(pair.model.bytes.subarray((row + 1) * 20 + 4, (row + 1) * 20 + 16), row * 100)
    }
    yield* Images.readInto(pair.image, target, { origin: [1, 1], extent: [3, 2], rowPitch: 100 })
    Expect.numbers("a target with gaps", target, expected)
  }),
  test("an array becomes an image of its class, channels and normalisation", function*() {
    const arrays: ReadonlyArray<
      readonly [data: ImageArray, channels: number, normalized: boolean, type: ImageFormat.ChannelType]
    > = [
      [Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), 4, false, "uint8"],
      [Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), 4, true, "unorm8"],
      [Int8Array.of(1, -2, 3, -4, 5, -6, 7, -8), 4, false, "sint8"],
      [Int8Array.of(1, -2, 3, -4, 5, -6, 7, -8), 4, true, "snorm8"],
      [Uint16Array.of(1, 65535), 1, false, "uint16"],
      [Int32Array.of(1, -2), 1, false, "sint32"],
      [Float32Array.of(0.5, 1, 1.5, -2, 0, 1, 2, 3), 4, false, "float32"]
    ]
    const formats = yield* Images.formats(copies, "2d")
    for (const [data, channels, normalized, type] of arrays) {
      const format = ImageFormat.make(channels === 4 ? "rgba" : "r", type)
      const make = Images.fromArray(data, ImageShape.image2d(2, 1), { channels, normalized, usage: copies })
      if (!formats.some((listed) => ImageFormat.equals(listed, format))) {
        yield* Expect.failsWith(`a device without ${ImageFormat.format(format)}`, make, "Unsupported")
        continue
      }
      const image = yield* make
      Expect.equal("its type", image.format.type, type)
      const found = yield* Images.read(image)
      Expect.equal("the class of the array", found.constructor.name, data.constructor.name)
      Expect.same(type, Array.from(found), Array.from(data))
    }
  }),
  test("any mix of commands leaves what plain arrays would have", { heavy: true }, sequences),
  test("a mapping shows the elements and writes them back when it ends", function*() {
    const image = yield* picture()
    yield* Images.fill(image, 0)
    const scope = yield* Scope.make()
    const all = yield* Scope.provide(Images.map(image, { extent: [3, 2] }), scope)
    Expect.same("shape and strides", [all.shape, all.strides], [[2, 3, 4], [12, 4, 1]])
    all.setUnsafe(7, 1, 2, 3)
    all.data[0] = 9
    yield* Scope.close(scope, Exit.void)
    Expect.equal("the length of an array that has ended", all.data.length, 0)
    const expected = new Uint8Array(32)
    expected[0] = 9
    expected[16 + 2 * 4 + 3] = 7
    Expect.numbers("what was stored", yield* Images.read(image, Uint8Array), expected)
    const read = Effect.scoped(
      Effect.map(Images.map(image, Uint8Array, { access: "read" }), ({ data }) => data.slice())
    )
    Expect.numbers("what is mapped to be read", yield* read, expected)
    const fresh = yield* Images.map(image, { access: "write", extent: [1] })
    fresh.data.fill(5)
    yield* Mapping.unmap(fresh)
    expected.fill(5, 0, 4)
    Expect.numbers("a mapping that ended before its scope", yield* Images.read(image, Uint8Array), expected)
  }),
  test("commands that a mapping of an image would disturb are refused", function*() {
    const [image, copy] = [yield* picture(), yield* picture()]
    const lease = yield* BufferPool.allocate(32)
    yield* Images.fill(image, 0)
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Images.map(image, { access: "read" })
      yield* Images.map(image, { access: "read", extent: [1] })
      yield* Images.read(image)
      yield* Images.copy(image, copy)
      yield* Images.toBuffer(image, lease)
      yield* Expect.refused("a fill of what is mapped for reading", Images.fill(image, 1))
      yield* Expect.refused("a write of it", Images.write(image, new Uint8Array(32)))
      yield* Expect.refused("a copy to it", Images.copy(copy, image))
      yield* Expect.refused("a copy from a buffer to it", Images.fromBuffer(lease, image))
      yield* Expect.refused("mapping it for writing", Images.map(image, { access: "write" }))
    }))
    yield* Effect.scoped(Effect.gen(function*() {
      const left = yield* Images.map(image, { extent: [2, 2] })
      const right = yield* Images.map(image, { access: "write", origin: [2], extent: [2, 2] })
      yield* Images.map(image, { extent: [0, 0, 0] })
      yield* Expect.refused("a read of what is mapped for writing", Images.read(image))
      yield* Expect.refused(
        "a read of an unmapped part",
        Images.readInto(image, new Uint8Array(0), { extent: [0, 0, 0] })
      )
      yield* Expect.refused("a copy from it", Images.copy(image, copy))
      yield* Expect.refused("a copy from it to a buffer", Images.toBuffer(image, lease))
      yield* Expect.refused("mapping a part again", Images.map(image, { access: "read", origin: [1, 1], extent: [2] }))
      left.data.fill(1)
      right.data.fill(2)
    }))
    const expected = Uint8Array.from({ length: 32 }, (_, at) => at % 16 < 8 ? 1 : 2)
    Expect.numbers("both halves", yield* Images.read(image, Uint8Array), expected)
  }),
  test("a mapping ends with its image", { counting: true }, function*() {
    const scope = yield* Scope.make()
    const image = yield* Scope.provide(picture(), scope)
    const mapping = yield* Images.map(image, { access: "write" })
    yield* Scope.close(scope, Exit.void)
    Expect.equal("the length of an array whose image is gone", mapping.data.length, 0)
    yield* Expect.failsWith("ending it", Mapping.unmap(mapping), "Released")
  }),
  test("a mapping is written back on interruption", function*() {
    const image = yield* picture()
    yield* Images.fill(image, 0)
    const store = Effect.scoped(Effect.flatMap(Images.map(image), ({ data }) => {
      data.fill(3)
      return Effect.interrupt
    }))
    Expect.isTrue("it was interrupted", Exit.isFailure(yield* Effect.exit(store)))
    Expect.numbers("what was stored", yield* Images.read(image, Uint8Array), new Uint8Array(32).fill(3))
  }),
  /** A device without an addressing mode must answer Unsupported. */
  test("samplers are counted, and options that a device lacks are unsupported", { counting: true }, function*() {
    const { driverObjects } = yield* DeviceContext
    const before = driverObjects.liveByKind.sampler ?? 0
    for (const addressing of addressings) {
      for (const filter of ["nearest", "linear"] as const) {
        const options: SamplerOptions = { addressing, filter }
        const exit = yield* Effect.scoped(Effect.exit(Effect.map(Images.sampler(options), (sampler) => {
          Expect.same("its options", sampler.options, resolve(options))
          Expect.equal("a sampler lives", (driverObjects.liveByKind.sampler ?? 0) > before, true)
        })))
        if (Exit.isFailure(exit)) {
          yield* Expect.failsWith(addressing, Effect.scoped(Images.sampler(options)), "Unsupported")
        }
      }
    }
    yield* Images.sampler()
    Expect.equal("samplers", driverObjects.liveByKind.sampler ?? 0, before + 1)
  }),
  /** An image has only one mip level, so a sampler's options for other levels change nothing. */
  test("samplers take options for mip levels, where the device supports them", { counting: true }, function*() {
    const options: ReadonlyArray<SamplerOptions> = [
      { mipFilter: "linear", filter: "linear" },
      { lodMin: 0, lodMax: 0 },
      { lodMin: 1.5, lodMax: 1.5 }
    ]
    for (const given of options) {
      const exit = yield* Effect.exit(Images.sampler(given))
      if (Exit.isSuccess(exit)) Expect.same("its options", exit.value.options, resolve(given))
      else yield* Expect.failsWith(JSON.stringify(given), Images.sampler(given), "Unsupported")
    }
    const plain = yield* Images.sampler({ mipFilter: "nearest", lodMin: 0, lodMax: 32 })
    Expect.same("options that every device supports", plain.options, resolve(undefined))
  }),
  test("commands on empty parts do nothing", { counting: true }, function*() {
    const image = yield* picture()
    const lease = yield* BufferPool.allocate(16)
    const none = { origin: [4, 2] as const, extent: [0, 0, 1] as const }
    yield* Images.write(image, new Uint8Array(0), none)
    yield* Images.fill(image, 1, none)
    yield* Images.copy(image, image, { extent: [0, 0, 0] })
    yield* Images.toBuffer(image, lease, none)
    yield* Images.fromBuffer(lease, image, none)
    Expect.equal("elements of an empty read", (yield* Images.read(image, none)).length, 0)
  }),
  test("a format that the device lacks is unsupported", { counting: true }, unsupported),
  ...Object.entries(operations).map(([name, make]) =>
    test(`${name} may be interrupted at every step`, { counting: true, interrupts: true }, stepwise(name, make))
  ),
  ...mistakeTests("bad commands on images", [...ended, ...wrongImages, ...wrongCommands])
]
