/** What a fiber does with an image that it owns. */
import { Effect } from "effect"
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import { ImageFormat, ImagePool, Images, ImageShape, ImageUsage } from "effect-gpu-pool/images"
import * as Random from "../Random.ts"
import type { Watch } from "../soak/Watch.ts"
import { randomBytes } from "./BufferActions.ts"
import { type Bytes, changing, checkImage, compare, image, type OwnedImage } from "./Owned.ts"
import type { Action } from "./World.ts"

type OnImage = (owned: OwnedImage, watch: Watch, next: () => number) => Action

/** Rows of a multiple of 256 bytes, which every device copies to buffers as they are. */
const shapes = [ImageShape.image2d(64, 1), ImageShape.image2d(64, 16)]

const bytesOf = (shape: ImageShape.ImageShape): number => ImageFormat.imageBytes(ImageFormat.rgba8, shape)

const write: OnImage = (owned, _, next) => {
  const data = randomBytes(next, bytesOf(owned.lease.shape))
  return changing(owned, Images.write(owned.lease, data), () => data)
}

const fill: OnImage = (owned, _, next) => {
  const full = Random.integer(next, 0, 1)
  const after = new Uint8Array(bytesOf(owned.lease.shape)).fill(255 * full)
  return changing(owned, Images.fill(owned.lease, [full, full, full, full]), () => after)
}

const check: OnImage = (owned, watch) => checkImage(watch, "image", owned)

const readInto: OnImage = (owned, watch) => {
  const target = new Uint8Array(bytesOf(owned.lease.shape))
  return Effect.map(
    Images.readInto(owned.lease, target),
    () => compare(watch, "image readInto", target, owned.bytes)
  )
}

/** To a buffer, and back from it. */
const throughBuffer: OnImage = (owned, watch, next) =>
  BufferPool.use(bytesOf(owned.lease.shape), (lease) =>
    Effect.gen(function*() {
      yield* Images.toBuffer(owned.lease, lease)
      compare(watch, "image toBuffer", yield* CommandQueue.read(lease, Uint8Array), owned.bytes)
      const data = randomBytes(next, lease.size)
      yield* CommandQueue.write(lease, data)
      yield* changing(owned, Images.fromBuffer(lease, owned.lease), () => data)
    }))

const copy: OnImage = (owned, watch) =>
  Effect.scoped(Effect.gen(function*() {
    const other = image(yield* allocated(owned.lease.shape))
    yield* changing(other, Images.copy(owned.lease, other.lease), () => owned.bytes)
    yield* checkImage(watch, "copied image", other)
  }))

const mapped: OnImage = (owned, watch) =>
  Effect.scoped(Effect.gen(function*() {
    const mapping = yield* Images.map(owned.lease, { access: "read" })
    yield* Effect.yieldNow
    // It ends with the lease; a driver may pad its rows.
    const { data } = mapping
    if (data.byteLength === bytesOf(owned.lease.shape)) {
      compare(watch, "mapped image", new Uint8Array(data.buffer, data.byteOffset, data.byteLength), owned.bytes)
    }
  }))

export const onImage: Readonly<Record<string, OnImage>> = {
  write,
  fill,
  check,
  readInto,
  throughBuffer,
  copy,
  mapped
}

const usage = ImageUsage.copySrc | ImageUsage.copyDst

const allocated = (shape: ImageShape.ImageShape) => ImagePool.allocate(shape, ImageFormat.rgba8, { usage })

/** The bytes of an image that {@link randomImage} gives, at most. */
export const mostImageBytes = Math.max(...shapes.map(bytesOf))

export const randomImage = (next: () => number) => Effect.map(allocated(Random.pick(next, shapes)), image)

export type { Bytes }
