/** Scenes of images and their pools. */
import * as Effect from "effect/Effect"
import * as Expect from "../../../packages/testing/src/Expect.ts"
import * as ImageFormat from "../../../src/domain/images/ImageFormat.ts"
import * as ImageShape from "../../../src/domain/images/ImageShape.ts"
import * as BufferPool from "../../../src/services/buffers/BufferPool.ts"
import * as ImagePool from "../../../src/services/images/ImagePool.ts"
import * as Images from "../../../src/services/images/Images.ts"
import * as Lease from "../../../src/services/lease/Lease.ts"
import type { Scene } from "../Stage.ts"

export const shape = ImageShape.image2d(4, 2)
const bytes = 32

export const all = (byte: number) => new Uint8Array(bytes).fill(byte)

/** Checks that an idle pool of images has nothing in use. */
const settled = (pool: ImagePool.ImagePool["Service"]) =>
  Effect.map(pool.stats, ({ activeBlocks, waiters }) => Expect.same("images in use", [activeBlocks, waiters], [0, 0]))

export const images: ReadonlyArray<Scene> = [
  {
    name: "an image is written, copied and given back",
    run: () =>
      Effect.gen(function*() {
        const image = yield* Images.make(shape, ImageFormat.rgba8)
        const copy = yield* Images.make(shape, ImageFormat.rgba8)
        yield* Images.write(image, all(3))
        yield* Images.copy(image, copy)
        yield* Images.fill(copy, 1)
      })
  },
  {
    name: "an image goes into a buffer and comes back",
    run: (stage) =>
      Effect.gen(function*() {
        const buffer = yield* Effect.flatMap(BufferPool.allocate(bytes), stage.share)
        const image = yield* Images.make(shape, ImageFormat.rgba8)
        yield* Images.write(image, all(7))
        yield* Images.toBuffer(image, buffer)
        yield* Images.fromBuffer(buffer, image)
      })
  },
  {
    name: "an image is mapped",
    run: () =>
      Effect.gen(function*() {
        const image = yield* Images.make(shape, ImageFormat.rgba8)
        yield* Images.fill(image, 1)
        yield* Effect.scoped(Images.map(image))
      })
  },
  {
    name: "pooled images are lent at a time",
    run: () =>
      Effect.gen(function*() {
        const pool = yield* ImagePool.make({ maxBytes: 2 * bytes })
        const loan = pool.use(shape, ImageFormat.rgba8, (image) => Images.fill(image, 1))
        yield* Effect.all([loan, loan], { concurrency: "unbounded" })
        yield* settled(pool)
      })
  },
  {
    name: "a pooled image is released by one fiber and drawn by another",
    run: () =>
      Effect.gen(function*() {
        const pool = yield* ImagePool.make()
        const image = yield* pool.allocate(shape, ImageFormat.rgba8)
        const released = Lease.release(image)
        const next = pool.use(shape, ImageFormat.rgba8, (other) => Images.write(other, all(9)))
        const drawn = Effect.catchIf(Images.fill(image, 1), (error) =>
          error.reason._tag === "Released", () =>
          Effect.void)
        yield* Effect.all([drawn, released, next], { concurrency: "unbounded" })
        yield* settled(pool)
      })
  }
]
