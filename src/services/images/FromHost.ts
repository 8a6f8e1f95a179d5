/**
 * The checked options of an image of the program's data.
 *
 * @internal
 */
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as HostData from "../../domain/data/HostData.ts"
import type * as Rectangle from "../../domain/data/Rectangle.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../domain/images/ImageShape.ts"
import type { HostMode } from "../device/DeviceContext.ts"
import * as PinnedMemory from "../device/PinnedMemory.ts"
import * as HostRows from "./HostRows.ts"
import type { Pitches } from "./ImageAxes.ts"

export interface FromHost {
  /** Without gaps where they are copied. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly mode: HostMode
  readonly pitches: Pitches
}

/** The bytes of the data, which must fit an image of that shape and format. */
export const resolve = (
  operation: string,
  data: HostData.HostData,
  shape: ImageShape.ImageShape,
  format: ImageFormat.ImageFormat,
  options: Pick<Rectangle.Placement, "rowPitch" | "slicePitch"> & { readonly mode?: HostMode | undefined }
): FromHost => {
  const mode = options.mode ?? "copy"
  const bytes = valid(HostData.bytes(operation, data))
  const elementBytes = ImageFormat.elementBytes(format)
  valid(PinnedMemory.modeProblem(operation, mode, bytes, Math.max(8, elementBytes)))
  const region = ImageShape.whole(shape)
  const part = { image: { format }, region, bytes: ImageFormat.imageBytes(format, shape) }
  const place = HostRows.place(operation, part, bytes.byteLength, options)
  const { rowPitch, slicePitch } = place
  if (mode === "use") {
    valid(gapsProblem(operation, bytes.byteLength, region.extent[2], elementBytes, place))
    return { bytes, mode, pitches: { rowPitch, slicePitch } }
  }
  const packed = valid(HostRows.gathered(part, bytes, place))
  const row = region.extent[0] * elementBytes
  return { bytes: packed, mode, pitches: { rowPitch: row, slicePitch: row * region.extent[1] } }
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
