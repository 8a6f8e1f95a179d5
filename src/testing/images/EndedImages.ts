/**
 * Leases of images that end at any step of an operation on them, as `EndedLeases` does with those of buffers.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as BufferPool from "../../services/buffers/BufferPool.ts"
import * as CommandQueue from "../../services/CommandQueue.ts"
import * as ImageLike from "../../services/images/ImageLike.ts"
import * as ImagePool from "../../services/images/ImagePool.ts"
import * as Images from "../../services/images/Images.ts"
import type { PooledImage } from "../../services/images/PooledImage.ts"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import { endedAnywhere, lateByte, type LateWork, type Tenancy } from "../EndedLeases.ts"

const test = inGroup("ended leases")

const shape = ImageShape.image2d(8, 4)
const bytes = 8 * 4 * 4
const usage = ImageUsage.copySrc | ImageUsage.copyDst

const all = (byte: number): Uint8Array<ArrayBuffer> => new Uint8Array(bytes).fill(byte)

const images = (pool: ImagePool.Pool): Tenancy<PooledImage> => ({
  what: "image",
  allocate: pool.allocate(shape, ImageFormat.rgba8, { usage }),
  blockOf: ImageLike.deviceImage,
  freeHeld: pool.freeHeld,
  write: (image, byte) => Images.write(image, all(byte)),
  read: (image) => Images.read(image, Uint8Array)
})

const nothing = new Uint8Array(0)

const works: ReadonlyArray<readonly [name: string, work: LateWork<PooledImage>]> = [
  ["a read of an image", (image) => Images.read(image, Uint8Array)],
  [
    "a read of an image into an array",
    (image) => {
      const target = new Uint8Array(bytes)
      return Effect.as(Images.readInto(image, target), target)
    }
  ],
  [
    "a mapping of an image",
    (image) =>
      Effect.map(
        Images.map(image, { access: "read" }),
        ({ data }) => Uint8Array.from({ length: data.length }, (_, at) => data[at] as number)
      )
  ],
  [
    "a mapping of an image to write",
    (image) =>
      Effect.map(Images.map(image, { access: "write" }), ({ data }) => {
        for (let at = 0; at < data.length; at++) data[at] = lateByte
        return nothing
      })
  ],
  ["a write of an image", (image) => Effect.as(Images.write(image, all(lateByte)), nothing)],
  [
    "a copy of an image to a buffer",
    (image) =>
      BufferPool.use(
        bytes,
        (buffer) => Effect.andThen(Images.toBuffer(image, buffer), CommandQueue.read(buffer, Uint8Array))
      )
  ],
  [
    "a copy of a buffer to an image",
    (image) =>
      BufferPool.use(bytes, (buffer) =>
        Effect.gen(function*() {
          yield* CommandQueue.write(buffer, all(lateByte))
          yield* Images.fromBuffer(buffer, image)
          return nothing
        }))
  ]
]

/** @internal */
export const tests: ReadonlyArray<ConformanceTest> = works.map(([name, work]) =>
  test(
    `${name} never reaches the next owner's elements, whenever its lease ends`,
    Effect.scoped(Effect.flatMap(ImagePool.make({}), (pool) => endedAnywhere(images(pool), work)))
  )
)
