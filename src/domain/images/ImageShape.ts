/**
 * The dimensions of an image, in elements, and the regions of it that operations name.
 *
 * @since 0.1.0
 */

/**
 * What kind of image: dimensions, and whether it is an array of such images. A `1dBuffer` image is a row of elements in a
 * buffer's memory.
 *
 * @category models
 * @since 0.1.0
 */
export type ImageKind = "1d" | "1dArray" | "1dBuffer" | "2d" | "2dArray" | "3d"

/**
 * Kind and dimensions, in elements. Dimensions that a kind does not have are 1, so that `width * height * depth * layers`
 * is always the number of elements.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageShape {
  readonly kind: ImageKind
  readonly width: number
  readonly height: number
  readonly depth: number
  /** Images of an array. */
  readonly layers: number
}

/**
 * A place in an image, in elements: x, y, and the slice (z of a 3-D image, the layer of an array). The layer of a `1dArray`
 * is z as well, on every backend.
 *
 * @category models
 * @since 0.1.0
 */
export type ImageOrigin = readonly [x: number, y: number, z: number]

/**
 * A region of an image, in elements; `extent` counts as `origin` does.
 *
 * @category models
 * @since 0.1.0
 */
export interface ImageRegion {
  readonly origin: ImageOrigin
  readonly extent: readonly [width: number, height: number, slices: number]
}

/**
 * A region of an image as operations take it. Missing numbers of `origin` are 0 and those of `extent` 1; without an
 * extent the region goes to the image's end.
 *
 * @category models
 * @since 0.1.0
 */
export interface RegionOptions {
  /** Where it starts, in elements: x, y, slice. */
  readonly origin?: readonly [x: number, y?: number, z?: number] | undefined
  /** How many elements: width, height, slices. */
  readonly extent?: readonly [width: number, height?: number, slices?: number] | undefined
}

const of = (kind: ImageKind, width: number, height = 1, depth = 1, layers = 1): ImageShape => ({
  kind,
  width,
  height,
  depth,
  layers
})

/**
 * One row of elements.
 *
 * **Example** (A table of 256 elements)
 *
 * ```ts
 * import { ImageShape } from "effect-gpu-pool/images"
 *
 * ImageShape.elements(ImageShape.image1d(256)) // => 256
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const image1d = (width: number): ImageShape => of("1d", width)

/**
 * Several rows, each an image of its own.
 *
 * **Example** (Four curves)
 *
 * ```ts
 * import { ImageShape } from "effect-gpu-pool/images"
 *
 * ImageShape.elements(ImageShape.image1dArray(256, 4)) // => 1024
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const image1dArray = (width: number, layers: number): ImageShape => of("1dArray", width, 1, 1, layers)

/**
 * One row of elements in the memory of a buffer, which may be far longer than that of {@link image1d}: the shape of the
 * images of `Images.overBuffer`.
 *
 * **Example** (As many elements as a device can have in a buffer)
 *
 * ```ts
 * import { ImageShape } from "effect-gpu-pool/images"
 *
 * ImageShape.image1dBuffer(1_000_000).width // => 1_000_000
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const image1dBuffer = (width: number): ImageShape => of("1dBuffer", width)

/**
 * A picture: rows of elements.
 *
 * **Example** (A picture)
 *
 * ```ts
 * import { ImageShape } from "effect-gpu-pool/images"
 *
 * ImageShape.elements(ImageShape.image2d(640, 480)) // => 307200
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const image2d = (width: number, height: number): ImageShape => of("2d", width, height)

/**
 * Several pictures of one size.
 *
 * **Example** (Three frames)
 *
 * ```ts
 * import { ImageShape } from "effect-gpu-pool/images"
 *
 * ImageShape.elements(ImageShape.image2dArray(4, 4, 3)) // => 48
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const image2dArray = (width: number, height: number, layers: number): ImageShape =>
  of("2dArray", width, height, 1, layers)

/**
 * A volume.
 *
 * **Example** (A cube)
 *
 * ```ts
 * import { ImageShape } from "effect-gpu-pool/images"
 *
 * ImageShape.elements(ImageShape.image3d(8, 8, 8)) // => 512
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const image3d = (width: number, height: number, depth: number): ImageShape => of("3d", width, height, depth)

/**
 * How many elements an image of the shape has.
 *
 * **Example** (Bytes of an image)
 *
 * ```ts
 * import { ImageFormat, ImageShape } from "effect-gpu-pool/images"
 *
 * const bytes = ImageShape.elements(ImageShape.image2d(3, 2)) * ImageFormat.elementBytes(ImageFormat.rgba8)
 * bytes // => 24
 * ```
 *
 * @category sizes
 * @since 0.1.0
 */
export const elements = (shape: ImageShape): number => {
  const { depth, height, layers, width } = shape
  return width * height * depth * layers
}

/**
 * The bounds of origins and extents: width, height, and slices (the depth of a volume, the layers of an array).
 *
 * **Example** (An array of rows has slices, but one row in each)
 *
 * ```ts
 * import { ImageShape } from "effect-gpu-pool/images"
 *
 * ImageShape.extent(ImageShape.image1dArray(256, 4)) // => [256, 1, 4]
 * ```
 *
 * @category sizes
 * @since 0.1.0
 */
export const extent = (shape: ImageShape): ImageRegion["extent"] => {
  const { depth, height, layers, width } = shape
  return [width, height, depth * layers]
}

/**
 * All of an image.
 *
 * @category functions
 * @since 0.1.0
 */
export const whole = (shape: ImageShape): ImageRegion => ({ origin: [0, 0, 0], extent: extent(shape) })

/**
 * A shape as messages write it.
 *
 * @category functions
 * @since 0.1.0
 */
export const format = (shape: ImageShape): string => {
  const { depth, height, kind, layers, width } = shape
  switch (kind) {
    case "1d":
    case "1dBuffer":
      return `${kind} ${width}`
    case "1dArray":
      return `1dArray ${width}, ${layers} layers`
    case "2d":
      return `2d ${width} x ${height}`
    case "2dArray":
      return `2dArray ${width} x ${height}, ${layers} layers`
    case "3d":
      return `3d ${width} x ${height} x ${depth}`
  }
}

/**
 * All kinds.
 *
 * **Example** (Asking what a device can hold of each)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Images, ImageShape } from "effect-gpu-pool/images"
 *
 * const largest = Effect.forEach(ImageShape.kinds, Images.largest)
 * ```
 *
 * @category constants
 * @since 0.1.0
 */
export const kinds: ReadonlyArray<ImageKind> = ["1d", "1dArray", "1dBuffer", "2d", "2dArray", "3d"]

/**
 * Whether images of a kind have one row alone in each slice.
 *
 * @category functions
 * @since 0.1.0
 */
export const isFlat = (kind: ImageKind): boolean => kind === "1d" || kind === "1dArray" || kind === "1dBuffer"

/**
 * Whether images of a kind have one slice alone.
 *
 * @category functions
 * @since 0.1.0
 */
export const isSingle = (kind: ImageKind): boolean => kind === "1d" || kind === "1dBuffer" || kind === "2d"

/**
 * How many elements a region has.
 *
 * @category functions
 * @since 0.1.0
 */
export const count = ({ extent }: ImageRegion): number => extent[0] * extent[1] * extent[2]
