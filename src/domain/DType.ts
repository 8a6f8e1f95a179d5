/**
 * Element types of kernels: `f32`, `i32` and `u32` everywhere, `f64` where the device has it.
 *
 * @since 0.1.0
 */

/**
 * The name of an element type.
 *
 * @category models
 * @since 0.1.0
 */
export type DType = "f32" | "i32" | "u32" | "f64"

/**
 * The typed array that holds elements of a {@link DType} on the host.
 *
 * @category models
 * @since 0.1.0
 */
export interface TypedArrayOf {
  readonly f32: Float32Array<ArrayBuffer>
  readonly i32: Int32Array<ArrayBuffer>
  readonly u32: Uint32Array<ArrayBuffer>
  readonly f64: Float64Array<ArrayBuffer>
}

const sizes: { readonly [D in DType]: number } = { f32: 4, i32: 4, u32: 4, f64: 8 }

/**
 * Whether a value names an element type.
 *
 * **Example** (Guarding what a file says)
 *
 * ```ts
 * import { DType } from "effect-gpu-pool"
 *
 * DType.isDType("f16") // => false
 * ```
 *
 * @category guards
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

const views: { readonly [D in DType]: (buffer: ArrayBuffer, byteOffset: number, length: number) => TypedArrayOf[D] } = {
  f32: (buffer, byteOffset, length) => new Float32Array(buffer, byteOffset, length),
  i32: (buffer, byteOffset, length) => new Int32Array(buffer, byteOffset, length),
  u32: (buffer, byteOffset, length) => new Uint32Array(buffer, byteOffset, length),
  f64: (buffer, byteOffset, length) => new Float64Array(buffer, byteOffset, length)
}

/**
 * A typed array of `length` elements over host memory.
 *
 * **Example** (Viewing bytes as numbers)
 *
 * ```ts
 * import { DType } from "effect-gpu-pool"
 *
 * DType.view("u32", new ArrayBuffer(16), 4, 2).byteOffset // => 4
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const view = <D extends DType>(
  dtype: D,
  buffer: ArrayBuffer,
  byteOffset: number,
  length: number
): TypedArrayOf[D] => views[dtype](buffer, byteOffset, length)
