/**
 * The differences of neighbouring elements.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { subtract } from "../Arithmetic.ts"
import { ofArray } from "../ArrayProblem.ts"
import type { ArrayOperand, Computed } from "../fusion/Evaluation.ts"
import type { AxisOptions } from "../Joining.ts"
import * as Shape from "../layout/Shape.ts"
import { slice } from "../Views.ts"

/**
 * The differences of neighbours along an axis, the last unless another is named: each element minus the one before it, one
 * element fewer. Integers wrap.
 *
 * **Example** (What {@link cumsum} has added up)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([1, 4, 9, 16]).pipe(
 *   DeviceArray.diff(),
 *   DeviceArray.toNested
 * ) // => [3, 5, 7]
 * ```
 *
 * @see numpy.diff
 * @category cumulative
 * @since 0.1.0
 */
export const diff: {
  /**
   * The differences of neighbours along an axis, the last unless another is named: each element minus the one before it, one
   * element fewer. Integers wrap.
   */
  (options?: AxisOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, options?: AxisOptions): Computed<D>
} = ofArray("diff", (operation, self, options?: AxisOptions) => {
  const axis = Shape.axisIn(operation, options, self.shape, -1)
  if (axis instanceof GpuError) return axis
  const before = self.shape.slice(0, axis).map(() => ({}))
  return Effect.flatMap(
    slice(self, [...before, { start: 1 }]),
    (next) => Effect.flatMap(slice(self, [...before, { stop: -1 }]), (last) => subtract(next, last))
  )
})
