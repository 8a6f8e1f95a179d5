/**
 * Whether work items that access local memory at the same time have bank conflicts.
 *
 * @see pyopencl.characterize.why_not_local_access_conflict_free
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import { list } from "../arguments/Format.ts"
import { packedStrides } from "../data/StridedShape.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"

/**
 * How a device's local memory is divided and accessed. A bank serves one word at a time.
 *
 * @category models
 * @since 0.1.0
 */
export interface LocalMemoryBanks {
  /** `undefined` where local memory has none, being a part of global memory, as on CPUs. */
  readonly banks: number | undefined
  /** Bytes of a bank's word. */
  readonly granularity: number
  /** Work items that access it at the same time; 1 on a CPU. */
  readonly simultaneousWorkItems: number
}

/**
 * The worst that happens along one axis of an array in local memory.
 *
 * @category models
 * @since 0.1.0
 */
export interface LocalMemoryConflict {
  /** How many accesses one bank serves one after the other; 1 is free of conflicts. */
  readonly multiplicity: number
  /** The first axis that it happens on, `undefined` without a conflict. */
  readonly axis: number | undefined
}

const areSizes = (sizes: ReadonlyArray<number>): boolean =>
  sizes.length > 0 && sizes.every((size) => Number.isSafeInteger(size) && size > 0)

const problemOf = (
  banks: LocalMemoryBanks,
  itemSize: number,
  shape: ReadonlyArray<number>,
  storedShape: ReadonlyArray<number>
): GpuError | undefined => {
  const operation = "LocalMemory.conflicts"
  if (!areSizes([banks.banks ?? 1, banks.granularity, banks.simultaneousWorkItems, itemSize])) {
    return invalidRequest(operation, "a size is no positive integer", "Pass whole numbers of bytes, banks and items.")
  }
  if (!areSizes(shape) || !areSizes(storedShape) || shape.length !== storedShape.length) {
    return invalidRequest(
      operation,
      `the shapes [${list(shape)}] and [${list(storedShape)}] do not fit`,
      "Pass as many positive dimensions for both."
    )
  }
  const axis = shape.findIndex((length, index) => length > storedShape[index]!)
  return axis === -1 ? undefined : invalidRequest(
    operation,
    `axis ${axis} has ${shape[axis]} elements and is stored with ${storedShape[axis]}`,
    "Store at least as many as are used."
  )
}

/**
 * The position of an item's element, in elements: items go along an axis, then along the slower ones; `undefined` past
 * the end.
 */
const placeOf = (
  item: number,
  axis: number,
  shape: ReadonlyArray<number>,
  strides: ReadonlyArray<number>
): number | undefined => {
  let place = 0
  let left = item
  for (let at = axis; at >= 0; at--) {
    place += (left % shape[at]!) * strides[at]!
    left = Math.floor(left / shape[at]!)
  }
  return left === 0 ? place : undefined
}

/** The most accesses of one of `banks` by items along an axis. */
const mostHits = (
  { granularity, simultaneousWorkItems }: LocalMemoryBanks,
  banks: number,
  itemSize: number,
  place: (item: number) => number | undefined
): number => {
  const wordsByBank = new Map<number, Set<number>>()
  for (let item = 0; item < simultaneousWorkItems; item++) {
    const at = place(item)
    if (at === undefined) break
    const word = Math.floor(at * itemSize / granularity)
    const bank = word % banks
    wordsByBank.set(bank, (wordsByBank.get(bank) ?? new Set()).add(word))
  }
  return Math.max(...[...wordsByBank.values()].map((words) => words.size))
}

/**
 * The worst conflict when neighbouring work items access neighbouring elements along any one axis of an array in local
 * memory; where that axis is shorter than the number of simultaneous items, the others continue at the next index of
 * the slower axes. `itemSize` is bytes; `storedShape` is the shape that the array has in memory, when rows are padded.
 * Items that access one word of a bank share it without a conflict, and memory without banks has none. Sizes that are
 * no positive integers, and shapes that do not fit each other, are InvalidRequest.
 *
 * **Example** (Columns of a square tile, plain and padded)
 *
 * ```ts
 * import { Result } from "effect"
 * import { LocalMemory } from "effect-gpu-pool/devices"
 *
 * const banks = { banks: 32, granularity: 4, simultaneousWorkItems: 32 }
 * Result.getOrThrow(LocalMemory.conflicts(banks, 4, [32, 32])) // => { multiplicity: 32, axis: 0 }
 * Result.getOrThrow(LocalMemory.conflicts(banks, 4, [32, 32], [32, 33])) // => { multiplicity: 1, axis: undefined }
 * ```
 *
 * @see pyopencl.characterize.why_not_local_access_conflict_free
 * @category getters
 * @since 0.1.0
 */
export const conflicts = (
  banks: LocalMemoryBanks,
  itemSize: number,
  shape: ReadonlyArray<number>,
  storedShape: ReadonlyArray<number> = shape
): Result.Result<LocalMemoryConflict, GpuError> => {
  const problem = problemOf(banks, itemSize, shape, storedShape)
  if (problem !== undefined) return Result.fail(problem)
  if (banks.banks === undefined) return Result.succeed({ multiplicity: 1, axis: undefined })
  const count = banks.banks
  const strides = packedStrides(storedShape, "C")
  const hits = shape.map((_, axis) => mostHits(banks, count, itemSize, (item) => placeOf(item, axis, shape, strides)))
  const multiplicity = Math.max(...hits)
  return Result.succeed({ multiplicity, axis: multiplicity === 1 ? undefined : hits.indexOf(multiplicity) })
}
