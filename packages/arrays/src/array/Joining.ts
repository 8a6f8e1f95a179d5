/**
 * Arrays made of several arrays or of several copies of one, and parts of an array.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import { isDataFirst, ofArray } from "./ArrayProblem.ts"
import { DeviceArray } from "./ArrayValue.ts"
import * as FreshArray from "./FreshArray.ts"
import { type Computed, evaluateAll, evaluateCopy } from "./fusion/Evaluation.ts"
import type { ArrayServices } from "./fusion/Evaluation.ts"
import { store } from "./fusion/Storing.ts"
import * as Gather from "./indexing/Gather.ts"
import type { Positions } from "./indexing/HostIndices.ts"
import { countProblem } from "./joining/Counts.ts"
import * as Layout from "./layout/Layout.ts"
import * as Promotion from "./layout/Promotion.ts"
import * as Shape from "./layout/Shape.ts"
import { allocate } from "./transfer/TypedArrays.ts"
import { expandDims, slice } from "./Views.ts"

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
export type Common<Arrays extends ReadonlyArray<DeviceArray>> = Arrays extends readonly [DeviceArray<infer A>] ? A
  : Arrays extends readonly [DeviceArray<infer A>, ...infer Rest extends ReadonlyArray<DeviceArray>]
    ? Common<Rest> extends infer B extends DType ? Promotion.Promote<A, B> : never
  : Arrays extends ReadonlyArray<DeviceArray<infer A>> ? Promotion.Promote<A, A>
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
  (options?: AxisOptions): <const Arrays extends ReadonlyArray<DeviceArray>>(arrays: Arrays) => Computed<Common<Arrays>>
  <const Arrays extends ReadonlyArray<DeviceArray>>(arrays: Arrays, options?: AxisOptions): Computed<Common<Arrays>>
}

const joining = (
  name: string,
  body: (operation: string, arrays: ReadonlyArray<DeviceArray>, axis: number) => Computed
): Join =>
  dual(
    (args) => Array.isArray(args[0]),
    (arrays: ReadonlyArray<DeviceArray>, options?: AxisOptions): Computed => {
      const operation = `DeviceArray.${name}`
      // A list that the program changes later must not change the arrays.
      return arrays.length === 0 ? nothingToJoin(operation) : body(operation, arrays.slice(), options?.axis ?? 0)
    }
  )

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
  (options?: AxisOptions): <const Arrays extends ReadonlyArray<DeviceArray>>(arrays: Arrays) => Computed<Common<Arrays>>
} & Join = joining("concatenate", (operation, arrays, asked) => {
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
  (options?: AxisOptions): <const Arrays extends ReadonlyArray<DeviceArray>>(arrays: Arrays) => Computed<Common<Arrays>>
} & Join = joining("stack", (operation, arrays, asked) => {
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
 *   Effect.flatMap(DeviceArray.split([2])),
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
    self: DeviceArray<D>
  ) => Effect.Effect<ReadonlyArray<DeviceArray<D>>, GpuError, ArrayServices>
  <D extends DType>(
    self: DeviceArray<D>,
    parts: number | ReadonlyArray<number>,
    options?: AxisOptions
  ): Effect.Effect<ReadonlyArray<DeviceArray<D>>, GpuError, ArrayServices>
} = ofArray("split", (operation, self, parts: number | ReadonlyArray<number>, options?: AxisOptions) => {
  const axis = Shape.axisOf(operation, options?.axis ?? 0, self.shape)
  if (axis instanceof GpuError) return axis
  const length = self.shape[axis]!
  const cuts = typeof parts === "number" ? equalCuts(operation, parts, length, self.shape) : parts
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
      `the number of parts is ${parts}`,
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

/** A copy of a view of an array with memory, in another shape of as many elements. */
const copiedAs = <D extends DType>(
  self: DeviceArray<D>,
  layout: Layout.Layout,
  shape: Shape.Shape
): Computed<D> =>
  Effect.flatMap(
    Effect.andThen(
      evaluateAll([self]),
      Effect.suspend(() => evaluateCopy(new DeviceArray(self.dtype, layout, self.lease!)))
    ),
    (copy) =>
      Effect.sync(() =>
        new DeviceArray(self.dtype, { shape, strides: Layout.rowMajor(shape), offset: copy.offset }, copy.lease!)
      )
  )

/**
 * Copies of the whole array side by side: so many along each axis, aligned at the last, as one new array. A number alone is the
 * count along the last axis; more counts than axes add axes in front.
 *
 * **Example** (A pattern, twice down and once across)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([1, 2]).pipe(
 *   Effect.flatMap(DeviceArray.tile([2, 2])),
 *   Effect.flatMap(DeviceArray.toNested)
 * ) // => [[1, 2, 1, 2], [1, 2, 1, 2]]
 * ```
 *
 * @see numpy.tile
 * @category joining
 * @since 0.1.0
 */
