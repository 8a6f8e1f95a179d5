/**
 * Larger arrays with the elements of one, several times.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { isDataFirst, ofArray } from "../ArrayProblem.ts"
import { DeviceArray } from "../ArrayValue.ts"
import { type ArrayOperand, type Computed, evaluateAll, evaluateCopy } from "../fusion/Evaluation.ts"
import * as Gather from "../indexing/Gather.ts"
import type { Positions } from "../indexing/HostIndices.ts"
import type { AxisOptions } from "../Joining.ts"
import * as Layout from "../layout/Layout.ts"
import * as Shape from "../layout/Shape.ts"
import { isList } from "../layout/WrongValue.ts"
import { allocate } from "../transfer/TypedArrays.ts"

/** A copy of a view of an array with memory, in another shape of as many elements. */
const copiedAs = <D extends DType>(
  self: DeviceArray<D>,
  layout: Layout.Layout,
  shape: Shape.Shape
): Computed<D> =>
  Effect.flatMap(
    Effect.andThen(
      evaluateAll([self]),
      Effect.suspend(() => evaluateCopy(new DeviceArray(self.dtype, layout, self.lease!)))
    ),
    (copy) =>
      Effect.sync(() =>
        new DeviceArray(self.dtype, { shape, strides: Layout.rowMajor(shape), offset: copy.offset }, copy.lease!)
      )
  )

/**
 * Copies of the whole array side by side: so many along each axis, aligned at the last, as one new array. A number alone is the
 * count along the last axis; more counts than axes add axes in front.
 *
 * **Example** (A pattern, twice down and once across)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([1, 2]).pipe(
 *   DeviceArray.tile([2, 2]),
 *   DeviceArray.toNested
 * ) // => [[1, 2, 1, 2], [1, 2, 1, 2]]
 * ```
 *
 * @see numpy.tile
 * @category joining
 * @since 0.1.0
 */
export const tile: {
  /**
   * Copies of the whole array side by side: so many along each axis, aligned at the last, as one new array. A number alone is the
   * count along the last axis; more counts than axes add axes in front.
   */
  (counts: number | ReadonlyArray<number>): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, counts: number | ReadonlyArray<number>): Computed<D>
} = ofArray("tile", (operation, self, counts: number | ReadonlyArray<number>) => {
  const given: ReadonlyArray<number> = isList(counts) ? counts : [counts]
  const rank = Math.max(given.length, self.shape.length)
  const shape: Array<number> = []
  const repeated = { shape: [] as Array<number>, strides: [] as Array<number>, offset: self.offset }
  for (let axis = 0; axis < rank; axis++) {
    const at = axis - rank + given.length
    const count = at < 0 ? 1 : given[at]!
    const problem = Shape.countProblem(operation, "a count", count)
    if (problem !== undefined) return problem
    const own = axis - rank + self.shape.length
    const length = self.shape[own] ?? 1
    shape.push(length * count + 0)
    repeated.shape.push(count, length)
    repeated.strides.push(0, self.strides[own] ?? 1)
  }
  return Shape.problem(operation, shape) ?? copiedAs(self, repeated, shape)
})

/**
 * Each element so many times in a row: along an axis, or of all elements in row-major order without one. Instead of one count
 * there may be a list, with one for each element along the axis.
 *
 * **Example** (Every row twice, and some elements more often)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
 *   const rows = yield* DeviceArray.repeat(x, 2, { axis: 0 })
 *   const each = yield* DeviceArray.repeat(x, [0, 1, 2, 3])
 *   return [yield* DeviceArray.toNested(rows), yield* DeviceArray.toNested(each)]
 * }) // => [[[1, 2], [1, 2], [3, 4], [3, 4]], [2, 3, 3, 4, 4, 4]]
 * ```
 *
 * @see numpy.repeat
 * @category joining
 * @since 0.1.0
 */
export const repeat: {
  /**
   * Each element so many times in a row: along an axis, or of all elements in row-major order without one. Instead of one count
   * there may be a list, with one for each element along the axis.
   */
  (counts: number | ReadonlyArray<number>, options?: AxisOptions): <D extends DType>(
    self: ArrayOperand<D>
  ) => Computed<D>
  <D extends DType>(
    self: ArrayOperand<D>,
    counts: number | ReadonlyArray<number>,
    options?: AxisOptions
  ): Computed<D>
} = ofArray("repeat", (operation, self, counts: number | ReadonlyArray<number>, options?: AxisOptions) => {
  const axis = Shape.axisIn(operation, options, self.shape, undefined)
  if (axis instanceof GpuError) return axis
  if (!isList(counts)) return repeatedEach(operation, self, counts, axis)
  const positions = repeatedPositions(operation, self, counts, axis)
  return positions instanceof GpuError ? positions : Gather.checked(operation, self, positions, axis)
}, isDataFirst(3))

const repeatedEach = (operation: string, self: DeviceArray, count: number, axis: number | undefined) => {
  const problem = Shape.countProblem(operation, "the count", count)
  if (problem !== undefined) return problem
  const at = axis === undefined ? self.shape.length : axis + 1
  const layout = {
    shape: [...self.shape.slice(0, at), count, ...self.shape.slice(at)],
    strides: [...self.strides.slice(0, at), 0, ...self.strides.slice(at)],
    offset: self.offset
  }
  const shape = axis === undefined
    ? [self.size * count + 0]
    : self.shape.map((length, of) => of === axis ? length * count + 0 : length)
  return Shape.problem(operation, shape) ?? copiedAs(self, layout, shape)
}

/** The position of each element of the result along the axis. */
const repeatedPositions = (
  operation: string,
  { shape, size }: DeviceArray,
  counts: ReadonlyArray<number>,
  axis: number | undefined
): Positions | GpuError => {
  const length = axis === undefined ? size : shape[axis]!
  if (counts.length !== length) {
    return invalidRequest(
      operation,
      `there are ${counts.length} counts for ${length} elements of the shape ${Shape.format(shape)}`,
      "Pass one number for all, or a number for each element along the axis, or of the whole array without one."
    )
  }
  let total = 0
  for (let at = 0; at < length; at++) {
    const problem = Shape.countProblem(operation, `count ${at}`, counts[at]!)
    if (problem !== undefined) return problem
    total += counts[at]!
  }
  const found = axis === undefined ? [total] : shape.map((own, of) => of === axis ? total : own)
  const wrong = Shape.problem(operation, found)
  if (wrong !== undefined) return wrong
  const buffer = allocate(4 * total)
  if (buffer instanceof GpuError) return buffer
  const data = new Uint32Array(buffer)
  let end = 0
  for (let at = 0; at < length; at++) data.fill(at, end, end += counts[at]!)
  return { shape: [total], data }
}
