/**
 * Copies arrays from and to the memory of the program.
 *
 * @since 0.1.0
 */
import { isBufferLike } from "effect-gpu-pool/BufferLike"
import type { BufferPool, PooledBuffer } from "effect-gpu-pool/BufferPool"
import { CommandQueue, type HostData } from "effect-gpu-pool/CommandQueue"
import * as DType from "effect-gpu-pool/DType"
import { formatted } from "effect-gpu-pool/Format"
import { GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import { typeProblem } from "effect-gpu-pool/KernelSupport"
import * as KnownOptions from "effect-gpu-pool/KnownOptions"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import { DeviceArray } from "./ArrayValue.ts"
import { arrayProblem } from "./elementwise/OperandProblem.ts"
import * as FreshArray from "./FreshArray.ts"
import { type ArrayOperand, type Computed, evaluateCopy } from "./fusion/Evaluation.ts"
import * as Layout from "./layout/Layout.ts"
import * as Reshape from "./layout/Reshape.ts"
import type { ElementOf } from "./layout/Scalar.ts"
import * as Shape from "./layout/Shape.ts"
import { wrongValue } from "./layout/WrongValue.ts"
import { lazy } from "./Regions.ts"
import {
  type AnyNested,
  nest,
  type Nested,
  type NestedNumbers,
  parse,
  typeOfNested,
  valueOf
} from "./transfer/NestedNumbers.ts"
import * as TypedArrays from "./transfer/TypedArrays.ts"

export type { Nested, NestedNumbers } from "./transfer/NestedNumbers.ts"

/**
 * The options of an array made from a flat list of elements.
 *
 * **Example** (A picture of three channels)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const picture = (pixels: Float32Array, width: number) => DeviceArray.fromHost(pixels, { shape: [-1, width, 3] })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface ShapeOptions {
  /** The shape; one length may be -1, and is then computed. Default: the shape of the data. */
  readonly shape?: ReadonlyArray<number> | undefined
}

/**
 * How plain numbers become an array.
 *
 * **Example** (Whole numbers)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const offsets = DeviceArray.fromHost([-1, 0, 1], { dtype: "i32" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface NumbersOptions<D extends DType.DType> extends ShapeOptions {
  /** The element type. Default: f32 for numbers, bool for truth values, i64 for bigints. */
  readonly dtype?: D | undefined
}

/**
 * Functions that copy data of the program to an array.
 *
 * **Example** (An upload of rows)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const rowsOf = (upload: DeviceArray.FromHost, values: Float32Array, columns: number) =>
 *   upload(values, { shape: [-1, columns] })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface FromHost {
  (data: Float32Array, options: ComplexOptions): Computed<"c64">
  (data: Float32Array, options?: ShapeOptions): Computed<"f32">
  (data: Int32Array, options?: ShapeOptions): Computed<"i32">
  (data: Uint32Array, options?: ShapeOptions): Computed<"u32">
  (data: Float64Array, options?: ShapeOptions): Computed<"f64">
  (data: Int8Array, options?: ShapeOptions): Computed<"i8">
  (data: Uint8Array, options: TruthOptions): Computed<"bool">
  (data: Uint8Array | Uint8ClampedArray, options?: ShapeOptions): Computed<"u8">
  (data: Int16Array, options?: ShapeOptions): Computed<"i16">
  (data: Uint16Array, options?: ShapeOptions): Computed<"u16">
  (data: BigInt64Array, options?: ShapeOptions): Computed<"i64">
  (data: BigUint64Array, options?: ShapeOptions): Computed<"u64">
  <D extends DType.DType = "f32">(data: NestedNumbers, options?: NumbersOptions<D>): Computed<D>
  <D extends DType.DType = "bool">(data: Nested<boolean>, options?: NumbersOptions<D>): Computed<D>
  <D extends DType.DType = "i64">(data: Nested<bigint>, options?: NumbersOptions<D>): Computed<D>
  (data: DType.Float16Elements, options?: ShapeOptions): Computed<"f16">
}

/** Bytes that are truth values. */
interface TruthOptions extends ShapeOptions {
  readonly dtype: "bool"
}

/** Pairs of numbers that are the parts of complex numbers. */
interface ComplexOptions extends ShapeOptions {
  readonly dtype: "c64"
}

type FromHostOptions = NumbersOptions<DType.DType>

const known = KnownOptions.of<FromHostOptions>({ shape: true, dtype: true })

