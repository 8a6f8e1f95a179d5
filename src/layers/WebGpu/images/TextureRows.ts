/**
 * How the rows of a texture's region lie in a buffer. WebGPU copies several rows at once only where each begins at a
 * multiple of 256 bytes; a single row may lie anywhere. Pure, so that it is tested without a driver.
 *
 * @internal
 */
import type { ImageOrigin, ImageRegion } from "../../../domain/images/ImageShape.ts"

/** GPUImageCopyBuffer's alignment of bytesPerRow. */
const rowAlignment = 256

export const alignedRow = (rowBytes: number): number => Math.ceil(rowBytes / rowAlignment) * rowAlignment

/** A part of a region that one copy command moves. */
export interface Rows {
  /** Where its first byte is, from the start of the whole. */
  readonly offset: number
  /** None for a single row. */
  readonly bytesPerRow: number | undefined
  readonly origin: ImageOrigin
  readonly extent: ImageRegion["extent"]
}

/**
 * The region as rows that begin every `pitch` bytes, slice after slice without gaps: in one part where the pitch allows
 * it, else row by row.
 */
export function* rows({ extent, origin }: ImageRegion, pitch: number): Generator<Rows, void> {
  const [width, height, slices] = extent
  if (height * slices === 1) return yield { offset: 0, bytesPerRow: undefined, origin, extent }
  if (pitch % rowAlignment === 0) return yield { offset: 0, bytesPerRow: pitch, origin, extent }
  const [x, y, z] = origin
  for (let slice = 0; slice < slices; slice++) {
    for (let row = 0; row < height; row++) {
      yield {
        offset: (slice * height + row) * pitch,
        bytesPerRow: undefined,
        origin: [x, y + row, z + slice],
        extent: [width, 1, 1]
      }
    }
  }
}

/** The region in blocks of as many rows, or slices, as a source of `bytes` bytes has: each is copied from its start. */
export function* repeated({ extent, origin }: ImageRegion, pitch: number, bytes: number): Generator<Rows, void> {
  const [width, height, slices] = extent
  const [x, y, z] = origin
  const rowsAtOnce = Math.max(1, Math.min(height, Math.floor(bytes / pitch)))
  const slicesAtOnce = rowsAtOnce < height ? 1 : Math.max(1, Math.floor(bytes / (pitch * height)))
  for (let slice = 0; slice < slices; slice += slicesAtOnce) {
    for (let row = 0; row < height; row += rowsAtOnce) {
      yield {
        offset: 0,
        bytesPerRow: pitch,
        origin: [x, y + row, z + slice],
        extent: [width, Math.min(rowsAtOnce, height - row), Math.min(slicesAtOnce, slices - slice)]
      }
    }
  }
}

/** The rows of `staged`, which begin every `pitch` bytes, without the gaps between them. */
export const packed = (staged: ArrayBuffer, pitch: number, rowBytes: number, rows: number): ArrayBuffer => {
  if (pitch === rowBytes) return staged.slice(0, rowBytes * rows)
  const source = new Uint8Array(staged)
  const target = new Uint8Array(rowBytes * rows)
  for (let row = 0; row < rows; row++) {
    target.set(source.subarray(row * pitch, row * pitch + rowBytes), row * rowBytes)
  }
  return target.buffer
}
