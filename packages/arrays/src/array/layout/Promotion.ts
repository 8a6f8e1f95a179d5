/**
 * The common element type of arrays of two types.
 *
 * It is NumPy's, limited to the types that every device has: where NumPy uses 64 bits although no operand does, the
 * result has 32. So integers and f32 or f16 make f32, and i32 and u32 make i32, modulo 2^32, as JAX has it.
 *
 * @see https://numpy.org/doc/stable/reference/generated/numpy.promote_types.html
 * @see https://docs.jax.dev/en/latest/type_promotion.html
 * @since 0.1.0
 */
import type { DType } from "effect-gpu-pool/DType"

const table = {
  u32: { u32: "u32", i32: "i32", f16: "f32", f32: "f32", f64: "f64" },
  i32: { u32: "i32", i32: "i32", f16: "f32", f32: "f32", f64: "f64" },
  f16: { u32: "f32", i32: "f32", f16: "f16", f32: "f32", f64: "f64" },
  f32: { u32: "f32", i32: "f32", f16: "f32", f32: "f32", f64: "f64" },
  f64: { u32: "f64", i32: "f64", f16: "f64", f32: "f64", f64: "f64" }
} as const satisfies { readonly [A in DType]: { readonly [B in DType]: DType } }

/**
 * The common element type of arrays of two types: the wider float, f32 for an integer beside f16 or f32, i32 for
 * i32 beside u32.
 *
 * **Example** (A function of two arrays)
 *
 * ```ts
 * import { Effect } from "effect"
 * import type { DType } from "effect-gpu-pool"
 * import { DeviceArray } from "@effect-gpu-pool/arrays"
 *
 * const mean = <A extends DType.DType>(x: DeviceArray.DeviceArray<A>, y: DeviceArray.DeviceArray<"f32">) =>
 *   Effect.flatMap(DeviceArray.add(x, y), DeviceArray.divide(2))
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

const floats = { u32: "f32", i32: "f32", f16: "f16", f32: "f32", f64: "f64" } as const satisfies {
  readonly [A in DType]: DType
}

/**
 * The element type in which functions of real numbers are computed: floats as they are, integers as f32.
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
