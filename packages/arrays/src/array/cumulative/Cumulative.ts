/**
 * Each element combined with those before it.
 *
 * The order of combination depends on the shape and the axis only. Chunks of neighbours are combined
 * first, so that rounding errors grow with the length of chunks, not with that of the array.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import { type AnyFunction, ofArray } from "../ArrayProblem.ts"
import type { ArrayOperand, Computed } from "../fusion/Evaluation.ts"
import * as Promotion from "../layout/Promotion.ts"
import * as Shape from "../layout/Shape.ts"
import type { Rule } from "../reduction/ArrayReduction.ts"
import { countProblem, orderProblem } from "../reduction/Request.ts"
import * as Rules from "../reduction/Rules.ts"
import { scan } from "./ArrayScan.ts"

/**
 * The options of {@link cumsum}, {@link cumprod}, {@link cummax} and {@link cummin}.
 *
 * **Example** (Down each column, in f32)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const columns: DeviceArray.CumulativeOptions<"f32"> = { axis: 0, dtype: "f32" }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface CumulativeOptions<out D extends DType = DType> {
  /** The axis, negative ones counted from the last; all elements in row-major order, as one row, without it. */
  readonly axis?: number | undefined
  /** The type of the result, to which elements are cast first. Default: their own, or `Summed` of it in sums and products. */
  readonly dtype?: D | undefined
}

/** The options without a type. */
interface OwnTypeOptions extends CumulativeOptions<never> {
  readonly dtype?: undefined
}

/** The options with a type. */
interface CastOptions<out D extends DType> extends CumulativeOptions<D> {
  readonly dtype: D
}

/**
 * A function from an array to one of as many elements, each combined with those before it.
 *
 * **Example** (Choosing an envelope)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const envelope = (upper: boolean): DeviceArray.Cumulation => upper ? DeviceArray.cummax : DeviceArray.cummin
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Cumulation {
  <R extends DType>(options: CastOptions<R>): (self: ArrayOperand) => Computed<R>
  (options?: OwnTypeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <R extends DType>(self: ArrayOperand, options: CastOptions<R>): Computed<R>
  <D extends DType>(self: ArrayOperand<D>, options?: OwnTypeOptions): Computed<D>
}

/**
 * A {@link Cumulation} of sums or products, in the type that the options name, otherwise in `Summed` of the elements' own.
 *
 * **Example** (Choosing a cumulation)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const soFar = (adds: boolean): DeviceArray.SumCumulation => adds ? DeviceArray.cumsum : DeviceArray.cumprod
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface SumCumulation {
  <R extends DType>(options: CastOptions<R>): (self: ArrayOperand) => Computed<R>
  (options?: OwnTypeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Summed<D>>
  <R extends DType>(self: ArrayOperand, options: CastOptions<R>): Computed<R>
  <D extends DType>(self: ArrayOperand<D>, options?: OwnTypeOptions): Computed<Promotion.Summed<D>>
}

const known = KnownOptions.of<CumulativeOptions>({ axis: true, dtype: true })

/** `F` is the type that users see. */
const cumulation = <F extends AnyFunction>(name: string, rule: Rule, own: (dtype: DType) => DType): F =>
  ofArray<F>(name, (operation, self, options?: CumulativeOptions) => {
    const unknown = KnownOptions.problem(operation, options, known)
    if (unknown !== undefined) return unknown
    const axis = options?.axis === undefined ? undefined : Shape.axisOf(operation, options.axis, self.shape)
    const type = options?.dtype ?? own(self.dtype)
    const disorder = rule.needsOrder === true ? orderProblem(operation, type) : undefined
    return axis instanceof GpuError
      ? axis
      : disorder ?? countProblem(operation, self) ?? scan(operation, rule, self, axis, type)
  })

/**
 * The sum of each element and all before it: along an axis, or of all elements in row-major order, as one row. Integers
 * wrap; f16 is summed in f32, and each sum rounded once.
 *
 * **Details**
 *
 * Elements that are only recorded are computed by both kernels of the scan, without memory for them. A sum of floats need not be
 * the one before plus the element, rounded: where a chunk ends, the two were combined in different ways.
 *
 * **Example** (Down the columns, and of all elements)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
 *   const columns = yield* DeviceArray.cumsum(x, { axis: 0 })
 *   return [yield* DeviceArray.toNested(columns), yield* DeviceArray.toNested(yield* DeviceArray.cumsum(x))]
 * }) // => [[[1, 2], [4, 6]], [1, 3, 6, 10]]
 * ```
 *
 * @see numpy.cumsum
 * @category cumulative
 * @since 0.1.0
 */
export const cumsum: {
  /**
   * The sum of each element and all before it: along an axis, or of all elements in row-major order, as one row. Integers
   * wrap; f16 is summed in f32, and each sum rounded once.
   */
  (options?: OwnTypeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Summed<D>>
} & SumCumulation = cumulation("cumsum", Rules.sum, Promotion.summed)

/**
 * The product of each element and all before it, with the options of {@link cumsum}. Integers wrap.
 *
 * **Example** (Factorials)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.arange(1, 7).pipe(
 *   DeviceArray.cumprod(),
 *   DeviceArray.toNested
 * ) // => [1, 2, 6, 24, 120, 720]
 * ```
 *
 * @see numpy.cumprod
 * @category cumulative
 * @since 0.1.0
 */
export const cumprod: {
  /**
   * The product of each element and all before it, with the options of {@link cumsum}. Integers wrap.
   */
  (options?: OwnTypeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Summed<D>>
} & SumCumulation = cumulation("cumprod", Rules.product, Promotion.summed)

/**
 * The largest of each element and all before it, with the options of {@link cumsum}: NumPy's `maximum.accumulate`. From a NaN
 * on, all are NaN.
 *
 * **Example** (The record so far)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([3, 1, 4, 1, 5]).pipe(
 *   DeviceArray.cummax(),
 *   DeviceArray.toNested
 * ) // => [3, 3, 4, 4, 5]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.ufunc.accumulate.html
 * @category cumulative
 * @since 0.1.0
 */
export const cummax: {
  /**
   * The largest of each element and all before it, with the options of {@link cumsum}: NumPy's `maximum.accumulate`. From a NaN
   * on, all are NaN.
   */
  (options?: OwnTypeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
} & Cumulation = cumulation("cummax", Rules.max, (dtype) => dtype)

/**
 * The smallest of each element and all before it, with the options of {@link cumsum}: NumPy's `minimum.accumulate`. From a NaN
 * on, all are NaN.
 *
 * **Example** (The lowest price so far)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const lowest = (prices: DeviceArray.DeviceArray<"f32">) => DeviceArray.cummin(prices, { axis: -1 })
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.ufunc.accumulate.html
 * @category cumulative
 * @since 0.1.0
 */
export const cummin: {
  /**
   * The smallest of each element and all before it, with the options of {@link cumsum}: NumPy's `minimum.accumulate`. From a NaN
   * on, all are NaN.
   */
  (options?: OwnTypeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
} & Cumulation = cumulation("cummin", Rules.min, (dtype) => dtype)
