/**
 * Where the rows of a rectangle lie in memory. Drivers need only this; the checks are in `Rectangle`.
 *
 * @internal
 */

/** As `Rectangle.Extent`. */
type Extent = readonly [bytes: number, rows: number, slices: number]

/** What a `Rectangle.Place` says of rows. */
interface Rows {
  readonly rowPitch: number
  readonly slicePitch: number
  readonly offset: number
}

/** Bytes of a region. */
export const byteLength = ([bytes, rows, slices]: Extent): number => bytes * rows * slices

/** Rows that follow each other without a gap. */
export const packed = (extent: Extent) => {
  const [rowPitch, rows] = extent
  return { origin: [0, 0, 0] as const, rowPitch, slicePitch: rowPitch * rows, offset: 0, end: byteLength(extent) }
}

/** The runs of bytes that follow each other in both memories: as few and as long as possible. */
export const runs = function*(
  [bytes, rows, slices]: Extent,
  here: Rows,
  there: Rows
): Generator<readonly [here: number, there: number, bytes: number]> {
  if (bytes === 0 || rows === 0 || slices === 0) return
  const [length, lines] = rows === 1 || (here.rowPitch === bytes && there.rowPitch === bytes)
    ? [bytes * rows, 1]
    : [bytes, rows]
  if (lines === 1 && (slices === 1 || (here.slicePitch === length && there.slicePitch === length))) {
    yield [here.offset, there.offset, length * slices]
    return
  }
  for (let slice = 0; slice < slices; slice++) {
    const [from, to] = [here.offset + slice * here.slicePitch, there.offset + slice * there.slicePitch]
    for (let line = 0; line < lines; line++) yield [from + line * here.rowPitch, to + line * there.rowPitch, length]
  }
}

/** Copies a region between two pieces of host memory. */
export const copyBytes = (
  extent: Extent,
  source: Uint8Array<ArrayBuffer>,
  from: Rows,
  target: Uint8Array<ArrayBuffer>,
  to: Rows
): void => {
  for (const [here, there, bytes] of runs(extent, from, to)) target.set(source.subarray(here, here + bytes), there)
}
