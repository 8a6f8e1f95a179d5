import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { DType } from "effect-gpu-pool"
import { floating, promote } from "../../src/array/layout/Promotion.ts"

const dtypes: ReadonlyArray<DType.DType> = [
  ...["bool", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64"] as const
]

describe("promotion", () => {
  // numpy.promote_types of 1.24, with i32 and f32 for what has 64 bits although no operand has.
  it("is NumPy's, kept to 32 bits where no operand has 64", () => {
    assert.sameMembers([...dtypes], [...DType.all])
    deepStrictEqual(dtypes.map((a) => dtypes.map((b) => promote(a, b)).join(" ")), [
      "bool u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64",
      "u8 u8 i16 u16 i16 u32 i32 u64 i64 f16 f32 f64",
      "i8 i16 i8 i32 i16 i32 i32 f64 i64 f16 f32 f64",
      "u16 u16 i32 u16 i32 u32 i32 u64 i64 f32 f32 f64",
      "i16 i16 i16 i32 i16 i32 i32 f64 i64 f32 f32 f64",
      "u32 u32 i32 u32 i32 u32 i32 u64 i64 f32 f32 f64",
      "i32 i32 i32 i32 i32 i32 i32 f64 i64 f32 f32 f64",
      "u64 u64 f64 u64 f64 u64 f64 u64 f64 f64 f64 f64",
      "i64 i64 i64 i64 i64 i64 i64 f64 i64 f64 f64 f64",
      "f16 f16 f16 f32 f32 f32 f32 f64 f64 f16 f32 f64",
      "f32 f32 f32 f32 f32 f32 f32 f64 f64 f32 f32 f64",
      "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64"
    ])
  })

  it("does not depend on the order", () => {
    for (const a of dtypes) {
      strictEqual(promote(a, a), a)
      for (const b of dtypes) {
        strictEqual(promote(a, b), promote(b, a))
      }
    }
  })

  it("computes functions of integers in f32, and of those of 64 bits in f64", () => {
    deepStrictEqual(dtypes.map(floating).join(" "), "f32 f32 f32 f32 f32 f32 f32 f64 f64 f16 f32 f64")
  })

  it("gives precise types", () => {
    const integer: "i32" = promote("u32", "i32")
    const float: "f32" = promote("f16", "u32")
    const root: "f32" = floating("u32")
    deepStrictEqual([integer, float, root], ["i32", "f32", "f32"])
  })
})
