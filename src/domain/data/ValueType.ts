/**
 * Types of the values that kernels take by value: numbers, and short vectors of them.
 *
 * The names are those of WGSL, carried on where WGSL has no such type: `i8` is OpenCL C's `char`, `vec3<f32>` its `float3`.
 *
 * @since 0.1.0
 */
import { byteSize, type DType, f16round } from "./DType.ts"

/**
 * Integers of 8 and 16 bits. WGSL has none: a body in it sees an `i32` or a `u32` of the same value.
 *
 * @category models
 * @since 0.1.0
 */
export type SmallInteger = "i8" | "u8" | "i16" | "u16"

/**
 * Integers of 64 bits: bigints in JavaScript. WGSL has none: a body in it sees a `vec2<u32>` of the low and the high word.
 *
 * @category models
 * @since 0.1.0
 */
export type LongInteger = "i64" | "u64"

/**
 * The type of a real number: every element type but `bool` and `c64`.
 *
 * @category models
 * @since 0.1.0
 */
export type NumberType = Exclude<DType, "bool" | "c64">

/**
 * How many numbers a short vector has. WGSL has those of 2, 3 and 4.
 *
 * @category models
 * @since 0.1.0
 */
export type VectorLength = 2 | 3 | 4 | 8 | 16

/**
 * The type of a short vector, as `"vec3<f32>"`.
 *
 * @category models
 * @since 0.1.0
 */
export type ShortVector<N extends NumberType = NumberType, L extends VectorLength = VectorLength> = `vec${L}<${N}>`

/**
 * What a kernel can take by value: a number, a truth value, or a short vector of numbers.
 *
 * @see pyopencl.cltypes
 * @category models
 * @since 0.1.0
 */
export type ValueType = VectorElement

/**
 * What a vector of a kernel can have as its elements: numbers, truth values, or short vectors of numbers.
 *
 * @category models
 * @since 0.1.0
 */
export type VectorElement = DType | ShortVector

/**
 * The type of the numbers of an element: that of a short vector's, f32 for complex numbers, or its own.
 *
 * @category models
 * @since 0.1.0
 */
export type NumberIn<E extends VectorElement> = E extends `vec${number}<${infer N extends NumberType}>` ? N
  : E extends "c64" ? "f32"
  : E extends DType ? E
  : never

/**
 * A number in JavaScript: a bigint for 64-bit integers.
 *
 * @category models
 * @since 0.1.0
 */
export type NumberOf<N extends NumberType> = N extends LongInteger ? bigint : number

/**
 * What a program passes for a value: a number, a bigint, a boolean, or an array or typed array of as many numbers as the
 * vector has; of a complex number the real and the imaginary part.
 *
 * **Example** (Values of three types)
 *
 * ```ts
 * import type { KernelArgument } from "effect-gpu-pool"
 *
 * const shade: KernelArgument.ValueOf<"u8"> = 200
 * const seed: KernelArgument.ValueOf<"u64"> = 2n ** 64n - 1n
 * const wind: KernelArgument.ValueOf<"vec3<f32>"> = Float32Array.of(0.5, -1, 0)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type ValueOf<V extends ValueType> = V extends `vec${number}<${infer N extends NumberType}>`
  ? ArrayLike<NumberOf<N>>
  : V extends "c64" ? ArrayLike<number>
  : V extends NumberType ? NumberOf<V>
  : boolean

/**
 * What a host body sees of a value: a number or a bigint that the type holds exactly, a boolean, or a frozen array of
 * numbers.
 *
 * @category models
 * @since 0.1.0
 */
export type HostValueOf<V extends ValueType> = V extends
  `vec${infer L extends VectorLength}<${infer N extends NumberType}>` ? Lanes<NumberOf<N>>[L]
  : V extends "c64" ? Lanes<number>[2]
  : V extends NumberType ? NumberOf<V>
  : boolean

interface Lanes<A> {
  readonly 2: readonly [A, A]
  readonly 3: readonly [A, A, A]
  readonly 4: readonly [A, A, A, A]
  readonly 8: readonly [A, A, A, A, A, A, A, A]
  readonly 16: readonly [A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A]
}

/**
 * The type that a number has in languages without small integers, as WGSL: that of the 32-bit integer with the same
 * values, or its own.
 *
 * @category models
 * @since 0.1.0
 */
export type Widened<N extends NumberType> = N extends "i8" | "i16" ? "i32" : N extends "u8" | "u16" ? "u32" : N

/**
 * A checked value as drivers take it: rounded to its type, and copied so that the program cannot change it.
 *
 * @category models
 * @since 0.1.0
 */
export type HeldValue = number | bigint | boolean | ReadonlyArray<number | bigint>

interface NumberFacts {
  readonly bytes: number
  /** The least and the most; floats have neither. */
  readonly range: readonly [least: number | bigint, most: number | bigint] | undefined
  readonly widened: NumberType
}

const numbers: { readonly [N in NumberType]: NumberFacts } = {
  f32: { bytes: 4, range: undefined, widened: "f32" },
  f16: { bytes: 2, range: undefined, widened: "f16" },
  f64: { bytes: 8, range: undefined, widened: "f64" },
  i8: { bytes: 1, range: [-0x80, 0x7f], widened: "i32" },
  u8: { bytes: 1, range: [0, 0xff], widened: "u32" },
  i16: { bytes: 2, range: [-0x8000, 0x7fff], widened: "i32" },
  u16: { bytes: 2, range: [0, 0xffff], widened: "u32" },
  i32: { bytes: 4, range: [-0x80000000, 0x7fffffff], widened: "i32" },
  u32: { bytes: 4, range: [0, 0xffffffff], widened: "u32" },
  i64: { bytes: 8, range: [-(2n ** 63n), 2n ** 63n - 1n], widened: "i64" },
  u64: { bytes: 8, range: [0n, 2n ** 64n - 1n], widened: "u64" }
}

