/**
 * Arrays that are made on the device, without an upload.
 *
 * @since 0.1.0
 */
import { CommandQueue } from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import { formatted, line } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { typeProblem } from "effect-gpu-pool/KernelSupport"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import { bitsOf, isFloat, isUnsigned } from "effect-gpu-pool/Operation"
import * as Effect from "effect/Effect"
import { held, holds } from "../kernels/expression/Expression.ts"
import { isDataFirst, ofArray } from "./ArrayProblem.ts"
import type { DeviceArray } from "./ArrayValue.ts"
import * as SequenceKernels from "./creation/SequenceKernels.ts"
import * as WholeSequence from "./creation/WholeSequence.ts"
import type { ArrayOperation } from "./elementwise/ArrayOperation.ts"
import { supported } from "./elementwise/Supported.ts"
import * as FreshArray from "./FreshArray.ts"
import { apply, type ArrayOperand, type ArrayServices, type Computed } from "./fusion/Evaluation.ts"
import { Recording } from "./fusion/Recording.ts"
import { real } from "./layout/Promotion.ts"
import { elementOf, elementProblem, type Scalar, type TypeOfScalar, typeOfScalar } from "./layout/Scalar.ts"
import * as Shape from "./layout/Shape.ts"
import { wrongValue } from "./layout/WrongValue.ts"

/**
 * The options of a new array.
 *
 * **Example** (A counter for each of ten bins)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const counters = DeviceArray.zeros([10], { dtype: "u32" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface CreationOptions<D extends DType.DType> {
  /** The element type. Default: f32. */
  readonly dtype?: D | undefined
}

const known = KnownOptions.of<CreationOptions<DType.DType>>({ dtype: true })

const dtypeOf = <D extends DType.DType>(options: CreationOptions<D> | undefined): D => options?.dtype ?? "f32" as D

/**
 * An array whose elements are whatever the memory holds, for programs that write all of them themselves, through the
 * array's `lease`. These may be an earlier owner's, unless the pool was made with `clear: "acquire"`. Other programs
 * use {@link zeros}.
 *
 * **Example** (The target of a kernel of one's own)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CommandQueue, type Kernel, type KernelArgument } from "effect-gpu-pool"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * type Noise = Kernel.Kernel<readonly [KernelArgument.VectorArg<"y", "f32">]>
 *
 * const noise = Effect.fnUntraced(function*(kernel: Noise) {
 *   const y = yield* DeviceArray.empty([512, 512])
 *   if (y.lease !== undefined) yield* CommandQueue.dispatch(kernel, { y: y.lease }, y.size)
 *   return y
 * })
 * ```
 *
 * @see pyopencl.array.empty
 * @category constructors
 * @since 0.1.0
 */
export const empty = <D extends DType.DType = "f32">(
  shape: ReadonlyArray<number>,
  options?: CreationOptions<D>
): Computed<D> => {
  const operation = "DeviceArray.empty"
  return KnownOptions.problem(operation, options, known) ?? Shape.problem(operation, shape) ??
    FreshArray.make(operation, dtypeOf(options), Shape.copy(shape), () => Effect.void)
}

/** The operation as which a constant is recorded. */
const constant: ArrayOperation = { name: "full", build: ([value]) => value! }

/** An array of one value. It is recorded inside `DeviceArray.lazy`, since it does not depend on the position. */
const filled = <D extends DType.DType>(
  operation: string,
  shape: ReadonlyArray<number>,
  value: Scalar,
  options: CreationOptions<D> | undefined,
  otherwise: DType.DType = "f32"
): Computed<D> => {
  const problem = KnownOptions.problem(operation, options, known) ?? Shape.problem(operation, shape)
  if (problem !== undefined) return problem
  const dtype = options?.dtype ?? otherwise as D
  const copied = Shape.copy(shape)
  return Effect.flatMap(CommandQueue, (queue) =>
    typeProblem(operation, queue.info, dtype, "the elements") ??
      elementProblem(operation, dtype, value) ??
      Effect.withFiber<DeviceArray<D>, GpuError, ArrayServices>((fiber) =>
        fiber.getRef(Recording) !== undefined
          ? apply(constant, [value], [dtype], dtype, copied)
          : FreshArray.make(
            operation,
            dtype,
            copied,
            (lease, { fill }) => fill(lease, DType.element(dtype, elementOf(dtype, value)!))
          )
      ))
}

