/**
 * Arrays made of several arrays or of several copies of one, and parts of an array.
 *
 * @since 0.1.0
 */
import * as DTypes from "effect-gpu-pool/DType"
import type { DType } from "effect-gpu-pool/DType"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import { holds } from "../kernels/expression/Expression.ts"
import { isDataFirst, ofArray } from "./ArrayProblem.ts"
import { DeviceArray } from "./ArrayValue.ts"
import * as FreshArray from "./FreshArray.ts"
import { type Computed, evaluateAll, evaluateCopy } from "./fusion/Evaluation.ts"
import type { ArrayServices } from "./fusion/Evaluation.ts"
import { store } from "./fusion/Storing.ts"
import * as Layout from "./layout/Layout.ts"
import * as Promotion from "./layout/Promotion.ts"
import * as Shape from "./layout/Shape.ts"
import { elementHint } from "./transfer/NestedNumbers.ts"
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

const countProblem = (operation: string, name: string, count: number): GpuError | undefined =>
  Number.isSafeInteger(count) && count >= 0
    ? undefined
    : invalidRequest(operation, `${name} is ${count}`, "Pass a whole number, zero or more.")

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
 * Each element so many times in a row: along an axis, or of all elements in row-major order without one.
 *
 * **Example** (Every row twice)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([[1, 2], [3, 4]]).pipe(
 *   Effect.flatMap(DeviceArray.repeat(2, { axis: 0 })),
 *   Effect.flatMap(DeviceArray.toNested)
 * ) // => [[1, 2], [1, 2], [3, 4], [3, 4]]
 * ```
 *
 * @see numpy.repeat
 * @category joining
 * @since 0.1.0
 */
export const repeat: {
  /** Each element so many times in a row: along an axis, or of all elements in row-major order without one. */
  (count: number, options?: AxisOptions): <D extends DType>(self: DeviceArray<D>) => Computed<D>
  <D extends DType>(self: DeviceArray<D>, count: number, options?: AxisOptions): Computed<D>
} = ofArray("repeat", (operation, self, count: number, options?: AxisOptions) => {
  const axis = options?.axis === undefined ? self.shape.length : Shape.axisOf(operation, options.axis, self.shape)
  if (axis instanceof GpuError) return axis
  const problem = countProblem(operation, "the count", count)
  if (problem !== undefined) return problem
  const at = Math.min(axis + 1, self.shape.length)
  const layout = {
    shape: [...self.shape.slice(0, at), count, ...self.shape.slice(at)],
    strides: [...self.strides.slice(0, at), 0, ...self.strides.slice(at)],
    offset: self.offset
  }
  const shape = options?.axis === undefined
    ? [self.size * count + 0]
    : self.shape.map((length, of) => of === axis ? length * count + 0 : length)
  return Shape.problem(operation, shape) ?? copiedAs(self, layout, shape)
}, isDataFirst(3))

/**
 * How many elements {@link pad} adds: so many on every side, so many before and after on every axis, or a pair for each axis.
 *
 * **Example** (Of an image: no rows, one column on each side)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const width: DeviceArray.PadWidth = [[0, 0], [1, 1]]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type PadWidth = number | readonly [number, number] | ReadonlyArray<readonly [number, number]>

/**
 * The options of {@link pad}.
 *
 * **Example** (A border of ones)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const border: DeviceArray.PadOptions = { value: 1 }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface PadOptions {
  /** The elements that are added. Default: 0. */
  readonly value?: number | undefined
}

/**
 * The array with a border of one value, 0 unless another is named. NumPy's other modes take elements of the array for the border:
 * {@link take} with positions of the program does that.
 *
 * **Example** (A zero on each side)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost([1, 2]).pipe(
 *   Effect.flatMap(DeviceArray.pad(1)),
 *   Effect.flatMap(DeviceArray.toNested)
 * ) // => [0, 1, 2, 0]
 * ```
 *
 * @see numpy.pad
 * @category joining
 * @since 0.1.0
 */
export const pad: {
  /**
   * The array with a border of one value, 0 unless another is named. NumPy's other modes take elements of the array for the border:
   * {@link take} with positions of the program does that.
   */
  (width: PadWidth, options?: PadOptions): <D extends DType>(self: DeviceArray<D>) => Computed<D>
  <D extends DType>(self: DeviceArray<D>, width: PadWidth, options?: PadOptions): Computed<D>
} = ofArray("pad", (operation, self, width: PadWidth, options?: PadOptions) => {
  const { dtype } = self
  const value = options?.value ?? 0
  if (!holds(dtype, value)) return invalidRequest(operation, `the value ${value} is no ${dtype}`, elementHint(value))
  const borders = bordersOf(operation, self.shape, width)
  if (borders instanceof GpuError) return borders
  const shape = self.shape.map((length, axis) => length + borders[axis]![0] + borders[axis]![1])
  return Shape.problem(operation, shape) ?? FreshArray.make(operation, dtype, shape, (lease, queue) => {
    const strides = Layout.rowMajor(shape)
    let offset = 0
    for (let axis = 0; axis < shape.length; axis++) offset += borders[axis]![0] * strides[axis]!
    const inside = new DeviceArray(dtype, { shape: self.shape, strides, offset }, lease)
    return Effect.andThen(queue.fill(lease, DTypes.element(dtype, value)), store(inside, self))
  })
}, isDataFirst(3))

type Border = readonly [number, number]

const isPair = (width: Exclude<PadWidth, number>): width is Border => width.length === 2 && typeof width[0] === "number"

const bordersOf = (
  operation: string,
  shape: Shape.Shape,
  width: PadWidth
): ReadonlyArray<Border> | GpuError => {
  const every: Border | undefined = typeof width === "number" ? [width, width] : isPair(width) ? width : undefined
  const borders = every === undefined ? width as ReadonlyArray<Border> : shape.map(() => every)
  if (borders.length !== shape.length) {
    return invalidRequest(
      operation,
      `${borders.length} pairs of widths were given for the shape ${
        Shape.format(shape)
      }, which has ${shape.length} axes`,
      "Pass one number, one pair for every axis, or a pair for each axis."
    )
  }
  for (const border of borders) {
    for (const count of border) {
      const problem = countProblem(operation, "a width", count)
      if (problem !== undefined) return problem
    }
  }
  return borders
}
