import { hasHalves } from "./HalfSupport.ts"
/**
 * Element types of kernels: `f32`, `i32` and `u32` everywhere, the others where the device has them.
 *
 * @since 0.1.0
 */

/**
 * The name of an element type: floats, integers of 8 to 64 bits, complex numbers, and truth values. A `bool` is one byte, 0
 * or 1. A `c64` is a complex number of two f32: the real part, then the imaginary one.
 *
 * @category models
 * @since 0.1.0
 */
export type DType = "f32" | "i32" | "u32" | "f16" | "f64" | "i8" | "u8" | "i16" | "u16" | "i64" | "u64" | "c64" | "bool"

/**
 * The members of `Float16Array` for programs whose `lib` does not declare it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Halves extends ArrayBufferView<ArrayBuffer> {
  readonly BYTES_PER_ELEMENT: number
  readonly length: number
  [index: number]: number
  fill(value: number, start?: number, end?: number): this
  set(numbers: ArrayLike<number>, offset?: number): void
  subarray(begin?: number, end?: number): Halves
  slice(start?: number, end?: number): Halves
  [Symbol.iterator](): IterableIterator<number>
}

/**
 * `Float16Array`, which came with ES2025: the program's own type where its `lib` has it, else {@link Halves}.
 *
 * @category models
 * @since 0.1.0
 */
export type Float16Elements = typeof globalThis extends { readonly Float16Array: new(buffer: ArrayBuffer) => infer A }
  ? A
  : Halves

/**
 * The typed array that holds elements of a {@link DType} on the host. Integers of 64 bits are bigints there, and each
 * complex number is two numbers.
 *
 * @category models
 * @since 0.1.0
 */
export interface TypedArrayOf {
  readonly f32: Float32Array<ArrayBuffer>
  readonly i32: Int32Array<ArrayBuffer>
  readonly u32: Uint32Array<ArrayBuffer>
  readonly f16: Float16Elements
  readonly f64: Float64Array<ArrayBuffer>
  readonly i8: Int8Array<ArrayBuffer>
  readonly u8: Uint8Array<ArrayBuffer>
  readonly i16: Int16Array<ArrayBuffer>
  readonly u16: Uint16Array<ArrayBuffer>
  readonly i64: BigInt64Array<ArrayBuffer>
  readonly u64: BigUint64Array<ArrayBuffer>
  readonly c64: Float32Array<ArrayBuffer>
  readonly bool: Uint8Array<ArrayBuffer>
}

const sizes: { readonly [D in DType]: number } = {
  f32: 4,
  i32: 4,
  u32: 4,
  f16: 2,
  f64: 8,
  i8: 1,
  u8: 1,
  i16: 2,
  u16: 2,
  i64: 8,
  u64: 8,
  c64: 8,
  bool: 1
}

/**
 * Every element type.
 *
 * @category constants
 * @since 0.1.0
 */
export const all = Object.keys(sizes) as ReadonlyArray<DType>

/**
 * Whether a value names an element type.
 *
 * @category functions
 * @since 0.1.0
 */
export const isDType = (u: unknown): u is DType => typeof u === "string" && Object.hasOwn(sizes, u)

/**
 * Bytes of one element.
 *
 * **Example** (Sizing a buffer)
 *
 * ```ts
 * import { DType } from "effect-gpu-pool"
 *
 * 1024 * DType.byteSize("f32") // => 4096
 * ```
 *
 * @category sizes
 * @since 0.1.0
 */
export const byteSize = (dtype: DType): number => sizes[dtype]

interface HalfClass {
  new(buffer: ArrayBuffer, byteOffset: number, length: number): Float16Elements
}

/** Not of ES2022, so not every runtime has it: Node 24 does, Node 22 does not. */
const halfClass = (): HalfClass | undefined => (globalThis as { readonly Float16Array?: HalfClass }).Float16Array

const rounding = (): ((value: number) => number) | undefined =>
  (Math as { readonly f16round?: (value: number) => number }).f16round

/** Programs must call {@link hostSupports} first. */
const missing = (): never => {
  throw new TypeError(`this runtime has no Float16Array: ask DType.hostSupports("f16") first`)
}

/**
 * Whether this JavaScript runtime has elements of that type: `f16` needs `Float16Array` and `Math.f16round`, which
 * Node 24 has. Without them no device has `f16` in its `DeviceInfo.dtypes`.
 *
 * **Example** (Choosing a type that every runtime has otherwise)
 *
 * ```ts
 * import { DType } from "effect-gpu-pool"
 *
 * const dtype: DType.DType = DType.hostSupports("f16") ? "f16" : "f32"
 * DType.hostSupports("f32") // => true
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const hostSupports = (dtype: DType): boolean => dtype !== "f16" || hasHalves()

/**
 * The half-precision number nearest to a number, as `Math.f16round` has it; only where {@link hostSupports} f16.
 *
 * @category functions
 * @since 0.1.0
 */
export const f16round = (value: number): number => (rounding() ?? missing())(value)

type ViewClass<D extends DType> = new(buffer: ArrayBuffer, byteOffset: number, length: number) => TypedArrayOf[D]

const viewClasses: { readonly [D in Exclude<DType, "f16">]: ViewClass<D> } = {
  f32: Float32Array,
  i32: Int32Array,
  u32: Uint32Array,
  f64: Float64Array,
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  c64: Float32Array,
  bool: Uint8Array
}

const viewClass = (dtype: DType): ViewClass<DType> => dtype === "f16" ? halfClass() ?? missing() : viewClasses[dtype]

/**
 * A typed array of `length` elements over host memory: of twice as many numbers for `c64`. For `f16` ask
 * {@link hostSupports} first.
 *
 * It throws a `TypeError` or `RangeError` for elements that do not lie in the memory, as the constructors of typed arrays
 * do.
 *
 * **Example** (Viewing bytes as numbers)
 *
 * ```ts
 * import { DType } from "effect-gpu-pool"
 *
 * DType.viewUnsafe("u32", new ArrayBuffer(16), 4, 2).byteOffset // => 4
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const viewUnsafe = <D extends DType>(
  dtype: D,
  buffer: ArrayBuffer,
  byteOffset: number,
  length: number
): TypedArrayOf[D] => {
  const operation = "DType.viewUnsafe"
  const itemSize = sizes[dtype]
  if (
    byteOffset % itemSize === 0 && byteOffset + length * itemSize <= buffer.byteLength && byteOffset >= 0 && length >= 0
  ) {
    return new (viewClass(dtype))(buffer, byteOffset, dtype === "c64" ? 2 * length : length) as TypedArrayOf[D]
  }
  throw new RangeError(
    `${operation}: ${length} elements of ${itemSize} bytes from byteOffset ${byteOffset} do not lie in the buffer's ` +
      `${buffer.byteLength} bytes. Start at a multiple of the element's bytes, and end within the buffer.`
  )
}

/**
 * One element, whose bytes a fill repeats. Of 64-bit integers a bigint, or a whole number; of complex numbers the real part.
 *
 * @category functions
 * @since 0.1.0
 */
export const element = <D extends DType>(dtype: D, value: number | bigint | boolean): TypedArrayOf[D] => {
  const view = viewUnsafe<DType>(dtype, new ArrayBuffer(byteSize(dtype)), 0, 1)
  view.subarray(0, 1).fill((dtype === "i64" || dtype === "u64" ? BigInt(value) : Number(value)) as never)
  return view as TypedArrayOf[D]
}