export const tile: {
  /**
   * Copies of the whole array side by side: so many along each axis, aligned at the last, as one new array. A number alone is the
   * count along the last axis; more counts than axes add axes in front.
   */
  (counts: number | ReadonlyArray<number>): <D extends DType>(self: DeviceArray<D>) => Computed<D>
  <D extends DType>(self: DeviceArray<D>, counts: number | ReadonlyArray<number>): Computed<D>
} = ofArray("tile", (operation, self, counts: number | ReadonlyArray<number>) => {
  const given = typeof counts === "number" ? [counts] : counts
  const rank = Math.max(given.length, self.shape.length)
  const shape: Array<number> = []
  const repeated = { shape: [] as Array<number>, strides: [] as Array<number>, offset: self.offset }
  for (let axis = 0; axis < rank; axis++) {
    const count = given[axis - rank + given.length] ?? 1
    const problem = countProblem(operation, "a count", count)
    if (problem !== undefined) return problem
    const own = axis - rank + self.shape.length
    const length = self.shape[own] ?? 1
    shape.push(length * count + 0)
    repeated.shape.push(count, length)
    repeated.strides.push(0, self.strides[own] ?? 1)
  }
  return Shape.problem(operation, shape) ?? copiedAs(self, repeated, shape)
})

/**
 * Each element so many times in a row: along an axis, or of all elements in row-major order without one. Instead of one count
 * there may be a list, with one for each element along the axis.
 *
 * **Example** (Every row twice, and some elements more often)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2], [3, 4]])
 *   const rows = yield* DeviceArray.repeat(x, 2, { axis: 0 })
 *   const each = yield* DeviceArray.repeat(x, [0, 1, 2, 3])
 *   return [yield* DeviceArray.toNested(rows), yield* DeviceArray.toNested(each)]
 * }) // => [[[1, 2], [1, 2], [3, 4], [3, 4]], [2, 3, 3, 4, 4, 4]]
 * ```
 *
 * @see numpy.repeat
 * @category joining
 * @since 0.1.0
 */
export const repeat: {
  /**
   * Each element so many times in a row: along an axis, or of all elements in row-major order without one. Instead of one count
   * there may be a list, with one for each element along the axis.
   */
  (counts: number | ReadonlyArray<number>, options?: AxisOptions): <D extends DType>(
    self: DeviceArray<D>
  ) => Computed<D>
  <D extends DType>(
    self: DeviceArray<D>,
    counts: number | ReadonlyArray<number>,
    options?: AxisOptions
  ): Computed<D>
} = ofArray("repeat", (operation, self, counts: number | ReadonlyArray<number>, options?: AxisOptions) => {
  const axis = options?.axis === undefined ? undefined : Shape.axisOf(operation, options.axis, self.shape)
  if (axis instanceof GpuError) return axis
  if (typeof counts === "number") return repeatedEach(operation, self, counts, axis)
  const positions = repeatedPositions(operation, self, counts, axis)
  return positions instanceof GpuError ? positions : Gather.checked(operation, self, positions, axis)
}, isDataFirst(3))

const repeatedEach = (operation: string, self: DeviceArray, count: number, axis: number | undefined) => {
  const problem = countProblem(operation, "the count", count)
  if (problem !== undefined) return problem
  const at = axis === undefined ? self.shape.length : axis + 1
  const layout = {
    shape: [...self.shape.slice(0, at), count, ...self.shape.slice(at)],
    strides: [...self.strides.slice(0, at), 0, ...self.strides.slice(at)],
    offset: self.offset
  }
  const shape = axis === undefined
    ? [self.size * count + 0]
    : self.shape.map((length, of) => of === axis ? length * count + 0 : length)
  return Shape.problem(operation, shape) ?? copiedAs(self, layout, shape)
}

/** The position of each element of the result along the axis. */
const repeatedPositions = (
  operation: string,
  { shape, size }: DeviceArray,
  counts: ReadonlyArray<number>,
  axis: number | undefined
): Positions | GpuError => {
  const length = axis === undefined ? size : shape[axis]!
  if (counts.length !== length) {
    return invalidRequest(
      operation,
      `there are ${counts.length} counts for ${length} elements of the shape ${Shape.format(shape)}`,
      "Pass one number for all, or a number for each element along the axis, or of the whole array without one."
    )
  }
  let total = 0
  for (let at = 0; at < length; at++) {
    const problem = countProblem(operation, `count ${at}`, counts[at]!)
    if (problem !== undefined) return problem
    total += counts[at]!
  }
  const found = axis === undefined ? [total] : shape.map((own, of) => of === axis ? total : own)
  const wrong = Shape.problem(operation, found)
  if (wrong !== undefined) return wrong
  const buffer = allocate(4 * total)
  if (buffer instanceof GpuError) return buffer
  const data = new Uint32Array(buffer)
  let end = 0
  for (let at = 0; at < length; at++) data.fill(at, end, end += counts[at]!)
  return { shape: [total], data }
}
