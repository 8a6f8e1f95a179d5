/**
 * Makes an image of any kind, with a lease under it for an image over a buffer.
 *
 * @internal
 */
import * as BufferPool from "effect-gpu-pool/BufferPool"
import { ImageFormat, Images } from "effect-gpu-pool/images"
import type { ImageShape } from "effect-gpu-pool/ImageShape"
import type { ImageUsage } from "effect-gpu-pool/ImageUsage"
import * as Effect from "effect/Effect"

export const make = (shape: ImageShape, format: ImageFormat.ImageFormat, options: { readonly usage: ImageUsage }) =>
  shape.kind === "1dBuffer"
    ? Effect.flatMap(
      BufferPool.allocate(ImageFormat.imageBytes(format, shape)),
      (lease) => Images.overBuffer(lease, format, { ...options, width: shape.width })
    )
    : Images.make(shape, format, options)
