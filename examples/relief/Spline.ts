/**
 * Interpolation as a matrix: `matrix · values` are the values of a smooth curve between samples. For a grid,
 * `rowMatrix · grid · columnMatrixᵀ` is a smooth surface, so all the work is two products on the device.
 *
 * The curve is a uniform cubic B-spline. It has no kinks that light would show, and smooths away the rounding of the
 * heights to whole metres.
 */

/** How much the samples at -1, 0, 1 and 2 count for a point at `t`, between the samples at 0 and 1. */
const weights = (t: number): ReadonlyArray<number> => [
  (1 - t) ** 3 / 6,
  (4 - 6 * t ** 2 + 3 * t ** 3) / 6,
  (1 + 3 * t + 3 * t ** 2 - 3 * t ** 3) / 6,
  t ** 3 / 6
]

/** A sample of the data and how much it counts. Beyond both ends the data goes on in a straight line. */
const inside = (sample: number, count: number): ReadonlyArray<readonly [sample: number, weight: number]> => {
  const last = count - 1
  if (sample < 0) return [[0, 1 - sample], [1, sample]]
  if (sample > last) return [[last, 1 + sample - last], [last - 1, last - sample]]
  return [[sample, 1]]
}

/** One row for each position, one column for each of `count` samples, row by row. Sample k is at position k. */
export const matrix = (positions: ReadonlyArray<number>, count: number): Float32Array<ArrayBuffer> => {
  const entries = new Float32Array(positions.length * count)
  positions.forEach((position, row) => {
    const first = Math.floor(position)
    weights(position - first).forEach((weight, k) => {
      for (const [sample, share] of inside(first - 1 + k, count)) entries[row * count + sample]! += weight * share
    })
  })
  return entries
}
