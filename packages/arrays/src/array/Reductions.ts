/**
 * Reductions of arrays: of all elements to an array without axes, or along an axis, which the result does not have.
 *
 * The order of combination depends on the shape, the axis and the kind of device only, not on where elements lie in memory, so
 * that sums of one array, of a view and of a copy have the same bits in each run on a device. Sums
 * of `n` floats are made of partial sums, so that their rounding errors grow with the root of `n` at most, not with `n`.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Expr from "../kernels/Expr.ts"
import * as Operations from "../kernels/expression/Operations.ts"
import { type AnyFunction, ofArray } from "./ArrayProblem.ts"
import { dense, type DeviceArray } from "./ArrayValue.ts"
import type { ArrayOperation } from "./elementwise/ArrayOperation.ts"
import { supported } from "./elementwise/Supported.ts"
import { apply, type ArrayOperand, type Computed } from "./fusion/Evaluation.ts"
import * as Promotion from "./layout/Promotion.ts"
import { elementHint, elementOf, type Scalar } from "./layout/Scalar.ts"
import { isList } from "./layout/WrongValue.ts"
import { reduce, type Rule } from "./reduction/ArrayReduction.ts"
import { inPlaceOf, isEmpty, narrowed, noElements, orderProblem, requestOf } from "./reduction/Request.ts"
import * as Rules from "./reduction/Rules.ts"

/**
 * The options of a reduction.
 *
 * **Example** (Along the last axis, which stays with length 1)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const along: DeviceArray.ReductionOptions = { axis: -1, keepDims: true }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ReductionOptions {
  /** The axis to reduce along, or several, negative ones counted from the last; all elements without it. */
  readonly axis?: number | ReadonlyArray<number> | undefined
  /** Keeps reduced axes with length 1, so that the result broadcasts against the array. */
  readonly keepDims?: boolean | undefined
}

/**
 * The options of a reduction that can begin with a number.
 *
 * **Example** (The largest, at least 0, also of no elements)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const most = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.max(x, { axis: [0, 1], initial: 0 })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface InitialOptions extends ReductionOptions {
  /** A number of the result's type, with which each row begins; `min` and `max` then take rows of no elements. */
  readonly initial?: Scalar | undefined
}

/**
 * The options of a sum or a product.
 *
 * **Example** (Bytes in 64 bits)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const options: DeviceArray.SumOptions<"u64"> = { dtype: "u64" }
 * const total = (bytes: DeviceArray.DeviceArray<"u8">) => DeviceArray.sum(bytes, { dtype: "u64" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface SumOptions<out R extends DType = DType> extends InitialOptions {
  /** The type of the result, to which elements are cast first. Default: `Summed` of their own. */
  readonly dtype?: R | undefined
}

/** The options without a type. */
interface OwnTypeOptions extends SumOptions<never> {
  readonly dtype?: undefined
}

/** The options with a type. */
interface CastOptions<out R extends DType> extends SumOptions<R> {
  readonly dtype: R
}

/**
 * A reduction to a sum or a product, in the type that the options name, otherwise in `Summed` of the elements' own.
 *
 * **Example** (Choosing a reduction)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const combined = (adds: boolean): DeviceArray.SumReduction => adds ? DeviceArray.sum : DeviceArray.prod
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface SumReduction {
  <R extends DType>(options: CastOptions<R>): (self: ArrayOperand) => Computed<R>
  (options?: OwnTypeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Summed<D>>
  <R extends DType>(self: ArrayOperand, options: CastOptions<R>): Computed<R>
  <D extends DType>(self: ArrayOperand<D>, options?: OwnTypeOptions): Computed<Promotion.Summed<D>>
}

/**
 * A reduction to the elements' own type.
 *
 * **Example** (Choosing a reduction)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const extreme = (largest: boolean): DeviceArray.SameTypeReduction => largest ? DeviceArray.max : DeviceArray.min
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface SameTypeReduction {
  (options?: InitialOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, options?: InitialOptions): Computed<D>
}

/**
 * The options of a mean.
 *
 * **Example** (Of halves, in 32 bits)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const mean = (x: DeviceArray.DeviceArray<"f16">) => DeviceArray.mean(x, { axis: 0, dtype: "f32" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface MeanOptions<out R extends Expr.FloatType = Expr.FloatType> extends ReductionOptions {
  /** The float type of the result, to which elements are cast first. Default: `Floating` of their own. */
  readonly dtype?: R | undefined
}

