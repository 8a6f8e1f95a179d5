/**
 * The languages that kernels have bodies in. A backend brings its own: {@link Language} says what others must know of it, and a
 * {@link LanguageWriter} writes kernels that are made of expressions.
 *
 * @since 0.1.0
 */

/**
 * What kernels must know of a language.
 *
 * **Example** (The language of a backend of your own)
 *
 * ```ts
 * import { BackendTraits } from "effect-gpu-pool/backend"
 * import type { Language } from "effect-gpu-pool/backend"
 *
 * const metal: Language.Language = { id: "metal", name: "Metal", bodies: "items", hasEights: false }
 * const traits = BackendTraits.make({ language: metal, compiling: "fast" })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Language {
  /** What a kernel's `body` and `preamble` in it are called. */
  readonly id: string
  /** What messages call it, as `WGSL`. */
  readonly name: string
  /**
   * What a body is. With `"items"` it is text: statements for one item, with its index `i`, the number of items `count` and the
   * arguments by name. With `"ranges"` it is a function of JavaScript, which works through the items from one on to another.
   */
  readonly bodies: "items" | "ranges"
  /** Whether its writer has vectors of eight numbers: see `LanguageWriter.eights`. */
  readonly hasEights: boolean
}
