/**
 * What is wrong with the arguments of operations on images.
 *
 * @internal
 */
import * as MemorySpan from "../../domain/data/MemorySpan.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, limitExceeded } from "../../domain/GpuError.ts"
import * as ImageElement from "../../domain/images/ImageElement.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageRegions from "../../domain/images/ImageRegions.ts"
import type * as ImageShape from "../../domain/images/ImageShape.ts"
import type * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../domain/images/ImageUsageRules.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"

/** An image, and a region of it that can be used. */
export interface Part<Image = DeviceImage> {
  readonly image: Image
  readonly region: ImageShape.ImageRegion
  /** Bytes of the region, packed. */
  readonly bytes: number
}

/** Why there is no such format, or `undefined`. */
export const formatProblem = (operation: string, format: ImageFormat.ImageFormat): GpuError | undefined => {
  const problem = ImageFormat.problem(format)
  return problem === undefined
    ? undefined
    : invalidRequest(operation, problem, "Pass one of ImageFormat.all, as ImageFormat.rgba8.")
}

/** Why no image with memory of its own can have a shape, or `undefined`. */
export const shapeProblem = (operation: string, shape: ImageShape.ImageShape): GpuError | undefined => {
  const problem = ImageRegions.problem(shape)
  if (problem !== undefined) {
    return invalidRequest(
      operation,
      problem,
      "Make it with ImageShape, of at least 1 element along each axis, as ImageShape.image2d(640, 480)."
    )
  }
  return shape.kind === "1dBuffer"
    ? invalidRequest(operation, "a 1dBuffer image has no memory of its own", "Make it with Images.overBuffer.")
    : undefined
}

/** Why no image can have a usage, or `undefined`. */
export const usageProblem = (operation: string, usage: ImageUsage.ImageUsage): GpuError | undefined => {
  const problem = ImageUsageRules.problem(usage)
  return problem === undefined ? undefined : invalidRequest(operation, problem, "Join flags of ImageUsage with |.")
}

/** Why a device has no images as large as that, or `undefined`. */
export const limitProblem = (
  operation: string,
  shape: ImageShape.ImageShape,
  largest: Omit<ImageShape.ImageShape, "kind">,
  { name }: DeviceInfo
): GpuError | undefined => {
  const beyond = ImageRegions.beyond(shape, largest)
  if (beyond === undefined) return undefined
  return limitExceeded({
    operation,
    requested: beyond.length,
    limitName: `the largest ${beyond.dimension} of a ${shape.kind} image`,
    limit: beyond.most,
    unit: beyond.dimension === "layers" ? "layers" : "elements",
    owner: { kind: "device", name }
  })
}

/** Why one region cannot be copied to the other, or `undefined`. */
export const copyProblem = (operation: string, from: Part, to: Part): GpuError | undefined => {
  if (!ImageFormat.equals(from.image.format, to.image.format)) {
    return invalidRequest(
      operation,
      `the source's format ${ImageFormat.format(from.image.format)} is not the target's ${
        ImageFormat.format(to.image.format)
      }`,
      "Copy between images of one format; a kernel converts."
    )
  }
  if (from.image.identity !== to.image.identity) {
    return MemorySpan.overlaps(from.image.wholeMemory, to.image.wholeMemory) ? overOne(operation) : undefined
  }
  return from.bytes > 0 && MemorySpan.boxesOverlap(from.region, to.region)
    ? invalidRequest(
      operation,
      `the regions at [${from.region.origin.join(", ")}] and [${to.region.origin.join(", ")}] of one image overlap`,
      "Copy through a second image, or regions that share no element."
    )
    : undefined
}

/** The error of a copy within the memory of one buffer, between two objects over it. */
export const overOne = (operation: string): GpuError =>
  invalidRequest(
    operation,
    "source and target share the memory of one buffer",
    "Copy through an image or a buffer with memory of its own."
  )

/** The bytes of one element of that colour, or why no element can have it. */
export const elementOf = (
  operation: string,
  format: ImageFormat.ImageFormat,
  values: number | ImageElement.ChannelValues
): Uint8Array<ArrayBuffer> | GpuError => {
  const count = ImageFormat.channelCount(format)
  const list = typeof values === "number" ? Array.from({ length: count }, () => values) : values
  if (!Array.isArray(list) || list.length !== count || list.some((value) => typeof value !== "number")) {
    return invalidRequest(
      operation,
      `the colour is no list of ${count} numbers, as ${ImageFormat.format(format)} has`,
      "Pass one number per channel in the format's order, or one for all."
    )
  }
  return ImageElement.encodeUnsafe(format, list)
}
