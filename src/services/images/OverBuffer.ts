/**
 * The options of an image over a buffer, checked against the buffer.
 *
 * @internal
 */
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import { formatted } from "../../domain/arguments/Format.ts"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import { type DeviceInfo, format as formatDevice } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, invalidRequest, unsupported as unsupportedBy } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../domain/images/ImageShape.ts"
import * as ImageUsage from "../../domain/images/ImageUsage.ts"
import * as ImageUsageRules from "../../domain/images/ImageUsageRules.ts"
import type * as BufferLike from "../buffers/BufferLike.ts"
import * as BufferMemory from "../buffers/BufferMemory.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import type { DeviceContext } from "../device/DeviceContext.ts"
import type { ImageDescription } from "../device/DeviceImage.ts"
import { plain } from "./ImageAllocator.ts"
import * as ImageProblems from "./ImageProblems.ts"
import type { OverBufferOptions } from "./Images.ts"

/** The image to create, and the memory of the buffer. Throws the error of invalid options, as `valid` does. */
export const resolve = (
  operation: string,
  device: DeviceContext["Service"],
  buffer: BufferLike.BufferLike,
  format: ImageFormat.ImageFormat,
  { label = buffer.label, usage = ImageUsage.defaultUsage, width }: OverBufferOptions
): { readonly memory: DeviceBuffer; readonly image: ImageDescription } => {
  const memory = valid(BufferMemory.of(operation, buffer, device))
  valid(ImageProblems.formatProblem(operation, format))
  valid(ImageProblems.usageProblem(operation, usage))
  valid(usageProblem(operation, buffer, usage))
  const most = Math.floor(buffer.size / ImageFormat.elementBytes(format))
  valid(widthProblem(operation, buffer.size, format, width, most))
  const shape = ImageShape.image1dBuffer(width ?? most)
  // A buffer with room for an element has memory.
  return { memory: memory!, image: plain({ shape, format, usage, label }) }
}

/** The error of a driver without images over buffers. */
export const unsupported = (operation: string, info: DeviceInfo): GpuError =>
  unsupportedBy(
    operation,
    formatDevice(info),
    "an image over a buffer",
    "Copy the elements with Images.fromBuffer, or let kernels read the buffer itself."
  )

/** The usage that the buffer needs for each usage of the image, and the one that it must not have. */
const needs: ReadonlyArray<readonly [image: ImageUsage.ImageUsage, buffer: number, forbidden: number]> = [
  [ImageUsage.sampled, BufferUsage.storage, BufferUsage.kernelWriteOnly],
  [ImageUsage.storage, BufferUsage.storage, BufferUsage.kernelReadOnly],
  [ImageUsage.copySrc, BufferUsage.copySrc, 0],
  [ImageUsage.copyDst, BufferUsage.copyDst, 0]
]

/** Why the buffer does not allow its image's usage, or `undefined`. */
const usageProblem = (
  operation: string,
  buffer: BufferLike.BufferLike,
  usage: ImageUsage.ImageUsage
): GpuError | undefined => {
  for (const [flag, needed, forbidden] of needs) {
    if (!ImageUsageRules.has(usage, flag)) continue
    if (BufferUsage.has(buffer.usage, needed) && (forbidden === 0 || !BufferUsage.has(buffer.usage, forbidden))) {
      continue
    }
    return invalidRequest(
      operation,
      `the image's usage ${ImageUsageRules.format(flag)} is beyond the buffer's ${BufferUsage.format(buffer.usage)}`,
      "Ask for less usage, or allocate the buffer for more."
    )
  }
  return undefined
}

const widthProblem = (
  operation: string,
  size: number,
  format: ImageFormat.ImageFormat,
  width: number | undefined,
  most: number
): GpuError | undefined => {
  const name = ImageFormat.format(format)
  if (most === 0) {
    return invalidRequest(
      operation,
      `the buffer's ${size} bytes have no room for an element of ${name}, which has ${
        ImageFormat.elementBytes(format)
      }`,
      "Allocate at least one element."
    )
  }
  if (width === undefined || (Number.isSafeInteger(width) && width >= 1 && width <= most)) return undefined
  return invalidRequest(
    operation,
    `the width ${
      formatted(width)
    } is not between 1 and ${most}, the elements of ${name} for which the buffer's ${size} bytes have room`,
    "Pass a whole number of elements, or leave it out for all that the buffer holds."
  )
}
