/**
 * Views of an array's elements: they share its memory and start no kernel.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { ofArray } from "./ArrayProblem.ts"
import { DeviceArray } from "./ArrayValue.ts"
import { type ArrayOperand, type Computed, evaluateAll, evaluateCopy } from "./fusion/Evaluation.ts"
import * as Layout from "./layout/Layout.ts"
import * as Reshape from "./layout/Reshape.ts"
import * as Shape from "./layout/Shape.ts"
import * as Slice from "./layout/Slice.ts"
import { isList, listProblem } from "./layout/WrongValue.ts"

export type { Range } from "./layout/Slice.ts"

/** The same memory with other strides. A recorded array gets its memory first. */
const view = <D extends DType>(array: DeviceArray<D>, layout: Layout.Layout): Computed<D> => {
  const make = (): DeviceArray<D> => new DeviceArray(array.dtype, layout, array.lease!)
  return Effect.suspend(() => array.pending === undefined ? Effect.sync(make) : Effect.map(evaluateAll([array]), make))
}

/**
 * The elements in another shape, in row-major order. One of the lengths may be -1, and is then computed. The result
 * is a view if strides can express it, as they always can for a contiguous array; otherwise the elements are
 * copied, as NumPy does.
 *
 * **Example** (Six elements as three rows)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.arange(6).pipe(
 *   DeviceArray.reshape([3, -1]),
 *   DeviceArray.toNested
 * ) // => [[0, 1], [2, 3], [4, 5]]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.reshape.html
 * @category views
 * @since 0.1.0
 */
export const reshape: {
  /**
   * The elements in another shape, in row-major order. One of the lengths may be -1, and is then computed. The result
   * is a view if strides can express it, as they always can for a contiguous array; otherwise the elements are
   * copied, as NumPy does.
   */
  (shape: ReadonlyArray<number>): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, shape: ReadonlyArray<number>): Computed<D>
} = ofArray("reshape", (operation, self, asked: ReadonlyArray<number>) => {
  const shape = Reshape.shapeFor(operation, asked, self.size, `the array of shape ${Shape.format(self.shape)}`)
  if (shape instanceof GpuError) return shape
  const strides = Reshape.reshapedStrides(self, shape)
  return strides === undefined
    ? Effect.flatMap(
      evaluateCopy(self),
      (copy) => view(copy, { shape, strides: Layout.rowMajor(shape), offset: copy.offset })
    )
    : view(self, { shape, strides, offset: self.offset })
})

/**
 * The axes in another order: axis `i` of the view is axis `axes[i]` of the array. Without `axes`, in reverse order.
 *
 * **Example** (Columns as rows)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]]).pipe(
 *   DeviceArray.transpose([1, 0]),
 *   DeviceArray.toNested
 * ) // => [[1, 4], [2, 5], [3, 6]]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.transpose.html
 * @category views
 * @since 0.1.0
 */
export const transpose: {
  /**
   * The axes in another order: axis `i` of the view is axis `axes[i]` of the array. Without `axes`, in reverse order.
   */
  (axes?: ReadonlyArray<number>): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, axes?: ReadonlyArray<number>): Computed<D>
} = ofArray("transpose", (operation, self, axes?: ReadonlyArray<number>) => {
  const order = axes === undefined
    ? self.shape.map((_, axis) => self.shape.length - 1 - axis)
    : Shape.axesOf(operation, axes, self.shape)
  if (order instanceof GpuError) return order
  if (order.length !== self.shape.length) {
    return invalidRequest(
      operation,
      `${order.length} axes are named for the shape ${Shape.format(self.shape)}, which has ${self.shape.length}`,
      "Name every axis once, in the order that they shall have."
    )
  }
  return view(self, {
    shape: order.map((axis) => self.shape[axis]!),
    strides: order.map((axis) => self.strides[axis]!),
    offset: self.offset
  })
})

