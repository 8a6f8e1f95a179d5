/**
 * Gathers elements at positions that are the elements of another array.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError } from "effect-gpu-pool/GpuError"
import { ofArray } from "./ArrayProblem.ts"
import { DeviceArray } from "./ArrayValue.ts"
import type { ArrayOperand, Computed } from "./fusion/Evaluation.ts"
import * as Extent from "./indexing/Extent.ts"
import * as Gather from "./indexing/Gather.ts"
import type { NestedNumbers } from "./transfer/NestedNumbers.ts"

/**
 * How {@link take} finds elements, and {@link put} the places of those that it writes.
 *
 * **Example** (A lookup that never leaves its table)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const lookUp = (table: DeviceArray.DeviceArray<"f32">, keys: DeviceArray.DeviceArray<"i32">) =>
 *   DeviceArray.take(table, keys, { axis: 0, mode: "clip" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface TakeOptions {
  /** The axis that the indices count along; the whole array in row-major order without it. */
  readonly axis?: number | undefined
  /**
   * What an index outside the axis means: its nearest end (`"clip"`), or the index modulo the length (`"wrap"`).
   * Without it indices from the program are checked, and those on a device are clipped.
   */
  readonly mode?: "clip" | "wrap" | undefined
}

/**
 * Positions: an array of whole numbers, on the device or in the program.
 *
 * **Example** (Rows by number)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const rows = (matrix: DeviceArray.DeviceArray<"f32">, numbers: DeviceArray.Indices) =>
 *   DeviceArray.take(matrix, numbers, { axis: 0 })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Indices = ArrayOperand<"i32" | "u32"> | NestedNumbers | Int32Array | Uint32Array

/**
 * The elements at the positions in `indices`. The result has the shape of the indices in place of the axis: of a
 * `[4, 5]` array, indices of shape `[2, 3]` along axis 1 take a `[4, 2, 3]` one. Negative indices count from the
 * end.
 *
 * **Details**
 *
 * A kernel cannot fail because of its data. So an index outside the axis is clipped to its nearest end, or wrapped; a
 * negative one counts from the end before it is clipped, where NumPy's clip makes it 0. Indices that the program has as
 * numbers are checked instead, and are InvalidRequest outside, unless a mode is named. So is an axis without elements,
 * unless there are no indices either. They are checked synchronously when `take` is called, which blocks the event loop:
 * tens of milliseconds for a million in plain arrays, a third of that in an `Int32Array` or `Uint32Array`. Those of an
 * array on the device are not checked.
 *
 * **Example** (Looking colours up in a palette)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const palette = yield* DeviceArray.fromHost([[0, 0, 0], [255, 128, 0]])
 *   const pixels = yield* DeviceArray.fromHost(Int32Array.of(1, 0, -1))
 *   return yield* DeviceArray.toNested(yield* DeviceArray.take(palette, pixels, { axis: 0 }))
 * }) // => [[255, 128, 0], [0, 0, 0], [255, 128, 0]]
 * ```
 *
 * @see pyopencl.array.take
 * @see https://numpy.org/doc/stable/reference/generated/numpy.take.html
 * @category indexing
 * @since 0.1.0
 */
export const take: {
  /**
   * The elements at the positions in `indices`. The result has the shape of the indices in place of the axis: of a
   * `[4, 5]` array, indices of shape `[2, 3]` along axis 1 take a `[4, 2, 3]` one. Negative indices count from the
   * end.
   */
  (indices: Indices, options?: TakeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, indices: Indices, options?: TakeOptions): Computed<D>
} = ofArray("take", (operation, self, indices: Extent.DeviceIndices | Extent.ListedIndices, options?: TakeOptions) => {
  const axis = Extent.axisIn(operation, self, options)
  if (axis instanceof GpuError) return axis
  return indices instanceof DeviceArray
    ? Gather.at(operation, self, indices, axis, options?.mode ?? "clip")
    : Gather.listed(operation, self, indices, axis, options?.mode)
}, (args) => args.length > 2 || (args.length === 2 && !Extent.isOptions(args[1])))
