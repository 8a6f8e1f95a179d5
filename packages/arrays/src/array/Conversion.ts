/**
 * The same elements in another type, or in memory of their own.
 *
 * @since 0.1.0
 */
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import type { DType } from "effect-gpu-pool/DType"
import { typeProblem } from "effect-gpu-pool/KernelSupport"
import * as Effect from "effect/Effect"
import * as Expr from "../kernels/Expr.ts"
import type { SameType } from "./Arithmetic.ts"
import { ofArray } from "./ArrayProblem.ts"
import type { ArrayOperation, DeviceArray } from "./ArrayValue.ts"
import { unary } from "./elementwise/Operands.ts"
import * as Signature from "./elementwise/Signature.ts"
import { apply, type Computed } from "./fusion/Evaluation.ts"

const castOperation: ArrayOperation = {
  name: "astype",
  build: ([x], dtype) => Expr.astype(x!, dtype)
}

/**
 * The numbers in another type, in memory of their own even where it is the same type. Floats go to integers without
 * their fraction, to the nearest number that the type can represent, NaN to 0; integers go to floats rounded to the nearest,
 * ties to even; i32 and u32 keep their bits. Unsupported where the device lacks the type, before anything is
 * allocated.
 *
 * **Example** (Whole numbers of floats)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-1.9, 2.5, NaN, 1e20)).pipe(
 *   Effect.flatMap(DeviceArray.astype("i32")),
 *   Effect.flatMap(DeviceArray.toHost)
 * ) // => Int32Array.of(-1, 2, 0, 2147483647)
 * ```
 *
 * @see numpy.astype
 * @category conversions
 * @since 0.1.0
 */
export const astype: {
  /**
   * The numbers in another type, in memory of their own even where it is the same type. Floats go to integers without
   * their fraction, to the nearest number that the type can represent, NaN to 0; integers go to floats rounded to the nearest,
   * ties to even; i32 and u32 keep their bits. Unsupported where the device lacks the type, before anything is
   * allocated.
   */
  <D extends DType>(dtype: D): (self: DeviceArray) => Computed<D>
  <D extends DType>(self: DeviceArray, dtype: D): Computed<D>
} = ofArray("astype", (operation, self, dtype: DType) => {
  const result = apply(castOperation, [self], [self.dtype], dtype, self.shape)
  return isEverywhere(dtype) ? result : Effect.flatMap(
    CommandQueue,
    (queue) => typeProblem(operation, queue.info, dtype, "the elements") ?? result
  )
})

const isEverywhere = (dtype: DType): boolean => dtype === "f32" || dtype === "i32" || dtype === "u32"

/**
 * The same elements in memory of their own, one after the other. Of a view it copies only the view's elements, so the
 * memory under the view can go back to the pool.
 *
 * **Example** (Keeping a small part of a large array)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const keep = (view: DeviceArray.DeviceArray<"f32">) => DeviceArray.scoped(DeviceArray.copy(view))
 * ```
 *
 * @see numpy.copy
 * @category conversions
 * @since 0.1.0
 */
export const copy: SameType = unary({ name: "copy", build: ([x]) => x! }, Signature.any)
