/**
 * Arrays made of several arrays, and parts of an array.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import { isDataFirst, ofArray, withArrays } from "./ArrayProblem.ts"
import { DeviceArray } from "./ArrayValue.ts"
import { arrayProblem } from "./elementwise/OperandProblem.ts"
import * as FreshArray from "./FreshArray.ts"
import { type ArrayOperand, type Computed, evaluateAll } from "./fusion/Evaluation.ts"
import type { ArrayServices } from "./fusion/Evaluation.ts"
import { store } from "./fusion/Storing.ts"
import * as Layout from "./layout/Layout.ts"
import * as Promotion from "./layout/Promotion.ts"
import * as Shape from "./layout/Shape.ts"
import { isList, listProblem } from "./layout/WrongValue.ts"
import { expandDims, reshape, slice } from "./Views.ts"

/**
 * The common element type of several arrays.
 *
 * **Example** (Of integers and floats)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * type Parts = readonly [DeviceArray.DeviceArray<"i32">, DeviceArray.DeviceArray<"f32">]
 * const dtype: DeviceArray.Common<Parts> = "f32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Common<Arrays extends ReadonlyArray<ArrayOperand>> = Arrays extends readonly [ArrayOperand<infer A>] ? A
  : Arrays extends readonly [ArrayOperand<infer A>, ...infer Rest extends ReadonlyArray<ArrayOperand>]
    ? Common<Rest> extends infer B extends DType ? Promotion.Promote<A, B> : never
  : Arrays extends ReadonlyArray<ArrayOperand<infer A>> ? Promotion.Promote<A, A>
  : never

/**
 * The options of functions that work along one axis.
 *
 * **Example** (Side by side)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const beside = (x: DeviceArray.DeviceArray<"f32">, y: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.concatenate([x, y], { axis: 1 })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface AxisOptions {
  /** The axis, negative ones counted from the last. */
  readonly axis?: number | undefined
}

/** The data-first and data-last forms of a function that joins arrays. */
interface Join {
  (
    options?: AxisOptions
  ): <const Arrays extends ReadonlyArray<ArrayOperand>>(arrays: Arrays) => Computed<Common<Arrays>>
  <const Arrays extends ReadonlyArray<ArrayOperand>>(arrays: Arrays, options?: AxisOptions): Computed<Common<Arrays>>
}

const joining = (
  name: string,
  known: KnownOptions.KnownOptions | undefined,
  body: (operation: string, arrays: ReadonlyArray<DeviceArray>, axis: number) => Computed
): Join =>
  dual(
    (args) => Array.isArray(args[0]),
    (operands: ReadonlyArray<ArrayOperand>, options?: AxisOptions): Computed => {
      const operation = `DeviceArray.${name}`
      const problem = known === undefined
        ? noOptionsProblem(operation, options)
        : KnownOptions.problem(operation, options, known)
      if (problem !== undefined) return problem
      const wrong = listProblem(operation, operands, "the arrays", "Pass a list of them, as [x, y].")
      if (wrong !== undefined) return wrong
      if (operands.length === 0) return nothingToJoin(operation)
      // A list that the program changes later must not change the arrays.
      return withArrays(operands.slice(), (...arrays) => {
        for (const array of arrays) {
          const problem = arrayProblem(operation, array)
          if (problem !== undefined) return problem
        }
        return body(operation, arrays, options?.axis ?? 0)
      })
    }
  )

const noOptionsProblem = (operation: string, options: unknown): GpuError | undefined =>
  options === undefined
    ? undefined
    : invalidRequest(operation, "options were given, and it has none", "Leave them out.")

const nothingToJoin = (operation: string): GpuError =>
  invalidRequest(
    operation,
    "there are no arrays to join",
    "Pass at least one; DeviceArray.empty makes an array of nothing."
  )

/**
 * The arrays one after the other along an axis, the first unless another is named; their other axes have equal lengths.
 * Types are promoted to the common one. Arrays of no axes are InvalidRequest, as in NumPy: {@link stack} joins these.
 *
 * **Details**
 *
 * Each array is one command. What is recorded is computed by the command that stores it, without memory of its own.
 *
 * **Example** (Rows below rows)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
 *   const y = yield* DeviceArray.fromHost([[5, 6]])
 *   return yield* DeviceArray.toNested(yield* DeviceArray.concatenate([x, y]))
 * }) // => [[1, 2], [3, 4], [5, 6]]
 * ```
 *
 * @see numpy.concatenate
 * @category joining
 * @since 0.1.0
 */
