/**
 * How a reduction or a scan divides its elements among items. The rule depends only on the lengths and the layout, so
 * that the order of combination is the same on every device.
 *
 * @internal
 */

/**
 * A division of rows into chunks, one for each item. A chunk has at most `span` elements, `lanes` apart, so that as many
 * neighbouring chunks share `lanes * span` elements that follow each other; with one lane a chunk has neighbours alone.
 */
export interface Division {
  /** Chunks of a row. */
  readonly chunks: number
  readonly lanes: number
  readonly span: number
}

/**
 * Which elements are close together in memory: neighbouring items should read them.
 *
 * - `elements`: those of a row, but each item has to keep their order
 * - `lanes`: those of a row
 * - `rows`: those at one position of neighbouring rows
 */
export type Neighbours = "elements" | "lanes" | "rows"

/** Up to so many elements one item combines by itself: a second kernel would cost more than it saves. */
const shortest = 256

/** Enough items for a large device; few enough that what they leave needs two more kernels, not three. */
const mostItems = 65_536

/** Elements that are worth an item, where there are many. */
const worthAnItem = 64

/** A workgroup reads its elements from end to end. */
const mostLanes = 64

/** Elements of the smallest piece of memory that graphics processors read at once. */
const leastLanes = 16

/**
 * Divides each of `rows` rows of `length` elements, at least one. At most three kernels reduce whatever a device holds:
 * a row has at most 65,536 chunks, and so many elements have at most 256.
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
