/**
 * The same elements in another type, or in memory of their own, and the same memory as another type.
 *
 * @since 0.1.0
 */
import { byteSize, type DType } from "effect-gpu-pool/DType"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Expr from "../kernels/Expr.ts"
import type { SameType } from "./Arithmetic.ts"
import { ofArray } from "./ArrayProblem.ts"
import { DeviceArray } from "./ArrayValue.ts"
import type { ArrayOperation } from "./elementwise/ArrayOperation.ts"
import { unary } from "./elementwise/Operands.ts"
import * as Signature from "./elementwise/Signature.ts"
import { supported } from "./elementwise/Supported.ts"
import { apply, type ArrayOperand, type Computed, evaluateAll } from "./fusion/Evaluation.ts"
import type { Layout } from "./layout/Layout.ts"
import * as Shape from "./layout/Shape.ts"

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
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(-1.9, 2.5, NaN, 1e20)).pipe(
 *   DeviceArray.astype("i32"),
 *   DeviceArray.toHost
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
  <D extends DType>(dtype: D): (self: ArrayOperand) => Computed<D>
  <D extends DType>(self: ArrayOperand, dtype: D): Computed<D>
} = ofArray("astype", (operation, self, dtype: DType) => {
  const result = apply(castOperation, [self], [self.dtype], dtype, self.shape)
  return supported(operation, dtype, result)
})

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

/**
 * The same memory with its bits read as another type, NumPy's `view`: no kernel, no copy. Where the types have different sizes the
 * last axis grows or shrinks; its elements must follow each other, and the bytes of a row be whole elements of the new type.
 *
 * **Example** (The bits of a float)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Float32Array.of(1, -0)).pipe(
 *   DeviceArray.view("u32"),
 *   DeviceArray.toHost
 * ) // => Uint32Array.of(0x3f800000, 0x80000000)
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.ndarray.view.html
 * @category conversions
 * @since 0.1.0
 */
export const view: {
  /**
   * The same memory with its bits read as another type, NumPy's `view`: no kernel, no copy. Where the types have different sizes the
   * last axis grows or shrinks; its elements must follow each other, and the bytes of a row be whole elements of the new type.
   */
  <D extends DType>(dtype: D): (self: ArrayOperand) => Computed<D>
  <D extends DType>(self: ArrayOperand, dtype: D): Computed<D>
} = ofArray("view", (operation, self, dtype: DType) =>
  supported(
    operation,
    dtype,
    Effect.suspend(() => {
      if (dtype === "bool" && self.dtype !== "bool") {
        return invalidRequest(
          operation,
          `bytes of ${self.dtype} are no truth values`,
          "Compare: DeviceArray.notEqual(x, 0)."
        )
      }
      const layout = reread(operation, self, byteSize(self.dtype), byteSize(dtype))
      return layout instanceof GpuError
        ? layout
        : Effect.map(evaluateAll([self]), () => new DeviceArray(dtype, layout, self.lease!))
    })
  ))

/** The layout of the same bytes as elements of another size. */
const reread = (operation: string, self: DeviceArray, from: number, to: number): Layout | GpuError => {
  const { offset, shape, strides } = self
  if (from === to) return { offset, shape, strides }
  const last = shape.length - 1
  const rest = shape.slice(0, last)
  const length = (shape[last] ?? 0) * from / to
  const outer = rest.map((length, axis) => length === 1 ? 0 : strides[axis]! * from / to)
  const start = offset * from / to
  return last >= 0 && (strides[last] === 1 || shape[last] === 1) && [length, start, ...outer].every(Number.isInteger)
    ? { offset: start, shape: [...rest, length], strides: [...outer, 1] }
    : invalidRequest(
      operation,
      `the elements of ${from} bytes in the shape ${Shape.format(shape)} are no rows of elements of ${to} bytes`,
      "Copy the array, so that the elements follow each other, or reshape it so that the last axis has whole elements."
    )
}