export const concatenate: {
  /**
   * The arrays one after the other along an axis, the first unless another is named; their other axes have equal lengths.
   * Types are promoted to the common one. Arrays of no axes are InvalidRequest, as in NumPy: {@link stack} joins these.
   */
  (
    options?: AxisOptions
  ): <const Arrays extends ReadonlyArray<ArrayOperand>>(arrays: Arrays) => Computed<Common<Arrays>>
} & Join = joining("concatenate", Shape.axisNames, (operation, arrays, asked) => {
  const [{ shape }] = arrays as readonly [DeviceArray]
  const axis = Shape.axisOf(operation, asked, shape)
  return axis instanceof GpuError ? axis : joined(operation, arrays, axis)
})

const joined = (operation: string, arrays: ReadonlyArray<DeviceArray>, axis: number): Computed => {
  const [first] = arrays as readonly [DeviceArray]
  let dtype: DType = first.dtype
  let length = 0
  for (const array of arrays) {
    const fitting = array.shape.length === first.shape.length &&
      array.shape.every((own, at) => at === axis || own === first.shape[at])
    if (!fitting) return noFit(operation, first, array, axis)
    dtype = Promotion.promote(dtype, array.dtype)
    length += array.shape[axis]!
  }
  const shape = first.shape.map((own, at) => at === axis ? length : own)
  return Shape.problem(operation, shape) ?? FreshArray.make(operation, dtype, shape, (lease) => {
    const strides = Layout.rowMajor(shape)
    let position = 0
    return Effect.forEach(arrays, (array) =>
      Effect.suspend(() => {
        const offset = position * strides[axis]!
        position += array.shape[axis]!
        return store(new DeviceArray(dtype, { shape: array.shape, strides, offset }, lease), array)
      }), { discard: true })
  })
}

const noFit = (operation: string, first: DeviceArray, other: DeviceArray, axis: number): GpuError =>
  invalidRequest(
    operation,
    `the shapes ${Shape.format(first.shape)} and ${Shape.format(other.shape)} do not join along axis ${axis}`,
    "All lengths but that of the axis must be equal. Use reshape or expandDims to add axes of length 1."
  )

/**
 * Arrays of one shape as one array with a new axis, at this position among the axes of the result, or the first. Types are
 * promoted to the common one.
 *
 * **Example** (Points from their coordinates)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([1, 2])
 *   const y = yield* DeviceArray.fromHost([10, 20])
 *   return yield* DeviceArray.toNested(yield* DeviceArray.stack([x, y], { axis: 1 }))
 * }) // => [[1, 10], [2, 20]]
 * ```
 *
 * @see numpy.stack
 * @category joining
 * @since 0.1.0
 */
export const stack: {
  /**
   * Arrays of one shape as one array with a new axis, at this position among the axes of the result, or the first. Types are
   * promoted to the common one.
   */
  (
    options?: AxisOptions
  ): <const Arrays extends ReadonlyArray<ArrayOperand>>(arrays: Arrays) => Computed<Common<Arrays>>
} & Join = joining("stack", Shape.axisNames, (operation, arrays, asked) => {
  const [{ shape }] = arrays as readonly [DeviceArray]
  const other = arrays.find((array) => !Shape.equals(array.shape, shape))
  if (other !== undefined) {
    return invalidRequest(
      operation,
      `the shapes ${Shape.format(shape)} and ${Shape.format(other.shape)} differ`,
      "Stacked arrays have one shape: broadcastTo repeats an array, and concatenate joins along an axis that is there."
    )
  }
  const wider = [...shape, 1]
  const axis = Shape.rankProblem(operation, wider) ?? Shape.axisOf(operation, asked, wider)
  if (axis instanceof GpuError) return axis
  return Effect.flatMap(
    Effect.forEach(arrays, (array) => expandDims(array, axis)),
    (expanded) => joined(operation, expanded, axis)
  )
})

/** The data-first and data-last forms of a function that joins arrays along an axis of its own. */
interface Stack {
  (options?: undefined): <const Arrays extends ReadonlyArray<ArrayOperand>>(arrays: Arrays) => Computed<Common<Arrays>>
  <const Arrays extends ReadonlyArray<ArrayOperand>>(arrays: Arrays): Computed<Common<Arrays>>
}

/** Joins arrays, each of `rank` axes at least, with new ones in front, along an axis that they have or their only one. */
const stacking = (name: string, rank: number, axis: number): Stack =>
  joining(name, undefined, (operation, arrays) =>
    Effect.flatMap(
      Effect.forEach(arrays, (array) =>
        array.shape.length >= rank
          ? Effect.succeed(array)
          : reshape(array, [...Array.from({ length: rank - array.shape.length }, () => 1), ...array.shape])),
      (wide) => joined(operation, wide, Math.min(axis, wide[0]!.shape.length - 1))
    ))

/**
 * Arrays side by side: along the second axis, or the first one of arrays with one axis; an array of no axes is one element. Types
 * are promoted to the common one.
 *
 * **Example** (Columns beside columns)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
 *   const y = yield* DeviceArray.fromHost([[5], [6]])
 *   return yield* DeviceArray.toNested(yield* DeviceArray.hstack([x, y]))
 * }) // => [[1, 2, 5], [3, 4, 6]]
 * ```
 *
 * @see numpy.hstack
 * @category joining
 * @since 0.1.0
 */
