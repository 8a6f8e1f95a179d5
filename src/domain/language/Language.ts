/**
 * The languages that kernels have bodies in. A backend brings its own: {@link Language} describes it to the rest of the
 * library, and a {@link LanguageWriter} writes kernels made of expressions in it.
 *
 * @since 0.1.0
 */

/**
 * What the library must know of a kernel language.
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
  /** Its key in a kernel's `body` and `preamble`. */
  readonly id: string
  /** Its name in messages, as `WGSL`. */
  readonly name: string
  /**
   * What a body is. With `"items"` it is text: statements for one item, with its index `i`, the number of items `count`
   * and the arguments by name. With `"ranges"` it is a JavaScript function that works through a range of items.
   */
  readonly bodies: "items" | "ranges"
  /** Whether its writer has vectors of eight numbers: see `LanguageWriter.eights`. */
  readonly hasEights: boolean
  /** Whether its writer has elements of four numbers: see `LanguageWriter.fours`. */
  readonly hasFours?: boolean | undefined
}
