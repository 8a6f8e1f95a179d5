/**
 * What of each image is mapped, whichever device images stand for it, and what commands may do with it meanwhile: the rules
 * are those of buffers, on every backend.
 *
 * @internal
 */
import type { HostAccess } from "../../domain/BufferUsage.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import type { ImageRegion } from "../../domain/images/ImageShape.ts"
import { MappedRegions } from "../../domain/images/MappedRegions.ts"
import type { Claim } from "../../domain/MappedParts.ts"
import * as BufferAccess from "../mapping/BufferAccess.ts"
import { ensureRanges, rangesOf } from "../mapping/MappedMemory.ts"
import type { DeviceImage } from "./DeviceImage.ts"

const mappings = new WeakMap<object, MappedRegions>()

/** Most programs never map an image, and then no command looks further. */
let isUsed = false

const regionsOf = (image: DeviceImage): MappedRegions | undefined => isUsed ? mappings.get(image.identity) : undefined

/**
 * A part of an image that is about to be mapped.
 *
 * @internal
 */
export const claim = (image: DeviceImage, region: ImageRegion, writes: boolean): Claim => {
  const { beneath } = image
  if (beneath === undefined) return ensureRegions(image).claim({ region, writes })
  const { bytes, offset } = bytesBeneath(image, region)
  const from = beneath.origin + offset
  return ensureRanges(beneath).claim({ from, to: from + bytes, writes })
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
 * The mapped regions of an image, to add one to.
 *
 * @internal
 */
export const ensureRegions = (image: DeviceImage): MappedRegions => {
  const known = regionsOf(image)
  if (known !== undefined) return known
  isUsed = true
  const regions = new MappedRegions()
  mappings.set(image.identity, regions)
  return regions
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
export const mappedProblem = (operation: string, image: DeviceImage, reads: boolean): GpuError | undefined => {
  const { beneath } = image
  const state = (beneath === undefined ? regionsOf(image) : rangesOf(beneath))?.state ?? "unmapped"
  if (state === "unmapped" || (state === "reading" && reads)) return undefined
  return invalidRequest(
    operation,
    `the image is mapped for ${state}`,
    "End the mapping first: close its scope, or unmap it. What is mapped for reading alone can be read and copied from."
  )
}
