/**
 * Numbers in plain arrays, nested one level an axis.
 *
 * @since 0.1.0
 */
import * as DType from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { elementHint, type ElementOf, elementOf, isScalar, type Scalar, typeOfScalar } from "../layout/Scalar.ts"
import * as Shape from "../layout/Shape.ts"
import { allocate } from "./TypedArrays.ts"

/**
 * A number, or arrays of numbers nested one level an axis: `[[1, 2, 3], [4, 5, 6]]` has the shape `[2, 3]`.
 *
 * **Example** (A function of nested numbers)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const identity: DeviceArray.NestedNumbers = [[1, 0], [0, 1]]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type NestedNumbers = number | ReadonlyArray<NestedNumbers>

/** What lists are nested of: values, or the parts of complex numbers. */
type Leaf = Scalar | readonly [real: number, imaginary: number]

/**
 * A value of the program, or arrays of values nested one level an axis: bigints for integers of 64 bits, truth values for bool.
 *
 * **Example** (Which of a table are there)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const present: DeviceArray.Nested<boolean> = [[true, false], [true, true]]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Nested<A extends Leaf> = A | ReadonlyArray<Nested<A>>

/** What {@link parse} takes; undefined is a hole of a list, which types do not show. @internal */
export type AnyNested = Nested<Scalar>

/** Whether a value is a list, of numbers or of lists; null, as of JSON, and other objects are not. */
const isList = (value: AnyNested | undefined): value is ReadonlyArray<AnyNested> =>
  Array.isArray(value) || ArrayBuffer.isView(value)

/** The first value, undefined where there is none. @internal */
export const firstOf = (nested: AnyNested): AnyNested | undefined => {
  let value: AnyNested | undefined = nested
  // Not more levels than there may be axes: a list may contain itself.
  for (let axis = 0; axis < Shape.maxRank && isList(value); axis++) value = value[0]
  return value
}

/** The element type of the first value, which {@link parse} takes for that of all. @internal */
export const typeOfNested = (nested: AnyNested): "f32" | "i64" | "bool" => typeOfScalar(firstOf(nested))

/** Numbers in row-major order, with their shape. @internal */
export interface Numbers {
  readonly shape: Shape.Shape
  readonly data: DType.TypedArrayOf[DType.DType]
}

/** The lengths of the first element at each level; the others are compared later. */
const shapeOf = (operation: string, nested: AnyNested): Shape.Shape | GpuError => {
  const shape: Array<number> = []
  let value: AnyNested | undefined = nested
  while (isList(value)) {
    if (shape.length === Shape.maxRank) {
      return invalidRequest(
        operation,
        `the arrays are nested more than ${Shape.maxRank} deep`,
        "Each level is an axis: flatten some of them."
      )
    }
    shape.push(value.length)
    value = value[0]
  }
  return Shape.problem(operation, shape) ?? shape
}

const place = (path: ReadonlyArray<number>): string => `[${path.join("][")}]`

class Reader {
  readonly #operation: string
  readonly #dtype: DType.DType
  readonly #shape: Shape.Shape
  readonly #data: DType.TypedArrayOf[DType.DType]
  readonly #path: Array<number> = []
  #count = 0

  constructor(operation: string, dtype: DType.DType, { data, shape }: Numbers) {
    this.#operation = operation
    this.#dtype = dtype
    this.#shape = shape
    this.#data = data
  }

  /** Reads the value at the path. Returns what is wrong with it, if anything. */
  read(value: AnyNested | undefined): GpuError | undefined {
    const axis = this.#path.length
    if (axis === this.#shape.length) return this.#number(value)
    const length = this.#shape[axis]!
    if (!isList(value) || value.length !== length) return this.#ragged(value, length)
    for (let index = 0; index < length; index++) {
      this.#path.push(index)
      const problem = this.read(value[index])
      if (problem !== undefined) return problem
      this.#path.pop()
    }
    return undefined
  }

  #number(value: AnyNested | undefined): GpuError | undefined {
    if (isList(value)) return this.#ragged(value, undefined)
    const element = isScalar(value) ? elementOf(this.#dtype, value) : undefined
    if (element !== undefined) {
      // Typed arrays take truth values as 0 and 1.
      this.#data[this.#count++] = element as number
      return undefined
    }
    const where = this.#path.length === 0 ? "the value" : `element ${place(this.#path)}`
    return invalidRequest(
      this.#operation,
      `${where} is ${formatted(value)}, no ${this.#dtype}`,
      elementHint(this.#dtype, value)
    )
  }

  #ragged(value: AnyNested | undefined, length: number | undefined): GpuError {
    const found = isList(value) ? `an array of ${value.length}` : formatted(value)
    const first = place(this.#path.map(() => 0))
    return invalidRequest(
      this.#operation,
      `the arrays are ragged: ${place(this.#path)} is ${found}, and ${first} is ${
        length === undefined ? "a number" : `an array of ${length}`
      }`,
      "Arrays of one level must all have the same length."
    )
  }
}

/**
 * The numbers as a typed array, and the shape that the nesting gives them. The last level of complex numbers are their parts.
 *
 * @internal
 */
export const parse = (operation: string, nested: AnyNested, dtype: DType.DType): Numbers | GpuError => {
  if (dtype === "c64") return parsePairs(operation, nested)
  const shape = shapeOf(operation, nested)
  if (shape instanceof GpuError) return shape
  const elements = Shape.size(shape)
  const buffer = allocate(elements * DType.byteSize(dtype))
  if (buffer instanceof GpuError) return buffer
  const numbers = { shape, data: DType.viewUnsafe(dtype, buffer, 0, elements) }
  return new Reader(operation, dtype, numbers).read(nested) ?? numbers
}

const parsePairs = (operation: string, nested: AnyNested): Numbers | GpuError => {
  const parts = parse(operation, nested, "f32")
  if (parts instanceof GpuError) return parts
  const { data, shape } = parts
  if (shape.at(-1) === 2) return { data, shape: shape.slice(0, -1) }
  // Lists without elements are those that toNested makes of an array that has none.
  return shape.at(-1) === 0 ? parts : invalidRequest(
    operation,
    shape.length === 0 ? "the value is a number alone" : `the innermost lists have ${shape.at(-1)} numbers`,
    "Each complex number is a list of its real and its imaginary part, as [1, -2]; DeviceArray.astype(x, \"c64\") takes real numbers."
  )
}

/** Elements in row-major order, nested by a shape. @internal */
export const nest = <D extends DType.DType>(
  data: ArrayLike<number | bigint>,
  shape: Shape.Shape,
  dtype: D
): Nested<ElementOf<D>> => {
  let at = 0
  const level = (axis: number): AnyNested =>
    axis === shape.length ? valueOf(dtype, data, at++) : Array.from({ length: shape[axis]! }, () => level(axis + 1))
  return level(0) as Nested<ElementOf<D>>
}

/** An element of a typed array as programs have it: the bytes of truth values as such, complex numbers as pairs. @internal */
export const valueOf = (dtype: DType.DType, data: ArrayLike<number | bigint>, at: number): AnyNested => {
  if (dtype === "c64") return [data[2 * at]!, data[2 * at + 1]!]
  return dtype === "bool" ? data[at] !== 0 : data[at]!
}
