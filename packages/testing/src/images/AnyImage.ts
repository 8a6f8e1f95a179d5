/**
 * Makes an image of any kind, with a lease under it for an image over a buffer.
 *
 * @internal
 */
import type * as BufferLike from "effect-gpu-pool/BufferLike"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { ImageFormat, Images } from "effect-gpu-pool/images"
import type { ImageShape } from "effect-gpu-pool/ImageShape"
import type { ImageUsage } from "effect-gpu-pool/ImageUsage"
import * as MemoryObjects from "effect-gpu-pool/MemoryObjects"
import * as Effect from "effect/Effect"

export const make = (shape: ImageShape, format: ImageFormat.ImageFormat, options: { readonly usage: ImageUsage }) => {
  if (shape.kind !== "1dBuffer") return Images.make(shape, format, options)
  const bytes = ImageFormat.imageBytes(format, shape)
  const over = <E, R>(buffer: Effect.Effect<BufferLike.BufferLike, E, R>) =>
    Effect.flatMap(buffer, (buffer) => Images.overBuffer(buffer, format, { ...options, width: shape.width }))
  // A device may make images over whole buffers alone, and the lease may be a part of one.
  return Effect.catch(
    over(BufferPool.allocate(bytes)),
    (error) =>
      error.reason._tag === "Unsupported" ? over(MemoryObjects.fromHost(new Uint8Array(bytes))) : Effect.fail(error)
  )
}
