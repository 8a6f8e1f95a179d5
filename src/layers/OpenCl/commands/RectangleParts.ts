/**
 * How commands name a rectangle, so that every driver takes it. The standard does not say how a driver checks the bounds.
 * NVIDIA's counts whole slices and whole rows, and refuses a rectangle where the gap after the last one would be outside the buffer:
 *
 *     (origin[2] + region[2]) * slice pitch > size of the buffer, or (origin[1] + region[1]) * row pitch
 *
 * @internal
 */
import type { Extent, Place } from "../../../domain/data/Rectangle.ts"

export type Triple = readonly [number, number, number]

/** A place in the memory of a cl_mem. */
export interface Placed {
  /** Bytes of the cl_mem. */
  readonly size: number
  /** Where the memory that the place is in begins, in bytes of the cl_mem. */
  readonly start: number
  readonly place: Place
}

/** A place as arguments of a command. */
export interface Named {
  readonly origin: Triple
  readonly rowPitch: number
  readonly slicePitch: number
}

/** What one command transfers. */
export interface RectanglePart {
  readonly extent: Extent
  /** In each of the memories. */
  readonly places: ReadonlyArray<Named>
  /** How many rows of the rectangle come before it. */
  readonly firstRow: number
}

/**
 * The rectangle in as few parts as the bounds allow: mostly one. Where a memory ends before the gap after the last slice,
 * or after the last row, that slice or row is a part of its own.
 */
export const parts = (extent: Extent, memories: ReadonlyArray<Placed>): ReadonlyArray<RectanglePart> =>
  partsFrom(
    extent,
    memories.map(({ place, size, start }) => ({ ...place, size, first: start + place.offset, start })),
    0
  )

interface Memory extends Omit<Named, "origin"> {
  /** Undefined where other rows came before. */
  readonly origin?: Triple | undefined
  readonly size: number
  readonly start: number
  /** The first byte of the rectangle. */
  readonly first: number
}

const partsFrom = (
  extent: Extent,
  memories: ReadonlyArray<Memory>,
  firstRow: number
): ReadonlyArray<RectanglePart> => {
  const places = memories.map((memory) => named(extent, memory))
  if (places.every((place) => place !== undefined)) return [{ extent, places, firstRow }]
  const [bytes, rows, slices] = extent
  const [before, last]: readonly [Extent, Extent] = slices > 1
    ? [[bytes, rows, slices - 1], [bytes, rows, 1]]
    : [[bytes, rows - 1, 1], [bytes, 1, 1]]
  const after = (memory: Memory): Memory => ({
    ...memory,
    origin: undefined,
    first: memory.first + (slices > 1 ? (slices - 1) * memory.slicePitch : (rows - 1) * memory.rowPitch)
  })
  return [
    ...partsFrom(before, memories, firstRow),
    ...partsFrom(last, memories.map(after), firstRow + before[1] * before[2])
  ]
}

/** A place within the bounds, as the program has named it where that is possible. */
const named = (extent: Extent, { first, origin, rowPitch, size, slicePitch, start }: Memory): Named | undefined => {
  const [bytes, rows, slices] = extent
  if (
    origin !== undefined && start === 0 && (origin[2] + slices) * slicePitch <= size &&
    (origin[1] + rows) * rowPitch <= size
  ) {
    return { origin, rowPitch, slicePitch }
  }
  // A row begins anywhere in one that is long enough. One slice needs no more room than its rows.
  if (rows === 1 && slices === 1) {
    return { origin: [first, 0, 0], rowPitch: first + bytes, slicePitch: first + bytes }
  }
  const least = slices === 1 ? rows * rowPitch : slicePitch
  // Rows and slices are counted from the first byte on.
  return slices * least > size ? undefined : { origin: [first, 0, 0], rowPitch, slicePitch: least }
}
