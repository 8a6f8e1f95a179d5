/**
 * What a call of a reduction asks for, and the memory of its reduced values.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError, invalidRequest, LimitExceeded, make as makeError } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import { release } from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Expr from "../../kernels/Expr.ts"
import type { DeviceArray } from "../ArrayValue.ts"
import type { ArrayOperation } from "../elementwise/ArrayOperation.ts"
import { apply, type Computed } from "../fusion/Evaluation.ts"
import * as Shape from "../layout/Shape.ts"

/** The options that every reduction has. */
interface Asked {
  readonly axis?: number | ReadonlyArray<number> | undefined
  readonly keepDims?: boolean | undefined
}

/** Checked options: the axes in ascending order, how many elements a row has, and the shape of the result. */
export interface Request {
  readonly axes: ReadonlyArray<number> | undefined
  readonly length: number
  readonly shape: Shape.Shape
}

export const requestOf = (
  operation: string,
  self: DeviceArray,
  options: Asked | undefined,
  known: KnownOptions.KnownOptions
): Request | GpuError => {
  const problem = KnownOptions.problem(operation, options, known) ?? countProblem(operation, self)
  if (problem !== undefined) return problem
  const keepDims = options?.keepDims === true
  if (options?.axis === undefined) {
    return { axes: undefined, length: self.size, shape: keepDims ? self.shape.map(() => 1) : [] }
  }
  const axes = Shape.axesOf(operation, options.axis, self.shape)
  if (axes instanceof GpuError) return axes
  const kept = self.shape.map((length, axis) => axes.includes(axis) ? 1 : length)
  return {
    axes: axes.slice().sort((one, other) => one - other),
    length: Shape.size(axes.map((axis) => self.shape[axis]!)),
    shape: keepDims ? kept : kept.filter((_, axis) => !axes.includes(axis))
  }
}

/** Positions are counted in 32 bits. */
const largestSize = 0xffffffff

/** Why the elements of an array are too many to be counted, or `undefined`. */
export const countProblem = (
  operation: string,
  { shape, size }: Pick<DeviceArray, "shape" | "size">
): GpuError | undefined =>
  size <= largestSize ? undefined : makeError(
    new LimitExceeded({
      operation: `${operation}, shape ${Shape.format(shape)}`,
      requested: size,
      limitName: "maxDispatchItems",
      limit: largestSize,
      unit: "elements"
    })
  )

/** Why elements cannot be compared, or `undefined`. */
export const orderProblem = (operation: string, dtype: DType): GpuError | undefined =>
  dtype !== "c64" ? undefined : invalidRequest(
    operation,
    "the elements are c64, and complex numbers have no order",
    "Compare magnitudes or parts: DeviceArray.abs(x), DeviceArray.real(x) or DeviceArray.imag(x)."
  )

/** Whether there are rows without elements. */
export const isEmpty = ({ length, shape }: Request): boolean => length === 0 && Shape.size(shape) > 0

export const noElements = (operation: string, { shape }: DeviceArray): GpuError =>
  invalidRequest(
    operation,
    `there is nothing to choose from in the shape ${Shape.format(shape)}`,
    "Give it at least one element in each row."
  )

const narrowOperation: ArrayOperation = { name: "narrow", build: ([wide], dtype) => Expr.astype(wide!, dtype) }

/** The reduced values in the type of the result. */
export const narrowed = (values: DeviceArray, dtype: DType): Computed =>
  apply(narrowOperation, [values], [values.dtype], dtype, values.shape)

/** Releases the reduced values, unless a recorded result still needs them. */
export const inPlaceOf = (values: DeviceArray, finished: Computed): Computed =>
  Effect.onExitPrimitive(
    finished,
    (exit) =>
      Exit.isSuccess(exit) && exit.value.pending !== undefined ? undefined : Effect.ignore(release(values.lease!))
  )