export const hstack: {
  /**
   * Arrays side by side: along the second axis, or the first one of arrays with one axis; an array of no axes is one element. Types
   * are promoted to the common one.
   */
  (options?: undefined): <const Arrays extends ReadonlyArray<ArrayOperand>>(arrays: Arrays) => Computed<Common<Arrays>>
} & Stack = stacking("hstack", 1, 1)

/**
 * Arrays one below the other: along the first axis, where an array of one axis is a row. Types are promoted to the common one.
 *
 * **Example** (Rows below rows)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([1, 2])
 *   const y = yield* DeviceArray.fromHost([[3, 4], [5, 6]])
 *   return yield* DeviceArray.toNested(yield* DeviceArray.vstack([x, y]))
 * }) // => [[1, 2], [3, 4], [5, 6]]
 * ```
 *
 * @see numpy.vstack
 * @category joining
 * @since 0.1.0
 */
export const vstack: {
  /**
   * Arrays one below the other: along the first axis, where an array of one axis is a row. Types are promoted to the common one.
   */
  (options?: undefined): <const Arrays extends ReadonlyArray<ArrayOperand>>(arrays: Arrays) => Computed<Common<Arrays>>
} & Stack = stacking("vstack", 2, 0)

/**
 * The array in parts along an axis, the first unless another is named: in so many equal ones, or cut before each of the
 * positions. The parts are views. A number that does not divide the axis is InvalidRequest; positions are cut to the axis,
 * and negative ones count from the end, as in {@link slice}.
 *
 * **Example** (The first two, and the rest)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.arange(5).pipe(
 *   DeviceArray.split([2]),
 *   Effect.flatMap((parts) => Effect.forEach(parts, DeviceArray.toNested))
 * ) // => [[0, 1], [2, 3, 4]]
 * ```
 *
 * @see numpy.split
 * @category joining
 * @since 0.1.0
 */
export const split: {
  /**
   * The array in parts along an axis, the first unless another is named: in so many equal ones, or cut before each of the
   * positions. The parts are views. A number that does not divide the axis is InvalidRequest; positions are cut to the axis,
   * and negative ones count from the end, as in {@link slice}.
   */
  (parts: number | ReadonlyArray<number>, options?: AxisOptions): <D extends DType>(
    self: ArrayOperand<D>
  ) => Effect.Effect<ReadonlyArray<DeviceArray<D>>, GpuError, ArrayServices>
  <D extends DType>(
    self: ArrayOperand<D>,
    parts: number | ReadonlyArray<number>,
    options?: AxisOptions
  ): Effect.Effect<ReadonlyArray<DeviceArray<D>>, GpuError, ArrayServices>
} = ofArray("split", (operation, self, parts: number | ReadonlyArray<number>, options?: AxisOptions) => {
  const axis = Shape.axisIn(operation, options, self.shape, 0)
  if (axis instanceof GpuError) return axis
  const length = self.shape[axis]!
  const cuts = isList(parts) ? givenCuts(operation, parts) : equalCuts(operation, parts, length, self.shape)
  if (cuts instanceof GpuError) return cuts
  const before = self.shape.slice(0, axis).map(() => ({}))
  return Effect.andThen(
    evaluateAll([self]),
    Effect.forEach(
      [...cuts.keys(), cuts.length],
      (part) => slice(self, [...before, { start: part === 0 ? 0 : cuts[part - 1], stop: cuts[part] }])
    )
  )
}, isDataFirst(3))

/** A missing position would be the end of the axis. */
const givenCuts = (operation: string, cuts: ReadonlyArray<number>): ReadonlyArray<number> | GpuError => {
  for (let at = 0; at < cuts.length; at++) {
    if (Number.isSafeInteger(cuts[at])) continue
    return invalidRequest(operation, `position ${at} to cut before is ${formatted(cuts[at])}`, "Pass whole numbers.")
  }
  return cuts
}

/** More parts would be more arrays than programs have. */
const maxParts = 65_536

const equalCuts = (
  operation: string,
  parts: number,
  length: number,
  shape: Shape.Shape
): ReadonlyArray<number> | GpuError => {
  if (!Number.isInteger(parts) || parts < 1 || parts > maxParts) {
    return invalidRequest(
      operation,
      `the number of parts is ${formatted(parts)}`,
      `Pass a whole number from 1 to ${maxParts}, or the positions to cut before.`
    )
  }
  return length % parts === 0
    ? Array.from({ length: parts - 1 }, (_, cut) => (cut + 1) * (length / parts))
    : invalidRequest(
      operation,
      `${parts} equal parts do not make the length ${length} in the shape ${Shape.format(shape)}`,
      `Pass a divisor of ${length}, or the positions to cut before.`
    )
}
