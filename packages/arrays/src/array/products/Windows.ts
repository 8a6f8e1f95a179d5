/**
 * Convolutions as products of matrices: each window of an array is a column, of which only the kernel of a product ever
 * computes where its elements are.
 *
 * @internal
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import { invalidRequest } from "effect-gpu-pool/GpuError"
import type { DeviceArray } from "../ArrayValue.ts"
import * as Layout from "../layout/Layout.ts"
import * as Promotion from "../layout/Promotion.ts"
import * as Shape from "../layout/Shape.ts"
import * as MatrixProduct from "./MatrixProduct.ts"

/** How many elements are added before and after an axis. */
export type Border = readonly [before: number, after: number]

/** How windows move, with one entry for each axis that they move along. */
export interface Movement {
  readonly stride: ReadonlyArray<number>
  readonly dilation: ReadonlyArray<number>
  readonly padding: ReadonlyArray<Border> | "same"
  readonly groups: number
}

export interface Windows {
  readonly groups: number
  readonly stride: ReadonlyArray<number>
  readonly dilation: ReadonlyArray<number>
  readonly borders: ReadonlyArray<Border>
  /** How many windows there are along each axis. */
  readonly counts: Shape.Shape
}

/** The windows of a signal, `[batch, channels, ...lengths]`, for filters, `[filters, channels of a group, ...lengths]`. */
export const make = (
  operation: string,
  signal: DeviceArray,
  filters: DeviceArray,
  { dilation, groups, padding, stride }: Movement
): Windows | GpuError => {
  const refused = (why: string, hint: string): GpuError =>
    invalidRequest(
      operation,
      `the shapes ${Shape.format(signal.shape)} and ${Shape.format(filters.shape)} have no convolution: ${why}`,
      hint
    )
  const [, channels = 0, ...lengths] = signal.shape
  const [count = 0, ofGroup = 0, ...kernel] = filters.shape
  if (signal.shape.length < 3 || filters.shape.length !== signal.shape.length) {
    return refused(
      `they have ${signal.shape.length} and ${filters.shape.length} axes`,
      "Pass [batch, channels, ...lengths] and [filters, channels, ...lengths], as many axes in both. Add axes of length 1 by reshape."
    )
  }
  if (channels % groups !== 0 || count % groups !== 0 || channels / groups !== ofGroup) {
    return refused(
      `${channels} channels and ${count} filters in ${groups} groups need ${
        channels / groups
      } channels for each filter, not ${ofGroup}`,
      "The number of groups must divide those of channels and of filters, and a filter has the channels of one group."
    )
  }
  const extents = kernel.map((length, axis) => (length - 1) * dilation[axis]! + 1)
  const borders = padding === "same"
    ? lengths.map((length, axis) => sameBorder(length, extents[axis]!, stride[axis]!))
    : padding
  const counts: Array<number> = []
  for (const [axis, length] of lengths.entries()) {
    const [before, after] = borders[axis]!
    const rest = length + before + after - extents[axis]!
    if (kernel[axis] === 0 || rest < 0) {
      return refused(
        `along axis ${axis + 2} a filter spans ${kernel[axis] === 0 ? 0 : extents[axis]} elements, and ${
          length + before + after
        } are there`,
        "A filter must have elements, and must not be longer than the padded array."
      )
    }
    counts.push(Math.floor(rest / stride[axis]!) + 1)
  }
  const padded = lengths.map((length, axis) => length + borders[axis]![0] + borders[axis]![1])
  const longest = Math.max(...signal.shape, ...filters.shape, ...padded)
  return Shape.problem(operation, [signal.shape[0]!, channels, ...padded]) ??
    Shape.problem(operation, shapeOf(signal, filters, counts)) ??
    (longest > 0xffffffff
      ? refused(`kernels count to 2^32 - 1, and an axis has ${longest} elements`, "Slice the arrays.")
      : { groups, stride, dilation, borders, counts })
}

/** The border with which windows begin at every `stride`-th element; the end gets the odd one. */
const sameBorder = (length: number, extent: number, stride: number): Border => {
  const windows = Math.ceil(length / stride)
  const missing = Math.max(0, (windows - 1) * stride + extent - length)
  return [Math.floor(missing / 2), Math.ceil(missing / 2)]
}

const shapeOf = (signal: DeviceArray, filters: DeviceArray, counts: Shape.Shape): Shape.Shape => [
  signal.shape[0]!,
  filters.shape[0]!,
  ...counts
]

/** Filters times the windows of a signal that has its borders. */
export const product = (
  { counts, dilation, groups, stride }: Windows,
  signal: DeviceArray,
  filters: DeviceArray
): MatrixProduct.MatrixProduct => {
  const [ofSignal, ofChannel, ...ofElement] = signal.strides as readonly [number, number, ...Array<number>]
  const [ofFilter, ...inFilter] = filters.strides as readonly [number, ...Array<number>]
  const [count, ofGroup, ...kernel] = filters.shape as readonly [number, number, ...Array<number>]
  const shape = shapeOf(signal, filters, counts)
  const rows = count / groups
  const row = Shape.size(counts)
  const along = (steps: ReadonlyArray<number>): ReadonlyArray<number> =>
    ofElement.map((stride, axis) => stride * steps[axis]!)
  const columns = MatrixProduct.axesOf(counts, [along(stride)])
  const depth = MatrixProduct.axesOf([ofGroup, ...kernel], [inFilter, [ofChannel, ...along(dilation)]])
  const batch = Layout.collapse([signal.shape[0]!, groups], [
    [0, rows * ofFilter],
    [ofSignal, ofGroup * ofChannel],
    [count * row, rows * row]
  ])
  return {
    dtype: Promotion.promote(filters.dtype, signal.dtype),
    shape,
    rows,
    columns: columns.shape,
    depth: depth.shape,
    batch: batch.shape,
    a: MatrixProduct.operand(filters, { lines: [ofFilter], depth: depth.strides[0]!, batch: batch.strides[0]! }),
    b: MatrixProduct.operand(signal, {
      lines: columns.strides[0]!,
      depth: depth.strides[1]!,
      batch: batch.strides[1]!
    }),
    y: { row, batch: batch.strides[2]! }
  }
}

/** A reversed filter times the windows, one element apart, of a signal that has its borders. */
export const reversed = (signal: DeviceArray, filter: DeviceArray, count: number): MatrixProduct.MatrixProduct => {
  const [length, step] = [filter.shape[0]!, filter.strides[0]!]
  const stride = signal.strides[0]!
  const a = MatrixProduct.operand(filter, { lines: [0], depth: [-step], batch: [] })
  return {
    dtype: Promotion.promote(signal.dtype, filter.dtype),
    shape: [count],
    rows: 1,
    columns: [count],
    depth: [length],
    batch: [],
    a: { ...a, offset: a.offset + (length - 1) * step },
    b: MatrixProduct.operand(signal, { lines: [stride], depth: [stride], batch: [] }),
    y: { row: count, batch: [] }
  }
}
