/**
 * Images made of the program's data: copies of it, or images in the program's own memory.
 *
 * @internal
 */
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import type { HostData } from "effect-gpu-pool/CommandQueue"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DeviceImage } from "effect-gpu-pool/DeviceImage"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { ImageFormat, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type ConformanceTest, inGroup, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { failing, type Mistake, mistakeTests } from "../memory/BadRequests.ts"
import { interruptedAtEach } from "../pool/Interruption.ts"
import { Random } from "../Random.ts"
import * as ImageBodies from "./ImageBodies.ts"
import * as ImageModel from "./ImageModel.ts"

const test = inGroup("images of the program's data")

const uint32: ImageFormat.ImageFormat = { order: "r", type: "uint32" }
const readOnly = ImageUsage.sampled | ImageUsage.copySrc
const everything = ImageUsage.defaultUsage | ImageUsage.storage

/** Each kind of image with its own memory, in every format that the device has for it. */
const copied = Effect.forEach(ImageShape.kinds.filter((kind) => kind !== "1dBuffer"), (kind) =>
  Effect.gen(function*() {
    const formats = yield* Images.formats(readOnly, kind)
    for (const [index, format] of formats.entries()) {
      const random = new Random(index + 1)
      const shape = ImageModel.anyShape(random, kind)
      const data = ImageModel.anyElements(random, format, ImageShape.elements(shape))
      const expected = data.slice()
      yield* Effect.scoped(Effect.gen(function*() {
        const image = yield* Images.fromHost(data, shape, format, { usage: readOnly, label: "mine" })
        data.fill(0)
        const what = `${ImageShape.format(shape)} of ${ImageFormat.format(format)}`
        Expect.numbers(what, yield* Images.read(image, Uint8Array), expected)
        Expect.same("shape, usage and label", [image.shape, image.usage, image.label], [shape, readOnly, "mine"])
      }))
    }
  }), { discard: true })

/** The offsets of an image's elements, with gaps between rows and slices. */
const gapped = { rowPitch: 16, slicePitch: 64 }
const volume = ImageShape.image3d(3, 2, 2)
const elementAt = (at: number): number => Math.floor(at / 6) * 16 + Math.floor(at % 6 / 3) * 4 + at % 3
const numbers = (length: number) => Uint32Array.from({ length }, (_, at) => at)

/** Runs a test with an image in the memory of `data`. A device without such images must answer Unsupported. */
const using = (
  data: Uint32Array<ArrayBuffer>,
  shape: ImageShape.ImageShape,
  options: Images.FromHostOptions,
  body: (image: DeviceImage) => Effect.gen.Return<void, unknown, TestServices>
): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    const { driverObjects } = yield* DeviceContext
    const before = driverObjects.liveByKind.image ?? 0
    const make = Images.fromHost(data, shape, uint32, { ...options, mode: "use" })
    yield* Effect.scoped(Effect.gen(function*() {
      const made = yield* Effect.exit(make)
      if (Exit.isSuccess(made)) yield* body(made.value)
      else yield* Expect.failsWith("a device that has no memory but its own", make, "Unsupported")
    }))
    Expect.equal("images afterwards", driverObjects.liveByKind.image ?? 0, before)
  })

const interrupted = (mode: "copy" | "use") =>
  Effect.gen(function*() {
    const data = numbers(8)
    const make = Effect.scoped(Effect.flatMap(
      Effect.exit(Images.fromHost(data, ImageShape.image2d(4, 2), uint32, { mode })),
      (made) => Exit.isSuccess(made) ? Effect.asVoid(Images.read(made.value)) : Effect.void
    ))
    yield* interruptedAtEach("an image of data", 40, () => make)
    yield* CommandQueue.finish
  })

const square = ImageShape.image2d(2, 2)

const make = (
  data: HostData,
  options?: Images.FromHostOptions,
  shape: ImageShape.ImageShape = square,
  format: ImageFormat.ImageFormat = uint32
) => Images.fromHost(data, shape, format, options)

const detached = (): Uint8Array => {
  const data = new Uint8Array(16)
  structuredClone(data, { transfer: [data.buffer] })
  return data
}

const resizable = (): Uint8Array => {
  const Buffer = ArrayBuffer as unknown as new(bytes: number, options: object) => ArrayBuffer
  return new Uint8Array(new Buffer(16, { maxByteLength: 32 }))
}

