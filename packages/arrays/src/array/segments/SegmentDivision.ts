/**
 * How a sum by segments is divided among items. The rule depends only on the lengths and the device, not on where elements lie
 * in memory, so that a view, a recorded array and a copy of it are added in the same order.
 *
 * @internal
 */
import type { DeviceInfo } from "effect-gpu-pool/DeviceInfo"
import { equal, type Parts } from "../../kernels/reduction/Division.ts"

/** The part of a row that an item adds up, in sums of its own, and the segments to which these sums belong. */
export interface SegmentDivision extends Parts {
  readonly ranges: number
  /** Segments of a range, the last of which may have fewer. */
  readonly range: number
}

/**
 * Whether few items each have a run of neighbours, as caches of CPUs want it, or many items take elements in turn, as GPUs
 * want it.
 */
export type Runner = "few" | "many"

export const runnerOf = ({ isCpu, traits }: DeviceInfo): Runner =>
  isCpu === true || traits.language.bodies === "ranges" ? "few" : "many"

/** Elements of an item; the sums of the parts have at most a quarter of the memory of the elements, or that of the result. */
const least = { few: 1024, many: 64 }
const mostSums = 0.25

/**
 * A few items add up rows of up to `alone` elements, since a second kernel costs more. More than `chain` additions in turn
 * would make a sum less exact.
 */
const few = { alone: 16_384, parts: 256, chain: 16_384 }

/** A GPU hides the time of a read behind other items. It wants so many; where parts would take much memory, each has a range. */
const many = { alone: 128, parts: 65_536, items: 16_384 }

/** Divides rows of `length` elements, at least one, where an item adds up a block of rows together. */
export const divide = (blocks: number, length: number, segments: number, runner: Runner): SegmentDivision => {
  const affordable = Math.max(1, Math.floor(length * mostSums / segments))
  const worthwhile = Math.ceil(length / least[runner])
  if (runner === "few") {
    const wanted = length <= few.alone ? 1 : Math.max(Math.min(few.parts, worthwhile), Math.ceil(length / few.chain))
    return { ...equal(length, Math.min(wanted, affordable)), ranges: 1, range: segments }
  }
  const wanted = length <= many.alone ? 1 : Math.min(many.parts, worthwhile)
  const parts = equal(length, Math.min(wanted, affordable))
  const ranges = wanted <= affordable ? 1 : Math.ceil(many.items / (parts.parts * blocks))
  const { parts: divided, segment } = equal(segments, Math.min(segments, ranges))
  return { ...parts, ranges: divided, range: segment }
}

/** An item adds up so many rows together at most, with one read of each position's segment. */
const mostRows = 8

/** How many rows an item adds up: as many as divide all rows evenly, and fit the kernel if each has that weight. */
export const rowsOfItem = (rows: number, weight: number): number => {
  let height = Math.max(1, Math.min(mostRows, rows, Math.floor(64 / weight)))
  while (rows % height !== 0) height -= 1
  return height
}
