/**
 * Regions of images, and what is wrong with a shape.
 *
 * @internal
 */
import { formatted } from "../arguments/Format.ts"
import * as ImageShape from "./ImageShape.ts"

type Dimension = "width" | "height" | "depth" | "layers"

const dimensionsOf: { readonly [K in ImageShape.ImageKind]: ReadonlyArray<Dimension> } = {
  "1d": ["width"],
  "1dArray": ["width", "layers"],
  "1dBuffer": ["width"],
  "2d": ["width", "height"],
  "2dArray": ["width", "height", "layers"],
  "3d": ["width", "height", "depth"]
}

const allDimensions: ReadonlyArray<Dimension> = ["width", "height", "depth", "layers"]

/**
 * What is wrong with a shape by itself, or `undefined`.
 */
export const problem = (shape: ImageShape.ImageShape): string | undefined => {
  const { kind } = shape
  for (const dimension of allDimensions) {
    const length = shape[dimension]
    if (!Number.isSafeInteger(length) || length < 1) {
      return `${dimension} ${formatted(length)} is no whole number of at least 1`
    }
    if (length !== 1 && !dimensionsOf[kind].includes(dimension)) {
      return `${dimension} ${length} is more than a ${kind} image has, which is 1`
    }
  }
  return Number.isSafeInteger(ImageShape.elements(shape))
    ? undefined
    : `${ImageShape.format(shape)} has too many elements to count`
}

/**
 * The dimension of a shape that is beyond the largest, with both lengths, or `undefined`.
 */
export const beyond = (
  shape: ImageShape.ImageShape,
  largest: Omit<ImageShape.ImageShape, "kind">
): { readonly dimension: Dimension; readonly length: number; readonly most: number } | undefined => {
  const dimension = allDimensions.find((dimension) => shape[dimension] > largest[dimension])
  return dimension === undefined
    ? undefined
    : { dimension, length: shape[dimension], most: largest[dimension] }
}

const axes = ["x", "y", "slice"] as const

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

/**
 * The region that the options name within the shape, or what is wrong with it.
 */
export const region = (
  shape: ImageShape.ImageShape,
  options: ImageShape.RegionOptions | undefined
): ImageShape.ImageRegion | string => {
  const most = ImageShape.extent(shape)
  const { extent: given, origin } = options ?? {}
  const start = triple("origin", origin ?? [], 0)
  if (typeof start === "string") return start
  for (const [at, axis] of axes.entries()) {
    if (start[at]! > most[at]!) {
      return `the origin's ${axis} ${start[at]} is outside the image of ${ImageShape.format(shape)}`
    }
  }
  const rest = [most[0] - start[0], most[1] - start[1], most[2] - start[2]] as const
  const lengths = triple("extent", given ?? rest, 1)
  if (typeof lengths === "string") return lengths
  for (const [at, axis] of axes.entries()) {
    if (lengths[at]! > rest[at]!) {
      return `${axis} ${start[at]} to ${start[at]! + lengths[at]!} is outside the image of ${ImageShape.format(shape)}`
    }
  }
  return { origin: start, extent: lengths }
}

/** Three counts, with `missing` for those left out; an extent always has the first. */
const triple = (
  name: "origin" | "extent",
  given: ReadonlyArray<number | undefined>,
  missing: number
): readonly [number, number, number] | string => {
  if (name === "extent" && given.length === 0) return "the extent has no width"
  const counts = [given[0] ?? missing, given[1] ?? missing, given[2] ?? missing] as const
  const wrong = counts.findIndex((count) => !isCount(count))
  return wrong < 0
    ? counts
    : `the ${name}'s ${axes[wrong]} ${formatted(counts[wrong])} is no whole number, zero or more`
}
