/**
 * WGSL as a language of kernels. Its writer is loaded with the first kernel.
 *
 * @internal
 */
import type { Language } from "../../../domain/language/Language.ts"

export const language: Language = {
  id: "wgsl",
  name: "WGSL",
  bodies: "items",
  fours: {
    // The types of its numbers are called so in WGSL, too.
    load: (name, vector, index, dtype) => `let ${name}: vec4<${dtype}> = ${vector}[${index}];`,
    number: (name, place) => `${name}[${place}]`
  }
}
