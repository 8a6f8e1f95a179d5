/**
 * How far elements are from their mean.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import { release } from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as Expr from "../../kernels/Expr.ts"
import * as Operations from "../../kernels/expression/Operations.ts"
import { ofArray } from "../ArrayProblem.ts"
import { dense, Pending } from "../ArrayValue.ts"
import type { ArrayOperation } from "../elementwise/ArrayOperation.ts"
import { type Element, isComplex } from "../elementwise/Element.ts"
import { apply, type ArrayOperand, type Computed } from "../fusion/Evaluation.ts"
import * as Promotion from "../layout/Promotion.ts"
import type { ReductionOptions } from "../Reductions.ts"
import { reduce } from "./ArrayReduction.ts"
import { inPlaceOf, requestOf } from "./Request.ts"
import * as Rules from "./Rules.ts"

/**
 * The options of a variance.
 *
 * **Example** (Of a sample of the rows)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const ofSample: DeviceArray.VarianceOptions = { axis: 0, ddof: 1 }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface VarianceOptions extends ReductionOptions {
  /** What is subtracted from the number of elements in the divisor: 1 for a sample. Default: 0. */
  readonly ddof?: number | undefined
}

/**
 * A reduction to a variance, in a float type: integers and complex numbers give f32.
 *
 * **Example** (Choosing a measure)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const spread = (squared: boolean): DeviceArray.VarianceReduction => squared ? DeviceArray.variance : DeviceArray.std
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface VarianceReduction {
  (
    options?: VarianceOptions
  ): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Real<Promotion.Floating<D>>>
  <D extends DType>(self: ArrayOperand<D>, options?: VarianceOptions): Computed<Promotion.Real<Promotion.Floating<D>>>
}

/** The square of the distance from the mean, which is a total by a count. */
const deviation: ArrayOperation = {
  name: "deviation",
  build: ([element, total, count]) => {
    const mean = Operations.apply("divide", [total!, count!])
    const distance = Operations.apply("subtract", [element!, mean]) as Element
    return isComplex(distance)
      ? Expr.add(squareOf(Expr.real(distance)), squareOf(Expr.imag(distance)))
      : squareOf(distance)
  }
}

const squareOf = (x: Element): Element => Expr.multiply(x, x)

const quotient = ([total, count]: ReadonlyArray<Expr.Expr<DType>>): Expr.Expr<DType> =>
  Operations.apply("divide", [total!, count!]) as Expr.Expr<DType>

const varianceOperation: ArrayOperation = {
  name: "variance",
  build: (operands, dtype) => Expr.astype(quotient(operands), dtype)
}

const deviationOf: ArrayOperation = {
  name: "std",
  build: (operands, dtype) => Expr.astype(Operations.apply("sqrt", [quotient(operands)]) as Expr.Expr<DType>, dtype)
}

const known = KnownOptions.of<VarianceOptions>({ axis: true, keepDims: true, ddof: true })

const reduction = (name: string, finish: ArrayOperation): VarianceReduction =>
  ofArray(name, (operation, self, options?: VarianceOptions) => {
    const request = requestOf(operation, self, options, known)
    const kept = requestOf(operation, self, { axis: options?.axis, keepDims: true }, known)
    if (request instanceof GpuError) return request
    if (kept instanceof GpuError) return kept
    const { axes, length, shape } = request
    const ddof = options?.ddof ?? 0
    if (!Number.isFinite(ddof)) {
      return invalidRequest(operation, `ddof is ${formatted(ddof)}`, "Pass a finite number: 1 for a sample.")
    }
    const type = Rules.total.state(self.dtype)[0]!.dtype
    return Effect.flatMap(reduce(Rules.total, self, axes), (totals) => {
      const means = dense(type, kept.shape, totals)
      const ofSquares = Promotion.real(type)
      const squares = dense(
        ofSquares,
        self.shape,
        new Pending(deviation, [self, means, length], [type, type, type], ofSquares)
      )
      // The commands that read the totals precede their next use in the queue.
      const sums = Effect.ensuring(reduce(Rules.total, squares, axes), Effect.ignore(release(totals)))
      return Effect.flatMap(sums, (lease) => {
        const values = dense(ofSquares, shape, lease)
        const count = Math.max(0, length - ddof)
        const result = Promotion.real(Promotion.floating(self.dtype))
        return inPlaceOf(values, apply(finish, [values, count], [ofSquares, ofSquares], result, shape))
      })
    })
  })

/**
 * The variance of the elements: the mean of the squares of their distances from the mean. It is not finite where
 * nothing is left of the number of elements after `ddof`. Integers and f16 are computed in f32; the variance of integers is f32.
 *
 * **Details**
 *
 * The mean is computed first, in a kernel of its own, so that the distances lose nothing where the mean is large; elements that
 * are only recorded are computed twice. NumPy calls it `var`, which is no name in JavaScript.
 *
 * **Example** (Of each row)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([[1, 3], [2, 8]]).pipe(
 *   DeviceArray.variance({ axis: 1 }),
 *   DeviceArray.toNested
 * ) // => [1, 9]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.var.html
 * @category reductions
 * @since 0.1.0
 */
export const variance: {
  /**
   * The variance of the elements: the mean of the squares of their distances from the mean. It is not finite where
   * nothing is left of the number of elements after `ddof`. Integers and f16 are computed in f32; the variance of integers is f32.
   */
  (
    options?: VarianceOptions
  ): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Real<Promotion.Floating<D>>>
} & VarianceReduction = reduction("variance", varianceOperation)

/**
 * The standard deviation of the elements: the root of their variance, with the same options.
 *
 * **Example** (Rows of mean 0 and deviation 1)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const standardised = Effect.fnUntraced(function*(x: DeviceArray.DeviceArray<"f32">) {
 *   const centred = yield* DeviceArray.subtract(x, yield* DeviceArray.mean(x, { axis: 1, keepDims: true }))
 *   return yield* DeviceArray.divide(centred, yield* DeviceArray.std(x, { axis: 1, keepDims: true }))
 * })
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.std.html
 * @category reductions
 * @since 0.1.0
 */
export const std: {
  /** The standard deviation of the elements: the root of their variance, with the same options. */
  (
    options?: VarianceOptions
  ): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Real<Promotion.Floating<D>>>
} & VarianceReduction = reduction("std", deviationOf)
