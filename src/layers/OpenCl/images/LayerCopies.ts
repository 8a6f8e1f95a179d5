/**
 * Copies of several layers that OpenCL, or a driver, does one by one.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { GpuError } from "../../../domain/GpuError.ts"
import * as ImageFormat from "../../../domain/images/ImageFormat.ts"
import * as ImageShape from "../../../domain/images/ImageShape.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"

/**
 * OpenCL counts the layers of a 1-D array as rows and those of others as slices, so several of them cannot go from the
 * one to the other in one command: they go layer by layer.
 */
export const copyByLayer = (
  [tx, ty, tz]: ImageShape.ImageOrigin,
  { extent: [width, height, slices], origin: [x, y, z] }: ImageShape.ImageRegion,
  copy: (targetOrigin: ImageShape.ImageOrigin, layer: ImageShape.ImageRegion) => Exit.Exit<void, GpuError>
): Exit.Exit<void, GpuError> => {
  for (let slice = 0; slice < slices; slice++) {
    const layer = { origin: [x, y, z + slice], extent: [width, height, 1] } as const
    const exit = copy([tx, ty, tz + slice], layer)
    if (Exit.isFailure(exit)) return exit
  }
  return Exit.void
}

/** The array of one layer through which layers of a region go. */
export const rowOf = ({ extent: [width] }: ImageShape.ImageRegion): ImageShape.ImageShape =>
  ImageShape.image1dArray(width, 1)

/** Records the copies of a layer through an array of one, with the bytes of the layers before it. */
export type RecordRow = (row: DeviceImage, layer: ImageShape.ImageRegion, before: number) => Exit.Exit<void, GpuError>

export const recordRows = (
  row: DeviceImage,
  { extent: [width, , layers], origin: [x, y, first] }: ImageShape.ImageRegion,
  record: RecordRow
): Exit.Exit<void, GpuError> => {
  for (let layer = 0; layer < layers; layer++) {
    const region = { origin: [x, y, first + layer], extent: [width, 1, 1] } as const
    const recorded = record(row, region, layer * width * ImageFormat.elementBytes(row.format))
    if (Exit.isFailure(recorded)) return recorded
  }
  return Exit.void
}
