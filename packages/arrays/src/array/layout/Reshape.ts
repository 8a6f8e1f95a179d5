/**
 * Other shapes for the same elements.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { type Layout, rowMajor } from "./Layout.ts"
import * as Shape from "./Shape.ts"

/**
 * Checks the requested shape of `elements` elements, of which one length may be -1 and is then computed. `what` is what
 * gets the shape, as errors name it.
 */
export const shapeFor = (
  operation: string,
  asked: Shape.Shape,
  elements: number,
  what: string
): Shape.Shape | GpuError => {
  const wrong = Shape.rankProblem(operation, asked)
  if (wrong !== undefined) return wrong
  const open = asked.indexOf(-1)
  const shape = Array.from(asked)
  if (open !== -1) shape[open] = 1
  if (shape.includes(-1)) {
    return invalidRequest(operation, `the shape ${Shape.format(asked)} leaves two lengths open`, "Use -1 once.")
  }
  const problem = Shape.problem(operation, shape)
  if (problem !== undefined) return problem
  const given = Shape.size(shape)
  if (open !== -1 && given > 0 && elements % given === 0) shape[open] = elements / given
  return Shape.size(shape) === elements && (open === -1 || given > 0) ? Shape.copy(shape) : invalidRequest(
    operation,
    `${what} does not fit the shape ${Shape.format(asked)}: it has ${elements} elements`,
    open === -1
      ? `The lengths must multiply to ${elements}; one of them may be -1, for what is left.`
      : `The lengths beside -1 must divide ${elements}.`
  )
}

interface Axis {
  readonly length: number
  readonly stride: number
}

/** The axes without those of length 1, with neighbours that are contiguous in memory merged. */
const joined = ({ shape, strides }: Layout): ReadonlyArray<Axis> => {
  const axes: Array<Axis> = []
  for (let axis = 0; axis < shape.length; axis++) {
    const length = shape[axis]!
    const stride = strides[axis]!
    if (length === 1) continue
    const last = axes.at(-1)
    if (last !== undefined && last.stride === stride * length) {
      axes[axes.length - 1] = { length: last.length * length, stride }
    } else axes.push({ length, stride })
  }
  return axes
}

/**
 * The strides by which the same memory has another shape of as many elements, or `undefined` when no strides can do
 * that, and the elements have to be copied.
 */
export const reshapedStrides = (layout: Layout, shape: Shape.Shape): ReadonlyArray<number> | undefined => {
  if (Shape.size(shape) === 0) return rowMajor(shape)
  const axes = joined(layout)
  const strides: Array<number> = shape.map(() => 1)
  let at = axes.length - 1
  let taken = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const length = shape[axis]!
    if (length === 1) continue
    // As the sizes agree, there is an axis left for every length but 1.
    const { length: whole, stride } = axes[at]!
    strides[axis] = stride * taken
    taken *= length
    if (whole % taken !== 0) return undefined
    if (taken !== whole) continue
    at -= 1
    taken = 1
  }
  return strides
}
