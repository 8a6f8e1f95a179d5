/**
 * Mappings of parts of images: their classes, axes and pitches, against plain arrays.
 *
 * @internal
 */
import { BufferPool, Mapping } from "effect-gpu-pool"
import type { ElementType } from "effect-gpu-pool/CommandQueue"
import type { DeviceImage } from "effect-gpu-pool/DeviceImage"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { ImageFormat, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { failing, type Mistake, mistakeTests } from "../memory/BadRequests.ts"
import { indices } from "../memory/Mappings.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"
import * as AnyImage from "./AnyImage.ts"
import * as ImageModel from "./ImageModel.ts"

const test = inGroup("mapped images")

const copies = ImageUsage.copySrc | ImageUsage.copyDst

/** The axes of a part, in row order, and the bytes of one element. */
const lengthsOf = (
  { kind }: ImageShape.ImageShape,
  [width, height, slices]: ImageModel.Region["extent"],
  elementBytes: number
): ReadonlyArray<number> => [
  ...(ImageShape.isSingle(kind) ? [] : [slices]),
  ...(ImageShape.isFlat(kind) ? [] : [height]),
  width,
  ...(elementBytes === 1 ? [] : [elementBytes])
]

const anyPlan = (random: Random) => ({
  layout: random.pick(["packed", "driver", undefined] as const),
  order: random.pick(["C", "F", undefined] as const),
  access: random.pick(["write", "readwrite"] as const)
})

/** Reads and writes a mapped part by elements, in any layout and order. The elements around it must stay. */
const trial = Effect.fnUntraced(function*(random: Random) {
  const kind = random.pick(ImageShape.kinds)
  const formats = yield* Images.formats(copies, kind)
  if (formats.length === 0) return
  const format = random.pick(formats)
  const shape = ImageModel.anyShape(random, kind)
  const bytes = ImageModel.anyElements(random, format, ImageShape.elements(shape))
  const model: ImageModel.ImageModel = { shape, format, bytes }
  const image = yield* AnyImage.make(shape, format, { usage: copies })
  yield* Images.write(image, bytes)
  const region = ImageModel.anyRegion(random, shape)
  const { access, layout, order } = anyPlan(random)
  const what = `${ImageShape.format(shape)} of ${ImageFormat.format(format)} ${
    JSON.stringify({ ...region, layout, order })
  }`
  const lengths = lengthsOf(shape, region.extent, ImageFormat.elementBytes(format))
  const at = (index: ReadonlyArray<number>) =>
    order === "F" ? index.map((_, axis) => index[index.length - 1 - axis]!) : index
  yield* Effect.scoped(Effect.gen(function*() {
    const mapped = yield* Images.map(image, Uint8Array, { ...region, access: "read", layout, order })
    Expect.same(`the axes of ${what}`, mapped.shape, at(lengths))
    const found = [...indices(lengths)].map((index) => mapped.getUnsafe(...at(index)))
    Expect.numbers(what, Uint8Array.from(found), ImageModel.read(model, region))
    if (layout !== "driver") Expect.numbers(`all of ${what}`, mapped.data, ImageModel.read(model, region))
  }))
  const stored = ImageModel.anyElements(random, format, ImageShape.count(region))
  yield* Effect.scoped(Effect.gen(function*() {
    const mapped = yield* Images.map(image, Uint8Array, { ...region, access, layout, order })
    const places = [...indices(lengths)]
    for (const [index, place] of places.entries()) mapped.setUnsafe(stored[index]!, ...at(place))
  }))
  ImageModel.write(model, region, stored)
  Expect.numbers(`${what} after stores`, yield* Images.read(image, Uint8Array), model.bytes)
})

const trials = Effect.flatMap(
  scaled(60, 6),
  (count) => forSeeds(seeds(count), (random) => Effect.scoped(trial(random)))
)

const numbered = Effect.gen(function*() {
  const image = yield* Images.make(ImageShape.image2d(4, 3), ImageFormat.make("rgba", "float32"), { usage: copies })
  yield* Images.write(image, Float32Array.from({ length: 48 }, (_, at) => at))
  return image
})

const withImage = (call: (image: DeviceImage) => Effect.Effect<unknown, GpuError, TestServices>) =>
  Effect.flatMap(numbered, call)

const mistakes: ReadonlyArray<Mistake> = [
  ...failing("InvalidRequest", {
    "map an element as a part of a larger one": Effect.flatMap(
      Images.make(ImageShape.image1d(8), ImageFormat.make("r", "uint8"), { usage: copies }),
      (image) => Images.map(image, Uint32Array)
    ),
    "map more elements of a class than the part has": withImage((image) =>
      Images.map(image, BigInt64Array, { extent: [1], shape: [3] })
    ),
    "map a shape larger than the part": withImage((image) =>
      Images.map(image, Float32Array, { extent: [2, 3], shape: [7, 4] })
    ),
    "map strides without a shape that fits": withImage((image) => Images.map(image, Float32Array, { strides: [1, 1] })),
    "map negative lengths": withImage((image) => Images.map(image, Float32Array, { shape: [-1] })),
    "map a shape at the driver's pitches": withImage((image) =>
      Images.map(image, Float32Array, { layout: "driver", shape: [24] })
    ),
    "map strides at the driver's pitches": withImage((image) =>
      Images.map(image, Float32Array, { layout: "driver", strides: [1] })
    ),
    "map with gaps for writing alone, without copySrc": Effect.flatMap(
      Images.make(ImageShape.image1d(8), ImageFormat.make("r", "float32"), { usage: ImageUsage.copyDst }),
      (image) => Images.map(image, Float32Array, { access: "write", shape: [4], strides: [2] })
    )
  })
]

const { transfer } = ArrayBuffer.prototype as { readonly transfer?: (this: ArrayBuffer) => ArrayBuffer }

/** If the engine lacks a way to take the memory, or forbids it, the mapping ends like any other. */
const taken = Effect.gen(function*() {
  for (const access of ["read", "write", "readwrite"] as const) {
    const image = yield* AnyImage.make(ImageShape.image2d(8, 4), ImageFormat.rgba8, { usage: copies })
    const mapped = yield* Images.map(image, Uint8Array, { access })
    const kept = transfer?.call(mapped.data.buffer as ArrayBuffer)
    if (kept === undefined) {
      yield* Mapping.unmap(mapped)
      continue
    }
    const found = new Uint8Array(kept).slice()
    const exit = yield* Effect.exit(Mapping.unmap(mapped))
    // A mapping for reading may be a copy, which the program may keep.
    if (access !== "read") yield* Expect.refused(`the end of a mapping to ${access}`, exit)
    yield* Effect.scoped(
      Effect.gen(function*() {
        const next = yield* AnyImage.make(ImageShape.image2d(8, 4), ImageFormat.rgba8, { usage: copies })
        yield* Images.write(next, new Uint8Array(128).fill(2))
        Expect.numbers("the next image", yield* Images.read(next, Uint8Array), new Uint8Array(128).fill(2))
      })
    )
    Expect.numbers("what was taken", new Uint8Array(kept), found)
  }
})

export const tests: ReadonlyArray<ConformanceTest> = [
  test("memory that a program moved out of a mapped image is its own, and the end says so", taken),
  test("a mapping of any part has its elements, and stores change no others", { heavy: true }, trials),
  test("a mapping has the class, axes and pitches that its part has", function*() {
    const image = yield* numbered
    const floats = yield* Images.map(image, Float32Array, { access: "read", origin: [1, 1], extent: [2, 2] })
    Expect.same("the elements of a part", [...floats.data.subarray(0, 4)], [20, 21, 22, 23])
    Expect.same("its axes", [floats.shape, floats.strides, floats.dtype], [[2, 2, 4], [8, 4, 1], "f32"])
    Expect.same("its pitches in bytes", [floats.rowPitch, floats.slicePitch], [32, 64])
    const wide = yield* Images.map(image, Float64Array, { access: "read", extent: [4, 3] })
    Expect.same("items of two channels", [wide.shape, wide.strides], [[3, 4, 2], [8, 2, 1]])
    const fitting = yield* Images.map(image, { access: "read" })
    Expect.same("the class that fits", [fitting.data.constructor.name, fitting.shape], ["Float32Array", [3, 4, 4]])
    const columns = yield* Images.map(image, Float32Array, { access: "read", order: "F" })
    Expect.same("axes turned round", [columns.shape, columns.strides], [[4, 4, 3], [1, 4, 16]])
    Expect.equal("an element by x and y", columns.getUnsafe(3, 3, 2), 47)
    const inPlace = yield* Images.map(image, Float32Array, {
      access: "read",
      layout: "driver",
      origin: [1, 1],
      extent: [2, 2]
    })
    Expect.equal("an element at the driver's pitch", inPlace.getUnsafe(1, 1, 0), 40)
    Expect.same("strides by the pitch", inPlace.strides, [inPlace.rowPitch / 4, 4, 1])
  }),
  /** A program's axes count packed elements, whatever the driver's pitches are. */
  test("a shape and strides from the program count packed elements", function*() {
    const image = yield* numbered
    const rows = yield* Images.map(image, Float32Array, { access: "read", origin: [1], extent: [2, 3], shape: [6, 4] })
    Expect.same("its axes", [rows.shape, rows.strides], [[6, 4], [4, 1]])
    Expect.same("elements of the second row", [rows.getUnsafe(2, 0), rows.getUnsafe(3, 1)], [20, 25])
    yield* Mapping.unmap(rows)
    const gaps = yield* Images.map(image, Float32Array, { access: "write", shape: [6], strides: [8] })
    for (let at = 0; at < 6; at++) gaps.setUnsafe(-1, at)
    yield* Mapping.unmap(gaps)
    const expected = Float32Array.from({ length: 48 }, (_, at) => at % 8 === 0 ? -1 : at)
    Expect.numbers("elements that the strides leave out stay", yield* Images.read(image, Float32Array), expected)
  }),
  /** Maps larger numbers from an element whose own memory they could not begin at. */
  test("numbers of more bytes than an element begin at any element", function*() {
    const format = ImageFormat.make("r", "uint8")
    const lease = yield* BufferPool.allocate(20)
    const over = yield* Effect.exit(Images.overBuffer(lease, format, { usage: copies }))
    const own = yield* Images.make(ImageShape.image1d(20), format, { usage: copies })
    for (const image of Exit.isSuccess(over) ? [own, over.value] : [own]) {
      const bytes = Uint8Array.from({ length: 20 }, (_, at) => at)
      yield* Images.write(image, bytes)
      const types: ReadonlyArray<ElementType<Uint16Array | Uint32Array | Float64Array>> = [
        Uint16Array,
        Uint32Array,
        Float64Array
      ]
      for (const [at, type] of types.entries()) {
        const size = type.BYTES_PER_ELEMENT
        const part = { origin: [3], extent: [2 * size], shape: [2] } as const
        const mapped = yield* Images.map(image, type, part)
        const found = new Uint8Array(mapped.data.buffer, mapped.data.byteOffset, 2 * size)
        Expect.numbers(`the bytes of ${type.name}`, found, bytes.subarray(3, 3 + 2 * size))
        found.fill(100 + at, size)
        bytes.fill(100 + at, 3 + size, 3 + 2 * size)
        yield* Mapping.unmap(mapped)
        Expect.numbers(`what was stored as ${type.name}`, yield* Images.read(image, Uint8Array), bytes)
      }
    }
  }),
  ...mistakeTests("bad mappings of images", mistakes)
]
