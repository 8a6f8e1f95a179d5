/**
 * Writes elements at positions that are the elements of another array.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { ofArray } from "../ArrayProblem.ts"
import { DeviceArray } from "../ArrayValue.ts"
import { type ArrayOperand, type Computed, evaluateAll } from "../fusion/Evaluation.ts"
import * as Extent from "../indexing/Extent.ts"
import type { Mode } from "../indexing/HostIndices.ts"
import { scatter } from "../indexing/Scatter.ts"
import type { Scalar } from "../layout/Scalar.ts"
import * as Shape from "../layout/Shape.ts"
import type { Indices, TakeOptions } from "../Take.ts"
import * as Writable from "./Writable.ts"

/**
 * Writes values at the positions in `indices`, in place, and returns the array: another array, which broadcasts to the shape of the
 * elements at these positions, or a number. With an axis that is NumPy's `x[indices] = value`, and without one `put`, whose positions
 * count over the whole array in row-major order.
 *
 * **Details**
 *
 * {@link take} says what positions are, and what those outside mean: numbers of the program are checked, and positions on a device
 * are clipped, or wrapped with `mode`. {@link assign} says what is written, and what holds for what reads the array. The value has an
 * element for each position, or broadcasts: NumPy's `put` repeats its values in another way where there are fewer.
 *
 * Of values at the same position one is written. On the host it is the last; on a device any, and not always the same. Values are not
 * added there.
 *
 * **Example** (Some of the elements, and whole rows)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.zeros([3, 2])
 *   yield* DeviceArray.put(x, [0, -1], yield* DeviceArray.fromHost([7, 8]))
 *   yield* DeviceArray.put(x, [1], 5, { axis: 0 })
 *   return yield* DeviceArray.toNested(x)
 * }) // => [[7, 0], [5, 5], [0, 8]]
 * ```
 *
 * @see pyopencl.array.multi_put
 * @see https://numpy.org/doc/stable/reference/generated/numpy.put.html
 * @category writing
 * @since 0.1.0
 */
export const put: {
  /**
   * Writes values at the positions in `indices`, in place, and returns the array: another array, which broadcasts to the shape of the
   * elements at these positions, or a number. With an axis that is NumPy's `x[indices] = value`, and without one `put`, whose positions
   * count over the whole array in row-major order.
   */
  (
    indices: Indices,
    value: ArrayOperand | Scalar,
    options?: TakeOptions
  ): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(
    self: ArrayOperand<D>,
    indices: Indices,
    value: ArrayOperand | Scalar,
    options?: TakeOptions
  ): Computed<D>
} = ofArray(
  "put",
  (
    operation,
    self,
    indices: Extent.DeviceIndices | Extent.ListedIndices,
    value: DeviceArray | Scalar,
    options?: TakeOptions
  ) => {
    const axis = Extent.axisIn(operation, self, options)
    if (axis instanceof GpuError) return axis
    if (indices instanceof DeviceArray) {
      const mode = options?.mode ?? "clip"
      return Extent.typeProblem(operation, indices) ?? problemOf(operation, self, indices.shape, value, axis) ??
        Effect.as(into(self, indices, value, axis, mode), self)
    }
    const positions = Extent.listed(operation, self, indices, axis, options?.mode)
    if (positions instanceof GpuError) return positions
    return problemOf(operation, self, positions.shape, value, axis) ?? Effect.as(
      Extent.uploaded(operation, positions, (uploaded) => into(self, uploaded, value, axis, "clip")),
      self
    )
  },
  (args) => args.length > 3 || (args.length === 3 && args[2] !== undefined && !Extent.isOptions(args[2]))
)

const problemOf = (
  operation: string,
  self: DeviceArray,
  indices: Shape.Shape,
  value: DeviceArray | Scalar,
  axis: number | undefined
): GpuError | undefined =>
  Extent.problem(operation, self, axis, indices) ??
    Writable.problem(operation, self, Extent.shapeAt(self, axis, indices), value)

const into = (
  target: DeviceArray,
  indices: Extent.DeviceIndices,
  source: DeviceArray | Scalar,
  axis: number | undefined,
  mode: Mode
) =>
  Effect.andThen(
    evaluateAll([target, indices]),
    Effect.suspend(() =>
      Shape.size(Extent.shapeAt(target, axis, indices.shape)) === 0
        ? Effect.void
        : scatter({ target, indices, source, axis, mode })
    )
  )
