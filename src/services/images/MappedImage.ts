/**
 * A region of an image as a typed array of the host, until a scope closes.
 *
 * @since 0.1.0
 */
import { showing } from "../../domain/arguments/Showing.ts"
import type { StridedShape } from "../../domain/data/StridedShape.ts"
import type { ImageArray } from "../../domain/images/ImageArray.ts"
import type { ImageRegion } from "../../domain/images/ImageShape.ts"
import { type Elements, MappedArray, mappedInOneLine } from "../buffers/mapping/MappedArray.ts"
import type { ScopedMapping } from "../buffers/mapping/ScopedMapping.ts"

/**
 * A mapped part of an image: the items of its elements in a typed array, until the scope closes. The axes are slices,
 * rows, columns and the items of an element, the outermost first, as far as the image has them; strides count items.
 * After the mapping the array has length 0, and `getUnsafe` and `setUnsafe` throw, so a late use reads and writes
 * nothing. `Mapping.unmap` ends it before its scope closes, and fails when the driver cannot unmap it.
 *
 * Commands cannot use the image meanwhile; while it is mapped for `"read"`, they can read and copy from it.
 *
 * **Gotchas**
 *
 * With the layout `"driver"` the items in `data` between the rows of the region may be other elements of the image, or
 * the driver's own: do not write them. `getUnsafe` and `setUnsafe` never reach them.
 *
 * **Example** (Inverting one row in place)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type ImageLike, Images } from "effect-gpu-pool/images"
 *
 * const invertRow = (image: ImageLike.ImageLike, row: number) =>
 *   Effect.scoped(Effect.map(
 *     Images.map(image, Uint8Array, { origin: [0, row], extent: [image.shape.width] }),
 *     (mapped) => mapped.data.set(mapped.data.map((item) => 255 - item))
 *   ))
 * ```
 *
 * @see pyopencl.enqueue_map_image, pyopencl.MemoryMap
 * @category models
 * @since 0.1.0
 */
export class MappedImage<A extends Elements = ImageArray> extends MappedArray<A> {
  /** The region of the image that is mapped. */
  readonly region: ImageRegion
  /** Bytes from a row to the next in the mapped memory. */
  readonly rowPitch: number
  /** Bytes from a slice to the next. */
  readonly slicePitch: number

  /** @internal */
  constructor(
    data: A,
    layout: Pick<StridedShape, "shape" | "strides">,
    mapping: ScopedMapping,
    region: ImageRegion,
    { rowPitch, slicePitch }: { readonly rowPitch: number; readonly slicePitch: number }
  ) {
    super(data, layout, mapping)
    this.region = region
    this.rowPitch = rowPitch
    this.slicePitch = slicePitch
  }
}

showing<MappedImage<Elements>>((mapped) => {
  const { extent, origin } = mapped.region
  return mappedInOneLine("MappedImage", mapped, [
    `${extent.join(" x ")} elements at [${origin.join(", ")}]`,
    `rows ${mapped.rowPitch} B and slices ${mapped.slicePitch} B apart`
  ])
})(MappedImage.prototype)
