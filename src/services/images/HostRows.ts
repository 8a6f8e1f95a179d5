/**
 * Where the rows of an image's region are in data of the host.
 *
 * @internal
 */
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as HostData from "../../domain/data/HostData.ts"
import * as Rectangle from "../../domain/data/Rectangle.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../domain/images/ImageShape.ts"
import type { DeviceImage } from "../device/DeviceImage.ts"
import * as PinnedMemory from "../device/PinnedMemory.ts"
import type { WantedImage } from "./ImageAllocator.ts"
import { packedPitches, type Pitches } from "./ImageAxes.ts"
import type * as ImageProblems from "./ImageProblems.ts"
import type { FromHostOptions, HostLayout } from "./Images.ts"

/** A region of an image of some format. */
type Part = ImageProblems.Part<Pick<DeviceImage, "format">>

export const lengthProblem = (operation: string, bytes: number, expected: number, what: string): GpuError | undefined =>
  bytes === expected ? undefined : invalidRequest(
    operation,
    `the data has ${bytes} bytes, but ${what} has ${expected}`,
    "Pass exactly the elements of the region, or say how far apart rows and slices are."
  )

/** A region as a rectangle of bytes. */
export const rectangle = ({ image, region: { extent } }: Part): Rectangle.Extent => [
  extent[0] * ImageFormat.elementBytes(image.format),
  extent[1],
  extent[2]
]

/** Where the rows of a region are in host data of that many bytes. */
export const place = (
  operation: string,
  part: Part,
  bytes: number,
  layout: HostLayout | undefined
): Rectangle.Place => {
  const { rowPitch, slicePitch } = layout ?? {}
  if (rowPitch === undefined && slicePitch === undefined) {
    const extent = part.region.extent.join(" x ")
    valid(lengthProblem(operation, bytes, part.bytes, `a region of ${extent} elements`))
  }
  return valid(Rectangle.inHostMemory(operation, "data", { rowPitch, slicePitch }, rectangle(part), bytes))
}

/** The bytes of a region, without the gaps that host data may have. */
export const gathered = (
  part: Part,
  data: Uint8Array<ArrayBuffer>,
  place: Rectangle.Place
): Uint8Array<ArrayBuffer> | GpuError =>
  data.byteLength === part.bytes ? data : Rectangle.gathered(rectangle(part), data, place)

/** The checked data of an image of that shape and format, without gaps where it is copied, and where its rows are. */
export const fromHost = (
  operation: string,
  data: HostData.HostData,
  { format, shape }: WantedImage,
  options: FromHostOptions
) => {
  const { mode = "copy" } = options
  const bytes = valid(HostData.bytes(operation, data))
  const elementBytes = ImageFormat.elementBytes(format)
  valid(PinnedMemory.modeProblem(operation, mode, bytes, Math.max(8, elementBytes)))
  const region = ImageShape.whole(shape)
  const part = { image: { format }, region, bytes: ImageFormat.imageBytes(format, shape) }
  const rows = place(operation, part, bytes.byteLength, options)
  if (mode === "copy") {
    return { bytes: valid(gathered(part, bytes, rows)), mode, pitches: packedPitches(part.image, region) }
  }
  valid(gapsProblem(operation, bytes.byteLength, region.extent[2], elementBytes, rows))
  const { rowPitch, slicePitch } = rows
  return { bytes, mode, pitches: { rowPitch, slicePitch } }
}

/** OpenCL wants whole elements from row to row, and all of the last row and slice. */
const gapsProblem = (
  operation: string,
  size: number,
  slices: number,
  elementBytes: number,
  { rowPitch, slicePitch }: Pitches
): GpuError | undefined => {
  if (rowPitch % elementBytes !== 0) {
    return invalidRequest(
      operation,
      `the row pitch ${rowPitch} is no multiple of the ${elementBytes} bytes of an element`,
      "Make the row pitch a multiple of an element's bytes, or let the data be copied."
    )
  }
  return size >= slicePitch * slices ? undefined : invalidRequest(
    operation,
    `the data has ${size} bytes, but ${slices} slices ${slicePitch} bytes apart have ${slicePitch * slices}`,
    "The last row and slice must be complete: pass more data, or let it be copied."
  )
}
