/**
 * Regions of linear memory: rows of bytes at a row pitch, in slices at a slice pitch.
 *
 * **Details**
 *
 * The rules are OpenCL's, with the alignment that every device can do: on a device the first byte of a row, the length of
 * a row and the pitches are multiples of 4, or of what its `limits.copyAlignment` says. Defaults are PyOpenCL's: origin 0,
 * missing rows and slices 1, pitches packed.
 *
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#clEnqueueCopyBufferRect
 * @since 0.1.0
 */
import { formatted } from "../arguments/Format.ts"
import { type GpuError, invalidRequest, isGpuError, outOfMemory } from "../GpuError.ts"
import { type Alignment, alignmentHint } from "./BufferRange.ts"
import * as HostData from "./HostData.ts"
import { byteLength, copyBytes, packed } from "./RectangleRows.ts"

/**
 * The extent of a region: bytes of a row, rows of a slice, slices. Rows and slices are 1 when left out.
 *
 * **Example** (A square of 16 x 16 numbers of 4 bytes)
 *
 * ```ts
 * import type { CommandQueue } from "effect-gpu-pool"
 *
 * const square: CommandQueue.Region = [16 * 4, 16]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Region = readonly [bytes: number, rows?: number, slices?: number]

/**
 * The origin of a region: byte of the row, row of the slice, slice; 0 where left out.
 *
 * @category models
 * @since 0.1.0
 */
export type Origin = readonly [byte?: number, row?: number, slice?: number]

/**
 * Where a region is in memory.
 *
 * **Example** (A part of a picture, 1,024 pixels of 4 bytes wide)
 *
 * ```ts
 * import type { CommandQueue } from "effect-gpu-pool"
 *
 * const part: CommandQueue.Placement = { origin: [100 * 4, 50], rowPitch: 1024 * 4 }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Placement {
  /** The first byte of the region; the start of the memory without it. */
  readonly origin?: Origin | undefined
  /** Bytes from a row to the next; without it, or with 0, rows are packed: a row of the region follows the other. */
  readonly rowPitch?: number | undefined
  /** Bytes from a slice to the next, whole rows; without it, or with 0, the slices of the region are packed. */
  readonly slicePitch?: number | undefined
}

/**
 * A region, and how it lies in the two buffers between which `copyRect` copies.
 *
 * @category models
 * @since 0.1.0
 */
export interface CopyRectOptions {
  readonly region: Region
  /** In the source; at its start and packed without it. */
  readonly source?: Placement | undefined
  /** In the target; at its start and packed without it. */
  readonly target?: Placement | undefined
}

/**
 * A region, and how it lies in the buffer that `readRect` reads.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReadRectOptions {
  readonly region: Region
  /** In the buffer; at its start and packed without it. */
  readonly buffer?: Placement | undefined
}

/**
 * A region, and how it lies in the buffer and in the host's memory, for `writeRect` and `readRectInto`.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostRectOptions extends ReadRectOptions {
  /** In the host's array, at any byte; at its start and packed without it. */
  readonly host?: Placement | undefined
}

/**
 * A region with all defaults filled in, checked: bytes of a row, rows, slices.
 *
 * @category models
 * @since 0.1.0
 */
export type Extent = readonly [bytes: number, rows: number, slices: number]

/**
 * A placement with all defaults filled in, checked.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  readonly origin: readonly [byte: number, row: number, slice: number]
  /** Bytes from a row to the next. */
  readonly rowPitch: number
  /** Bytes from a slice to the next. */
  readonly slicePitch: number
  /** Where the first byte of the region is, counted from the start of the memory. */
  readonly offset: number
  /** The end of the region: the byte after its last one, counted likewise. */
  readonly end: number
}

/** The region in full, or what is wrong with it. A region without bytes is a good one. @internal */
export const extentOf = (operation: string, region: Region, alignment: Alignment): Extent | GpuError => {
  const given = triple(operation, "region", region, 1)
  if (isGpuError(given)) return given
  if (region[0] === undefined) {
    return invalidRequest(operation, "region names no bytes", "Pass [bytes of a row, rows, slices].")
  }
  return alignmentProblem(operation, "region's row length", given[0], alignment) ??
    (Number.isSafeInteger(byteLength(given)) ? given : invalidRequest(
      operation,
      `region [${given.join(", ")}] has more bytes than can be counted`,
      "Copy it in steps below 2^53 bytes."
    ))
}

/**
 * The placement of a region in full, in device memory of `size` requested bytes, or what is wrong with it. `name` is
 * what the caller passed it as; its bytes and pitches must be aligned.
 *
 * @internal
 */