/** The options without a type. */
interface OwnFloatOptions extends MeanOptions<never> {
  readonly dtype?: undefined
}

/** The options with a type. */
interface FloatOptions<out R extends Expr.FloatType> extends MeanOptions<R> {
  readonly dtype: R
}

/**
 * A reduction to a float type, the one that the options name: otherwise floats keep theirs, and integers give f32, or f64
 * for 64 bits.
 *
 * **Example** (A name of one's own)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const average: DeviceArray.FloatReduction = DeviceArray.mean
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface FloatReduction {
  <R extends Expr.FloatType>(options: FloatOptions<R>): (self: ArrayOperand) => Computed<R>
  (options?: OwnFloatOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Floating<D>>
  <R extends Expr.FloatType>(self: ArrayOperand, options: FloatOptions<R>): Computed<R>
  <D extends DType>(self: ArrayOperand<D>, options?: OwnFloatOptions): Computed<Promotion.Floating<D>>
}

/**
 * A reduction to truth values.
 *
 * **Example** (Choosing a test)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const holds = (everywhere: boolean): DeviceArray.IndexReduction => everywhere ? DeviceArray.all : DeviceArray.any
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface IndexReduction {
  (options?: ReductionOptions): (self: ArrayOperand) => Computed<"bool">
  (self: ArrayOperand, options?: ReductionOptions): Computed<"bool">
}

/**
 * The options of a reduction to positions, which count along one axis.
 *
 * **Example** (Of each column)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const columns: DeviceArray.PositionOptions = { axis: 0 }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface PositionOptions extends ReductionOptions {
  /** The axis to reduce along, negative ones counted from the last; all elements in row-major order without it. */
  readonly axis?: number | undefined
}

/**
 * A reduction to positions.
 *
 * **Example** (Choosing an end)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const place = (largest: boolean): DeviceArray.PositionReduction => largest ? DeviceArray.argmax : DeviceArray.argmin
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface PositionReduction {
  (options?: PositionOptions): (self: ArrayOperand) => Computed<"u32">
  (self: ArrayOperand, options?: PositionOptions): Computed<"u32">
}

/** From the reduced values to the result; `undefined` where they are the result. */
type Finish = (
  values: DeviceArray,
  dtype: DType,
  length: number,
  initial: Scalar | undefined
) => Computed | undefined

/** The type in which the elements of a type are reduced. */
type Own = (dtype: DType) => DType

const ofReduction = KnownOptions.of<ReductionOptions>({ axis: true, keepDims: true })
const ofInitial = KnownOptions.of<InitialOptions>({ axis: true, keepDims: true, initial: true })
const ofSum = KnownOptions.of<SumOptions>({ axis: true, keepDims: true, initial: true, dtype: true })
const ofMean = KnownOptions.of<MeanOptions>({ axis: true, keepDims: true, dtype: true })

const itself: Own = (dtype) => dtype

/** `F` is the type that users see. */
const reduction = <F extends AnyFunction>(
  name: string,
  rule: Rule,
  /** Whether the result is one of the elements, so that there must be one. */
  chooses: boolean,
  known: KnownOptions.KnownOptions,
  finish?: Finish,
  own = itself
): F =>
  ofArray<F>(name, (operation, self, options?: SumOptions) => {
    const request = requestOf(operation, self, options, known)
    if (request instanceof GpuError) return request
    const type = options?.dtype ?? own(self.dtype)
    const initial = options?.initial
    const disorder = rule.needsOrder === true ? orderProblem(operation, type) : undefined
    if (disorder !== undefined) return disorder
    const computed = Effect.suspend(() => {
      if (initial !== undefined && elementOf(type, initial) === undefined) return noInitial(operation, initial, type)
      if (chooses && initial === undefined && isEmpty(request)) return noElements(operation, self)
      const { axes, length, shape } = request
      const { dtype } = rule.state(type)[0]!
      const reduced = Effect.flatMap(reduce(rule, self, axes, type), (lease) => {
        const values = dense(dtype, shape, lease)
        const finished = finish?.(values, type, length, initial)
        return finished === undefined ? Exit.succeed(values) : inPlaceOf(values, finished)
      })
      return dtype === type ? reduced : supported(operation, dtype, reduced)
    })
    return supported(operation, type, computed)
  })

