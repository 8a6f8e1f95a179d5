/**
 * The languages that kernels have bodies in. A backend brings its own: {@link Language} describes it to the rest of the
 * library, and a {@link LanguageWriter} writes kernels made of expressions in it.
 *
 * @since 0.1.0
 */
import type { DType } from "../data/DType.ts"

/**
 * What the library must know of a kernel language.
 *
 * **Example** (The language of a backend of your own)
 *
 * ```ts
 * import { BackendTraits } from "effect-gpu-pool/backend"
 * import type { Language } from "effect-gpu-pool/backend"
 *
 * const metal: Language.Language = { id: "metal", name: "Metal", bodies: "items" }
 * const traits = BackendTraits.make({ language: metal, compiling: "fast" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Language {
  /** Its key in a kernel's `body` and `preamble`. */
  readonly id: string
  /** Its name in messages, as `WGSL`. */
  readonly name: string
  /**
   * What a body is. With `"items"` it is text: statements for one item, with its index `i`, the number of items `count`
   * and the arguments by name. With `"ranges"` it is a JavaScript function that works through a range of items.
   */
  readonly bodies: "items" | "ranges"
  /** Its vectors of eight numbers, if it has such. */
  readonly eights?: Eights | undefined
  /** Its elements of four numbers, if it has such. */
  readonly fours?: Fours | undefined
}

/**
 * Lines that are run for one value of a list after the other. In them `value` is the name of the value, and `place` that of its place in
 * the list, a u32.
 *
 * @category models
 * @since 0.1.0
 */
export interface Turn {
  readonly value: string
  readonly place: string
  readonly lines: ReadonlyArray<string>
}

/**
 * Vectors of eight numbers, for products of matrices. Variables of sums may have any type that adds and multiplies as `sum` does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Eights {
  /** Declares a name for an element, converted to the type of sums. */
  readonly one: (name: string, vector: string, index: string, from: DType, sum: DType) => string
  /** Declares a name for eight elements from an index on, converted to the type of sums. */
  readonly load: (name: string, vector: string, index: string, from: DType, sum: DType) => string
  /** Declares a variable of eight sums, all 0. */
  readonly zero: (name: string, sum: DType) => string
  /** Adds the products of one number and eight numbers to eight sums. */
  readonly addProduct: (sums: string, one: string, eight: string) => string
  /** Stores eight sums as elements from an index on. */
  readonly store: (sums: string, vector: string, index: string, sum: DType, to: DType) => string
  /** Runs lines for each sum of several eights. */
  readonly each: (sums: ReadonlyArray<string>, sum: DType, turn: Turn) => ReadonlyArray<string>
}

/**
 * Loads from vectors whose elements are four numbers, as `vec4<f32>`, for products and reductions. The numbers are f32, f16, i32
 * or u32.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fours {
  /** Declares a name for an element. `dtype` is the type of its numbers. */
  readonly load: (name: string, vector: string, index: string, dtype: DType) => string
  /** One of the numbers of a named element: the place is a u32 below 4, 0 that of the first. */
  readonly number: (name: string, place: string) => string
}