/**
 * An array of a program's data: a typed array, whose class decides the element type, or numbers in plain arrays,
 * nested one level an axis, which become f32 unless `dtype` says otherwise. A number alone makes an array of no
 * axes. The data is copied before the effect completes.
 *
 * Nested truth values become bool, and bigints i64. A `Uint8Array` with `dtype: "bool"` makes truth values of its bytes,
 * which are true but for 0.
 *
 * Plain arrays are read synchronously, number by number, which blocks the event loop for tens of milliseconds for a
 * million numbers. A typed array is checked and copied as a whole; use one for anything large.
 *
 * Ragged arrays, numbers that an integer type cannot represent, a shape of another number of elements, typed arrays of
 * other classes and data over shared or detached memory are InvalidRequest; a type that the device lacks is
 * Unsupported. Both fail before anything is allocated.
 *
 * **Example** (Two rows of three)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
 *   const y = yield* DeviceArray.fromHost(Int32Array.of(1, 2, 3, 4, 5, 6), { shape: [2, -1] })
 *   return [String(x), String(y)]
 * }) // => ["DeviceArray(f32 [2, 3])", "DeviceArray(i32 [2, 3])"]
 * ```
 *
 * @see pyopencl.array.to_device
 * @category transfer
 * @since 0.1.0
 */
export const fromHost: {
  /**
   * An array of a program's data: a typed array, whose class decides the element type, or numbers in plain arrays,
   * nested one level an axis, which become f32 unless `dtype` says otherwise. A number alone makes an array of no
   * axes. The data is copied before the effect completes.
   */
  (data: Float32Array, options?: ShapeOptions): Computed<"f32">
} & FromHost = (data: ArrayBufferView | AnyNested, options?: FromHostOptions): Computed<never> =>
  Effect.flatMap(CommandQueue, (queue) => {
    const operation = "DeviceArray.fromHost"
    const unknown = KnownOptions.problem(operation, options, known)
    if (unknown !== undefined) return unknown
    const dtype = dtypeFor(operation, data, options?.dtype)
    if (dtype instanceof GpuError) return dtype
    const numbers = typeProblem(operation, queue.info, dtype, "the elements") ??
      numbersOf(operation, data, dtype)
    if (numbers instanceof GpuError) return numbers
    const shape = shapeFor(operation, numbers.shape, options?.shape)
    if (shape instanceof GpuError) return shape
    return FreshArray.make(
      operation,
      dtype,
      shape,
      (lease, { write }) => write(lease, numbers.data)
    ) as Computed<never>
  })

/** The type of the elements: that of a typed array, else the requested one. */
const dtypeFor = (
  operation: string,
  data: ArrayBufferView | AnyNested,
  asked: DType.DType | undefined
): DType.DType | GpuError => {
  if (!ArrayBuffer.isView(data)) return asked ?? typeOfNested(data)
  const dtype = TypedArrays.dtypeOf(operation, data)
  return dtype instanceof GpuError || asked === undefined || asked === dtype ?
    dtype
    : (asked === "bool" && dtype === "u8") || (asked === "c64" && dtype === "f32") ?
    asked :
    invalidRequest(
      operation,
      `the data is a typed array of ${dtype}, and the type asked for is ${asked}`,
      asked === "c64"
        ? "Pass a Float32Array of the real and the imaginary parts, one after the other; DeviceArray.astype(x, \"c64\") takes real numbers."
        : `Convert it first, or cast the array: DeviceArray.astype(x, "${asked}").`
    )
}

/** The elements as the queue takes them, in row-major order. */
const numbersOf = (
  operation: string,
  data: ArrayBufferView | AnyNested,
  dtype: DType.DType
): { readonly shape: Shape.Shape; readonly data: HostData } | GpuError => {
  if (!ArrayBuffer.isView(data)) return parse(operation, data, dtype)
  const elements = dtype === "bool" ? TypedArrays.truthsOf(data as Uint8Array) : data
  if (data.byteLength % DType.byteSize(dtype) !== 0) {
    return invalidRequest(
      operation,
      `the data has ${data.byteLength / 4} numbers, no whole number of pairs`,
      "Pass the real and the imaginary part of each complex number, one after the other."
    )
  }
  return TypedArrays.memoryProblem(operation, data) ??
    { shape: [data.byteLength / DType.byteSize(dtype)], data: elements }
}

const shapeFor = (operation: string, shape: Shape.Shape, asked: Shape.Shape | undefined): Shape.Shape | GpuError =>
  asked === undefined ? shape : Reshape.shapeFor(operation, asked, Shape.size(shape), "the data")

/**
 * Where the elements of an array are in a lease.
 *
 * **Example** (The second half of a lease of 1,024 numbers)
 *
 * ```ts
 * import type { BufferPool } from "effect-gpu-pool"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const secondHalf = (lease: BufferPool.PooledBuffer) => DeviceArray.fromLease(lease, { offset: 512, shape: [512] })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface FromLeaseOptions<D extends DType.DType> extends ShapeOptions {
  /** The element type. Default: f32. */
  readonly dtype?: D | undefined
  /** The first element (not byte). Default: 0. */
  readonly offset?: number | undefined
}

