/**
 * Where a recorded array that is too large for one kernel is cut into several.
 *
 * @internal
 */
import type { DeviceArray } from "../ArrayValue.ts"
import type { Scalar } from "../layout/Scalar.ts"
import * as Plan from "./Plan.ts"

export const isRecorded = (operand: DeviceArray | Scalar): operand is DeviceArray =>
  typeof operand === "object" && operand.pending !== undefined

/**
 * The arrays that must get memory first, in this order, so that one kernel each is enough for them and for the array
 * itself. Empty where nothing can be cut.
 *
 * From the operands up, every operation is added to the kernel of those below it. If that becomes too large, the largest operand
 * is cut off. So kernels are large, and every array is visited once.
 */
export const of = (array: DeviceArray, maxVectorArguments: number): ReadonlyArray<DeviceArray> => {
  const cutter = new Cutter(maxVectorArguments)
  cutter.visit(array)
  return cutter.cuts
}

/** What the kernel of an array would read and compute. */
interface Part {
  readonly leaves: ReadonlySet<DeviceArray>
  readonly recorded: ReadonlySet<DeviceArray>
}

class Cutter {
  readonly cuts: Array<DeviceArray> = []
  readonly #maxVectorArguments: number
  readonly #parts = new Map<DeviceArray, Part>()

  constructor(maxVectorArguments: number) {
    this.#maxVectorArguments = maxVectorArguments
  }

  visit(array: DeviceArray): Part {
    const known = this.#parts.get(array)
    if (known !== undefined) return known
    const operands = arraysAmong(array.pending?.operands ?? [])
    for (const operand of operands) this.visit(operand)
    const part = array.pending === undefined ? leaf(array) : this.#join(array, operands)
    this.#parts.set(array, part)
    return part
  }

  #join(array: DeviceArray, operands: ReadonlyArray<DeviceArray>): Part {
    for (;;) {
      const parts = operands.map((operand) => this.#parts.get(operand)!)
      const part = joined(array, parts)
      if (fits(part, array.shape, this.#maxVectorArguments)) return part
      const largest = largestOf(parts)
      if (largest === undefined) return part
      const cut = operands[parts.indexOf(largest)]!
      this.cuts.push(cut)
      this.#parts.set(cut, leaf(cut))
    }
  }
}

const arraysAmong = (operands: ReadonlyArray<DeviceArray | Scalar>): ReadonlyArray<DeviceArray> =>
  operands.filter((operand) => typeof operand === "object")

const leaf = (array: DeviceArray): Part => ({ leaves: new Set([array]), recorded: new Set() })

const joined = (array: DeviceArray, parts: ReadonlyArray<Part>): Part => {
  const leaves = new Set<DeviceArray>()
  const recorded = new Set([array])
  for (const part of parts) {
    for (const found of part.leaves) leaves.add(found)
    for (const found of part.recorded) recorded.add(found)
  }
  return { leaves, recorded }
}

/** The largest operand that can be cut off. */
const largestOf = (parts: ReadonlyArray<Part>): Part | undefined => {
  let largest: Part | undefined
  for (const part of parts) {
    if (part.recorded.size === 0) continue
    if (largest === undefined || isLarger(part, largest)) largest = part
  }
  return largest
}

const isLarger = (a: Part, b: Part): boolean =>
  a.leaves.size === b.leaves.size ? a.recorded.size > b.recorded.size : a.leaves.size > b.leaves.size

/** Whether one kernel is enough. It counts at least as much as the plan of the kernel will have. */
const fits = ({ leaves, recorded }: Part, shape: DeviceArray["shape"], maxVectorArguments: number): boolean => {
  const vectors = new Set<unknown>()
  let axes = 1
  let weight = leaves.size
  let numbers = 0
  for (const array of leaves) {
    vectors.add(array.lease ?? array)
    if (!Plan.isFlat(array, shape)) axes = Math.max(axes, shape.length)
  }
  for (const { pending } of recorded) {
    weight += pending!.weight
    numbers += pending!.operands.length - arraysAmong(pending!.operands).length
  }
  return Plan.isModest({ vectors: vectors.size + 1, leaves: leaves.size, axes, numbers, weight }, maxVectorArguments)
}