const lengths: ReadonlyArray<VectorLength> = [2, 3, 4, 8, 16]

/**
 * The type and count of a value's numbers; a single number has the length 1, and a complex one is a vector of two f32.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parts {
  readonly element: Exclude<DType, "c64">
  readonly length: 1 | VectorLength
}

const parts: ReadonlyMap<unknown, Parts> = new Map<unknown, Parts>([
  ["bool", { element: "bool", length: 1 }],
  ["c64", { element: "f32", length: 2 }],
  ...(Object.keys(numbers) as Array<NumberType>).flatMap((element): ReadonlyArray<readonly [ValueType, Parts]> => [
    [element, { element, length: 1 }],
    ...lengths.map((length) => [`vec${length}<${element}>`, { element, length }] as const)
  ])
])

/**
 * Whether a value names a type of values.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isValueType = (u: unknown): u is ValueType => parts.has(u)

/**
 * The type and count of the numbers of a value type.
 *
 * @category functions
 * @since 0.1.0
 */
export const partsOf = (type: ValueType): Parts => parts.get(type)!

/**
 * {@link Widened} of a type.
 *
 * @category functions
 * @since 0.1.0
 */
export const widened = <N extends NumberType>(type: N): Widened<N> => numbers[type].widened as Widened<N>

/**
 * Bytes of one number.
 *
 * @category getters
 * @since 0.1.0
 */
export const numberBytes = (type: NumberType): number => numbers[type].bytes

/**
 * Bytes from one element of a vector to the next. A short vector of three numbers takes the bytes of four.
 *
 * **Example** (Room for directions)
 *
 * ```ts
 * import { ValueType } from "effect-gpu-pool/backend"
 *
 * 100 * ValueType.elementBytes("vec3<f32>") // => 1600
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const elementBytes = (type: VectorElement): number => {
  const { element, length } = partsOf(type)
  return byteSize(element) * (length === 3 ? 4 : length)
}

/**
 * The least and the most number of an integer type: bigints for 64 bits.
 *
 * @category getters
 * @since 0.1.0
 */
export const rangeOf = (
  type: Exclude<NumberType, "f32" | "f16" | "f64">
): readonly [least: number | bigint, most: number | bigint] => numbers[type].range!

/**
 * Whether a value of the program's is a number of that type, or a truth value for `bool`. Floats hold every number,
 * rounded.
 *
 * @category predicates
 * @since 0.1.0
 */
export const holds = (type: NumberType | "bool", value: unknown): value is number | bigint | boolean => {
  if (type === "bool") return typeof value === "boolean"
  const { range } = numbers[type]
  if (range === undefined) return typeof value === "number"
  return typeof value === typeof range[0] && (typeof value === "bigint" || Number.isInteger(value)) &&
    (value as number | bigint) >= range[0] && (value as number | bigint) <= range[1]
}

/**
 * Rounds a number to its type, so that all backends get the same number whatever their languages do. Integers have no
 * negative zero.
 *
 * @category getters
 * @since 0.1.0
 */
export const rounded = <A extends number | bigint | boolean>(type: NumberType | "bool", value: A): A =>
  (typeof value === "number" ? roundedNumber(type, value) : value) as A

const roundedNumber = (type: NumberType | "bool", value: number): number => {
  switch (type) {
    case "f32":
      return Math.fround(value)
    case "f16":
      return f16round(value)
    case "f64":
      return value
    default:
      return value + 0
  }
}

/**
 * What to pass for a number of that type, for errors.
 *
 * @category getters
 * @since 0.1.0
 */
export const wanted = (type: NumberType | "bool"): string => {
  if (type === "bool") return "true or false"
  const { range } = numbers[type]
  if (range === undefined) return "a number"
  const [least, most] = range
  return typeof least === "bigint"
    ? `a bigint, as 7n, from ${least}n to ${most}n`
    : `a whole number from ${least} to ${most}`
}

/**
 * The types as which values are passed to kernels. An `f16` is passed as an `f32`: not every OpenCL kernel can take
 * one by value, and WGSL has another layout for it. A `bool` is passed as the integer 0 or 1.
 *
 * @category models
 * @since 0.1.0
 */
export type Carrier = Exclude<NumberType, "f16">

/**
 * Writes a value at byte `at`, each of its numbers in the type `carrier`, which can represent it: the one place in
 * which arguments become bytes.
 *
 * @category getters
 * @since 0.1.0
 */
export const write = (
  view: DataView,
  at: number,
  carrier: Carrier,
  value: HeldValue,
  littleEndian: boolean
): void => {
  if (typeof value !== "object") return writeNumber(view, at, carrier, value, littleEndian)
  const { bytes } = numbers[carrier]
  for (let lane = 0; lane < value.length; lane++) {
    writeNumber(view, at + lane * bytes, carrier, value[lane]!, littleEndian)
  }
}

const setters = {
  f32: "setFloat32",
  f64: "setFloat64",
  i8: "setInt8",
  u8: "setUint8",
  i16: "setInt16",
  u16: "setUint16",
  i32: "setInt32",
  u32: "setUint32",
  i64: "setBigInt64",
  u64: "setBigUint64"
} as const satisfies Record<Carrier, keyof DataView>

const writeNumber = (
  view: DataView,
  at: number,
  carrier: Carrier,
  value: number | bigint | boolean,
  littleEndian: boolean
): void => {
  const set = view[setters[carrier]] as (at: number, value: number | bigint, littleEndian: boolean) => void
  set.call(view, at, typeof value === "boolean" ? Number(value) : value, littleEndian)
}