/**
 * An array of zeros.
 *
 * **Example** (Two rows of three zeros)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.zeros([2, 3], { dtype: "u32" }).pipe(
 *   DeviceArray.toNested
 * ) // => [[0, 0, 0], [0, 0, 0]]
 * ```
 *
 * @see pyopencl.array.zeros
 * @category constructors
 * @since 0.1.0
 */
export const zeros = <D extends DType.DType = "f32">(
  shape: ReadonlyArray<number>,
  options?: CreationOptions<D>
): Computed<D> => filled("DeviceArray.zeros", shape, 0, options)

/**
 * An array of ones.
 *
 * **Example** (Three ones)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.ones([3]).pipe(
 *   DeviceArray.toNested
 * ) // => [1, 1, 1]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const ones = <D extends DType.DType = "f32">(
  shape: ReadonlyArray<number>,
  options?: CreationOptions<D>
): Computed<D> => filled("DeviceArray.ones", shape, 1, options)

/**
 * An array of one value, rounded to a float type; one that an integer type does not hold is InvalidRequest. A number makes
 * f32, a truth value bool and a bigint i64, unless another type is named.
 *
 * **Example** (Four times a half)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.full([2, 2], 0.5).pipe(
 *   DeviceArray.toNested
 * ) // => [[0.5, 0.5], [0.5, 0.5]]
 * ```
 *
 * @see pyopencl.array.Array.fill
 * @category constructors
 * @since 0.1.0
 */
export const full = <V extends Scalar, D extends DType.DType = TypeOfScalar<V>>(
  shape: ReadonlyArray<number>,
  value: V,
  options?: CreationOptions<D>
): Computed<D> => filled("DeviceArray.full", shape, value, options, typeOfScalar(value))

/**
 * Functions that make an array with the shape of another, and its type unless one is named.
 *
 * **Example** (A function of the initial values)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const initial = (make: DeviceArray.Like, x: DeviceArray.DeviceArray<"f32">) => make(x, { dtype: "u32" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Like {
  (): <D extends DType.DType>(self: ArrayOperand<D>) => Computed<D>
  // An array also has a type, but its shape distinguishes it from options.
  <T extends DType.DType>(options: { readonly dtype: T; readonly shape?: never }): (self: ArrayOperand) => Computed<T>
  <D extends DType.DType, T extends DType.DType = D>(self: ArrayOperand<D>, options?: CreationOptions<T>): Computed<T>
}

/** An array of one value with the shape of another. */
const filledLike = (
  operation: string,
  self: DeviceArray,
  value: Scalar,
  options: CreationOptions<DType.DType> | undefined
): Computed => filled(operation, self.shape, value, options, self.dtype)

/**
 * An array of zeros with the shape and, unless another is named, the element type of an array.
 *
 * **Example** (A place for sums)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.fromHost(Int32Array.of(1, 2, 3)).pipe(
 *   DeviceArray.zerosLike(),
 *   Effect.map(String)
 * ) // => "DeviceArray(i32 [3])"
 * ```
 *
 * @see pyopencl.array.zeros_like
 * @category constructors
 * @since 0.1.0
 */
export const zerosLike: {
  /** An array of zeros with the shape and, unless another is named, the element type of an array. */
  (): <D extends DType.DType>(self: ArrayOperand<D>) => Computed<D>
} & Like = ofArray(
  "zerosLike",
  (operation, self, options?: CreationOptions<DType.DType>) => filledLike(operation, self, 0, options)
)

/**
 * An array of ones with the shape and, unless another is named, the element type of an array.
 *
 * **Example** (Weights to begin with)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const weights = (x: DeviceArray.DeviceArray<"i32">) => DeviceArray.onesLike(x, { dtype: "f32" })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const onesLike: {
  /** An array of ones with the shape and, unless another is named, the element type of an array. */
  (): <D extends DType.DType>(self: ArrayOperand<D>) => Computed<D>
} & Like = ofArray(
  "onesLike",
  (operation, self, options?: CreationOptions<DType.DType>) => filledLike(operation, self, 1, options)
)

/**
 * An array of one value with the shape and, unless another is named, the element type of an array.
 *
 * **Example** (A limit for each element)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const limits = (x: DeviceArray.DeviceArray<"f32">) => DeviceArray.fullLike(x, 100)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fullLike: {
  /** An array of one value with the shape and, unless another is named, the element type of an array. */
  (value: Scalar): <D extends DType.DType>(self: ArrayOperand<D>) => Computed<D>
  <T extends DType.DType>(value: Scalar, options: { readonly dtype: T }): (self: ArrayOperand) => Computed<T>
  <D extends DType.DType, T extends DType.DType = D>(
    self: ArrayOperand<D>,
    value: Scalar,
    options?: CreationOptions<T>
  ): Computed<T>
} = ofArray(
  "fullLike",
  (operation, self, value: Scalar, options?: CreationOptions<DType.DType>) =>
    filledLike(operation, self, value, options),
  (args) => isDataFirst(3)(args) || (args.length > 1 && typeof args[1] !== "object")
)

