/**
 * The types that values of element types have in WGSL: integers of 8 and 16 bits are among those of 32, and integers of
 * 64 bits are pairs of words.
 *
 * @internal
 */
import type { DType } from "../../../domain/data/DType.ts"

/** There is no f64: a kernel that uses it is refused before a compiler sees its WGSL, which may therefore say f32. */
export const typeNames: { readonly [D in DType]: string } = {
  f32: "f32",
  f16: "f16",
  f64: "f32",
  i32: "i32",
  u32: "u32",
  i8: "i32",
  u8: "u32",
  i16: "i32",
  u16: "u32",
  i64: "vec2<u32>",
  u64: "vec2<u32>",
  c64: "vec2<f32>",
  bool: "bool"
}

/** How many bits an element has that shares a word with others; 0 for all other types. */
export const packedBits = (dtype: DType): 0 | 8 | 16 => {
  switch (dtype) {
    case "i8":
    case "u8":
    case "bool":
      return 8
    case "i16":
    case "u16":
      return 16
    default:
      return 0
  }
}