export const inBuffer = (
  operation: string,
  name: string,
  placement: Placement | undefined,
  extent: Extent,
  size: number,
  alignment: Alignment
): Place | GpuError => {
  const place = placeOf(operation, name, placement, extent)
  if (isGpuError(place)) return place
  return alignmentProblem(operation, `${name}.origin's byte`, place.origin[0], alignment) ??
    alignmentProblem(operation, `${name}.rowPitch`, place.rowPitch, alignment) ??
    alignmentProblem(operation, `${name}.slicePitch`, place.slicePitch, alignment) ??
    boundsProblem(operation, name, place, size, "buffer") ?? place
}

/** As {@link inBuffer}, in host memory, which may begin and step at any byte. @internal */
export const inHostMemory = (
  operation: string,
  name: string,
  placement: Placement | undefined,
  extent: Extent,
  size: number
): Place | GpuError => {
  const place = placeOf(operation, name, placement, extent)
  return isGpuError(place) ? place : boundsProblem(operation, name, place, size, "host memory") ?? place
}

const placeOf = (
  operation: string,
  name: string,
  placement: Placement | undefined,
  extent: Extent
): Place | GpuError => {
  const origin = triple(operation, `${name}.origin`, placement?.origin ?? [], 0)
  if (isGpuError(origin)) return origin
  const problem = countProblem(operation, `${name}.rowPitch`, placement?.rowPitch ?? 0) ??
    countProblem(operation, `${name}.slicePitch`, placement?.slicePitch ?? 0)
  if (problem !== undefined) return problem
  const [bytes, rows, slices] = extent
  const rowPitch = placement?.rowPitch || bytes
  const slicePitch = placement?.slicePitch || rowPitch * rows
  const offset = origin[0] + origin[1] * rowPitch + origin[2] * slicePitch
  const span = byteLength(extent) === 0 ? 0 : bytes + (rows - 1) * rowPitch + (slices - 1) * slicePitch
  return pitchProblem(operation, name, rowPitch, slicePitch, extent) ??
    { origin, rowPitch, slicePitch, offset, end: offset + span }
}

const pitchProblem = (
  operation: string,
  name: string,
  rowPitch: number,
  slicePitch: number,
  [bytes, rows]: Extent
): GpuError | undefined => {
  if (rowPitch < bytes) {
    return invalidRequest(
      operation,
      `${name}.rowPitch ${rowPitch} is less than the ${bytes} bytes of a row`,
      "Pass the bytes from one row to the next in that memory, or leave it out for packed rows."
    )
  }
  if (slicePitch < rowPitch * rows) {
    return invalidRequest(
      operation,
      `${name}.slicePitch ${slicePitch} is less than the ${rows} rows of ${rowPitch} bytes of a slice`,
      "Pass the bytes from one slice to the next in that memory, or leave it out for packed slices."
    )
  }
  return rowPitch === 0 || slicePitch % rowPitch === 0 ? undefined : invalidRequest(
    operation,
    `${name}.slicePitch ${slicePitch} is no multiple of the row pitch ${rowPitch}`,
    "Pass a whole number of rows."
  )
}

const boundsProblem = (
  operation: string,
  name: string,
  { end, offset }: Place,
  size: number,
  memory: string
): GpuError | undefined =>
  end <= size ? undefined : invalidRequest(
    operation,
    `the ${name} rectangle goes from byte ${offset} to ${end}, outside the ${memory} of ${size} bytes`,
    "Make the region smaller, or check its origin and pitches."
  )

const alignmentProblem = (
  operation: string,
  name: string,
  value: number,
  alignment: Alignment
): GpuError | undefined =>
  value % alignment.bytes === 0 ? undefined : invalidRequest(
    operation,
    `${name} ${value} is no multiple of ${alignment.bytes} bytes`,
    alignmentHint(`Make row lengths, offsets and pitches multiples of ${alignment.bytes} bytes`, alignment)
  )

const triple = (
  operation: string,
  name: string,
  given: ReadonlyArray<number | undefined>,
  missing: number
): readonly [number, number, number] | GpuError => {
  const [x = missing, y = missing, z = missing] = given
  return countProblem(operation, `${name}'s byte count`, x) ?? countProblem(operation, `${name}'s row count`, y) ??
    countProblem(operation, `${name}'s slice count`, z) ?? [x, y, z]
}

const countProblem = (operation: string, name: string, value: number): GpuError | undefined =>
  Number.isSafeInteger(value) && value >= 0 ? undefined : invalidRequest(
    operation,
    `${name} ${formatted(value)} is no whole number, zero or more`,
    "Pass an integer below 2^53."
  )

/** A copy of a region of host memory without gaps, or why there is no memory for one. @internal */
export const gathered = (
  extent: Extent,
  source: Uint8Array<ArrayBuffer>,
  from: Place
): Uint8Array<ArrayBuffer> | GpuError => {
  const memory = HostData.allocate(byteLength(extent))
  if (memory === undefined) return outOfMemory(byteLength(extent))
  const rows = new Uint8Array(memory)
  copyBytes(extent, source, from, rows, packed(extent))
  return rows
}
