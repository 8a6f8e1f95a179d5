/**
 * How the items of an image's region become an array with axes.
 *
 * @internal
 */
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as StridedShape from "../../domain/data/StridedShape.ts"
import * as WholeElements from "../../domain/data/WholeElements.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import { type ImageRegion, isFlat, isSingle } from "../../domain/images/ImageShape.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"

type AxesOfArray = Pick<StridedShape.StridedShape, "shape" | "strides">

/** How far apart rows and slices lie, in bytes. */
export interface Pitches {
  readonly rowPitch: number
  readonly slicePitch: number
}

export interface AxesOptions extends StridedShape.ShapeOptions {
  readonly layout?: "packed" | "driver" | undefined
}

/** The axes of the array, of which `over` computes the strides from the pitches. */
export interface Axes {
  /** Whether the axes fit only memory without gaps. */
  readonly packed: boolean
  /** Whether every item of packed memory belongs to an index. */
  readonly whole: boolean
  readonly over: (pitches: Pitches) => AxesOfArray
}

/** The pitches of a region without gaps. */
export const packedPitches = (
  { format }: Pick<DeviceImage, "format">,
  { extent: [width, height] }: ImageRegion
): Pitches => {
  const rowPitch = width * ImageFormat.elementBytes(format)
  return { rowPitch, slicePitch: rowPitch * height }
}

/**
 * The axes that the options name for items of that many bytes, or what is wrong with them. Without a shape they are
 * slices, rows, columns and the items of an element, as far as the image has them; `order: "F"` reverses them.
 */
export const resolve = (
  operation: string,
  image: DeviceImage,
  region: ImageRegion,
  type: WholeElements.ElementClass,
  options: AxesOptions
): Axes | GpuError => {
  const { layout = "packed", order = "C", shape, strides } = options
  if (shape !== undefined || strides !== undefined) {
    return layout === "packed" ? shaped(operation, image, region, type, options) : invalidRequest(
      operation,
      "a shape or strides were given for memory whose rows lie as the driver has them",
      `Leave them out, since the driver's pitches give them; or map with the layout "packed".`
    )
  }
  const elementBytes = ImageFormat.elementBytes(image.format)
  if (elementBytes % type.BYTES_PER_ELEMENT !== 0) {
    return invalidRequest(
      operation,
      `an element of ${ImageFormat.format(image.format)} has ${elementBytes} bytes, no whole number of the ` +
        `${type.BYTES_PER_ELEMENT} bytes of a ${type.name}'s`,
      "Pass a class of smaller elements, leave the class out for the one that fits the format, or pass a shape."
    )
  }
  const over = (pitches: Pitches) => natural(image, region, type.BYTES_PER_ELEMENT, order, pitches)
  return { packed: layout === "packed", whole: true, over }
}

/** The program's own axes, over all items of the region in one row. */
const shaped = (
  operation: string,
  image: DeviceImage,
  region: ImageRegion,
  type: WholeElements.ElementClass,
  options: StridedShape.ShapeOptions
): Axes | GpuError => {
  const bytes = packedPitches(image, region).slicePitch * region.extent[2]
  valid(WholeElements.problem(operation, bytes, "of the region", type, "Pass a class of smaller elements."))
  const { BYTES_PER_ELEMENT } = type
  const axes = valid(StridedShape.resolve(operation, options, bytes / BYTES_PER_ELEMENT))
  return { packed: true, whole: axes.packed && axes.span * BYTES_PER_ELEMENT === bytes, over: () => axes }
}

const natural = (
  { format, shape: { kind } }: DeviceImage,
  { extent: [width, height, slices] }: ImageRegion,
  itemBytes: number,
  order: StridedShape.Order,
  { rowPitch, slicePitch }: Pitches
): AxesOfArray => {
  const items = ImageFormat.elementBytes(format) / itemBytes
  const axes: ReadonlyArray<readonly [length: number, stride: number]> = [
    ...(isSingle(kind) ? [] : [[slices, slicePitch / itemBytes] as const]),
    ...(isFlat(kind) ? [] : [[height, rowPitch / itemBytes] as const]),
    [width, items],
    ...(items === 1 ? [] : [[items, 1] as const])
  ]
  const ordered = order === "F" ? axes.map((_, at) => axes[axes.length - 1 - at]!) : axes
  return { shape: ordered.map(([length]) => length), strides: ordered.map(([, stride]) => stride) }
}
