/**
 * Convolutions of arrays.
 *
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import { release } from "effect-gpu-pool/Lease"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ofArray } from "../ArrayProblem.ts"
import { DeviceArray } from "../ArrayValue.ts"
import { arrayProblem } from "../elementwise/OperandProblem.ts"
import type { ArrayOperand, Computed } from "../fusion/Evaluation.ts"
import { pad } from "../joining/Padding.ts"
import type * as Promotion from "../layout/Promotion.ts"
import * as Shape from "../layout/Shape.ts"
import { isList } from "../layout/WrongValue.ts"
import { compute } from "./Computation.ts"
import * as Windows from "./Windows.ts"

/** Whether a call is data-first: its second argument is an array too. */
const isBeforeArray = (args: IArguments): boolean => args[1] instanceof DeviceArray || Effect.isEffect(args[1])

/**
 * Which part of a convolution of `n` and `m` elements {@link convolve} gives:
 *
 * - `"full"`: all `n + m - 1` elements, wherever the arrays overlap
 * - `"same"`: the middle of it, as long as the longer array
 * - `"valid"`: only where the shorter array overlaps whole, `|n - m| + 1` elements
 *
 * **Example** (A moving mean that is as long as its array)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const mode: DeviceArray.ConvolveMode = "same"
 * const smoothed = (x: DeviceArray.DeviceArray<"f32">, thirds: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.convolve(x, thirds, mode)
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.convolve.html
 * @category products
 * @since 0.1.0
 */
export type ConvolveMode = "full" | "same" | "valid"

/**
 * The convolution of two vectors, `sum(a[i - k] * b[k])` for each `i`, in their common type; by default wherever they
 * overlap. InvalidRequest for arrays of other than one axis, and for empty ones.
 *
 * **Details**
 *
 * It is a product of matrices without any in memory, with the same rules for sums as {@link matmul}, and takes as many
 * multiplications as the lengths multiplied. The array with zeros at its ends is a copy, released at once.
 *
 * **Example** (A polynomial times another)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const a = yield* DeviceArray.fromHost([1, 2, 3])
 *   const b = yield* DeviceArray.fromHost([0, 1])
 *   return yield* DeviceArray.toNested(yield* DeviceArray.convolve(a, b))
 * }) // => [0, 1, 2, 3]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.convolve.html
 * @category products
 * @since 0.1.0
 */
