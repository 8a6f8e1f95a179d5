/**
 * Positions that the program has as numbers: they are checked before anything reaches the device.
 *
 * @internal
 */
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type * as Shape from "../layout/Shape.ts"
import { firstOf, type NestedNumbers, parse } from "../transfer/NestedNumbers.ts"
import { allocate, memoryProblem } from "../transfer/TypedArrays.ts"

/** What a position outside the axis means. */
export type Mode = "clip" | "wrap"

/** Positions on an axis, all of them inside. */
export interface Positions {
  readonly shape: Shape.Shape
  readonly data: Uint32Array<ArrayBuffer>
}

/**
 * Resolves positions on an axis of `length` elements, negative ones counted from the end; those outside are InvalidRequest
 * unless there is a mode. `where` is the axis as errors name it.
 */
export const positions = (
  operation: string,
  given: NestedNumbers | Int32Array | Uint32Array,
  length: number,
  mode: Mode | undefined,
  where: string
): Positions | GpuError => {
  const numbers = numbersOf(operation, given)
  if (numbers instanceof GpuError) return numbers
  const { shape } = numbers
  const buffer = allocate(numbers.data.length * 4)
  if (buffer instanceof GpuError) return buffer
  const data = new Uint32Array(buffer)
  for (let at = 0; at < data.length; at++) {
    const index = numbers.data[at]!
    const position = positionOf(index, length, mode)
    if (position === undefined) return outside(operation, index, at, shape, length, where)
    data[at] = position
  }
  return { shape, data }
}

interface Numbers {
  readonly shape: Shape.Shape
  readonly data: ArrayLike<number>
}

const numbersOf = (operation: string, given: NestedNumbers | Int32Array | Uint32Array): Numbers | GpuError => {
  const first: unknown = ArrayBuffer.isView(given) ? given[0] : firstOf(given)
  if (typeof first === "boolean") {
    return noNumbers(operation, "truth values", "Pass the positions of those that are true, or use DeviceArray.where.")
  }
  if (typeof first === "bigint") {
    return noNumbers(operation, "bigints", "Pass numbers, as Int32Array.from(indices, Number).")
  }
  return ArrayBuffer.isView(given)
    ? memoryProblem(operation, given) ?? { shape: [given.length], data: given }
    : parse(operation, given, "f64") as Numbers | GpuError
}

const noNumbers = (operation: string, found: string, hint: string): GpuError =>
  invalidRequest(operation, `the indices are ${found}`, hint)

const positionOf = (index: number, length: number, mode: Mode | undefined): number | undefined => {
  if (!Number.isSafeInteger(index)) return undefined
  const fromFront = index < 0 ? index + length : index
  if (mode === "clip") return Math.min(Math.max(fromFront, 0), length - 1)
  if (mode === "wrap") return ((index % length) + length) % length
  return fromFront >= 0 && fromFront < length ? fromFront : undefined
}

const outside = (
  operation: string,
  index: number,
  at: number,
  shape: Shape.Shape,
  length: number,
  where: string
): GpuError => {
  const coordinates: Array<number> = []
  let rest = at
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    coordinates.unshift(rest % shape[axis]!)
    rest = Math.floor(rest / shape[axis]!)
  }
  const name = shape.length === 0 ? "the index" : `index [${coordinates.join("][")}]`
  return invalidRequest(
    operation,
    `${name} is ${index}, outside ${where}`,
    length === 0
      ? "There are no positions."
      : Number.isSafeInteger(index)
      ? `Use ${-length} to ${length - 1}, or say what others mean: { mode: "clip" } or { mode: "wrap" }.`
      : "Indices are whole numbers."
  )
}
