/**
 * Matrix products and dot products of arrays.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { release } from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import { ofArray } from "./ArrayProblem.ts"
import { dense, type DeviceArray, Pending } from "./ArrayValue.ts"
import { astype } from "./Conversion.ts"
import { arrayProblem } from "./elementwise/OperandProblem.ts"
import { plain } from "./elementwise/Operands.ts"
import type { ArrayOperand, Computed } from "./fusion/Evaluation.ts"
import type * as Promotion from "./layout/Promotion.ts"
import * as Shape from "./layout/Shape.ts"
import { compute } from "./products/Computation.ts"
import * as MatrixProduct from "./products/MatrixProduct.ts"
import { reduce } from "./reduction/ArrayReduction.ts"
import * as Rules from "./reduction/Rules.ts"
import { scoped } from "./Regions.ts"

/**
 * A product of two arrays, whose result has their common type (`Promote`).
 *
 * **Example** (Choosing a product)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const productOf = (batched: boolean): DeviceArray.Product => batched ? DeviceArray.matmul : DeviceArray.dot
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Product {
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
  <A extends DType, B extends DType>(self: ArrayOperand<A>, that: ArrayOperand<B>): Computed<Promotion.Promote<A, B>>
}

/**
 * The matrix product, by NumPy's rules. A vector on the left is a row and one on the right a column, and the result
 * does not have that axis. Axes before the last two are a batch of matrices, and broadcast: `[8, 2, 3]` times `[3,
 * 4]` is `[8, 2, 4]`. InvalidRequest names both shapes where they do not fit, where an axis is longer than 2^32 - 1,
 * and for arrays of no axes.
 *
 * **Details**
 *
 * Transposed, sliced or broadcast operands are read in place, without a copy. Recorded operands, inside
 * `DeviceArray.lazy`, are computed first; operations on the result there become part of its kernel. Where the inner axis is
 * empty the result is zeros.
 *
 * The host computes a block of the result, of four by four elements or more, synchronously, which blocks the event loop
 * for a few milliseconds up to an inner axis of 131,072, and longer in proportion beyond. For longer axes add products
 * of slices, or use {@link dot}, which does so.
 *
 * Each sum is over the inner axis in order, so the same shapes give the same numbers on the same device, whatever the
 * strides; that of two vectors is {@link dot}'s. Integers wrap; sums of f16 are kept in f32 and rounded at the end. The
 * host keeps sums of floats in 64 bits and rounds them at the end, and WebGPU devices may contract a multiplication and an
 * addition, so backends differ in the last bits: from the true value by less than `k * eps * sum(|a| * |b|)` for an inner
 * axis of `k`, where `eps` is 2^-24 for f32.
 *
 * **Example** (A matrix times a vector)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const rotation = yield* DeviceArray.fromHost([[0, -1], [1, 0]])
 *   const direction = yield* DeviceArray.fromHost([3, 4])
 *   return yield* DeviceArray.toNested(yield* DeviceArray.matmul(rotation, direction))
 * }) // => [-4, 3]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.matmul.html
 * @category products
 * @since 0.1.0
 */
export const matmul: {
  /**
   * The matrix product, by NumPy's rules. A vector on the left is a row and one on the right a column, and the result
   * does not have that axis. Axes before the last two are a batch of matrices, and broadcast: `[8, 2, 3]` times `[3,
   * 4]` is `[8, 2, 4]`. InvalidRequest names both shapes where they do not fit, where an axis is longer than 2^32 - 1,
   * and for arrays of no axes.
   */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Product = ofArray(
  "matmul",
  (operation, self, that: DeviceArray) => arrayProblem(operation, that) ?? multiply("matmul", operation, self, that),
  2
)

const multiply = (name: string, operation: string, self: DeviceArray, that: DeviceArray): Computed => {
  const product = MatrixProduct.make(operation, self, that)
  if (product instanceof GpuError) return product
  return product.shape.length === 0 ? innerProduct(self, that, product.dtype) : compute(name, product)
}

const multiplication = plain("multiply")

/** The dot product of two vectors. Only the kernel that adds the products has them; products of f16 are f32. */
const innerProduct = (self: DeviceArray, that: DeviceArray, dtype: DType): Computed => {
  const type = dtype === "f16" ? "f32" : dtype
  const total = Effect.suspend(() => {
    const products = dense(type, self.shape, new Pending(multiplication, [self, that], [type, type], type))
    const sum = Effect.map(reduce(Rules.sum, products, undefined), (lease) => dense(type, [], lease))
    return Effect.onExitPrimitive(sum, () => giveBack(products))
  })
  return type === dtype ? total : scoped(Effect.flatMap(total, (wide) => astype(wide, dtype)))
}

/** Releases the products. They only have memory if one kernel cannot compute and add them. */
const giveBack = ({ lease }: DeviceArray): Effect.Effect<void> | undefined =>
  lease === undefined ? undefined : Effect.ignore(release(lease))

/**
 * The dot product of two vectors, an array of no axes: the sum of their products, reduced as `DeviceArray.sum` does
 * it, without an array of the products. With a matrix, or two, it is what {@link matmul} gives. Arrays of more axes
 * are InvalidRequest: `matmul` takes the leading ones as a batch.
 *
 * **Example** (A length)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([3, 4])
 *   return yield* DeviceArray.toNumber(yield* DeviceArray.sqrt(yield* DeviceArray.dot(x, x)))
 * }) // => 5
 * ```
 *
 * @see pyopencl.array.dot
 * @see https://numpy.org/doc/stable/reference/generated/numpy.dot.html
 * @category products
 * @since 0.1.0
 */
export const dot: {
  /**
   * The dot product of two vectors, an array of no axes: the sum of their products, reduced as `DeviceArray.sum` does
   * it, without an array of the products. With a matrix, or two, it is what {@link matmul} gives. Arrays of more axes
   * are InvalidRequest: `matmul` takes the leading ones as a batch.
   */
  <B extends DType>(
    that: ArrayOperand<B>
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
} & Product = ofArray("dot", (operation, self, that: DeviceArray) => {
  const problem = arrayProblem(operation, that)
  if (problem !== undefined) return problem
  if (self.shape.length > 2 || that.shape.length > 2) {
    return invalidRequest(
      operation,
      `the shapes ${Shape.format(self.shape)} and ${Shape.format(that.shape)} have more than two axes`,
      "Use DeviceArray.matmul, which takes the leading axes as a batch."
    )
  }
  return multiply("dot", operation, self, that)
}, 2)
