/**
 * The dimensions of an image, in elements, and the regions of it that operations name.
 *
 * @since 0.1.0
 */
import { demandMembers } from "../arguments/Demand.ts"
import { line, shown } from "../arguments/ShownValue.ts"

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
export const image1d = (width: number): ImageShape => ({ kind: "1d", width, height: 1, depth: 1, layers: 1 })

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
export const image1dArray = (width: number, layers: number): ImageShape => ({
  kind: "1dArray",
  width,
  height: 1,
  depth: 1,
  layers
})

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
export const image1dBuffer = (width: number): ImageShape => ({ ...image1d(width), kind: "1dBuffer" })

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
export const image2d = (width: number, height: number): ImageShape => ({
  kind: "2d",
  width,
  height,
  depth: 1,
  layers: 1
})

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
export const image2dArray = (width: number, height: number, layers: number): ImageShape => ({
  kind: "2dArray",
  width,
  height,
  depth: 1,
  layers
})

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
export const image3d = (width: number, height: number, depth: number): ImageShape => ({
  kind: "3d",
  width,
  height,
  depth,
  layers: 1
})

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
  const { depth, height, layers, width } = known("ImageShape.elements", shape)
  return width * height * depth * layers
}

const isCounted = (shape: ImageShape | null | undefined): boolean =>
  typeof shape?.width === "number" && typeof shape.height === "number" && typeof shape.depth === "number" &&
  typeof shape.layers === "number"

/** Programs without types can pass anything. */
const known = (operation: string, shape: ImageShape): ImageShape => {
  if (isCounted(shape)) return shape
  demandMembers(operation, "the shape", shape, { depth: "number", height: "number", layers: "number", width: "number" })
  return shape
}

/**
 * How far origins and extents can count: width, height, and slices (the depth of a volume, the layers of an array).
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
  const { depth, height, layers, width } = known("ImageShape.extent", shape)
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
  const { depth, height, kind, layers, width } = known("ImageShape.format", shape)
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

type Dimension = "width" | "height" | "depth" | "layers"

const dimensionsOf: { readonly [K in ImageKind]: ReadonlyArray<Dimension> } = {
  "1d": ["width"],
  "1dArray": ["width", "layers"],
  "1dBuffer": ["width"],
  "2d": ["width", "height"],
  "2dArray": ["width", "height", "layers"],
  "3d": ["width", "height", "depth"]
}

const allDimensions: ReadonlyArray<Dimension> = ["width", "height", "depth", "layers"]

/**
 * What is wrong with a shape by itself, or `undefined`. Programs without types can pass anything.
 *
 * @internal
 */
export const problem = (shape: ImageShape): string | undefined => {
  const kind = (shape as ImageShape | undefined)?.kind
  if (kind === undefined || !Object.hasOwn(dimensionsOf, kind)) {
    return `there is no image kind ${typeof kind === "string" ? line(kind, 40) : shown(kind)}`
  }
  for (const dimension of allDimensions) {
    const length = shape[dimension]
    if (!Number.isSafeInteger(length) || length < 1) {
      return `${dimension} ${shown(length)} is no whole number of at least 1`
    }
    if (length !== 1 && !dimensionsOf[kind].includes(dimension)) {
      return `${dimension} ${length} is more than a ${kind} image has, which is 1`
    }
  }
  return Number.isSafeInteger(elements(shape)) ? undefined : `${format(shape)} has too many elements to count`
}

/**
 * The dimension of a shape that is beyond the largest, with both lengths, or `undefined`.
 *
 * @internal
 */
export const beyond = (
  shape: ImageShape,
  largest: Omit<ImageShape, "kind">
): { readonly dimension: Dimension; readonly length: number; readonly most: number } | undefined => {
  const dimension = allDimensions.find((dimension) => shape[dimension] > largest[dimension])
  return dimension === undefined
    ? undefined
    : { dimension, length: shape[dimension], most: largest[dimension] }
}

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

const axes = ["x", "y", "slice"] as const

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

/**
 * The region that the options name within the shape, or what is wrong with it. Programs without types can pass anything.
 *
 * @internal
 */
export const region = (shape: ImageShape, options: RegionOptions | undefined): ImageRegion | string => {
  const most = extent(shape)
  const { extent: given, origin } = options ?? {}
  const start = triple("origin", origin ?? [], 0)
  if (typeof start === "string") return start
  for (const [at, axis] of axes.entries()) {
    if (start[at]! > most[at]!) return `the origin's ${axis} ${start[at]} is outside the image of ${format(shape)}`
  }
  const rest = [most[0] - start[0], most[1] - start[1], most[2] - start[2]] as const
  const lengths = triple("extent", given ?? rest, 1)
  if (typeof lengths === "string") return lengths
  for (const [at, axis] of axes.entries()) {
    if (lengths[at]! > rest[at]!) {
      return `${axis} ${start[at]} to ${start[at]! + lengths[at]!} is outside the image of ${format(shape)}`
    }
  }
  return { origin: start, extent: lengths }
}

/** Three counts, `missing` for those that are not there; the first always is in an extent. */
const triple = (
  name: "origin" | "extent",
  given: ReadonlyArray<number | undefined>,
  missing: number
): readonly [number, number, number] | string => {
  if (!Array.isArray(given)) return `the ${name} ${shown(given)} is no list of numbers`
  if (name === "extent" && given.length === 0) return "the extent has no width"
  const counts = [given[0] ?? missing, given[1] ?? missing, given[2] ?? missing] as const
  const wrong = counts.findIndex((count) => !isCount(count))
  return wrong < 0
    ? counts
    : `the ${name}'s ${axes[wrong]} ${shown(counts[wrong])} is no whole number, zero or more`
}

/**
 * How many elements a region has.
 *
 * @category functions
 * @since 0.1.0
 */
export const count = ({ extent }: ImageRegion): number => extent[0] * extent[1] * extent[2]
