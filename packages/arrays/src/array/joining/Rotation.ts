/**
 * Elements that move along an axis, and around its end.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { isDataFirst, ofArray } from "../ArrayProblem.ts"
import { dense, type DeviceArray } from "../ArrayValue.ts"
import { type ArrayOperand, type Computed, evaluateAll } from "../fusion/Evaluation.ts"
import { flattened } from "../indexing/Gather.ts"
import { type AxisOptions, concatenate } from "../Joining.ts"
import * as Shape from "../layout/Shape.ts"
import { slice } from "../Views.ts"

/**
 * The elements so many places further along an axis, those beyond its end at its beginning again; without an axis, of all elements
 * in row-major order. Negative numbers go backwards.
 *
 * **Example** (Neighbours on a ring)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.arange(4).pipe(
 *   DeviceArray.roll(1),
 *   DeviceArray.toNested
 * ) // => [3, 0, 1, 2]
 * ```
 *
 * @see numpy.roll
 * @category joining
 * @since 0.1.0
 */
export const roll: {
  /**
   * The elements so many places further along an axis, those beyond its end at its beginning again; without an axis, of all elements
   * in row-major order. Negative numbers go backwards.
   */
  (shift: number, options?: AxisOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, shift: number, options?: AxisOptions): Computed<D>
} = ofArray("roll", (operation, self, shift: number, options?: AxisOptions) => {
  const axis = Shape.axisIn(operation, options, self.shape, undefined)
  if (axis instanceof GpuError) return axis
  if (!Number.isSafeInteger(shift)) {
    return invalidRequest(
      operation,
      `the shift is ${formatted(shift)}`,
      "Pass a whole number, negative to go backwards."
    )
  }
  return axis === undefined
    ? Effect.andThen(
      evaluateAll([self]),
      Effect.suspend(() =>
        Effect.map(
          flattened(self, (flat) => rolled(flat, shift, 0)),
          ({ lease }) => dense(self.dtype, self.shape, lease!)
        )
      )
    )
    : rolled(self, shift, axis)
}, isDataFirst(3))

const rolled = (array: DeviceArray, shift: number, axis: number): Computed => {
  const length = array.shape[axis]!
  const cut = length === 0 ? 0 : (((-shift % length) + length) % length)
  const before = array.shape.slice(0, axis).map(() => ({}))
  return Effect.flatMap(
    slice(array, [...before, { start: cut }]),
    (last) => Effect.flatMap(slice(array, [...before, { stop: cut }]), (first) => concatenate([last, first], { axis }))
  )
}
