/**
 * Workgroups: how many items they have, over which ranges they run in up to three dimensions, and what host bodies see
 * of them.
 *
 * @since 0.1.0
 */

/**
 * The items of one workgroup: a number in one dimension, or a number for each dimension, of which those left out are 1.
 *
 * @category models
 * @since 0.1.0
 */
export type Size = number | readonly [x: number, y?: number, z?: number]

/**
 * The items of one dispatch: a number in one dimension, or a number for each dimension, of which those left out are 1.
 * The library rounds it up to whole workgroups.
 *
 * @category models
 * @since 0.1.0
 */
export type Range = number | readonly [x: number, y?: number, z?: number]

/**
 * A number for each of the three dimensions.
 *
 * @category models
 * @since 0.1.0
 */
export type Extents = readonly [x: number, y: number, z: number]

/**
 * A size or a range in three dimensions.
 *
 * **Example** (A size of two dimensions)
 *
 * ```ts
 * import { Workgroup } from "effect-gpu-pool/kernels"
 *
 * Workgroup.extentsOf([16, 8]) // => [16, 8, 1]
 * Workgroup.extentsOf(64) // => [64, 1, 1]
 * ```
 *
 * @category functions
 * @since 0.1.0
 */
export const extentsOf = (given: Size | Range): Extents => {
  if (typeof given === "number") return [given, 1, 1]
  const [x, y = 1, z = 1] = given
  return [x, y, z]
}

/**
 * How many items these extents have together.
 *
 * **Example** (The items of a workgroup)
 *
 * ```ts
 * import { Workgroup } from "effect-gpu-pool/kernels"
 *
 * Workgroup.itemsOf(Workgroup.extentsOf([16, 16])) // => 256
 * ```
 *
 * @category functions
 * @since 0.1.0
 */
export const itemsOf = ([x, y, z]: Extents): number => x * y * z

/**
 * How many workgroups a range takes in each dimension: the last one of a dimension may reach beyond the range.
 *
 * **Example** (A range that is no multiple)
 *
 * ```ts
 * import { Workgroup } from "effect-gpu-pool/kernels"
 *
 * Workgroup.countOf([100, 32, 1], [16, 16, 1]) // => [7, 2, 1]
 * ```
 *
 * @category functions
 * @since 0.1.0
 */
export const countOf = (range: Extents, size: Extents): Extents => [
  Math.ceil(range[0] / size[0]),
  Math.ceil(range[1] / size[1]),
  Math.ceil(range[2] / size[2])
]

/**
 * Extents as messages name them, without dimensions that have one item at the end: `100 x 32`.
 *
 * @category functions
 * @since 0.1.0
 */
export const format = ([x, y, z]: Extents): string => (z !== 1 ? [x, y, z] : y !== 1 ? [x, y] : [x]).join(" x ")

/**
 * A place in up to three dimensions, from 0.
 *
 * @category models
 * @since 0.1.0
 */
export interface Place {
  readonly x: number
  readonly y: number
  readonly z: number
}

/**
 * One item of a workgroup, as a host body sees it: what WGSL and OpenCL C bodies have as `global_id`, `local_id` and
 * `local_index`. It is valid while the function that got it runs: the next item is the same object with other numbers.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostItem {
  /** Its place in the whole dispatch. It may lie beyond the range, which is rounded up to whole workgroups. */
  readonly globalId: Place
  /** Its place in its workgroup. */
  readonly localId: Place
  /** Its number in its workgroup: x counts fastest. */
  readonly localIndex: number
}

/**
 * One workgroup, as a host body sees it: what WGSL and OpenCL C bodies have as `group_id`, `group_count`, `group_size`
 * and `range`.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostGroup {
  /** Its place among the workgroups of the dispatch. */
  readonly groupId: Place
  /** How many workgroups the dispatch has in each dimension. */
  readonly groupCount: Place
  /** How many items each workgroup has in each dimension. */
  readonly groupSize: Place
  /** The items that the program has asked for. */
  readonly range: Place
  /**
   * Runs a function for every item of the workgroup, one after the other. Where the call returns is a barrier: what the
   * next call reads, all items of this one have written.
   */
  readonly items: (run: (item: HostItem) => void) => void
}
