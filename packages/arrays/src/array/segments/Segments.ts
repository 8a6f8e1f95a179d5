/**
 * Sums of the elements that have the same number.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ofArray } from "../ArrayProblem.ts"
import { dense, type DeviceArray, Pending } from "../ArrayValue.ts"
import type { ArrayOperation } from "../elementwise/ArrayOperation.ts"
import { arrayProblem } from "../elementwise/OperandProblem.ts"
import { supported } from "../elementwise/Supported.ts"
import type { ArrayOperand, Computed } from "../fusion/Evaluation.ts"
import { typeProblem } from "../indexing/Extent.ts"
import * as Promotion from "../layout/Promotion.ts"
import * as Shape from "../layout/Shape.ts"
import { countProblem, inPlaceOf, narrowed } from "../reduction/Request.ts"
import * as Rules from "../reduction/Rules.ts"
import { segmentReduce, shapeOf } from "./SegmentReduction.ts"

/**
 * The options of {@link segmentSum}.
 *
 * **Example** (Along the last axis, in f64)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const options: DeviceArray.SegmentOptions<"f64"> = { axis: -1, dtype: "f64" }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface SegmentOptions<out R extends DType = DType> {
  /** The axis whose positions are divided into segments, negative ones counted from the last. Default: the first. */
  readonly axis?: number | undefined
  /** The type of the result, to which elements are cast first. Default: `Summed` of their own. */
  readonly dtype?: R | undefined
}

/** The options without a type. */
interface OwnTypeOptions extends SegmentOptions<never> {
  readonly dtype?: undefined
}

/** The options with a type. */
interface CastOptions<out R extends DType> extends SegmentOptions<R> {
  readonly dtype: R
}

const known = KnownOptions.of<SegmentOptions>({ axis: true, dtype: true })

/** What messages call the labels and their number. */
interface Names {
  readonly labels: string
  readonly count: string
}

const problemOf = (
  operation: string,
  self: DeviceArray,
  axis: number,
  labels: DeviceArray,
  segments: number,
  names: Names
): GpuError | undefined => {
  const problem = arrayProblem(operation, labels, `the ${names.labels}`)
  if (problem !== undefined) return problem
  const { shape } = labels
  const length = self.shape[axis]!
  if (shape.length !== 1 || shape[0] !== length) {
    return invalidRequest(
      operation,
      `the labels have the shape ${Shape.format(shape)}, and axis ${axis} of ${
        Shape.format(self.shape)
      } has ${length} positions`,
      `Pass a label for each position: an array of the shape [${length}].`
    )
  }
  return typeProblem(operation, labels, names.labels) ?? Shape.countProblem(operation, names.count, segments)
}

const sumOf = (
  operation: string,
  self: DeviceArray,
  labels: DeviceArray,
  segments: number,
  axis: number,
  dtype: DType,
  names: Names
): Computed => {
  const wrong = problemOf(operation, self, axis, labels, segments, names)
  if (wrong !== undefined) return wrong
  const shape = shapeOf(self, axis, segments)
  // Only a type that there is has a wider one for its sums.
  const summed = Effect.suspend(() =>
    supported(
      operation,
      Rules.segmentSum.state(dtype)[0]!.dtype,
      Effect.flatMap(
        segmentReduce(operation, Rules.segmentSum, {
          array: self,
          labels: labels as DeviceArray<"i32" | "u32">,
          segments,
          axis,
          dtype
        }),
        (values) => values.dtype === dtype ? Exit.succeed(values) : inPlaceOf(values, narrowed(values, dtype))
      )
    )
  )
  return Shape.problem(operation, shape) ?? countProblem(operation, self) ??
    countProblem(operation, { shape, size: Shape.size(shape) }) ?? supported(operation, dtype, summed)
}

/** A number in this place means that the array comes last. */
const isNumber = (value: unknown): boolean => typeof value === "number"