/**
 * Numbers at even steps: from 0 or `start` on, up to and not including `stop`.
 *
 * **Example** (Indices of the rows of a matrix)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const rows = (range: DeviceArray.Arange, matrix: DeviceArray.DeviceArray) =>
 *   range(matrix.shape[0] ?? 0, { dtype: "u32" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Arange {
  <D extends DType.DType = "f32">(stop: number, options?: CreationOptions<D>): Computed<D>
  <D extends DType.DType = "f32">(start: number, stop: number, options?: CreationOptions<D>): Computed<D>
  <D extends DType.DType = "f32">(start: number, stop: number, step: number, options?: CreationOptions<D>): Computed<D>
  <D extends DType.DType = "i64">(stop: bigint, options?: CreationOptions<D>): Computed<D>
  <D extends DType.DType = "i64">(start: bigint, stop: bigint, options?: CreationOptions<D>): Computed<D>
  <D extends DType.DType = "i64">(start: bigint, stop: bigint, step: bigint, options?: CreationOptions<D>): Computed<D>
}

/**
 * Numbers at even steps: from 0 or `start` on, up to and not including `stop`, `step` apart, or 1. As in NumPy there
 * are `ceil((stop - start) / step)` of them, or none where that is negative; where the step is no whole number that
 * may let the last one reach `stop`: {@link linspace} counts exactly.
 *
 * Bigints make i64, or u64 where that is named, and are counted exactly.
 *
 * The type is f32 unless named, also for whole numbers. An element is `start + index * step` in its type, each of the two
 * operations rounded (f16: in f32): f32 counts exactly up to 2^24. Integer types require whole numbers, and all elements
 * within the type; float types require elements that are finite in them.
 *
 * **Example** (Every third number below ten)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.arange(1, 10, 3, { dtype: "i32" }).pipe(
 *   DeviceArray.toNested
 * ) // => [1, 4, 7]
 * ```
 *
 * @see pyopencl.array.arange
 * @category constructors
 * @since 0.1.0
 */
export const arange: {
  /**
   * Numbers at even steps: from 0 or `start` on, up to and not including `stop`, `step` apart, or 1. As in NumPy there
   * are `ceil((stop - start) / step)` of them, or none where that is negative; where the step is no whole number that
   * may let the last one reach `stop`: {@link linspace} counts exactly.
   */
  <D extends DType.DType = "f32">(stop: number, options?: CreationOptions<D>): Computed<D>
} & Arange = (
  ...args: ReadonlyArray<number | bigint | CreationOptions<DType.DType> | undefined>
): Computed<never> => {
  const operation = "DeviceArray.arange"
  const numbers = args.filter((arg) => typeof arg === "number" || typeof arg === "bigint")
  const options = args[numbers.length] as CreationOptions<never> | undefined
  const unknown = KnownOptions.problem(operation, options, known)
  if (unknown !== undefined) return unknown
  const isWhole = typeof numbers[0] === "bigint"
  const other = numbers.length === 0 ? 0 : numbers.findIndex((number) => typeof number !== typeof numbers[0])
  if (other !== -1) {
    const what = isWhole ? "a bigint" : "a number"
    return wrongValue(operation, args[other], what, "Pass a length, or start and stop: numbers only, or bigints only.")
  }
  const dtype = options?.dtype ?? (isWhole ? "i64" : "f32")
  // Only a type that there is says which elements it holds.
  const counted = Effect.suspend(() => {
    const sequence = isWhole
      ? WholeSequence.of(operation, dtype, numbers as ReadonlyArray<bigint>)
      : countedIn(operation, dtype, numbers as ReadonlyArray<number>)
    if (sequence instanceof GpuError) return sequence
    const { count, start, step } = sequence
    return FreshArray.make(operation, dtype, [count], (lease, { dispatch }) => {
      const type = SequenceKernels.computedIn(dtype)
      // A single element is the start: 0 times an infinite step would be NaN.
      const scalars = { start: held(type, start), step: held(type, count > 1 ? stepIn(dtype, step) : 0) }
      return dispatch(SequenceKernels.arithmetic(dtype), { y: lease, ...scalars }, count)
    })
  })
  return supported(operation, dtype, counted) as Computed<never>
}