const noInitial = (operation: string, initial: Scalar, dtype: DType): GpuError =>
  invalidRequest(operation, `initial is ${formatted(initial)}, which is no ${dtype}`, elementHint(dtype, initial))

/** A reduction to a position, which several axes do not have. */
const positionOf = <F extends AnyFunction>(name: string, rule: Rule): F => {
  const along = reduction<(self: DeviceArray, options?: ReductionOptions) => Computed>(name, rule, true, ofReduction)
  return ofArray<F>(name, (operation, self, options?: PositionOptions) => {
    const axis: unknown = options?.axis
    return !isList(axis) ? along(self, options ?? {}) : invalidRequest(
      operation,
      `the axes are ${formatted(axis)}`,
      "Positions count along one axis: name one, or none; reshape joins neighbouring axes."
    )
  })
}

/** Combines the result with a number, and casts it to the elements' type where the reduction used another. */
const begunWith = (operation: "add" | "multiply" | "minimum" | "maximum"): Finish => {
  const combined: ArrayOperation = {
    name: `initial_${operation}`,
    build: ([value, initial], dtype) =>
      Expr.astype(Operations.apply(operation, [value!, initial!]) as Expr.Expr<DType>, dtype)
  }
  return (values, dtype, _, initial) => {
    if (initial !== undefined) {
      return apply(combined, [values, initial], [values.dtype, values.dtype], dtype, values.shape)
    }
    return values.dtype === dtype ? undefined : narrowed(values, dtype)
  }
}

const meanOperation: ArrayOperation = {
  name: "mean",
  build: ([total, count], dtype) => Expr.astype(Operations.apply("divide", [total!, count!]), dtype)
}

const meanOf: Finish = (totals, dtype, length) =>
  apply(meanOperation, [totals, length], [totals.dtype, totals.dtype], Promotion.floating(dtype), totals.shape)

/**
 * The sum of the elements, 0 of none, in `Summed` of their type or the `dtype` that is named. Integers wrap; f16 is summed in
 * f32 and rounded once. The sum of truth values counts those that are true.
 *
 * **Example** (Rows and the whole)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
 *   const rows = yield* DeviceArray.sum(x, { axis: 1 })
 *   return [yield* DeviceArray.toNested(rows), yield* DeviceArray.toNumber(yield* DeviceArray.sum(x))]
 * }) // => [[3, 7], 10]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.sum.html
 * @category reductions
 * @since 0.1.0
 */
