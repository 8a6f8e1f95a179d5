/**
 * Mistakes of programs with images, and the error with which each must fail.
 *
 * @internal
 */
import { BufferPool, BufferUsage, Lease, Mapping } from "effect-gpu-pool"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { DeviceImage } from "effect-gpu-pool/DeviceImage"
import type { GpuError } from "effect-gpu-pool/GpuError"
import { ImageFormat, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import * as Effect from "effect/Effect"
import type { TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { failing, type Mistake } from "../memory/BadRequests.ts"
import { Random } from "../Random.ts"
import * as AnyImage from "./AnyImage.ts"
import * as ImageModel from "./ImageModel.ts"

export const copies = ImageUsage.copySrc | ImageUsage.copyDst

/** An image of 4 by 2 elements. */
export const picture = (usage: ImageUsage.ImageUsage = copies) =>
  Images.make(ImageShape.image2d(4, 2), ImageFormat.rgba8, { usage, label: "picture" })

const endedImage = Effect.scoped(picture())

const withPicture = (call: (image: DeviceImage) => Effect.Effect<unknown, GpuError, TestServices>) =>
  Effect.flatMap(picture(), call)

const withLease = (
  size: number,
  call: (lease: PooledBuffer, image: DeviceImage) => Effect.Effect<unknown, GpuError, TestServices>
) => Effect.flatMap(BufferPool.allocate(size), (lease) => withPicture((image) => call(lease, image)))

const other = ImageFormat.make("rgba", "uint8")

export const ended: ReadonlyArray<Mistake> = [
  ...failing("Released", {
    "write to an ended image": Effect.flatMap(endedImage, (image) => Images.fill(image, 0)),
    "read an ended image": Effect.flatMap(endedImage, (image) => Images.read(image)),
    "map an ended image": Effect.flatMap(endedImage, (image) => Images.map(image)),
    "copy to an ended image": Effect.flatMap(
      endedImage,
      (image) => withPicture((source) => Images.copy(source, image))
    ),
    "copy to an ended lease": withLease(
      32,
      (lease, image) => Effect.andThen(Lease.release(lease), Images.toBuffer(image, lease))
    )
  })
]

export const wrongImages: ReadonlyArray<Mistake> = [
  ...failing("InvalidRequest", {
    "make a width of 0": Images.make(ImageShape.image1d(0), ImageFormat.rgba8),
    "make a fractional height": Images.make(ImageShape.image2d(1, 1.5), ImageFormat.rgba8),
    "make a picture of several layers": Images.make({ ...ImageShape.image2d(1, 1), layers: 2 }, ImageFormat.rgba8),
    "make a format of channels and a type that do not fit": Images.make(
      ImageShape.image2d(1, 1),
      ImageFormat.make("rgb", "uint8")
    ),
    "make an image without a usage": Images.make(ImageShape.image2d(1, 1), ImageFormat.rgba8, { usage: 0 }),
    "make an image with an unknown usage": Images.make(ImageShape.image2d(1, 1), ImageFormat.rgba8, { usage: 1024 }),
    "make an image of three channels from an array": Images.fromArray(new Uint8Array(12), ImageShape.image2d(2, 2), {
      channels: 3
    }),
    "make an image from an array that is too short": Images.fromArray(new Uint8Array(15), ImageShape.image2d(2, 2), {
      channels: 4,
      normalized: true
    }),
    "normalise floats": Images.fromArray(new Float32Array(4), ImageShape.image2d(2, 2), { normalized: true }),
    "sample from past the last level": Images.sampler({ lodMin: 2, lodMax: 1 }),
    "repeat without normalised coordinates": Images.sampler({ addressing: "repeat", normalizedCoordinates: false })
  }),
  ...failing("LimitExceeded", {
    "make an image that is too wide": Effect.flatMap(
      Images.largest("2d"),
      ({ width }) => Images.make(ImageShape.image2d(width + 1, 1), ImageFormat.rgba8)
    )
  }),
  ...(["addressing", "filter", "mipFilter", "normalizedCoordinates"] as const).flatMap((name) =>
    ["cubic", 1, Symbol.iterator].map((value): Mistake => [
      `sample with ${name} ${String(value)}`,
      "InvalidRequest",
      Images.sampler({ [name]: value as never })
    ])
  ),
  ...[-1, NaN, Infinity, 1e39].flatMap((level): ReadonlyArray<Mistake> => [
    [`sample from level ${level}`, "InvalidRequest", Images.sampler({ lodMin: level })],
    [`sample up to level ${level}`, "InvalidRequest", Images.sampler({ lodMax: level })]
  ])
]

export const wrongCommands = failing("InvalidRequest", {
  "write too little": withPicture((image) => Images.write(image, new Uint8Array(31))),
  "write too much": withPicture((image) => Images.write(image, new Uint8Array(33))),
  "write a row pitch below a row": withPicture((image) => Images.write(image, new Uint8Array(32), { rowPitch: 15 })),
  "write shared memory": withPicture((image) => Images.write(image, new Uint8Array(new SharedArrayBuffer(32)))),
  "read beyond the image": withPicture((image) => Images.read(image, { extent: [5] })),
  "read from beyond the image": withPicture((image) => Images.read(image, { origin: [5] })),
  "read a second slice": withPicture((image) => Images.read(image, { extent: [1, 1, 2] })),
  "read from a negative place": withPicture((image) => Images.read(image, { origin: [-1] })),
  "read NaN elements": withPicture((image) => Images.read(image, { extent: [NaN] })),
  "read an image without copySrc": Effect.flatMap(picture(ImageUsage.copyDst), (image) => Images.read(image)),
  "fill an image without copyDst": Effect.flatMap(picture(ImageUsage.copySrc), (image) => Images.fill(image, 0)),
  "fill with three values for four channels": withPicture((image) => Images.fill(image, [1, 2, 3])),
  "fill with no number": withPicture((image) => Images.fill(image, ["1", 0, 0, 0] as unknown as ReadonlyArray<number>)),
  "copy between formats": withPicture((image) =>
    Effect.flatMap(
      Images.make(ImageShape.image2d(4, 2), other, { usage: copies }),
      (target) => Images.copy(image, target)
    )
  ),
  "copy a part over itself": withPicture((image) => Images.copy(image, image, { targetOrigin: [1], extent: [2] })),
  "copy beyond the target": withPicture((image) => Images.copy(image, image, { targetOrigin: [2], extent: [3] })),
  "copy to a short buffer": withLease(28, (lease, image) => Images.toBuffer(image, lease)),
  "copy to a misaligned place": withLease(64, (lease, image) => Images.toBuffer(image, lease, { offset: 2 })),
  "copy to a buffer without copyDst": Effect.flatMap(
    BufferPool.allocate(32, { usage: BufferUsage.copySrc }),
    (lease) => withPicture((image) => Images.toBuffer(image, lease))
  ),
  "copy from a buffer without copySrc": Effect.flatMap(
    BufferPool.allocate(32, { usage: BufferUsage.copyDst }),
    (lease) => withPicture((image) => Images.fromBuffer(lease, image))
  ),
  "copy to a buffer that is mapped": withLease(
    32,
    (lease, image) => Effect.andThen(Mapping.map(lease, Uint8Array, { access: "read" }), Images.toBuffer(image, lease))
  ),
  "map with an unknown access": withPicture((image) => Images.map(image, { access: "all" as "read" })),
  "map for writing without copyDst": Effect.flatMap(
    picture(ImageUsage.copySrc),
    (image) => Images.map(image, { access: "write" })
  )
})

/** For each kind, a format that the device does not have, or not for this usage. */
export const unsupported = Effect.forEach(ImageShape.kinds, (kind) =>
  Effect.gen(function*() {
    const formats = yield* Images.formats(copies, kind)
    const missing = ImageFormat.all.find((format) => !formats.some((each) => ImageFormat.equals(each, format)))
    if (missing === undefined) return
    const shape = ImageModel.anyShape(new Random(1), kind)
    yield* Expect.failsWith(
      `${kind} of ${ImageFormat.format(missing)}`,
      Effect.scoped(AnyImage.make(shape, missing, { usage: copies })),
      "Unsupported"
    )
  }), { discard: true })
