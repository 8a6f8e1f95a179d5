/**
 * The mapped regions of each driver object, whichever device images are around it, and the commands that may use it
 * meanwhile. The rules are those of buffers, on every backend.
 *
 * @internal
 */
import type { HostAccess } from "../../domain/BufferUsageRules.ts"
import * as MemorySpan from "../../domain/data/MemorySpan.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import type { ImageRegion } from "../../domain/images/ImageShape.ts"
import * as BufferMemory from "../buffers/BufferMemory.ts"
import * as MappedMemory from "../buffers/mapping/MappedMemory.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"

/** A region of an image that is about to be mapped. */
export const claim = (image: DeviceImage, region: ImageRegion, writes: boolean): MappedMemory.MappedSpan => {
  if (image.beneath === undefined) return { ...MemorySpan.boxOf(image, region), writes }
  const { bytes, offset } = bytesBeneath(image, region)
  return { ...MemorySpan.part(image.beneath, offset, bytes), writes }
}

/** The bytes of the buffer that a region of an image over it uses. */
export const bytesBeneath = (
  { format }: DeviceImage,
  { extent: [width], origin: [x] }: ImageRegion
): { readonly offset: number; readonly bytes: number } => {
  const elementBytes = ImageFormat.elementBytes(format)
  return { offset: x * elementBytes, bytes: width * elementBytes }
}

/**
 * Why the program itself may not access the elements of an image, or `undefined`. For an image over a buffer the rules
 * of the buffer's bytes hold.
 */
export const hostProblem = (
  operation: string,
  { beneath }: DeviceImage,
  host: HostAccess | undefined
): GpuError | undefined => beneath === undefined ? undefined : BufferMemory.usageProblem(operation, beneath, 0, host)

/**
 * Why a command cannot use the image with its present mappings, or `undefined`. `reads` says that the command only
 * reads or copies from it.
 */
export const mappedProblem = (
  operation: string,
  image: DeviceImage,
  reads: boolean
): GpuError | undefined => MappedMemory.problem(operation, image, reads, () => "the image")
