/**
 * Arrays with a border around them.
 *
 * @since 0.1.0
 */
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import * as DTypes from "effect-gpu-pool/DType"
import type { DType } from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Effect from "effect/Effect"
import { isDataFirst, ofArray } from "../ArrayProblem.ts"
import { DeviceArray } from "../ArrayValue.ts"
import * as FreshArray from "../FreshArray.ts"
import { type ArrayOperand, type Computed, evaluateAll } from "../fusion/Evaluation.ts"
import { store } from "../fusion/Storing.ts"
import * as Layout from "../layout/Layout.ts"
import { elementOf, elementProblem, type Scalar } from "../layout/Scalar.ts"
import * as Shape from "../layout/Shape.ts"
import { isList, wrongValue } from "../layout/WrongValue.ts"
import * as PadKernel from "./PadKernel.ts"

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
 * What {@link pad} takes for the border, for an array `[a, b, c]`:
 *
 * - `"constant"`: the value of the options
 * - `"edge"`: the nearest element, `a a a [a b c] c c c`
 * - `"reflect"`: the array mirrored at its outermost elements, `b c b [a b c] b a b`
 * - `"symmetric"`: the array mirrored at its ends, `c b a [a b c] c b a`
 * - `"wrap"`: the array again, `a b c [a b c] a b c`
 *
 * **Example** (The border of a convolution)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const modeOf = (isPeriodic: boolean): DeviceArray.PadMode => isPeriodic ? "wrap" : "edge"
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.pad.html
 * @category models
 * @since 0.1.0
 */
export type PadMode = "constant" | "edge" | "reflect" | "symmetric" | "wrap"

/**
 * The options of {@link pad}.
 *
 * **Example** (Ones above and twos below, and zeros on both sides)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const border: DeviceArray.PadOptions = { value: [[1, 2], [0, 0]] }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface PadOptions {
  /** What the border is. Default: `"constant"`. */
  readonly mode?: PadMode | undefined
  /**
   * The elements of a constant border: one for all, one before and one after on every axis, or a pair for each axis. In a corner the
   * last axis decides. Default: 0.
   */
  readonly value?: Scalar | readonly [Scalar, Scalar] | ReadonlyArray<readonly [Scalar, Scalar]> | undefined
}

const known = KnownOptions.of<PadOptions>({ mode: true, value: true })

/**
 * The array with a border: of one value, 0 unless another is named, or of elements of the array, as `mode` says. The values may
 * differ by axis and side.
 *
 * **Details**
 *
 * These are NumPy's modes of the same names; `mode="linear_ramp"` and the modes of statistics are not there, nor `reflect_type`. A border
 * may be longer than the array, whose pattern then goes on. An axis without elements has only constant borders.
 *
 * **Example** (A zero on each side, and the neighbours around a ring)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([1, 2, 3])
 *   const zeros = yield* DeviceArray.pad(x, 1)
 *   const ring = yield* DeviceArray.pad(x, [1, 2], { mode: "wrap" })
 *   return [yield* DeviceArray.toNested(zeros), yield* DeviceArray.toNested(ring)]
 * }) // => [[0, 1, 2, 3, 0], [3, 1, 2, 3, 1, 2]]
 * ```
 *
 * @see numpy.pad
 * @category joining
 * @since 0.1.0
 */
export const pad: {
  /**
   * The array with a border: of one value, 0 unless another is named, or of elements of the array, as `mode` says. The values may
   * differ by axis and side.
   */
  (width: PadWidth, options?: PadOptions): <D extends DType>(self: ArrayOperand<D>) => Computed<D>
  <D extends DType>(self: ArrayOperand<D>, width: PadWidth, options?: PadOptions): Computed<D>
} = ofArray("pad", (operation, self, width: PadWidth, options?: PadOptions) => {
  const unknown = KnownOptions.problem(operation, options, known)
  if (unknown !== undefined) return unknown
  const mode = options?.mode ?? "constant"
  const borders = pairsOf<number>(operation, self.shape, width, "widths")
  if (borders instanceof GpuError) return borders
  for (const count of borders.flat()) {
    const problem = Shape.countProblem(operation, "a width", count)
    if (problem !== undefined) return problem
  }
  const shape = self.shape.map((length, axis) => length + borders[axis]![0] + borders[axis]![1])
  const problem = Shape.problem(operation, shape)
  if (problem !== undefined) return problem
  if (mode === "constant") return constant(operation, self, borders, shape, options?.value ?? 0)
  if (!extensions.includes(mode)) {
    return invalidRequest(operation, `the mode is ${formatted(mode)}`, `Use constant, ${extensions.join(", ")}.`)
  }
  return options?.value === undefined
    ? extended(operation, self, borders, shape, mode)
    : invalidRequest(operation, `there is a value beside the mode ${mode}`, "A value is the border of mode constant.")
}, isDataFirst(3))

/** Counts or values before and after the elements of an axis. */
type Pair<A extends Scalar> = readonly [A, A]

type Pairs<A extends Scalar> = A | Pair<A> | ReadonlyArray<Pair<A>>

