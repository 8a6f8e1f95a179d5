/**
 * What of each image is mapped, whichever device images stand for it, and what commands may do with it meanwhile: the rules
 * are those of buffers, on every backend.
 *
 * @internal
 */
import type { HostAccess } from "../../domain/BufferUsage.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import type { ImageRegion } from "../../domain/images/ImageShape.ts"
import type { Claim } from "../../domain/MappedParts.ts"
import * as BufferAccess from "../buffers/mapping/BufferAccess.ts"
import * as MappedMemory from "../buffers/mapping/MappedMemory.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"

/**
 * A part of an image that is about to be mapped.
 *
 * @internal
 */
export const claim = (image: DeviceImage, region: ImageRegion, writes: boolean): Claim => {
  if (image.beneath === undefined) return MappedMemory.claim(image.identity, { ...region, writes })
  const { bytes, offset } = bytesBeneath(image, region)
  return BufferAccess.claim(image.beneath, offset, bytes, writes)
}

/**
 * Where a part of an image over a buffer lies in that.
 *
 * @internal
 */
export const bytesBeneath = (
  { format }: DeviceImage,
  { extent: [width], origin: [x] }: ImageRegion
): { readonly offset: number; readonly bytes: number } => {
  const elementBytes = ImageFormat.elementBytes(format)
  return { offset: x * elementBytes, bytes: width * elementBytes }
}

/**
 * Why the program itself may not access the elements of an image so, or `undefined`: those of an image over a buffer are as the
 * buffer's bytes.
 *
 * @internal
 */
export const hostProblem = (
  operation: string,
  { beneath }: DeviceImage,
  host: HostAccess | undefined
): GpuError | undefined => beneath === undefined ? undefined : BufferAccess.usageProblem(operation, beneath, 0, host)

/**
 * Why a command cannot use the image while it is mapped as it is, or `undefined`. `reads` says that it does nothing but
 * read or copy from it.
 *
 * @internal
 */
export const mappedProblem = (
  operation: string,
  { beneath, identity }: DeviceImage,
  reads: boolean
): GpuError | undefined =>
  MappedMemory.problem(operation, beneath === undefined ? identity : beneath.root.identity, reads, () => "the image")
