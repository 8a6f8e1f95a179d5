/**
 * WGSL as a language of kernels. Its writer is loaded with the first kernel.
 *
 * @internal
 */
import type { Language } from "../../../domain/language/Language.ts"

export const language: Language = { id: "wgsl", name: "WGSL", bodies: "items", hasEights: false, hasFours: true }