interface Sequence {
  readonly start: number
  readonly step: number
  readonly count: number
}

const sequenceOf = (operation: string, numbers: ReadonlyArray<number>): Sequence | GpuError => {
  const [start = 0, stop = 0, step = 1] = numbers.length === 1 ? [0, ...numbers] : numbers
  if (![start, stop, step].every(Number.isFinite)) {
    return finiteProblem(operation, `start ${formatted(start)}, stop ${formatted(stop)} and step ${formatted(step)}`)
  }
  // Adding 0 turns a negative zero into 0.
  return step === 0
    ? invalidRequest(operation, "the step is 0", "Pass a step that leads from start to stop.")
    : { start, step, count: Math.max(0, Math.ceil((stop - start) / step)) + 0 }
}

const countedIn = (
  operation: string,
  dtype: DType.DType,
  numbers: ReadonlyArray<number>
): Sequence | GpuError => {
  const sequence = sequenceOf(operation, numbers)
  if (sequence instanceof GpuError) return sequence
  const { count } = sequence
  return Shape.problem(operation, [count]) ??
    (count === 0 ? undefined : elementsProblem(operation, dtype, sequence)) ?? sequence
}

const finiteProblem = (operation: string, found: string): GpuError =>
  invalidRequest(operation, `${found} are not all finite numbers`, "Pass finite numbers.")

/** Whether a number is finite in a float type. */
const isFiniteIn = (dtype: DType.DType, value: number): boolean =>
  dtype === "f16" ? Math.abs(value) < 65520 : Number.isFinite(dtype === "f64" ? value : Math.fround(value))

/** The step as the kernel's argument: integers are computed modulo 2^n in their n bits. */
const stepIn = (dtype: DType.DType, step: number | bigint): number | bigint => {
  const bits = bitsOf(dtype)
  if (bits === 0) return step
  const wrapped = isUnsigned(dtype) ? BigInt.asUintN(bits, BigInt(step)) : BigInt.asIntN(bits, BigInt(step))
  return bits === 64 ? wrapped : Number(wrapped)
}

const furtherType = `Use a type with a larger range, as { dtype: "f64" } where the device has it.`

/** Why elements cannot be counted in their type, or `undefined`. There is at least one. */
const elementsProblem = (
  operation: string,
  dtype: DType.DType,
  { count, start, step }: Sequence
): GpuError | undefined => {
  const distance = (count - 1) * step
  const last = start + distance
  const wanted = `the elements from ${start} to ${last} by steps of ${step}`
  if (!isFloat(real(dtype))) {
    const has = (value: number) => elementOf(dtype, value) !== undefined
    return Number.isInteger(step) && has(start) && has(last) ? undefined : invalidRequest(
      operation,
      `${wanted} are not all of type ${dtype}`,
      `Use a type that holds them, as { dtype: "f32" }.`
    )
  }
  // The kernel adds a multiple of the step to the start, which can be larger than any element.
  const isCounted = isFiniteIn(dtype, start) && isFiniteIn(dtype, last) &&
    isFiniteIn(SequenceKernels.computedIn(dtype), distance)
  return isCounted || count === 1 ? undefined : invalidRequest(
    operation,
    `${wanted} are not all finite in ${dtype}`,
    furtherType
  )
}

/**
 * The options of {@link linspace}.
 *
 * **Example** (Angles once around)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const angles = DeviceArray.linspace(0, 2 * Math.PI, { count: 360, endpoint: false })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface LinspaceOptions<D extends DType.DType> extends CreationOptions<D> {
  /** How many numbers. Default: 50. */
  readonly count?: number | undefined
  /** Whether `stop` is the last number; otherwise it would be the next one. Default: true. */
  readonly endpoint?: boolean | undefined
}

const ofLinspace = KnownOptions.of<LinspaceOptions<DType.DType>>({ dtype: true, count: true, endpoint: true })

/**
 * `count` numbers at equal distances from `start` to `stop`, both of which are in it exactly; without the endpoint,
 * `stop` would come next. The type is f32 unless another float type is named. The first half of the elements are counted
 * from `start` and the others back from `stop`, in their type (f16: in f32), with the distance rounded to it. Both ends
 * must be finite in the type.
 *
 * **Example** (Quarters)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.linspace(0, 1, { count: 5 }).pipe(
 *   DeviceArray.toNested
 * ) // => [0, 0.25, 0.5, 0.75, 1]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.linspace.html
 * @category constructors
 * @since 0.1.0
 */
