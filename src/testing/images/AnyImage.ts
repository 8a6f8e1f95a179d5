/**
 * Makes an image of any kind, with a lease under it for an image over a buffer.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import type { ImageShape } from "../../domain/images/ImageShape.ts"
import type { ImageUsage } from "../../domain/images/ImageUsage.ts"
import * as BufferPool from "../../services/buffers/BufferPool.ts"
import * as Images from "../../services/images/Images.ts"

export const make = (shape: ImageShape, format: ImageFormat.ImageFormat, options: { readonly usage: ImageUsage }) =>
  shape.kind === "1dBuffer"
    ? Effect.flatMap(
      BufferPool.allocate(ImageFormat.imageBytes(format, shape)),
      (lease) => Images.overBuffer(lease, format, { ...options, width: shape.width })
    )
    : Images.make(shape, format, options)
