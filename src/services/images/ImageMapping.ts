/**
 * Mapping a region of an image: in place where the driver can, else as a copy.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ElementType } from "../../domain/data/ElementClass.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import type * as ImageArray from "../../domain/images/ImageArray.ts"
import * as ImageArrays from "../../domain/images/ImageArrays.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import type { ImageRegion } from "../../domain/images/ImageShape.ts"
import { mapUnsafe as mapBuffer, PrivateMapping } from "../buffers/mapping/PrivateMapping.ts"
import type { ScopedMapping } from "../buffers/mapping/ScopedMapping.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"
import type { DriverImageMapping, ImageDriver } from "../device/ImageDriver.ts"
import type { DriverMapping, MapAccess } from "../device/QueueDriver.ts"
import { distrustUnverified } from "../device/UnverifiedMemory.ts"
import * as ImageAccess from "./ImageAccess.ts"
import type { Parts } from "./ImageAllocator.ts"
import * as ImageAxes from "./ImageAxes.ts"
import type { ImageLike } from "./ImageLike.ts"
import type { Part } from "./ImageProblems.ts"
import { MappedImage } from "./MappedImage.ts"

/** What the mappings of one device's images need. */
export interface Mapper extends Parts {
  readonly commands: Pick<ImageDriver["Service"], "readUnsafe" | "writeUnsafe">
}

/** A region that can be mapped now. */
export interface Request extends Part {
  /** The lease or image whose end ends the mapping. */
  readonly owner: ImageLike
  readonly access: MapAccess
  /** The class of the array; without it, the one that fits the format. */
  readonly type: ElementType<ImageArray.ImageArray> | undefined
  readonly axes: ImageAxes.Axes
}

/** Maps a checked region. Call it in the step of the check. */
export const begin = (
  operation: string,
  mapper: Mapper,
  mapping: ScopedMapping,
  request: Request
): Effect.Effect<MappedImage, GpuError> => {
  const { access, bytes, image, owner, region } = request
  if (bytes === 0) {
    const none = ImageAxes.packedPitches(image, region)
    return Effect.succeed(mappedImage(mapping, request, none, new ArrayBuffer(0)))
  }
  const part = {
    label: owner.label,
    size: bytes,
    owner,
    claim: ImageAccess.claim(image, region, access !== "read"),
    name: `some of the ${region.extent.join(" x ")} elements at [${region.origin.join(", ")}]`
  }
  return mapping.begin(
    operation,
    part,
    () => distrustUnverified(mapUnsafe(mapper, request), image),
    (memory, pitches) => mappedImage(mapping, request, pitches, memory)
  )
}

const mapUnsafe = (mapper: Mapper, request: Request): Exit.Exit<DriverImageMapping, GpuError> => {
  const { access, axes, image, region } = request
  if (!isAligned(request)) return Exit.succeed(copied(mapper, request))
  if (image.beneath !== undefined) return mapBeneath(mapper, request, image.beneath)
  const inPlace = mapper.driver.mapUnsafe?.(image, region, access, axes.packed) ?? Exit.succeed(undefined)
  return Exit.map(inPlace, (mapping) => mapping ?? copied(mapper, request))
}

/**
 * Whether the region begins at a multiple of the array's items. The first byte of an image is aligned, and so is every
 * element that consists of whole items. Elsewhere the items of the array would be misaligned.
 */
const isAligned = ({ image: { format }, region: { origin }, type }: Request): boolean =>
  type === undefined || ImageFormat.elementBytes(format) % type.BYTES_PER_ELEMENT === 0 ||
  origin.every((at) => at === 0)

/** An image over a buffer is mapped as the buffer's bytes. */
const mapBeneath = (
  { device, queue }: Mapper,
  { access, image, region }: Request,
  beneath: DeviceBuffer
): Exit.Exit<DriverImageMapping, GpuError> =>
  Exit.map(
    mapBuffer(queue, device.status, beneath, { access, ...ImageAccess.bytesBeneath(image, region) }),
    (mapping) => withPitches(mapping, image, region)
  )

const copied = (
  { commands, device, queue }: Mapper,
  { access, bytes, image, region }: Request
): DriverImageMapping => {
  const copy = new PrivateMapping(queue, device.status, {
    bytes,
    readUnsafe: (answer) => commands.readUnsafe(image, region, answer),
    writeUnsafe: (data) => commands.writeUnsafe(image, region, data)
  }, access)
  return withPitches(copy, image, region)
}

const withPitches = ({ memory, unmapUnsafe }: DriverMapping, image: DeviceImage, region: ImageRegion) => ({
  ...ImageAxes.packedPitches(image, region),
  memory,
  unmapUnsafe
})

const mappedImage = (
  mapping: ScopedMapping,
  { axes, image, region, type }: Request,
  pitches: ImageAxes.Pitches,
  memory: ArrayBuffer
): MappedImage => {
  const data = type === undefined ? ImageArrays.overUnsafe(image.format, memory) : new type(memory)
  return new MappedImage(data, axes.over(pitches), mapping, region, pitches)
}