/**
 * The sums of segments, along an axis: `labels` has the number of the segment of each position, and sum `s` is that of the elements
 * with the number `s`, 0 of none. `count` segments replace the axis: of a `[4, 1000]` array and 8 segments along axis 1, the sums are
 * `[4, 8]`.
 *
 * **Details**
 *
 * Elements with another number, negative or from `count` on, are in no sum, as in JAX. The types are those of {@link sum}: integers
 * wrap, and f16 is summed in f32 and rounded once. Labels that are only recorded are computed first, into memory; elements that
 * are only recorded are computed by the kernel, without memory for them. The order of addition depends on the lengths and the kind
 * of device only, so that sums of one array, of a view and of a copy have the same bits in each run on a device.
 *
 * Where there are few segments, each element is read once, and each label once for up to eight rows: items add up parts of the axis, and
 * a second kernel adds up their sums, of which there are at most a quarter as many as elements. So the more segments there are, the fewer are
 * the parts, down to one. Then an item of a CPU adds up the whole axis, and a GPU divides the segments among thousands of items, each of
 * which reads all labels of its part. In either case the time is linear in the elements and the segments.
 *
 * InvalidRequest for labels of another shape or type, and for a count that is no whole number or negative; LimitExceeded for more than
 * 2^32 - 1 elements or sums.
 *
 * **Example** (What each customer has spent)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const amounts = yield* DeviceArray.fromHost([20, 5, 30, 1])
 *   const customers = yield* DeviceArray.fromHost(Int32Array.of(2, 0, 2, -1))
 *   return yield* DeviceArray.toNested(yield* DeviceArray.segmentSum(amounts, customers, 3))
 * }) // => [5, 0, 50]
 * ```
 *
 * @see jax.ops.segment_sum
 * @see {@link bincount} for how many elements each segment has
 * @category segments
 * @since 0.1.0
 */
export const segmentSum: {
  /**
   * The sums of segments, along an axis: `labels` has the number of the segment of each position, and sum `s` is that of the elements
   * with the number `s`, 0 of none. `count` segments replace the axis: of a `[4, 1000]` array and 8 segments along axis 1, the sums are
   * `[4, 8]`.
   */
  <R extends DType>(
    labels: ArrayOperand<"i32" | "u32">,
    count: number,
    options: CastOptions<R>
  ): (self: ArrayOperand) => Computed<R>
  (
    labels: ArrayOperand<"i32" | "u32">,
    count: number,
    options?: OwnTypeOptions
  ): <D extends DType>(self: ArrayOperand<D>) => Computed<Promotion.Summed<D>>
  <R extends DType>(
    self: ArrayOperand,
    labels: ArrayOperand<"i32" | "u32">,
    count: number,
    options: CastOptions<R>
  ): Computed<R>
  <D extends DType>(
    self: ArrayOperand<D>,
    labels: ArrayOperand<"i32" | "u32">,
    count: number,
    options?: OwnTypeOptions
  ): Computed<Promotion.Summed<D>>
} = ofArray(
  "segmentSum",
  (operation, self, labels: DeviceArray, count: number, options?: SegmentOptions) => {
    const unknown = KnownOptions.problem(operation, options, known)
    if (unknown !== undefined) return unknown
    const axis = Shape.axisOf(operation, options?.axis ?? 0, self.shape)
    return axis instanceof GpuError
      ? axis
      : sumOf(operation, self, labels, count, axis, options?.dtype ?? Promotion.summed(self.dtype), {
        labels: "labels",
        count: "the number of segments"
      })
  },
  (args) => !isNumber(args[1])
)

const counted: ArrayOperation = { name: "one", build: ([one]) => one! }

/**
 * How often each whole number from 0 to `length - 1` is an element, as u32: {@link segmentSum} of ones. Other numbers are not counted.
 *
 * **Details**
 *
 * The result of NumPy's function is as long as the largest element demands. A shape cannot depend on elements here, so the program
 * says the length, as with JAX's option of that name. With weights it is `segmentSum(weights, x, length)`.
 *
 * InvalidRequest for numbers of more than one axis or of another type than i32 or u32, and for a length that is no whole number or
 * negative.
 *
 * **Example** (A histogram of small numbers)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Uint32Array.of(1, 3, 1, 0)).pipe(
 *   DeviceArray.bincount(5),
 *   DeviceArray.toNested
 * ) // => [1, 2, 0, 1, 0]
 * ```
 *
 * @see numpy.bincount
 * @category segments
 * @since 0.1.0
 */
export const bincount: {
  /**
   * How often each whole number from 0 to `length - 1` is an element, as u32: {@link segmentSum} of ones. Other numbers are not counted.
   */
  (length: number): (self: ArrayOperand<"i32" | "u32">) => Computed<"u32">
  (self: ArrayOperand<"i32" | "u32">, length: number): Computed<"u32">
} = ofArray("bincount", (operation, self, length: number) => {
  if (self.shape.length !== 1) {
    return invalidRequest(
      operation,
      `the numbers have the shape ${Shape.format(self.shape)}`,
      "Pass an array of one axis: DeviceArray.ravel(x)."
    )
  }
  const ones = dense("u32", self.shape, new Pending(counted, [1], ["u32"], "u32"))
  return sumOf(operation, ones, self, length, 0, "u32", { labels: "numbers", count: "the length" })
}, (args) => !isNumber(args[0]))
