/** Arrays as plain lists of elements in row-major order, and what operations on shapes do to them, written naively. */
export interface Model {
  readonly shape: ReadonlyArray<number>
  readonly data: ReadonlyArray<number>
}

type Coordinates = ReadonlyArray<number>

/** All coordinates of a shape, the last axis fastest. */
export const coordinatesOf = (shape: ReadonlyArray<number>): ReadonlyArray<Coordinates> =>
  shape.reduce<ReadonlyArray<Coordinates>>(
    (all, length) => all.flatMap((above) => Array.from({ length }, (_, at) => [...above, at])),
    [[]]
  )

export const build = (shape: ReadonlyArray<number>, element: (at: Coordinates) => number): Model => ({
  shape,
  data: coordinatesOf(shape).map(element)
})

/** 1, 2, 3, ... in a shape. */
export const counting = (shape: ReadonlyArray<number>): Model => {
  let count = 0
  return build(shape, () => ++count)
}

export const elementAt = ({ data, shape }: Model, at: Coordinates): number => {
  let place = 0
  for (let axis = 0; axis < shape.length; axis++) place = place * shape[axis]! + at[axis]!
  return data[place]!
}

/** Axis `i` of the result is axis `axes[i]`. */
export const transpose = (model: Model, axes: ReadonlyArray<number>): Model =>
  build(
    axes.map((axis) => model.shape[axis]!),
    (at) => elementAt(model, model.shape.map((_, axis) => at[axes.indexOf(axis)]!))
  )

/** Keeps these positions of each axis; `undefined` drops an axis, and keeps its only position. */
export const select = (
  model: Model,
  positions: ReadonlyArray<{ readonly keeps: boolean; readonly at: ReadonlyArray<number> }>
): Model => {
  const kept = positions.flatMap(({ keeps }, axis) => keeps ? [axis] : [])
  return build(
    kept.map((axis) => positions[axis]!.at.length),
    (at) =>
      elementAt(model, positions.map(({ at: places, keeps }, axis) => places[keeps ? at[kept.indexOf(axis)]! : 0]!))
  )
}

/** The positions of Python's `range(length)[start:stop:step]`, found by walking. */
export const sliced = (length: number, start?: number, stop?: number, step = 1): ReadonlyArray<number> => {
  const fromEnd = (position: number) => position < 0 ? position + length : position
  const taken: Array<number> = []
  const first = step > 0 ? 0 : length - 1
  for (let at = first; at >= 0 && at < length; at += Math.sign(step)) {
    const afterStart = start === undefined || (step > 0 ? at >= fromEnd(start) : at <= fromEnd(start))
    const beforeStop = stop === undefined || (step > 0 ? at < fromEnd(stop) : at > fromEnd(stop))
    if (afterStart && beforeStop) taken.push(at)
  }
  return taken.filter((_, index) => index % Math.abs(step) === 0)
}

export const broadcast = (model: Model, shape: ReadonlyArray<number>): Model => {
  const missing = shape.length - model.shape.length
  return build(
    shape,
    (at) => elementAt(model, model.shape.map((length, axis) => length === 1 ? 0 : at[axis + missing]!))
  )
}

/** Takes the elements at the indices; the axes of `indices` replace the axis. */
export const take = (model: Model, indices: Model, axis: number): Model => {
  const rank = indices.shape.length
  return build(
    [...model.shape.slice(0, axis), ...indices.shape, ...model.shape.slice(axis + 1)],
    (at) =>
      elementAt(model, [
        ...at.slice(0, axis),
        elementAt(indices, at.slice(axis, axis + rank)),
        ...at.slice(axis + rank)
      ])
  )
}

/** The position of an index on an axis, by the documentation of `take`. */
export const inside = (index: number, length: number, mode: "clip" | "wrap"): number =>
  mode === "wrap"
    ? ((index % length) + length) % length
    : Math.min(Math.max(index < 0 ? index + length : index, 0), length - 1)