/**
 * A slice of the array: for each axis from the first on, a position, which removes the axis, or a range. The other
 * axes are taken whole. The rules are Python's: negative positions and bounds count from the end, a negative step
 * goes backwards, and bounds are cut to the axis. A position outside the axis is InvalidRequest.
 *
 * **Example** (The last row, backwards)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]]).pipe(
 *   DeviceArray.slice([-1, { step: -1 }]),
 *   DeviceArray.toNested
 * ) // => [6, 5, 4]
 * ```
 *
 * @see https://numpy.org/doc/stable/user/basics.indexing.html#slicing-and-striding
 * @category views
 * @since 0.1.0
 */
export const slice: {
  /**
   * A slice of the array: for each axis from the first on, a position, which removes the axis, or a range. The other
   * axes are taken whole. The rules are Python's: negative positions and bounds count from the end, a negative step
   * goes backwards, and bounds are cut to the axis. A position outside the axis is InvalidRequest.
   */
  (ranges: ReadonlyArray<number | Slice.Range>): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, ranges: ReadonlyArray<number | Slice.Range>): Computed<D>
} = ofArray("slice", (operation, self, ranges: ReadonlyArray<number | Slice.Range>) => {
  const problem = listProblem(
    operation,
    ranges,
    "the ranges",
    "Pass a position or a range for each axis, as [0, { stop: 2 }]."
  )
  if (problem !== undefined) return problem
  if (ranges.length > self.shape.length) {
    return invalidRequest(
      operation,
      `${ranges.length} ranges were given for the shape ${Shape.format(self.shape)}`,
      `Pass at most one for each axis, ${self.shape.length} in all; expandDims adds axes.`
    )
  }
  const layout = sliced(operation, self, ranges)
  return layout instanceof GpuError ? layout : view(self, layout)
})

const sliced = (
  operation: string,
  layout: Layout.Layout,
  ranges: ReadonlyArray<number | Slice.Range>
): Layout.Layout | GpuError => {
  const shape: Array<number> = []
  const strides: Array<number> = []
  let { offset } = layout
  for (let axis = 0; axis < layout.shape.length; axis++) {
    const stride = layout.strides[axis]!
    const given = axis < ranges.length ? ranges[axis]! : {}
    if (typeof given === "number") {
      const position = Slice.positionOf(operation, given, axis, layout.shape)
      if (position instanceof GpuError) return position
      offset += position * stride
      continue
    }
    const problem = Slice.rangeProblem(operation, given, axis)
    if (problem !== undefined) return problem
    const { length, start, step } = Slice.progression(given, layout.shape[axis]!)
    shape.push(length)
    // The stride of a single element does not matter: 0 avoids an inexact one from a vast step.
    strides.push(length > 1 ? stride * step + 0 : stride)
    offset += length > 0 ? start * stride : 0
  }
  // Without elements the offset could be beyond the end of the memory.
  return { shape, strides, offset: Shape.size(shape) === 0 ? layout.offset : offset }
}

/**
 * The same elements with additional axes of length 1, at these positions among the axes of the result.
 *
 * **Example** (A column of a row)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.arange(3).pipe(
 *   DeviceArray.expandDims(-1),
 *   Effect.map((column) => column.shape)
 * ) // => [3, 1]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.expand_dims.html
 * @category views
 * @since 0.1.0
 */
export const expandDims: {
  /** The same elements with additional axes of length 1, at these positions among the axes of the result. */
  (axes: number | ReadonlyArray<number>): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, axes: number | ReadonlyArray<number>): Computed<D>
} = ofArray("expandDims", (operation, self, axes: number | ReadonlyArray<number>) => {
  const added = isList(axes) ? axes.length : 1
  const shape: Array<number> = [...self.shape, ...Array.from({ length: added }, () => 1)]
  const places = Shape.rankProblem(operation, shape) ?? Shape.axesOf(operation, axes, shape)
  if (places instanceof GpuError) return places
  const strides: Array<number> = []
  for (let axis = 0, of = 0; axis < shape.length; axis++) {
    const isNew = places.includes(axis)
    shape[axis] = isNew ? 1 : self.shape[of]!
    strides[axis] = isNew ? 1 : self.strides[of]!
    if (!isNew) of += 1
  }
  return view(self, { shape, strides, offset: self.offset })
})