export const sum: {
  /**
   * The sum of the elements, 0 of none, in `Summed` of their type or the `dtype` that is named. Integers wrap; f16 is summed in
   * f32 and rounded once. The sum of truth values counts those that are true.
   */
  (options?: OwnTypeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Summed<D>>
} & SumReduction = reduction("sum", Rules.sum, false, ofSum, begunWith("add"), Promotion.summed)

/**
 * The product of the elements, 1 of none, in `Summed` of their type or the `dtype` that is named. Integers wrap.
 *
 * **Example** (How many elements a shape has)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const volume = (sides: DeviceArray.DeviceArray<"u32">) => DeviceArray.prod(sides)
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.prod.html
 * @category reductions
 * @since 0.1.0
 */
export const prod: {
  /** The product of the elements, 1 of none, in `Summed` of their type or the `dtype` that is named. Integers wrap. */
  (options?: OwnTypeOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Summed<D>>
} & SumReduction = reduction("prod", Rules.product, false, ofSum, begunWith("multiply"), Promotion.summed)

/**
 * The smallest element, NaN if an element is NaN. A reduction of no elements is InvalidRequest, unless `initial` is
 * named.
 *
 * **Example** (The coldest hour of each day)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const coldest = (hours: DeviceArray.DeviceArray<"f32">) => DeviceArray.min(hours, { axis: -1 })
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.min.html
 * @category reductions
 * @since 0.1.0
 */
export const min: {
  /**
   * The smallest element, NaN if an element is NaN. A reduction of no elements is InvalidRequest, unless `initial` is
   * named.
   */
  (options?: InitialOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
} & SameTypeReduction = reduction("min", Rules.min, true, ofInitial, begunWith("minimum"))

/**
 * The largest element, NaN if an element is NaN. A reduction of no elements is InvalidRequest, unless `initial` is
 * named.
 *
 * **Example** (Scaling each row by its largest element)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const scaled = (x: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.divide(x, DeviceArray.max(x, { axis: 1, keepDims: true }))
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.max.html
 * @category reductions
 * @since 0.1.0
 */
export const max: {
  /**
   * The largest element, NaN if an element is NaN. A reduction of no elements is InvalidRequest, unless `initial` is
   * named.
   */
  (options?: InitialOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
} & SameTypeReduction = reduction("max", Rules.max, true, ofInitial, begunWith("maximum"))

/**
 * The mean of the elements, NaN of none. Integers and f16 are summed in f32, those of 64 bits in f64; the mean of integers is
 * f32, or f64 for 64 bits.
 *
 * **Example** (Subtracting the mean)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const centred = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.subtract(x, DeviceArray.mean(x))
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.mean.html
 * @category reductions
 * @since 0.1.0
 */
export const mean: {
  /**
   * The mean of the elements, NaN of none. Integers and f16 are summed in f32, those of 64 bits in f64; the mean of integers is
   * f32, or f64 for 64 bits.
   */
  (options?: OwnFloatOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Floating<D>>
} & FloatReduction = reduction("mean", Rules.total, false, ofMean, meanOf)

/**
 * The position of the smallest element, the first of equals, or of the first NaN: counted over all elements in
 * row-major order, or along the axis. A reduction of no elements is InvalidRequest.
 *
 * **Example** (The nearest point)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const distances = yield* DeviceArray.fromHost([[3, 1, 2], [0, 4, 0]])
 *   return yield* DeviceArray.toNested(yield* DeviceArray.argmin(distances, { axis: 1 }))
 * }) // => [1, 0]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.argmin.html
 * @category reductions
 * @since 0.1.0
 */
export const argmin: {
  /**
   * The position of the smallest element, the first of equals, or of the first NaN: counted over all elements in
   * row-major order, or along the axis. A reduction of no elements is InvalidRequest.
   */
  (options?: PositionOptions): (self: ArrayOperand) => Computed<"u32">
} & PositionReduction = positionOf("argmin", Rules.argmin)

/**
 * The position of the largest element, the first of equals, or of the first NaN: counted over all elements in
 * row-major order, or along the axis. A reduction of no elements is InvalidRequest.
 *
 * **Example** (The likeliest class)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const classes = (scores: DeviceArray.DeviceArray<"f32">) => DeviceArray.argmax(scores, { axis: 1 })
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.argmax.html
 * @category reductions
 * @since 0.1.0
 */
export const argmax: {
  /**
   * The position of the largest element, the first of equals, or of the first NaN: counted over all elements in
   * row-major order, or along the axis. A reduction of no elements is InvalidRequest.
   */
  (options?: PositionOptions): (self: ArrayOperand) => Computed<"u32">
} & PositionReduction = positionOf("argmax", Rules.argmax)

/**
 * Whether any element is true, that is: not 0. As bool, false of none.
 *
 * **Example** (Whether a result has a NaN)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const spoilt = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.any(DeviceArray.isNaN(x))
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.any.html
 * @category reductions
 * @since 0.1.0
 */
export const any: {
  /** Whether any element is true, that is: not 0. As bool, false of none. */
  (options?: ReductionOptions): (self: ArrayOperand) => Computed<"bool">
} & IndexReduction = reduction("any", Rules.any, false, ofReduction)

/**
 * Whether all elements are true, that is: not 0. As bool, true of none.
 *
 * **Example** (Whether every row is positive throughout)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const positive = (x: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.all(DeviceArray.greater(x, 0), { axis: 1 })
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.all.html
 * @category reductions
 * @since 0.1.0
 */
export const all: {
  /** Whether all elements are true, that is: not 0. As bool, true of none. */
  (options?: ReductionOptions): (self: ArrayOperand) => Computed<"bool">
} & IndexReduction = reduction("all", Rules.all, false, ofReduction)

/**
 * How many elements are true, that is: not 0. As u32.
 *
 * **Example** (How many are positive)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([[1, -2], [3, 4]]).pipe(
 *   DeviceArray.greater(0),
 *   DeviceArray.countNonzero({ axis: 1 }),
 *   DeviceArray.toNested
 * ) // => [1, 2]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.count_nonzero.html
 * @category reductions
 * @since 0.1.0
 */
export const countNonzero: {
  /** How many elements are true, that is: not 0. As u32. */
  (options?: ReductionOptions): (self: ArrayOperand) => Computed<"u32">
  (self: ArrayOperand, options?: ReductionOptions): Computed<"u32">
} = reduction("countNonzero", Rules.count, false, ofReduction)
