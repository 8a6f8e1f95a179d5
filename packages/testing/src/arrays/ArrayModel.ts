/**
 * The arrays of the reference: a shape and the elements in row-major order, each as far as it is certain. Every
 * operation is a loop over positions, without strides and views.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Value } from "../expressions/Reference.ts"

export interface ArrayModel {
  readonly dtype: DType
  readonly shape: ReadonlyArray<number>
  readonly elements: ReadonlyArray<Value>
}

type Position = ReadonlyArray<number>

export const sizeOf = (shape: ReadonlyArray<number>): number => shape.reduce((size, length) => size * length, 1)

/** Every position of a shape, the last axis fastest. */
export const positionsOf = (shape: ReadonlyArray<number>): ReadonlyArray<Position> =>
  shape.reduce<ReadonlyArray<Position>>(
    (positions, length) => positions.flatMap((position) => Array.from({ length }, (_, index) => [...position, index])),
    [[]]
  )

/** An array of a shape by a function from positions. */
export const build = (
  dtype: DType,
  shape: ReadonlyArray<number>,
  element: (position: Position) => Value
): ArrayModel => ({ dtype, shape, elements: positionsOf(shape).map(element) })

/** The element at a position. */
export const at = ({ elements, shape }: ArrayModel, position: Position): Value => {
  let index = 0
  for (let axis = 0; axis < shape.length; axis++) index = index * shape[axis]! + position[axis]!
  return elements[index]
}

/** The shape that several broadcast to, or `undefined`. */
export const broadcastShape = (
  shapes: ReadonlyArray<ReadonlyArray<number>>
): ReadonlyArray<number> | undefined => {
  const rank = Math.max(...shapes.map((shape) => shape.length))
  const result: Array<number> = []
  for (let axis = 1; axis <= rank; axis++) {
    const lengths = new Set(shapes.map((shape) => shape.at(-axis) ?? 1))
    if (lengths.size > 1) lengths.delete(1)
    if (lengths.size > 1) return undefined
    result.unshift(...lengths)
  }
  return result
}

/** The element that is at a position after broadcasting. */
export const broadcastAt = (array: ArrayModel, position: Position): Value => {
  const missing = position.length - array.shape.length
  return at(array, array.shape.map((length, axis) => length === 1 ? 0 : position[axis + missing]!))
}

export const broadcastTo = (array: ArrayModel, shape: ReadonlyArray<number>): ArrayModel =>
  build(array.dtype, shape, (position) => broadcastAt(array, position))

export const reshape = ({ dtype, elements }: ArrayModel, shape: ReadonlyArray<number>): ArrayModel => ({
  dtype,
  shape,
  elements
})

export const transpose = (array: ArrayModel, axes: ReadonlyArray<number>): ArrayModel =>
  build(array.dtype, axes.map((axis) => array.shape[axis]!), (position) => {
    const source: Array<number> = []
    axes.forEach((axis, to) => source[axis] = position[to]!)
    return at(array, source)
  })

/** The elements at the chosen indices of each axis. An axis with a single index is dropped. */
export const pick = (array: ArrayModel, indices: ReadonlyArray<number | ReadonlyArray<number>>): ArrayModel => {
  const kept = indices.filter((chosen) => typeof chosen !== "number")
  return build(array.dtype, kept.map((chosen) => chosen.length), (position) => {
    let next = 0
    return at(array, indices.map((chosen) => typeof chosen === "number" ? chosen : chosen[position[next++]!]!))
  })
}

/** The elements along an axis at positions from another array. */
export const take = (
  array: ArrayModel,
  shape: ReadonlyArray<number>,
  index: (position: Position) => number | undefined,
  axis: number
): ArrayModel =>
  build(
    array.dtype,
    [...array.shape.slice(0, axis), ...shape, ...array.shape.slice(axis + 1)],
    (position) => {
      const chosen = index(position.slice(axis, axis + shape.length))
      return chosen === undefined
        ? undefined
        : at(array, [...position.slice(0, axis), chosen, ...position.slice(axis + shape.length)])
    }
  )

/** Combines the elements along some axes. These axes are dropped, or stay with a length of 1. */
export const reduce = (
  array: ArrayModel,
  axes: ReadonlyArray<number>,
  keepDims: boolean,
  dtype: DType,
  combine: (elements: ReadonlyArray<Value>) => Value
): ArrayModel => {
  const inner = positionsOf(axes.map((axis) => array.shape[axis]!))
  const shape = array.shape.map((length, axis) => axes.includes(axis) ? 1 : length)
  const reduced = build(dtype, shape, (position) =>
    combine(inner.map((moves) => {
      const source = [...position]
      axes.forEach((axis, which) => source[axis] = moves[which]!)
      return at(array, source)
    })))
  return keepDims ? reduced : reshape(reduced, array.shape.filter((_, axis) => !axes.includes(axis)))
}