export const linspace = <D extends "f32" | "f16" | "f64" = "f32">(
  start: number,
  stop: number,
  options?: LinspaceOptions<D>
): Computed<D> => {
  const operation = "DeviceArray.linspace"
  const unknown = KnownOptions.problem(operation, options, ofLinspace)
  if (unknown !== undefined) return unknown
  const { count = 50, endpoint = true } = options ?? {}
  const dtype = dtypeOf(options)
  const wrong = Shape.problem(operation, [count]) ?? floatProblem(operation, dtype) ??
    (Number.isFinite(start) && Number.isFinite(stop)
      ? endsProblem(operation, dtype, start, stop)
      : finiteProblem(operation, `start ${formatted(start)} and stop ${formatted(stop)}`))
  if (wrong !== undefined) return wrong
  const last = endpoint ? Math.max(0, count - 1) : count
  const scalars = { start, stop, step: distance(dtype, start, stop, last), last, middle: Math.floor(last / 2) + 1 }
  return FreshArray.make(
    operation,
    dtype,
    Shape.copy([count]),
    (lease, { dispatch }) => dispatch(SequenceKernels.between(dtype), { y: lease, ...scalars }, count)
  )
}

const endsProblem = (operation: string, dtype: DType.DType, start: number, stop: number): GpuError | undefined =>
  isFiniteIn(dtype, start) && isFiniteIn(dtype, stop) ? undefined : invalidRequest(
    operation,
    `start ${start} and stop ${stop} are not both finite in ${dtype}`,
    furtherType
  )

const floatProblem = (operation: string, dtype: DType.DType): GpuError | undefined =>
  isFloat(dtype) ? undefined : invalidRequest(
    operation,
    `the type asked for is ${line(dtype)}`,
    "Use a float type, and DeviceArray.astype for whole numbers; or arange, which counts them."
  )

/**
 * The distance. The ends may be so far apart that it is not finite in the type. Then there are two elements, and
 * the distance is multiplied by 0.
 */
const distance = (dtype: DType.DType, start: number, stop: number, steps: number): number => {
  if (steps === 0) return 0
  const step = stop / steps - start / steps
  return Number.isFinite(dtype === "f64" ? step : Math.fround(step)) ? step : 0
}

/**
 * The options of {@link eye}.
 *
 * **Example** (The ones below the diagonal)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const below = DeviceArray.eye(4, { diagonal: -1 })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface EyeOptions<D extends DType.DType> extends CreationOptions<D> {
  /** The number of columns. Default: that of the rows. */
  readonly columns?: number | undefined
  /** Which diagonal: 1 for the one above the main diagonal, -1 for the one below, and so on. Default: 0. */
  readonly diagonal?: number | undefined
}

const ofEye = KnownOptions.of<EyeOptions<DType.DType>>({ dtype: true, columns: true, diagonal: true })

/**
 * A matrix of `rows` rows with ones on a diagonal and zeros elsewhere: the identity, without options.
 *
 * **Example** (One place to the right)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.eye(2, { columns: 3, diagonal: 1 }).pipe(
 *   DeviceArray.toNested
 * ) // => [[0, 1, 0], [0, 0, 1]]
 * ```
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.eye.html
 * @category constructors
 * @since 0.1.0
 */
export const eye = <D extends DType.DType = "f32">(rows: number, options?: EyeOptions<D>): Computed<D> => {
  const operation = "DeviceArray.eye"
  const unknown = KnownOptions.problem(operation, options, ofEye)
  if (unknown !== undefined) return unknown
  const { columns = rows, diagonal = 0 } = options ?? {}
  const shape = [rows, columns]
  const wrong = Shape.problem(operation, shape) ?? (holds("i32", diagonal) ? undefined : invalidRequest(
    operation,
    `the diagonal ${formatted(diagonal)} is no whole number of 32 bits`,
    "0 is the main diagonal, 1 the one above it, -1 the one below."
  ))
  if (wrong !== undefined) return wrong
  const dtype = dtypeOf(options)
  const scalars = { columns, diagonal: diagonal >>> 0 }
  return FreshArray.make(
    operation,
    dtype,
    Shape.copy(shape),
    (lease, { dispatch }) => dispatch(SequenceKernels.diagonal(dtype), { y: lease, ...scalars }, rows * columns)
  )
}