export const convolve: {
  /**
   * The convolution of two vectors, `sum(a[i - k] * b[k])` for each `i`, in their common type; by default wherever they
   * overlap. InvalidRequest for arrays of other than one axis, and for empty ones.
   */
  <B extends DType>(
    that: ArrayOperand<B>,
    mode?: ConvolveMode
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
  <A extends DType, B extends DType>(
    self: ArrayOperand<A>,
    that: ArrayOperand<B>,
    mode?: ConvolveMode
  ): Computed<Promotion.Promote<A, B>>
} = ofArray(
  "convolve",
  (operation, self, that: DeviceArray, mode: ConvolveMode = "full") => {
    const problem = arrayProblem(operation, that)
    if (problem !== undefined) return problem
    if (self.shape.length !== 1 || that.shape.length !== 1 || self.size === 0 || that.size === 0) {
      return invalidRequest(
        operation,
        `the shapes ${Shape.format(self.shape)} and ${
          Shape.format(that.shape)
        } are not those of two vectors with elements`,
        "Use DeviceArray.conv for batches, channels and more axes."
      )
    }
    const [signal, filter] = self.size < that.size ? [that, self] : [self, that]
    const border = borderOf(mode, filter.size)
    if (border === undefined) {
      return invalidRequest(operation, `the mode is ${formatted(mode)}`, "Use full, same or valid.")
    }
    const [before, after] = border
    const count = signal.size + before + after - filter.size + 1
    return withBorders(signal, [border], (padded) => compute("convolve", Windows.reversed(padded, filter, count)))
  },
  isBeforeArray
)

const borderOf = (mode: ConvolveMode, length: number): Windows.Border | undefined => {
  switch (mode) {
    case "full":
      return [length - 1, length - 1]
    case "same":
      return [Math.floor(length / 2), length - 1 - Math.floor(length / 2)]
    case "valid":
      return [0, 0]
    default:
      return undefined
  }
}

/** The product of a signal with zeros around it, which are given back when the product is under way; a recorded one needs them. */
const withBorders = (
  signal: DeviceArray,
  borders: ReadonlyArray<Windows.Border>,
  use: (padded: DeviceArray) => Computed
): Computed =>
  borders.every(([before, after]) => before + after === 0) ? use(signal) : Effect.flatMap(
    pad(signal, borders),
    (padded) =>
      Effect.onExitPrimitive(use(padded), (exit) =>
        Exit.isSuccess(exit) && exit.value.pending !== undefined ? undefined : Effect.ignore(release(padded.lease!)))
  )

/**
 * How the filters of {@link conv} move: numbers that hold for every axis, or one entry for each axis after the first two.
 *
 * **Example** (Every second window, dilated)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const options: DeviceArray.ConvOptions = { stride: 2, padding: [[1, 2], [1, 2]], dilation: [1, 2] }
 * ```
 *
 * @category products
 * @since 0.1.0
 */
export interface ConvOptions {
  /** How many elements apart windows are; 1 unless named. */
  readonly stride?: number | ReadonlyArray<number> | undefined
  /**
   * How many zeros are added: so many on both sides, so many on both sides of each axis, or a pair for each axis. None
   * unless named. `"same"` adds as many as give a window for every `stride`-th element, the odd one at the end.
   */
  readonly padding?: number | ReadonlyArray<number | readonly [before: number, after: number]> | "same" | undefined
  /** How many elements apart neighbours of a filter are; 1 unless named. */
  readonly dilation?: number | ReadonlyArray<number> | undefined
  /** In how many parts channels and filters are divided, each convolved by itself; 1 unless named. */
  readonly groups?: number | undefined
}

/**
 * The convolution of neural networks: each filter times each window of a batch of signals. The signals have the shape
 * `[batch, channels, ...lengths]`, the filters `[filters, channels / groups, ...lengths]`, with as many lengths: one for
 * sequences, two for images, three for volumes. The result has the shape `[batch, filters, ...windows]` and the common
 * type. InvalidRequest names both shapes where they do not fit, and options that count nothing.
 *
 * **Details**
 *
 * Filters are not reversed, as in PyTorch and JAX; {@link convolve} reverses them. It is a product of matrices whose
 * columns are the windows, which are nowhere in memory; sums are over channels and the filter's axes in order, with the
 * rules of {@link matmul}. Views are read in place. A padded array is a copy, released at once.
 *
 * **Example** (The edges of an image, from left to right)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const image = yield* DeviceArray.fromHost([[[[0, 0, 1, 1], [0, 1, 1, 1]]]])
 *   const filter = yield* DeviceArray.fromHost([[[[-1, 1]]]])
 *   return yield* DeviceArray.toNested(yield* DeviceArray.conv(image, filter))
 * }) // => [[[[0, 1, 0], [1, 0, 0]]]]
 * ```
 *
 * @see https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.conv2d.html
 * @see https://docs.jax.dev/en/latest/_autosummary/jax.lax.conv_general_dilated.html
 * @category products
 * @since 0.1.0
 */
export const conv: {
  /**
   * The convolution of neural networks: each filter times each window of a batch of signals. The signals have the shape
   * `[batch, channels, ...lengths]`, the filters `[filters, channels / groups, ...lengths]`, with as many lengths: one for
   * sequences, two for images, three for volumes. The result has the shape `[batch, filters, ...windows]` and the common
   * type. InvalidRequest names both shapes where they do not fit, and options that count nothing.
   */
  <B extends DType>(
    filters: ArrayOperand<B>,
    options?: ConvOptions
  ): <A extends DType>(self: ArrayOperand<A>) => Computed<Promotion.Promote<A, B>>
  <A extends DType, B extends DType>(
    self: ArrayOperand<A>,
    filters: ArrayOperand<B>,
    options?: ConvOptions
  ): Computed<Promotion.Promote<A, B>>
} = ofArray(
  "conv",
  (operation, self, filters: DeviceArray, options: ConvOptions = {}) => {
    const unknown = arrayProblem(operation, filters, "the filters") ?? KnownOptions.problem(operation, options, known)
    if (unknown !== undefined) return unknown
    const movement = movementOf(operation, Math.max(0, self.shape.length - 2), options)
    if (movement instanceof GpuError) return movement
    const windows = Windows.make(operation, self, filters, movement)
    if (windows instanceof GpuError) return windows
    return withBorders(
      self,
      [[0, 0], [0, 0], ...windows.borders],
      (padded): Computed => compute("conv", Windows.product(windows, padded, filters))
    )
  },
  isBeforeArray
)

const known = KnownOptions.of<ConvOptions>({ stride: true, padding: true, dilation: true, groups: true })

const movementOf = (
  operation: string,
  axes: number,
  { dilation = 1, groups = 1, padding = 0, stride = 1 }: ConvOptions
): Windows.Movement | GpuError => {
  const wrong = (what: string, given: unknown, least: number): GpuError =>
    invalidRequest(
      operation,
      `the ${what} is ${isList(given) ? `[${given.map(formatted).join(", ")}]` : formatted(given)}`,
      `Pass a whole number, ${least} or more, or ${axes} of them, one for each axis after the first two.`
    )
  const listOf = <A>(given: A | ReadonlyArray<A>): ReadonlyArray<A> =>
    Array.isArray(given) ? given : Array.from({ length: axes }, () => given as A)
  const [strides, dilations] = [listOf(stride), listOf(dilation)]
  if (!areCounts(strides, axes, 1)) return wrong("stride", stride, 1)
  if (!areCounts(dilations, axes, 1)) return wrong("dilation", dilation, 1)
  if (!areCounts([groups], 1, 1)) return wrong("number of groups", groups, 1)
  if (padding === "same") return { stride: strides, dilation: dilations, groups, padding }
  const borders = listOf<number | Windows.Border>(padding).map((border): Windows.Border =>
    typeof border === "number" ? [border, border] : border
  )
  return borders.length === axes && borders.every((border) => Array.isArray(border) && areCounts(border, 2, 0))
    ? { stride: strides, dilation: dilations, groups, padding: borders }
    : wrong("padding", padding, 0)
}

const areCounts = (given: ReadonlyArray<number>, length: number, least: number): boolean =>
  given.length === length && given.every((count) => Number.isSafeInteger(count) && count >= least)