const ofLease = KnownOptions.of<FromLeaseOptions<DType.DType>>({ shape: true, dtype: true, offset: true })

/**
 * An array over an existing lease, without a copy: the elements are contiguous from `offset`
 * on, to the end of the lease without a `shape`. The array does not own the lease, and cannot be used after
 * the lease has ended. An array's `lease` is the opposite direction.
 *
 * **Example** (Array operations on a buffer that a kernel of one's own has filled)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, CommandQueue } from "effect-gpu-pool"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const lease = yield* BufferPool.allocate(24)
 *   yield* CommandQueue.write(lease, Int32Array.of(1, 2, 3, 4, 5, 6))
 *   const x = yield* DeviceArray.fromLease(lease, { dtype: "i32", offset: 2, shape: [2, 2] })
 *   return yield* DeviceArray.toNested(x)
 * }) // => [[3, 4], [5, 6]]
 * ```
 *
 * @see pyopencl.array.Array, its `data`
 * @category transfer
 * @since 0.1.0
 */
export const fromLease: {
  /**
   * An array over an existing lease, without a copy: the elements are contiguous from `offset`
   * on, to the end of the lease without a `shape`. The array does not own the lease, and cannot be used after
   * the lease has ended. An array's `lease` is the opposite direction.
   */
  <D extends DType.DType = "f32">(
    options?: FromLeaseOptions<D>
  ): (lease: PooledBuffer) => Effect.Effect<DeviceArray<D>, GpuError>
  <D extends DType.DType = "f32">(
    lease: PooledBuffer,
    options?: FromLeaseOptions<D>
  ): Effect.Effect<DeviceArray<D>, GpuError>
} = dual((args) => args.length > 1 || isBufferLike(args[0]), <D extends DType.DType = "f32">(
  lease: PooledBuffer,
  options?: FromLeaseOptions<D>
): Effect.Effect<DeviceArray<D>, GpuError> => {
  const operation = "DeviceArray.fromLease"
  const unknown = KnownOptions.problem(operation, options, ofLease)
  if (unknown !== undefined) return unknown
  if (!isBufferLike(lease)) {
    return wrongValue(operation, lease, "a lease", "Pass one of BufferPool.allocate.")
  }
  const dtype = options?.dtype ?? "f32" as D
  if (!DType.isDType(dtype)) {
    return wrongValue(operation, dtype, "the type", `Pass one of ${DType.all.join(", ")}.`)
  }
  const offset = options?.offset ?? 0
  const elements = Math.floor(lease.size / DType.byteSize(dtype))
  if (!Number.isInteger(offset) || offset < 0 || offset > elements) {
    return invalidRequest(
      operation,
      `the offset ${formatted(offset)} is no element of a lease of ${lease.size} bytes`,
      "Pass the index of the first element, not of its byte."
    )
  }
  const shape = leasedShape(operation, options?.shape, elements - offset)
  if (shape instanceof GpuError) return shape
  return Effect.sync(() =>
    new DeviceArray(dtype, { shape, strides: Layout.rowMajor(shape), offset: offset + 0 }, lease)
  )
})

/** The shape asked for, when the lease has as many elements; without -1 it may have more. */
const leasedShape = (
  operation: string,
  asked: Shape.Shape | undefined,
  elements: number
): Shape.Shape | GpuError => {
  if (asked === undefined) return [elements]
  const wrong = Shape.rankProblem(operation, asked)
  if (wrong !== undefined) return wrong
  if (asked.includes(-1)) return Reshape.shapeFor(operation, asked, elements, "the lease from the offset on")
  const problem = Shape.problem(operation, asked)
  if (problem !== undefined) return problem
  return Shape.size(asked) <= elements ? Shape.copy(asked) : invalidRequest(
    operation,
    `the lease has ${elements} elements from the offset on, fewer than the shape ${Shape.format(asked)}`,
    "Allocate more, or pass a smaller shape."
  )
}

/**
 * Reads the elements of an array as a typed array of its type, row by row whatever the strides. A
 * view that is not contiguous is copied on the device first, into memory that is released at once. A
 * recorded array is computed for this and stays recorded; that memory is released too.
 *
 * **Example** (Reading a transposed view)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
 *   return Array.from(yield* DeviceArray.toHost(yield* DeviceArray.transpose(x)))
 * }) // => [1, 4, 2, 5, 3, 6]
 * ```
 *
 * @see pyopencl.array.Array.get
 * @category transfer
 * @since 0.1.0
 */