const noHostArray = (
  call: (image: DeviceImage) => Effect.Effect<unknown, GpuError, TestServices>
): Effect.Effect<unknown, GpuError, TestServices> => Effect.flatMap(make(new Uint8Array(16)), call)

const mistakes: ReadonlyArray<Mistake> = [
  ...failing("InvalidRequest", {
    "shared data": Effect.suspend(() => make(new Uint8Array(new SharedArrayBuffer(16)))),
    "detached data": Effect.suspend(() => make(detached())),
    "data that can be resized, in use": Effect.suspend(() => make(resizable(), { mode: "use" })),
    "too little data": make(new Uint8Array(12)),
    "too much data": make(new Uint8Array(20)),
    "data in use from a byte at which no element can begin": Effect.suspend(() =>
      make(new Uint8Array(24).subarray(4, 20), { mode: "use" })
    ),
    "data in use from a byte at which no large element can begin": Effect.suspend(() =>
      make(
        new Uint8Array(72).subarray(8),
        { mode: "use" },
        square,
        ImageFormat.make("rgba", "float32")
      )
    ),
    "a row pitch below a row": make(new Uint8Array(64), { rowPitch: 4 }),
    "rows beyond the data": make(new Uint8Array(20), { rowPitch: 16 }),
    "rows in use that end before the last one's gap": make(new Uint8Array(24), { mode: "use", rowPitch: 16 }),
    "rows in use that are no whole elements apart": make(new Uint8Array(64), { mode: "use", rowPitch: 10 }),
    "slices in use that are no whole rows apart": make(new Uint8Array(128), {
      mode: "use",
      rowPitch: 16,
      slicePitch: 40
    }, ImageShape.image3d(2, 2, 2)),
    "an image over a buffer": make(new Uint8Array(16), {}, ImageShape.image1dBuffer(4)),
    "no usage": make(new Uint8Array(16), { usage: 0 }),
    "an array of an image that has memory of its own": noHostArray((image) => Images.hostArray(image, Uint8Array))
  }),
  ...failing("LimitExceeded", {
    "a width that is too large": Effect.flatMap(
      Images.largest("2d"),
      ({ width }) => make(new Uint8Array((width + 1) * 4), {}, ImageShape.image2d(width + 1, 1))
    )
  })
]

