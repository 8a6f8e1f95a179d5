/**
 * The common element type of arrays of two types.
 *
 * It is NumPy's, except that where NumPy uses 64 bits although no operand does, the result has 32. So i32 or u32 and
 * f32 or f16 make f32, and i32 and u32 make i32, modulo 2^32, as JAX has it. Anything beside c64 makes c64: there is no
 * wider complex type.
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.promote_types.html
 * @see https://docs.jax.dev/en/latest/type_promotion.html
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"

const table = {
  bool: {
    bool: "bool",
    u8: "u8",
    i8: "i8",
    u16: "u16",
    i16: "i16",
    u32: "u32",
    i32: "i32",
    u64: "u64",
    i64: "i64",
    f16: "f16",
    f32: "f32",
    f64: "f64",
    c64: "c64"
  },
  u8: {
    bool: "u8",
    u8: "u8",
    i8: "i16",
    u16: "u16",
    i16: "i16",
    u32: "u32",
    i32: "i32",
    u64: "u64",
    i64: "i64",
    f16: "f16",
    f32: "f32",
    f64: "f64",
    c64: "c64"
  },
  i8: {
    bool: "i8",
    u8: "i16",
    i8: "i8",
    u16: "i32",
    i16: "i16",
    u32: "i32",
    i32: "i32",
    u64: "f64",
    i64: "i64",
    f16: "f16",
    f32: "f32",
    f64: "f64",
    c64: "c64"
  },
  u16: {
    bool: "u16",
    u8: "u16",
    i8: "i32",
    u16: "u16",
    i16: "i32",
    u32: "u32",
    i32: "i32",
    u64: "u64",
    i64: "i64",
    f16: "f32",
    f32: "f32",
    f64: "f64",
    c64: "c64"
  },
  i16: {
    bool: "i16",
    u8: "i16",
    i8: "i16",
    u16: "i32",
    i16: "i16",
    u32: "i32",
    i32: "i32",
    u64: "f64",
    i64: "i64",
    f16: "f32",
    f32: "f32",
    f64: "f64",
    c64: "c64"
  },
  u32: {
    bool: "u32",
    u8: "u32",
    i8: "i32",
    u16: "u32",
    i16: "i32",
    u32: "u32",
    i32: "i32",
    u64: "u64",
    i64: "i64",
    f16: "f32",
    f32: "f32",
    f64: "f64",
    c64: "c64"
  },
  i32: {
    bool: "i32",
    u8: "i32",
    i8: "i32",
    u16: "i32",
    i16: "i32",
    u32: "i32",
    i32: "i32",
    u64: "f64",
    i64: "i64",
    f16: "f32",
    f32: "f32",
    f64: "f64",
    c64: "c64"
  },
  u64: {
    bool: "u64",
    u8: "u64",
    i8: "f64",
    u16: "u64",
    i16: "f64",
    u32: "u64",
    i32: "f64",
    u64: "u64",
    i64: "f64",
    f16: "f64",
    f32: "f64",
    f64: "f64",
    c64: "c64"
  },
  i64: {
    bool: "i64",
    u8: "i64",
    i8: "i64",
    u16: "i64",
    i16: "i64",
    u32: "i64",
    i32: "i64",
    u64: "f64",
    i64: "i64",
    f16: "f64",
    f32: "f64",
    f64: "f64",
    c64: "c64"
  },
  f16: {
    bool: "f16",
    u8: "f16",
    i8: "f16",
    u16: "f32",
    i16: "f32",
    u32: "f32",
    i32: "f32",
    u64: "f64",
    i64: "f64",
    f16: "f16",
    f32: "f32",
    f64: "f64",
    c64: "c64"
  },
  f32: {
    bool: "f32",
    u8: "f32",
    i8: "f32",
    u16: "f32",
    i16: "f32",
    u32: "f32",
    i32: "f32",
    u64: "f64",
    i64: "f64",
    f16: "f32",
    f32: "f32",
    f64: "f64",
    c64: "c64"
  },
  f64: {
    bool: "f64",
    u8: "f64",
    i8: "f64",
    u16: "f64",
    i16: "f64",
    u32: "f64",
    i32: "f64",
    u64: "f64",
    i64: "f64",
    f16: "f64",
    f32: "f64",
    f64: "f64",
    c64: "c64"
  },
  c64: {
    bool: "c64",
    u8: "c64",
    i8: "c64",
    u16: "c64",
    i16: "c64",
    u32: "c64",
    i32: "c64",
    u64: "c64",
    i64: "c64",
    f16: "c64",
    f32: "c64",
    f64: "c64",
    c64: "c64"
  }
} as const satisfies { readonly [A in DType]: { readonly [B in DType]: DType } }

/**
 * The common element type of arrays of two types, which holds the numbers of both as far as 32 bits can: the wider one
 * of two alike, i16 for i8 beside u8, f32 for i32 beside f16 or f32, i32 for i32 beside u32. f64 for u64 beside a type
 * with a sign. c64 beside c64, whose parts are f32.
 *
 * **Example** (A function of two arrays)
 *
 * ```ts
 * import type { DType } from "effect-gpu-pool"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const mean = <A extends DType.DType>(x: DeviceArray.DeviceArray<A>, y: DeviceArray.DeviceArray<"f32">) =>
 *   DeviceArray.divide(DeviceArray.add(x, y), 2)
 *
 * const common: DeviceArray.Promote<"i32", "f32"> = "f32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Promote<A extends DType, B extends DType> = (typeof table)[A][B]

/** @internal */
export const promote = <A extends DType, B extends DType>(a: A, b: B): Promote<A, B> => table[a][b]

const floats = {
  bool: "f32",
  u8: "f32",
  i8: "f32",
  u16: "f32",
  i16: "f32",
  u32: "f32",
  i32: "f32",
  u64: "f64",
  i64: "f64",
  f16: "f16",
  f32: "f32",
  f64: "f64",
  c64: "c64"
} as const satisfies { readonly [A in DType]: DType }

const sums = {
  bool: "i32",
  u8: "u32",
  i8: "i32",
  u16: "u32",
  i16: "i32",
  u32: "u32",
  i32: "i32",
  u64: "u64",
  i64: "i64",
  f16: "f16",
  f32: "f32",
  f64: "f64",
  c64: "c64"
} as const satisfies { readonly [A in DType]: DType }

/**
 * The element type of sums and products of elements: i32 for truth values and integers of 8 or 16 bits with a sign, u32
 * for those without, all others as they are.
 *
 * **Example** (The sum of bytes)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const total: DeviceArray.Summed<"u8"> = "u32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Summed<D extends DType> = (typeof sums)[D]

/** @internal */
export const summed = <D extends DType>(dtype: D): Summed<D> => sums[dtype]

/**
 * The element type in which functions of real numbers are computed: floats and complex numbers as they are, integers of 64
 * bits as f64, all others as f32.
 *
 * **Example** (The type of square roots of integers)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const root: DeviceArray.Floating<"i32"> = "f32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Floating<D extends DType> = (typeof floats)[D]

/** @internal */
export const floating = <D extends DType>(dtype: D): Floating<D> => floats[dtype]

/**
 * The element type of the parts of numbers, and of their magnitudes: f32 for complex numbers, all others as they are.
 *
 * **Example** (The type of magnitudes)
 *
 * ```ts
 * import type { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const magnitude: DeviceArray.Real<"c64"> = "f32"
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type Real<D extends DType> = D extends "c64" ? "f32" : D

/** @internal */
export const real = <D extends DType>(dtype: D): Real<D> => (dtype === "c64" ? "f32" : dtype) as Real<D>
