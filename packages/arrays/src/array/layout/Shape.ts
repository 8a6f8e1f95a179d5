/**
 * Shapes of arrays: which values are shapes, how two of them broadcast, and how a program names an axis.
 *
 * @internal
 */
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import { isList, listProblem, wrongValue } from "./WrongValue.ts"

/** The length of each axis. */
export type Shape = ReadonlyArray<number>

/** More axes would outgrow the arguments that every device's kernels can take. */
export const maxRank = 32

/** A shape as errors write it: `[2, 3]`. */
export const format = (shape: Shape): string => {
  const lengths = shape.slice(0, maxRank)
  return `[${Array.from(lengths, formatted).join(", ")}${shape.length > maxRank ? ", ..." : ""}]`
}

/** A copy of a shape, which the program cannot change later. Adding 0 turns a negative zero into 0. */
export const copy = (shape: Shape): Shape => Array.from(shape, (length) => length + 0)

/** The number of elements. */
export const size = (shape: Shape): number => {
  let elements = 1
  for (const length of shape) elements *= length
  return elements
}

export const equals = (a: Shape, b: Shape): boolean => {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let axis = 0; axis < a.length; axis++) {
    if (a[axis] !== b[axis]) return false
  }
  return true
}

const lengthsHint = "Pass one length for each axis, as [2, 3]."

/** Why a list of lengths is no shape, or `undefined`. */
export const problem = (operation: string, shape: Shape): GpuError | undefined => {
  const wrong = rankProblem(operation, shape)
  if (wrong !== undefined) return wrong
  for (const length of shape) {
    if (Number.isSafeInteger(length) && length >= 0) continue
    return invalidRequest(
      operation,
      `the shape ${format(shape)} has an axis that is no whole number, zero or more`,
      lengthsHint
    )
  }
  return sizeProblem(operation, shape)
}

/** Why a shape has too many axes, or `undefined`. */
export const rankProblem = (operation: string, shape: Shape): GpuError | undefined =>
  listProblem(operation, shape, "a shape", lengthsHint) ?? (shape.length <= maxRank ? undefined : invalidRequest(
    operation,
    `the shape ${format(shape)} has ${shape.length} axes, more than ${maxRank}`,
    "Join axes, or drop those of length 1."
  ))

/** Why an array would be too large. An empty array may have any lengths that are exact integers. */
const sizeProblem = (operation: string, shape: Shape): GpuError | undefined =>
  Number.isSafeInteger(size(shape.filter((length) => length > 0))) ? undefined : invalidRequest(
    operation,
    `the shape ${format(shape)} has more than 2^53 - 1 elements`,
    "Split the array."
  )

/**
 * The shape to which two shapes broadcast: aligned at the last axis, each pair of lengths equal or one of them 1.
 *
 * @see https://numpy.org/doc/stable/user/basics.broadcasting.html
 */
export const broadcast = (operation: string, a: Shape, b: Shape): Shape | GpuError => {
  if (equals(a, b)) return a
  const rank = Math.max(a.length, b.length)
  const result: Array<number> = []
  for (let axis = 0; axis < rank; axis++) {
    const x = a[axis - rank + a.length] ?? 1
    const y = b[axis - rank + b.length] ?? 1
    if (x !== y && x !== 1 && y !== 1) return mismatch(operation, a, b)
    result[axis] = x === 1 ? y : x
  }
  return sizeProblem(operation, result) ?? result
}

const mismatch = (operation: string, a: Shape, b: Shape): GpuError =>
  invalidRequest(
    operation,
    `the shapes ${format(a)} and ${format(b)} do not broadcast`,
    "Aligned at the last axis, each pair of lengths must be equal or one of them 1. Use reshape to add axes of length 1."
  )

/** An axis counted from the front; negative ones count from the back. The error for a missing axis names `shape`. */
export const axisOf = (operation: string, axis: number, shape: Shape): number | GpuError => {
  const rank = shape.length
  const hint = rank === 0
    ? "An array without axes has no axis to name: leave the axis out."
    : `Use ${-rank} to ${rank - 1}.`
  if (typeof axis !== "number") return wrongValue(operation, axis, `an axis of the shape ${format(shape)}`, hint)
  // Adding 0 turns a negative zero into 0.
  const index = axis < 0 ? axis + rank : axis + 0
  return Number.isInteger(index) && index >= 0 && index < rank ? index : invalidRequest(
    operation,
    `there is no axis ${axis} in the shape ${format(shape)}`,
    hint
  )
}

/** The options of a call that has an axis, and nothing else. */
export const axisNames = KnownOptions.of<{ readonly axis?: number | undefined }>({ axis: true })

/** The axis in the options of a call, or the one that is meant without. */
export const axisIn = <Without extends number | undefined>(
  operation: string,
  options: { readonly axis?: number | undefined } | undefined,
  shape: Shape,
  without: Without
): number | Without | GpuError => {
  const problem = KnownOptions.problem(operation, options, axisNames)
  if (problem !== undefined) return problem
  const axis = options?.axis ?? without
  return axis === undefined ? without : axisOf(operation, axis, shape)
}

/** Axes counted from the front, in the order given, none of them twice; one alone may stand for a list of one. */
export const axesOf = (
  operation: string,
  axes: number | ReadonlyArray<number>,
  shape: Shape
): ReadonlyArray<number> | GpuError => {
  const found: Array<number> = []
  for (const given of isList(axes) ? axes : [axes]) {
    const axis = axisOf(operation, given, shape)
    if (axis instanceof GpuError) return axis
    if (found.includes(axis)) {
      return invalidRequest(
        operation,
        `the axis ${axis} of the shape ${format(shape)} is named twice`,
        "Name each axis once, whether counted from the front or from the back."
      )
    }
    found.push(axis)
  }
  return found
}

/** Why a number of repetitions or of added elements counts nothing, or `undefined`; `name` says what it is. */
export const countProblem = (operation: string, name: string, count: number): GpuError | undefined =>
  Number.isSafeInteger(count) && count >= 0
    ? undefined
    : invalidRequest(operation, `${name} is ${formatted(count)}`, "Pass a whole number, zero or more.")