export const tests: ReadonlyArray<ConformanceTest> = [
  test("a copy begins with the data, in every format and without copyDst", copied),
  test("a copy leaves out the gaps of the data", function*() {
    const image = yield* Images.fromHost(numbers(27).subarray(0, 23), volume, uint32, gapped)
    const expected = Uint32Array.from({ length: 12 }, (_, at) => elementAt(at))
    Expect.numbers("elements without the gaps", yield* Images.read(image, Uint32Array), expected)
  }),
  test("an image in the program's memory shares its bytes", function*() {
    const data = numbers(12)
    yield* using(data, ImageShape.image2d(4, 3), {}, function*(image) {
      Expect.numbers("the image's first bytes", yield* Images.read(image, Uint32Array), numbers(12))
      yield* Images.fill(image, 100, { origin: [1, 1], extent: [2, 1] })
      const seen = yield* Images.hostArray(image, Uint32Array)
      Expect.isTrue("the very memory", seen.buffer === data.buffer && seen.length === 12)
      Expect.numbers("what was filled", data, [0, 1, 2, 3, 4, 100, 100, 7, 8, 9, 10, 11])
      yield* Effect.scoped(Effect.map(Images.map(image, Uint32Array), (mapped) => mapped.setUnsafe(200, 2, 3)))
      Expect.equal("what was stored", (yield* Images.read(image, Uint32Array, { origin: [3, 2] }))[0], 200)
      yield* Effect.scoped(Effect.map(
        Images.map(image, Uint32Array, { access: "write", origin: [0, 2], extent: [1] }),
        ({ data: first }) => first.fill(8)
      ))
      Expect.numbers("bytes of a part", yield* Images.hostArray(image, Uint8Array), new Uint8Array(data.buffer))
    })
  }),
  test("an image in the program's memory may have gaps between rows and slices", function*() {
    const data = numbers(36).fill(7777)
    for (let at = 0; at < 12; at++) data[4 + elementAt(at)] = at
    const part = data.subarray(4)
    yield* using(part, volume, { ...gapped, usage: everything }, function*(image) {
      Expect.numbers("elements without the gaps", yield* Images.read(image, Uint32Array), numbers(12))
      yield* Images.write(image, Uint32Array.of(50, 51), { origin: [1, 1, 1], extent: [2] })
      yield* Images.fill(image, 60, { extent: [1, 2, 1] })
      const mapped = yield* Images.map(image, Uint32Array, { access: "read" })
      Expect.equal("an element of the mapped part", mapped.getUnsafe(1, 1, 2), 51)
      const expected = [60, 1, 2, 60, 4, 5, 6, 7, 8, 9, 50, 51]
      yield* Images.hostArray(image, Uint32Array)
      for (const [at, value] of expected.entries()) Expect.equal(`element ${at}`, part[elementAt(at)], value)
      const gaps = [...data].filter((value) => value === 7777).length
      Expect.equal("numbers that are no elements", gaps, 24)
    })
  }),
  /** Kernels find the program's rows in images with each kind of slices. */
  test("kernels find the rows of the program's memory", function*() {
    const shapes: ReadonlyArray<readonly [ImageShape.ImageShape, Images.HostLayout]> = [
      [ImageShape.image1d(4), {}],
      [ImageShape.image1dArray(3, 2), { rowPitch: 32 }],
      [ImageShape.image2d(3, 2), { rowPitch: 32 }],
      [ImageShape.image2dArray(3, 2, 2), { rowPitch: 16, slicePitch: 64 }]
    ]
    yield* Effect.forEach(shapes, ([shape, layout]) => {
      const [width, height, slices] = ImageShape.extent(shape)
      const rowPitch = (layout.rowPitch ?? width * 4) / 4
      const slicePitch = (layout.slicePitch ?? rowPitch * 4 * height) / 4
      const data = new Uint32Array(slicePitch * slices)
      const places = Array.from({ length: ImageShape.elements(shape) }, (_, at) =>
        [
          at % width,
          Math.floor(at / width) % height,
          Math.floor(at / width / height)
        ] as const)
      for (const [at, [x, y, z]] of places.entries()) data[z * slicePitch + y * rowPitch + x] = 1000 * at
      return using(data, shape, layout, function*(source) {
        const result = yield* Images.make(shape, uint32, { usage: everything })
        const sizes = yield* BufferPool.allocate(16)
        yield* CommandQueue.dispatch(
          ImageBodies.addPlaces(shape.kind),
          { source, result, sizes, width, height },
          places.length
        )
        const expected = places.map(([x, y, z], at) => 1000 * at + x + 10 * y + 100 * z)
        Expect.numbers(ImageShape.format(shape), yield* Images.read(result, Uint32Array), expected)
        Expect.numbers("its sizes", yield* CommandQueue.read(sizes, Uint32Array), [
          shape.width,
          shape.height,
          shape.depth,
          shape.layers
        ])
      })
    }, { discard: true })
  }),
  test("the program can use its memory after the image has ended", { counting: true }, function*() {
    const data = numbers(4)

    const scope = yield* Scope.make()
    const made = yield* Effect.exit(
      Scope.provide(Images.fromHost(data, ImageShape.image1d(4), uint32, { mode: "use" }), scope)
    )
    if (Exit.isFailure(made)) return yield* Scope.close(scope, Exit.void)
    yield* Images.fill(made.value, 5)
    yield* Images.hostArray(made.value, Uint32Array)
    yield* Scope.close(scope, Exit.void)
    yield* CommandQueue.finish
    Expect.numbers("the program's own data", data, [5, 5, 5, 5])
    yield* Expect.failsWith("an ended image's", Images.hostArray(made.value, Uint32Array), "Released")
    const gone = numbers(4)
    yield* using(gone, ImageShape.image1d(4), {}, function*(image) {
      yield* CommandQueue.finish
      structuredClone(gone, { transfer: [gone.buffer] })
      yield* Expect.refused("data that was transferred", Images.read(image))
      yield* Expect.refused("its view", Images.hostArray(image, Uint32Array))
    })
  }),
  ...(["copy", "use"] as const).map((mode) =>
    test(
      `an image of data, mode "${mode}", may be interrupted at every step`,
      { counting: true, interrupts: true },
      interrupted(mode)
    )
  ),
  ...mistakeTests("bad images of the program's data", mistakes)
]
