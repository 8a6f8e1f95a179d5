/**
 * How a reduction or a scan divides its elements among items. The rule depends only on the lengths and the layout, so
 * that the order of combination is the same on every device.
 *
 * @internal
 */

/**
 * A division of rows into chunks, one for each item. A chunk has at most `span` elements at a distance of `lanes`, so that
 * `lanes` neighbouring chunks interleave in `lanes * span` contiguous elements; with one lane a chunk is contiguous.
 */
export interface Division {
  /** Chunks of a row. */
  readonly chunks: number
  readonly lanes: number
  readonly span: number
}

/**
 * Which elements are neighbours in memory, and should be read by neighbouring items.
 *
 * - `elements`: those of a row, but each item has to keep their order
 * - `lanes`: those of a row
 * - `rows`: those at one position of neighbouring rows
 */
export type Neighbours = "elements" | "lanes" | "rows"

/** One item combines up to this many elements alone: a second kernel would cost more than it saves. */
const shortest = 256

/** The most chunks of a row: enough items for a large device, and few enough that their states need two more kernels at most. */
const mostItems = 65_536

/** The elements of an item in long rows. */
const worthAnItem = 64

/** The lanes of a workgroup, which then reads its elements contiguously. */
const mostLanes = 64

/** The elements of the smallest memory transaction of GPUs. */
const leastLanes = 16

/**
 * Divides each of `rows` rows of `length` elements, at least one. At most three kernels reduce any row that fits a device:
 * a row has at most 65,536 chunks, and 65,536 elements have at most 256.
 */
export const divide = (rows: number, length: number, neighbours: Neighbours): Division => {
  if (length <= shortest) return undivided(length)
  const wanted = length <= mostItems
    ? Math.ceil(Math.sqrt(length))
    : Math.min(Math.ceil(length / worthAnItem), mostItems)
  const chunks = Math.min(wanted, Math.floor(mostItems / rows))
  if (neighbours !== "lanes") return chunks < 4 ? undivided(length) : divided(length, chunks, 1)
  const lanes = Math.max(leastLanes, Math.min(mostLanes, 2 ** Math.floor(Math.log2(Math.max(1, chunks)))))
  return divided(length, Math.max(1, Math.floor(chunks / lanes)), lanes)
}

const undivided = (length: number): Division => ({ chunks: 1, lanes: 1, span: length })

const divided = (length: number, segments: number, lanes: number): Division => {
  const span = Math.ceil(length / (segments * lanes))
  return { chunks: Math.ceil(length / (span * lanes)) * lanes, lanes, span }
}
