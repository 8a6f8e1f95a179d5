/**
 * A part of an image as a typed array of the host, for as long as a scope is open.
 *
 * @since 0.1.0
 */
import type { ImageArray } from "../../domain/images/ImageArray.ts"
import type { ImageRegion } from "../../domain/images/ImageShape.ts"
import type { StridedShape } from "../../domain/StridedShape.ts"
import { MappedArray } from "../mapping/MappedArray.ts"
import type { ScopedMapping } from "../mapping/ScopedMapping.ts"

/**
 * A mapped part of an image: the items of its elements in a typed array, written back when the scope closes. Its shape
 * has slices, rows, columns and channels, the outermost first, without those that the image does not have; its strides
 * count items. Afterwards the array has length 0, and `get` and `set` throw, so a late use reads and writes nothing. `Mapping.unmap`
 * ends it before its scope closes, and fails when it cannot be written back.
 *
 * It is a copy on every backend. Commands cannot use the image meanwhile, except that what is mapped for `"read"` can be
 * read and copied from.
 *
 * **Example** (Inverting one row in place)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images } from "effect-gpu-pool"
 * import type { ImageLike } from "effect-gpu-pool"
 *
 * const invertRow = (image: ImageLike.ImageLike, row: number) =>
 *   Effect.scoped(Effect.map(
 *     Images.map(image, { origin: [0, row], extent: [image.shape.width] }),
 *     (mapped) => {
 *       for (let at = 0; at < mapped.data.length; at++) mapped.data[at] = 255 - mapped.data[at]!
 *     }
 *   ))
 * ```
 *
 * @see pyopencl.enqueue_map_image, pyopencl.MemoryMap
 * @category models
 * @since 0.1.0
 */
export class MappedImage extends MappedArray<ImageArray> {
  /** The part of the image that is mapped. */
  readonly region: ImageRegion

  /** @internal */
  constructor(data: ImageArray, layout: StridedShape, mapping: ScopedMapping, region: ImageRegion) {
    super(data, layout, mapping)
    this.region = region
  }
}