const isPair = <A extends Scalar>(given: Pair<A> | ReadonlyArray<Pair<A>>): given is Pair<A> =>
  given.length === 2 && !isList(given[0])

const pairsOf = <A extends Scalar>(
  operation: string,
  shape: Shape.Shape,
  given: Pairs<A>,
  what: string
): ReadonlyArray<Pair<A>> | GpuError => {
  const every: Pair<A> | undefined = !isList(given) ? [given, given] : isPair(given) ? given : undefined
  const pairs: ReadonlyArray<Pair<A>> = every === undefined ? given as ReadonlyArray<Pair<A>> : shape.map(() => every)
  const hint = "Pass one number, one pair for every axis, or a pair for each axis."
  if (pairs.length !== shape.length) {
    return invalidRequest(
      operation,
      `${pairs.length} pairs of ${what} were given for the shape ${
        Shape.format(shape)
      }, which has ${shape.length} axes`,
      hint
    )
  }
  for (const pair of pairs) {
    if (!isList(pair) || pair.length !== 2) return wrongValue(operation, pair, `a pair of ${what}`, hint)
  }
  return pairs
}

const constant = (
  operation: string,
  self: DeviceArray,
  borders: ReadonlyArray<Pair<number>>,
  shape: Shape.Shape,
  value: NonNullable<PadOptions["value"]>
): Computed => {
  const { dtype } = self
  const values = pairsOf<Scalar>(operation, self.shape, value, "values")
  if (values instanceof GpuError) return values
  for (const one of values.flat()) {
    const problem = elementProblem(operation, dtype, one)
    if (problem !== undefined) return problem
  }
  const [first = 0] = values.flat()
  const isSame = values.every((pair) => pair.every((one) => Object.is(one, first)))
  return FreshArray.make(operation, dtype, shape, (lease, queue) => {
    const inside = region(lease, dtype, shape, borders.map(([before]) => before), self.shape)
    return Effect.andThen(
      isSame
        ? queue.fill(lease, DTypes.element(dtype, elementOf(dtype, first)!))
        : Effect.forEach(
          sidesOf(self, borders, shape),
          ({ axis, lengths, side, starts }) => store(region(lease, dtype, shape, starts, lengths), values[axis]![side]),
          { discard: true }
        ),
      store(inside, self)
    )
  })
}

/** A part of the memory of a fresh array. */
const region = (
  lease: PooledBuffer,
  dtype: DType,
  shape: Shape.Shape,
  starts: ReadonlyArray<number>,
  lengths: Shape.Shape
): DeviceArray => {
  const strides = Layout.rowMajor(shape)
  const offset = starts.reduce((sum, start, axis) => sum + start * strides[axis]!, 0)
  return new DeviceArray(dtype, { shape: lengths, strides, offset }, lease)
}

/** One side of the border along an axis. The corners belong to the last axis. */
interface Side {
  readonly axis: number
  /** Before the elements (0), or after them (1). */
  readonly side: 0 | 1
  readonly starts: ReadonlyArray<number>
  readonly lengths: Shape.Shape
}

const sidesOf = (self: DeviceArray, borders: ReadonlyArray<Pair<number>>, shape: Shape.Shape): ReadonlyArray<Side> =>
  borders.flatMap(([before, after], axis) =>
    ([0, 1] as const).map((side) => ({
      axis,
      side,
      starts: shape.map((_, of) =>
        of < axis ? 0 : of > axis ? borders[of]![0] : side === 0 ? 0 : before + self.shape[axis]!
      ),
      lengths: shape.map((all, of) => of < axis ? all : of > axis ? self.shape[of]! : side === 0 ? before : after)
    }))
  )

const extensions: ReadonlyArray<PadMode> = ["edge", "reflect", "symmetric", "wrap"]

/** Kernels add to positions what is less than twice the length, in 32 bits. */
const maxLength = 0x3fffffff

/** With elements of the array in the border. */
const extended = (
  operation: string,
  self: DeviceArray,
  borders: ReadonlyArray<Pair<number>>,
  shape: Shape.Shape,
  mode: PadKernel.Extension
): Computed => {
  const long = shape.find((length) => length > maxLength)
  if (long !== undefined) {
    return invalidRequest(
      operation,
      `an axis of the shape ${Shape.format(shape)} has more than ${maxLength} elements`,
      "Pad a part of it, or with a value."
    )
  }
  const empty = borders.findIndex(([before, after], axis) => self.shape[axis] === 0 && before + after > 0)
  return empty !== -1
    ? invalidRequest(
      operation,
      `axis ${empty} of the shape ${Shape.format(self.shape)} has no elements for a border of mode ${mode}`,
      "Pad it with a value."
    )
    : Effect.andThen(
      evaluateAll([self]),
      Effect.suspend(() =>
        FreshArray.make(operation, self.dtype, shape, (lease, { dispatch }) => {
          const { args, kernel } = PadKernel.bind(self, borders, shape, mode)
          return dispatch(kernel, { ...args, y: lease }, Shape.size(shape))
        }, () => [self.lease!])
      )
    )
}
