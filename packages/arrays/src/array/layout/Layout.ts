/**
 * Where the elements of an array are in its memory: strides and an offset, both in elements.
 *
 * @internal
 */
import type { Shape } from "./Shape.ts"

export interface Layout {
  readonly shape: Shape
  readonly strides: ReadonlyArray<number>
  readonly offset: number
}

/** The strides of an array whose elements follow each other, the last axis fastest. */
export const rowMajor = (shape: Shape): ReadonlyArray<number> => {
  const strides = shape.slice()
  let stride = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride
    stride *= shape[axis]!
  }
  return strides
}

/** Whether the elements, if any, are contiguous from the offset on. Axes of length 1 do not matter. */
export const isContiguous = ({ shape, strides }: Layout): boolean => {
  let expected = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const length = shape[axis]!
    if (length !== 1 && strides[axis] !== expected) return shape.includes(0)
    expected *= length
  }
  return true
}

/** Whether the elements, if any, fill a range of the memory from the offset on, with the axes in any order. */
export const isDense = ({ shape, strides }: Layout): boolean => {
  const axes = shape.map((length, axis) => ({ length, stride: strides[axis]! })).filter(({ length }) => length !== 1)
  axes.sort((one, other) => one.stride - other.stride)
  let expected = 1
  for (const { length, stride } of axes) {
    if (stride !== expected) return shape.includes(0)
    expected *= length
  }
  return true
}

/** The strides by which an array is read as one of a larger shape, to which it broadcasts: 0 where it repeats. */
export const broadcastStrides = ({ shape, strides }: Layout, target: Shape): ReadonlyArray<number> => {
  if (shape === target) return strides
  const missing = target.length - shape.length
  return target.map((length, axis) =>
    axis < missing || (shape[axis - missing] === 1 && length !== 1) ? 0 : strides[axis - missing]!
  )
}

/** The elements of a shape in order, and the strides by which each of several arrays is read. */
export interface Iteration {
  readonly shape: Shape
  readonly strides: ReadonlyArray<ReadonlyArray<number>>
}

/**
 * The same iteration over as few axes as possible, for several arrays at once: without axes of length 1, and with neighbours that
 * all arrays step through evenly merged into one.
 */
export const collapse = (
  shape: Shape,
  strides: ReadonlyArray<ReadonlyArray<number>>
): Iteration => {
  const lengths: Array<number> = []
  const steps: Array<Array<number>> = strides.map(() => [])
  for (let axis = 0; axis < shape.length; axis++) {
    const length = shape[axis]!
    if (length === 1) continue
    const last = lengths.length - 1
    const merges = last >= 0 && strides.every((of, array) => steps[array]![last] === of[axis]! * length)
    if (merges) lengths[last]! *= length
    else lengths.push(length)
    const at = lengths.length - 1
    for (let array = 0; array < strides.length; array++) steps[array]![at] = strides[array]![axis]!
  }
  return { shape: lengths, strides: steps }
}
