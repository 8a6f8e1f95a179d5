/**
 * How a typed array of the host is viewed as an array with axes: its shape, and strides in elements.
 *
 * @since 0.1.0
 */
import { formatted, withArticle } from "../arguments/Format.ts"
import { type GpuError, invalidRequest } from "../GpuError.ts"
import * as WholeElements from "./WholeElements.ts"

/**
 * Which axis is the fastest: the last (`"C"`, rows) or the first (`"F"`, columns).
 *
 * @category models
 * @since 0.1.0
 */
export type Order = "C" | "F"

/**
 * The program's options for the axes.
 *
 * @category models
 * @since 0.1.0
 */
export interface ShapeOptions {
  /** Elements along each axis; all there are in one axis without it. */
  readonly shape?: ReadonlyArray<number> | undefined
  /** The order of packed elements, `"C"` without it. */
  readonly order?: Order | undefined
  /** Elements (not bytes) from one to the next along each axis, zero or more, instead of an order. */
  readonly strides?: ReadonlyArray<number> | undefined
}

/** @internal */
export interface StridedShape {
  readonly shape: ReadonlyArray<number>
  readonly strides: ReadonlyArray<number>
  /** Elements from the first to the last, both included, with those between them that have no index. */
  readonly span: number
  /** Whether every element of the span belongs to the array. */
  readonly packed: boolean
}

/** The axes with defaults filled in, over `available` elements, or what is wrong with them. @internal */
export const resolve = (
  operation: string,
  options: ShapeOptions,
  available: number
): StridedShape | GpuError => {
  const shape = options.shape ?? [available]
  const problem = countsProblem(operation, "shape", shape)
  if (problem !== undefined) return problem
  const count = shape.reduce((product, length) => product * length, 1)
  const strides = options.strides ?? packedStrides(shape, options.order ?? "C")
  const wrong = countsProblem(operation, "strides", strides) ?? lengthsProblem(operation, shape, strides)
  if (wrong !== undefined) return wrong
  const last = shape.reduce((at, length, axis) => at + (length - 1) * strides[axis]!, 0)
  const span = count === 0 ? 0 : last + 1
  if (span <= available) {
    return { shape: [...shape], strides: [...strides], span, packed: span === 0 || isPacked(shape, strides) }
  }
  return invalidRequest(
    operation,
    `an array of shape [${shape.join(", ")}] and strides [${
      strides.join(", ")
    }] spans ${span} elements, of which there are ${available}`,
    "Make the shape or the strides smaller, or start at a lower offset."
  )
}

/** The same over the elements of a buffer from a byte on, which is inside it. @internal */
export const within = (
  operation: string,
  { size }: { readonly size: number },
  offset: number,
  type: WholeElements.ElementClass,
  options: ShapeOptions
): StridedShape | GpuError => {
  if (offset % type.BYTES_PER_ELEMENT !== 0) {
    return invalidRequest(
      operation,
      `offset ${offset} is no multiple of the ${type.BYTES_PER_ELEMENT} bytes of ${withArticle(type.name)} element`,
      "Start at a whole number of elements."
    )
  }
  const rest = size - offset
  const hint = "Pass a shape, or take a Uint8Array."
  const problem = options.shape === undefined
    ? WholeElements.problem(operation, rest, "up to the buffer's end", type, hint)
    : undefined
  return problem ?? resolve(operation, options, Math.floor(rest / type.BYTES_PER_ELEMENT))
}

/** The strides of elements that follow each other. @internal */
export const packedStrides = (shape: ReadonlyArray<number>, order: Order): ReadonlyArray<number> => {
  const strides = shape.slice()
  let stride = 1
  for (let step = 0; step < shape.length; step++) {
    const axis = order === "F" ? step : shape.length - 1 - step
    strides[axis] = stride
    stride *= shape[axis]!
  }
  return strides
}

/** The strides of axes of length 1 do not matter. */
const isPacked = (shape: ReadonlyArray<number>, strides: ReadonlyArray<number>): boolean => {
  const axes = shape.map((length, axis) => ({ length, stride: strides[axis]! })).filter(({ length }) => length !== 1)
  let expected = 1
  for (const { length, stride } of axes.sort((one, other) => one.stride - other.stride)) {
    if (stride !== expected) return false
    expected *= length
  }
  return true
}

const countsProblem = (
  operation: string,
  name: string,
  counts: ReadonlyArray<number>
): GpuError | undefined => {
  const wrong = counts.find((count) => !Number.isSafeInteger(count) || count < 0)
  return wrong === undefined ? undefined : invalidRequest(
    operation,
    `${name} names ${formatted(wrong)}, which is no whole number, zero or more`,
    "Pass one whole number of elements for each axis."
  )
}

const lengthsProblem = (
  operation: string,
  shape: ReadonlyArray<number>,
  strides: ReadonlyArray<number>
): GpuError | undefined =>
  shape.length === strides.length ? undefined : invalidRequest(
    operation,
    `there are ${strides.length} strides for ${shape.length} axes`,
    "Pass one stride for each axis of the shape."
  )
