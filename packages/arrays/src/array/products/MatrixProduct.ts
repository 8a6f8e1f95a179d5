/**
 * A product of two arrays as a kernel sees it: two batches of matrices, read by strides, whatever axes the arrays have.
 *
 * @internal
 */
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { DeviceArray, MatrixProduct, Operand } from "../ArrayValue.ts"
import * as Layout from "../layout/Layout.ts"
import * as Promotion from "../layout/Promotion.ts"
import * as Shape from "../layout/Shape.ts"

export type { MatrixProduct, Operand } from "../ArrayValue.ts"

/** How many matrices there are. */
export const matrices = ({ batch }: MatrixProduct): number => Shape.size(batch)

/** Axes as few as possible, but one at least, so that fewer structures of kernels are compiled. */
export const axesOf = (shape: Shape.Shape, strides: ReadonlyArray<ReadonlyArray<number>>): Layout.Iteration => {
  const collapsed = Layout.collapse(shape, strides)
  return collapsed.shape.length > 0 ? collapsed : { shape: [1], strides: strides.map(() => [0]) }
}

/**
 * NumPy's rules: a vector is a row on the left and a column on the right, and the result does not have that axis; axes
 * before the last two are a batch, and broadcast.
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.matmul.html
 */
export const make = (operation: string, a: DeviceArray, b: DeviceArray): MatrixProduct | GpuError => {
  if (a.shape.length === 0 || b.shape.length === 0) {
    return mismatch(
      operation,
      a,
      b,
      "an array of no axes is no matrix",
      "Use DeviceArray.multiply for products by a number."
    )
  }
  const left = matrixOf(a, a.shape.length === 1 ? [1, a.shape[0]!] : undefined, [0, a.strides[0]!])
  const right = matrixOf(b, b.shape.length === 1 ? [b.shape[0]!, 1] : undefined, [b.strides[0]!, 0])
  if (left.columns !== right.rows) {
    return mismatch(
      operation,
      a,
      b,
      `their inner lengths are ${left.columns} and ${right.rows}`,
      "The last axis of the first must be as long as the last axis but one of the second, or as its only one."
    )
  }
  const batch = Shape.broadcast(operation, left.batch.shape, right.batch.shape)
  if (batch instanceof GpuError) {
    return mismatch(
      operation,
      a,
      b,
      `their leading axes ${Shape.format(left.batch.shape)} and ${Shape.format(right.batch.shape)} do not broadcast`,
      "Aligned at the last one, each pair of lengths must be equal or one of them 1."
    )
  }
  const shape = [
    ...batch,
    ...(a.shape.length === 1 ? [] : [left.rows]),
    ...(b.shape.length === 1 ? [] : [right.columns])
  ]
  const problem = Shape.problem(operation, shape)
  if (problem !== undefined) return problem
  const longest = Math.max(left.rows, left.columns, right.columns, ...batch)
  if (longest > 0xffffffff && Shape.size(shape) > 0) {
    return mismatch(
      operation,
      a,
      b,
      `kernels count to 2^32 - 1, and an axis has ${longest} elements`,
      "Slice the arrays, and join or add up the results."
    )
  }
  const collapsed = Layout.collapse(batch, [
    Layout.broadcastStrides(left.batch, batch),
    Layout.broadcastStrides(right.batch, batch)
  ])
  const size = left.rows * right.columns
  return withMoreRows({
    dtype: Promotion.promote(a.dtype, b.dtype),
    shape,
    rows: left.rows,
    columns: [right.columns],
    depth: [left.columns],
    batch: collapsed.shape,
    a: operand(a, { lines: [left.row], depth: [left.column], batch: collapsed.strides[0]! }),
    b: operand(b, { lines: [right.column], depth: [right.row], batch: collapsed.strides[1]! }),
    y: { row: right.columns, batch: Layout.rowMajor(collapsed.shape).map((stride) => stride * size) }
  })
}

/** An operand that begins where its array does. */
export const operand = (
  array: DeviceArray,
  strides: Pick<Operand, "lines" | "depth" | "batch">
): Operand => ({ array, dtype: array.dtype, offset: array.offset, ...strides })

const mismatch = (operation: string, a: DeviceArray, b: DeviceArray, why: string, hint: string): GpuError =>
  invalidRequest(
    operation,
    `the shapes ${Shape.format(a.shape)} and ${Shape.format(b.shape)} have no product: ${why}`,
    hint
  )

/** The last two axes, or those given for a vector, and the axes before them. */
const matrixOf = (
  { offset, shape, strides }: DeviceArray,
  asMatrix: readonly [rows: number, columns: number] | undefined,
  vectorStrides: readonly [row: number, column: number]
) => {
  const leading = Math.max(0, shape.length - 2)
  const [rows, columns] = asMatrix ?? [shape[leading]!, shape[leading + 1]!]
  const [row, column] = asMatrix === undefined ? [strides[leading]!, strides[leading + 1]!] : vectorStrides
  return {
    rows,
    columns,
    batch: { shape: shape.slice(0, leading), strides: strides.slice(0, leading), offset },
    row,
    column
  }
}

/**
 * Merges a batch into one tall matrix, if all its matrices are multiplied by the same one and are evenly spaced: its rows
 * fill tiles better.
 */
const withMoreRows = (product: MatrixProduct): MatrixProduct => {
  const { a, b, batch, rows, y } = product
  const last = batch.length - 1
  if (last < 0 || b.batch[last] !== 0) return product
  const step = a.batch[last]!
  const row = a.lines[0]!
  if (rows !== 1 && step !== rows * row) return product
  return withMoreRows({
    ...product,
    rows: rows * batch[last]!,
    batch: batch.slice(0, last),
    a: { ...a, lines: [rows === 1 ? step : row], batch: a.batch.slice(0, last) },
    b: { ...b, batch: b.batch.slice(0, last) },
    y: { ...y, batch: y.batch.slice(0, last) }
  })
}
