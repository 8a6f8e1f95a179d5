/**
 * Mapping a region of an image in the driver's own memory.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#clEnqueueMapImage
 * @internal
 */
import * as Exit from "effect/Exit"
import type { GpuError } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import type { ImageRegion } from "../../../domain/images/ImageShape.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { DriverImageMapping } from "../../../services/device/ImageDriver.ts"
import type { MapAccess } from "../../../services/device/QueueDriver.ts"
import { packedPitches, type Pitches } from "../../../services/images/ImageAxes.ts"
import type { OpenClMappings } from "../commands/OpenClMapping.ts"
import { CL_NON_BLOCKING } from "../commands/Recorder.ts"
import { handleOf } from "../memory/OpenClObject.ts"
import type { OpenClApi } from "../OpenClApi.ts"
import { extent, place, sizes } from "./OpenClImageLayout.ts"

export const map = (
  api: OpenClApi,
  mappings: OpenClMappings,
  image: DeviceImage,
  region: ImageRegion,
  access: MapAccess,
  packed: boolean
): Exit.Exit<DriverImageMapping | undefined, GpuError> => {
  if (packed && isCut(image, region)) return Exit.succeed(undefined)
  const handle = handleOf(image)
  const flags = mappings.flagsOf(access)
  const [row, slice] = [sizeOut(), sizeOut()]
  const part = packedPitches(image, region)
  const mapped = mappings.map({
    memory: image,
    handle,
    call: "clEnqueueMapImage",
    unmapCall: "clEnqueueUnmapMemObject",
    bytes: part.slicePitch * region.extent[2],
    map: (queue, event, code) =>
      api.clEnqueueMapImage(
        queue,
        handle,
        CL_NON_BLOCKING,
        flags,
        place(sizes(), image, region.origin),
        extent(sizes(), image, region),
        row,
        slice,
        0,
        null,
        event,
        code
      ),
    unmap: (queue, event, address) => api.clEnqueueUnmapMemObject(queue, handle, address, 0, null, event)
  }, () => spanOf(region, part, pitchesOf(region, part, row, slice)))
  if (Exit.isFailure(mapped)) return Exit.failCause(mapped.cause)
  const pitches = pitchesOf(region, part, row, slice)
  const { rowPitch, slicePitch } = pitches
  const elementBytes = ImageFormat.elementBytes(image.format)
  // An array of the host is possible only where the pitches are multiples of an element.
  const isFit = packed
    ? rowPitch === part.rowPitch && slicePitch === part.slicePitch
    : rowPitch >= part.rowPitch && slicePitch >= rowPitch * region.extent[1] && rowPitch % elementBytes === 0 &&
      slicePitch % elementBytes === 0
  if (isFit) {
    return Exit.succeed({ ...pitches, memory: mapped.value.memory, unmapUnsafe: mapped.value.unmapUnsafe })
  }
  const given = mapped.value.unmapUnsafe()
  return Exit.map(given, () => undefined)
}

/** Whether other elements of the image are between those of the region, in every driver's layout. */
const isCut = ({ shape }: DeviceImage, { extent: [width, height, slices] }: ImageRegion): boolean =>
  (width < shape.width && height * slices > 1) || (height < shape.height && slices > 1)

/** A size_t that the driver sets; 0 until then, since PoCL sets none for an image over a buffer. */
const sizeOut = () => new BigUint64Array(new ArrayBuffer(8))

/** A driver's pitch means nothing where there is only one row or slice. */
const pitchesOf = (
  { extent: [, height, slices] }: ImageRegion,
  part: Pitches,
  row: BigUint64Array<ArrayBuffer>,
  slice: BigUint64Array<ArrayBuffer>
): Pitches => {
  const rowPitch = height > 1 ? Number(row[0]) : part.rowPitch
  return { rowPitch, slicePitch: slices > 1 ? Number(slice[0]) : rowPitch * height }
}

const spanOf = ({ extent: [, height, slices] }: ImageRegion, part: Pitches, { rowPitch, slicePitch }: Pitches) =>
  (slices - 1) * slicePitch + (height - 1) * rowPitch + part.rowPitch