/**
 * The same elements without axes of length 1: the ones named, or all. An axis of another length is InvalidRequest.
 *
 * **Example** (Dropping what a reduction has kept)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.zeros([1, 3, 1]).pipe(
 *   DeviceArray.squeeze(0),
 *   Effect.map((x) => x.shape)
 * ) // => [3, 1]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.squeeze.html
 * @category views
 * @since 0.1.0
 */
export const squeeze: {
  /**
   * The same elements without axes of length 1: the ones named, or all. An axis of another length is InvalidRequest.
   */
  (axes?: number | ReadonlyArray<number>): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, axes?: number | ReadonlyArray<number>): Computed<D>
} = ofArray("squeeze", (operation, self, axes?: number | ReadonlyArray<number>) => {
  const gone = axes === undefined
    ? self.shape.flatMap((length, axis) => length === 1 ? [axis] : [])
    : Shape.axesOf(operation, axes, self.shape)
  if (gone instanceof GpuError) return gone
  const longer = gone.find((axis) => self.shape[axis] !== 1)
  if (longer !== undefined) {
    return invalidRequest(
      operation,
      `axis ${longer} of the shape ${Shape.format(self.shape)} has a length other than 1`,
      "Name axes of length 1 only, or none to drop all of those; slice takes one position of a longer axis."
    )
  }
  const stays = (_: number, axis: number): boolean => !gone.includes(axis)
  return view(self, { shape: self.shape.filter(stays), strides: self.strides.filter(stays), offset: self.offset })
})

/**
 * The array as one of a larger shape, repeated along new axes and along those of length 1, without a copy. A shape
 * to which it does not broadcast is InvalidRequest.
 *
 * **Example** (One row for two)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.arange(3).pipe(
 *   DeviceArray.broadcastTo([2, 3]),
 *   DeviceArray.toNested
 * ) // => [[0, 1, 2], [0, 1, 2]]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.broadcast_to.html
 * @category views
 * @since 0.1.0
 */
export const broadcastTo: {
  /**
   * The array as one of a larger shape, repeated along new axes and along those of length 1, without a copy. A shape
   * to which it does not broadcast is InvalidRequest.
   */
  (shape: ReadonlyArray<number>): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, shape: ReadonlyArray<number>): Computed<D>
} = ofArray("broadcastTo", (operation, self, shape: ReadonlyArray<number>) => {
  const problem = Shape.problem(operation, shape)
  if (problem !== undefined) return problem
  const common = Shape.broadcast(operation, self.shape, shape)
  if (common instanceof GpuError) return common
  if (!Shape.equals(common, shape)) {
    return invalidRequest(
      operation,
      `the array of shape ${Shape.format(self.shape)} does not broadcast to the shape ${Shape.format(shape)}`,
      "Only axes of length 1 are repeated, and new axes are added in front."
    )
  }
  const target = Shape.copy(shape)
  return view(self, { shape: target, strides: Layout.broadcastStrides(self, target), offset: self.offset })
})

/**
 * The elements in reverse order along the axes named, or along all.
 *
 * **Example** (From the last to the first)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.arange(3).pipe(
 *   DeviceArray.flip(),
 *   DeviceArray.toNested
 * ) // => [2, 1, 0]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.flip.html
 * @category views
 * @since 0.1.0
 */
export const flip: {
  /** The elements in reverse order along the axes named, or along all. */
  (axes?: number | ReadonlyArray<number>): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, axes?: number | ReadonlyArray<number>): Computed<D>
} = ofArray("flip", (operation, self, axes?: number | ReadonlyArray<number>) => {
  const flipped = axes === undefined
    ? self.shape.map((_, axis) => axis)
    : Shape.axesOf(operation, axes, self.shape)
  if (flipped instanceof GpuError) return flipped
  const ranges = self.shape.map((_, axis): Slice.Range => flipped.includes(axis) ? { step: -1 } : {})
  const layout = sliced(operation, self, ranges)
  return layout instanceof GpuError ? layout : view(self, layout)
})