export const toHost = <D extends DType.DType>(
  self: ArrayOperand<D>
): Read<DType.TypedArrayOf[D]> => reading("DeviceArray.toHost", self, elementsOf)

type Read<A> = Effect.Effect<A, GpuError, BufferPool | CommandQueue>

/** Reads an array; the effect of one runs in an array scope that ends with the read. */
const reading = <D extends DType.DType, A>(
  operation: string,
  self: ArrayOperand<D>,
  of: (array: DeviceArray<D>) => Read<A>
): Read<A> => {
  const checked = (array: DeviceArray<D>): Read<A> => arrayProblem(operation, array) ?? of(array)
  return Effect.isEffect(self) ? Effect.scoped(lazy(Effect.flatMap(self as Computed<D>, checked))) : checked(self)
}

const elementsOf = <D extends DType.DType>(array: DeviceArray<D>): Read<DType.TypedArrayOf[D]> =>
  Effect.suspend(() => isReadable(array) ? read(array) : Effect.scoped(Effect.flatMap(evaluateCopy(array), read)))

/** Whether the queue can read the elements in place: contiguous, from a multiple of 4 bytes on. */
const isReadable = (array: DeviceArray): boolean =>
  array.pending === undefined && array.isContiguous && array.offset * DType.byteSize(array.dtype) % 4 === 0

const read = <D extends DType.DType>(
  { dtype, lease, offset, size }: DeviceArray<D>
): Effect.Effect<DType.TypedArrayOf[D], GpuError, CommandQueue> =>
  Effect.flatMap(CommandQueue, (queue) => {
    const itemSize = DType.byteSize(dtype)
    const first = offset * itemSize
    const bytes = size * itemSize
    // The queue reads whole words: more elements of 1 and 2 bytes than there are, unless the lease ends there.
    const length = Math.min(Math.ceil(bytes / 4) * 4, lease!.size - first)
    return Effect.map(
      queue.read(lease!, Uint8Array<ArrayBuffer>, { offset: first, length }),
      ({ buffer }) => DType.viewUnsafe(dtype, length === bytes ? buffer : buffer.slice(0, bytes), 0, size)
    )
  })

/**
 * The only element of an array, whatever its axes, in its own kind: a bigint of 64-bit integers, a truth value of bool,
 * otherwise a number. InvalidRequest for an array of none or several.
 *
 * **Example** (A single result)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * Effect.gen(function*() {
 *   const x = yield* DeviceArray.fromHost([[1, 2, 3], [4, 5, 6]])
 *   return yield* DeviceArray.toNumber(yield* DeviceArray.slice(x, [1, -1]))
 * }) // => 6
 * ```
 *
 * @category transfer
 * @since 0.1.0
 */
export const toNumber = <D extends DType.DType>(
  self: ArrayOperand<D>
): Read<ElementOf<D>> =>
  reading("DeviceArray.toNumber", self, (array) => {
    const { dtype, shape, size } = array
    const first = (elements: ArrayLike<number | bigint>) => valueOf(dtype, elements, 0) as ElementOf<D>
    return size === 1 ? Effect.map(elementsOf(array), first) : invalidRequest(
      "DeviceArray.toNumber",
      `the shape ${Shape.format(shape)} has ${size} elements, not one`,
      "Take one with slice, reduce the array, or use toHost."
    )
  })

/**
 * The elements of an array in plain arrays, nested one level an axis: numbers, bigints of 64-bit integers, truth values of
 * bool. The element of an array of no axes is not nested.
 *
 * **Example** (What a small array holds)
 *
 * ```ts
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * DeviceArray.toNested(DeviceArray.eye(2)) // => [[1, 0], [0, 1]]
 * ```
 *
 * @category transfer
 * @since 0.1.0
 */
export const toNested = <D extends DType.DType>(
  self: ArrayOperand<D>
): Read<Nested<ElementOf<D>>> =>
  reading("DeviceArray.toNested", self, (array) =>
    emptyRowsProblem(array) ??
      Effect.map(elementsOf(array), (elements) => nest(elements, array.shape, array.dtype)))

/** The most empty rows: more would exhaust the heap. */
const mostEmptyRows = 2 ** 24

/** Fails if an array without elements has too many empty rows for the heap. */
const emptyRowsProblem = ({ shape, size }: DeviceArray): GpuError | undefined => {
  if (size > 0) return undefined
  const rows = Shape.size(shape.slice(0, shape.indexOf(0)))
  return rows <= mostEmptyRows ? undefined : invalidRequest(
    "DeviceArray.toNested",
    `the shape ${Shape.format(shape)} has ${rows} empty rows`,
    "Use toHost, and the shape."
  )
}
