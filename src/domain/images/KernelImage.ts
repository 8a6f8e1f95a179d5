/**
 * Images as a host kernel sees them.
 *
 * Coordinates are those of every backend: x, y and the slice, which is z of a 3-D image and the layer of an array.
 * Coordinates of dimensions that an image does not have are ignored, and 0 without them.
 *
 * @since 0.1.0
 */
import type { Rgba } from "./ImageElement.ts"
import type { ImageShape } from "./ImageShape.ts"
import type { Resolved } from "./SamplerOptions.ts"

/**
 * What a host body passes to `sample`: one of its samplers, or these options. Options for mip levels have no effect,
 * since images have one level.
 *
 * @category models
 * @since 0.1.0
 */
export type Sampler = Pick<Resolved, "addressing" | "filter" | "normalizedCoordinates">

/**
 * An image that a host body reads.
 *
 * **Example** (The mean of two neighbours)
 *
 * ```ts
 * import type { KernelImage } from "effect-gpu-pool/images"
 *
 * const between = (image: KernelImage.ReadableImage, x: number, y: number): number =>
 *   (image.load(x, y)[0] + image.load(x + 1, y)[0]) / 2
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadableImage extends Omit<ImageShape, "kind"> {
  /** One element; outside the image, transparent black. */
  readonly load: (x: number, y?: number, z?: number) => Rgba
  /**
   * What a sampler reads at a place: element `x` begins at `x` and ends at `x + 1`, or at `x / width` and
   * `(x + 1) / width` with normalised coordinates. A layer of an array is its number, rounded, in either case.
   */
  readonly sample: (sampler: Sampler, x: number, y?: number, z?: number) => Rgba
}

/**
 * An image that a host body writes.
 *
 * **Example** (A red diagonal)
 *
 * ```ts
 * import type { KernelImage } from "effect-gpu-pool/images"
 *
 * const diagonal = (image: KernelImage.WritableImage): void => {
 *   for (let x = 0; x < Math.min(image.width, image.height); x++) image.store(x, x, 0, [1, 0, 0, 1])
 * }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface WritableImage extends Omit<ImageShape, "kind"> {
  /** Rounded to what the format can hold; nothing happens outside the image. */
  readonly store: (x: number, y: number, z: number, rgba: Rgba) => void
}
