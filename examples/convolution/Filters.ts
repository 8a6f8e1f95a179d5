/** Filters: how much each neighbour of a pixel counts. */

export interface Filter {
  /** How far neighbours reach, in pixels. */
  readonly radius: number
  /** Of `(2 radius + 1)²` neighbours, row by row. */
  readonly weights: Float32Array<ArrayBuffer>
}

/** A Gaussian, cut off at `radius`; its weights add up to 1. */
export const blur = (radius: number): Filter => {
  const sigma = radius / 2
  const bell = (distance: number): number => Math.exp(-(distance ** 2) / (2 * sigma ** 2))
  const row = Array.from({ length: 2 * radius + 1 }, (_, index) => bell(index - radius))
  const total = row.reduce((sum, weight) => sum + weight, 0)
  const weights = row.flatMap((down) => row.map((across) => down * across / total ** 2))
  return { radius, weights: Float32Array.from(weights) }
}

/** How much a pixel differs from the mean of its eight neighbours: black in even areas, bright along edges. */
export const edges: Filter = { radius: 1, weights: Float32Array.of(-1, -1, -1, -1, 8, -1, -1, -1, -1) }

/** A pixel plus its difference from its four neighbours. */
export const sharpen: Filter = { radius: 1, weights: Float32Array.of(0, -1, 0, -1, 5, -1, 0, -1, 0) }
