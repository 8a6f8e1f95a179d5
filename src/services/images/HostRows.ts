/**
 * Where the rows of an image's region are in data of the host.
 *
 * @internal
 */
import { valid } from "../../domain/arguments/ArgumentProblem.ts"
import * as Rectangle from "../../domain/data/Rectangle.ts"
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import * as ImageFormat from "../../domain/images/ImageFormat.ts"
import type { ImageRegion } from "../../domain/images/ImageShape.ts"

/** A region of an image of some format. */
export interface Part {
  readonly image: { readonly format: ImageFormat.ImageFormat }
  readonly region: ImageRegion
  /** Bytes of the region, packed. */
  readonly bytes: number
}

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
  layout: Pick<Rectangle.Placement, "rowPitch" | "slicePitch"> | undefined
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
