/**
 * Numbers in plain arrays, nested one level an axis.
 *
 * @since 0.1.0
 */
import * as DType from "effect-gpu-pool/DType"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { held, holds } from "../../kernels/expression/Expression.ts"
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

/** Numbers in row-major order, with their shape. @internal */
export interface Numbers {
  readonly shape: Shape.Shape
  readonly data: DType.TypedArrayOf[DType.DType]
}

/** The lengths of the first element at each level; the others are compared later. */
const shapeOf = (operation: string, nested: NestedNumbers): Shape.Shape | GpuError => {
  const shape: Array<number> = []
  let value: NestedNumbers | undefined = nested
  while (typeof value === "object") {
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

/** The advice for what an element type cannot represent; undefined stands for a hole of a list, which types do not show. @internal */
export const elementHint = (value: number | undefined): string => {
  if (value === undefined) return "Give each element a number, as fill(0) does."
  if (!Number.isFinite(value)) return `Integers have no NaN and no infinities. Use { dtype: "f32" }.`
  return `Use a type that holds it, as { dtype: "f32" }${Number.isInteger(value) ? "." : ", or round it."}`
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
  read(value: NestedNumbers | undefined): GpuError | undefined {
    const axis = this.#path.length
    if (axis === this.#shape.length) return this.#number(value)
    const length = this.#shape[axis]!
    if (typeof value !== "object" || value.length !== length) return this.#ragged(value, length)
    for (let index = 0; index < length; index++) {
      this.#path.push(index)
      const problem = this.read(value[index])
      if (problem !== undefined) return problem
      this.#path.pop()
    }
    return undefined
  }

  #number(value: NestedNumbers | undefined): GpuError | undefined {
    if (typeof value === "object") return this.#ragged(value, undefined)
    if (value !== undefined && holds(this.#dtype, value)) {
      this.#data[this.#count++] = held(this.#dtype, value)
      return undefined
    }
    const where = this.#path.length === 0 ? "the value" : `element ${place(this.#path)}`
    return invalidRequest(this.#operation, `${where} is ${value}, no ${this.#dtype}`, elementHint(value))
  }

  #ragged(value: NestedNumbers | undefined, length: number | undefined): GpuError {
    const found = typeof value === "object" ? `an array of ${value.length}` : String(value)
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
 * The numbers as a typed array, and the shape that the nesting gives them.
 *
 * @internal
 */
export const parse = (operation: string, nested: NestedNumbers, dtype: DType.DType): Numbers | GpuError => {
  const shape = shapeOf(operation, nested)
  if (shape instanceof GpuError) return shape
  const elements = Shape.size(shape)
  const buffer = allocate(elements * DType.byteSize(dtype))
  if (buffer instanceof GpuError) return buffer
  const numbers = { shape, data: DType.viewUnsafe(dtype, buffer, 0, elements) }
  return new Reader(operation, dtype, numbers).read(nested) ?? numbers
}

/** Numbers in row-major order, nested by a shape. @internal */
export const nest = (data: ArrayLike<number | bigint>, shape: Shape.Shape): NestedNumbers => {
  let at = 0
  const level = (axis: number): NestedNumbers =>
    axis === shape.length ? Number(data[at++]) : Array.from({ length: shape[axis]! }, () => level(axis + 1))
  return level(0)
}
