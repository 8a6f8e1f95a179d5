/**
 * Shapes and regions of images as OpenCL takes them: it counts the layers of a 1-D array as rows, and those of others
 * as slices.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import type { GpuError } from "../../../domain/GpuError.ts"
import * as ImageShape from "../../../domain/images/ImageShape.ts"
import type { DeviceImage } from "../../../services/device/DeviceImage.ts"
import type { Pitches } from "../../../services/images/ImageAxes.ts"
import { kindCodes } from "./OpenClImageFormat.ts"

/** What a cl_image_desc says beside the shape. */
export interface Layout extends Partial<Pitches> {
  /** The cl_mem under the image. */
  readonly buffer?: bigint
}

/** A cl_image_desc: the kind, the dimensions that it has, and the buffer that it stands on. */
export const description = (
  { depth, height, kind, layers, width }: ImageShape.ImageShape,
  { buffer = 0n, rowPitch = 0, slicePitch = 0 }: Layout
): ArrayBuffer => {
  const bytes = new ArrayBuffer(72)
  const view = new DataView(bytes)
  const flat = ImageShape.isFlat(kind)
  const isArray = kind === "1dArray" || kind === "2dArray"
  view.setUint32(0, kindCodes[kind], true)
  view.setBigUint64(8, BigInt(width), true)
  view.setBigUint64(16, BigInt(flat ? 0 : height), true)
  view.setBigUint64(24, BigInt(kind === "3d" ? depth : 0), true)
  view.setBigUint64(32, BigInt(isArray ? layers : 0), true)
  view.setBigUint64(40, BigInt(rowPitch), true)
  view.setBigUint64(48, BigInt(slicePitch), true)
  view.setBigUint64(64, buffer, true)
  return bytes
}

/**
 * The pitches of host memory as {@link description} takes them: PoCL goes by the row pitch of an array of rows, whose slices they
 * are, and a pitch of what there is only one of must be 0.
 */
export const hostPitches = (
  kind: ImageShape.ImageKind,
  { rowPitch, slicePitch }: Pitches
): Pitches =>
  kind === "1dArray"
    ? { rowPitch: slicePitch, slicePitch }
    : { rowPitch, slicePitch: ImageShape.isSingle(kind) ? 0 : slicePitch }

/** Whether slices of several rows, of which there are more than one, lie further apart than their rows. */
export const hasSliceGaps = (
  { depth, height, kind, layers }: ImageShape.ImageShape,
  { rowPitch, slicePitch }: Pitches
): boolean => kind !== "1dArray" && depth * layers > 1 && slicePitch > rowPitch * height

/** Three size_t. */
export const sizes = () => new Uint32Array(new ArrayBuffer(24))

export const set = (into: Uint32Array<ArrayBuffer>, x: number, y: number, z: number): Uint32Array<ArrayBuffer> => {
  into[0] = x
  into[2] = y
  into[4] = z
  return into
}

/** Whether slices count as rows. */
export const isRow = ({ shape }: DeviceImage): boolean => shape.kind === "1dArray"

/** The origin of a region. */
export const place = (into: Uint32Array<ArrayBuffer>, image: DeviceImage, [x, y, z]: ImageShape.ImageOrigin) =>
  isRow(image) ? set(into, x, z, 0) : set(into, x, y, z)

/** The extent of a region. */
export const extent = (
  into: Uint32Array<ArrayBuffer>,
  image: DeviceImage,
  { extent: [width, height, slices] }: ImageShape.ImageRegion
) => isRow(image) ? set(into, width, slices, 1) : set(into, width, height, slices)

/** Records a command for each layer of a region, with the number of layers before it, until one fails. */
export const eachLayer = (
  { extent: [width, height, slices], origin: [x, y, z] }: ImageShape.ImageRegion,
  record: (layer: ImageShape.ImageRegion, before: number) => Exit.Exit<void, GpuError>
): Exit.Exit<void, GpuError> => {
  for (let slice = 0; slice < slices; slice++) {
    const recorded = record({ origin: [x, y, z + slice], extent: [width, height, 1] }, slice)
    if (Exit.isFailure(recorded)) return recorded
  }
  return Exit.void
}
