import { describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import type { DType } from "effect-gpu-pool"
import { floating, promote } from "../../src/array/layout/Promotion.ts"

const dtypes: ReadonlyArray<DType.DType> = ["u32", "i32", "f16", "f32", "f64"]

describe("promotion", () => {
  it("is NumPy's, kept to 32 bits where no operand has 64", () => {
    deepStrictEqual(dtypes.map((a) => dtypes.map((b) => promote(a, b)).join(" ")), [
      "u32 i32 f32 f32 f64",
      "i32 i32 f32 f32 f64",
      "f32 f32 f16 f32 f64",
      "f32 f32 f32 f32 f64",
      "f64 f64 f64 f64 f64"
    ])
  })

  it("does not depend on the order or the grouping", () => {
    for (const a of dtypes) {
      strictEqual(promote(a, a), a)
      for (const b of dtypes) {
        strictEqual(promote(a, b), promote(b, a))
      }
    }
  })

  it("computes functions of integers in f32", () => {
    deepStrictEqual(dtypes.map(floating), ["f32", "f32", "f16", "f32", "f64"])
  })

  it("gives precise types", () => {
    const integer: "i32" = promote("u32", "i32")
    const float: "f32" = promote("f16", "u32")
    const root: "f32" = floating("u32")
    deepStrictEqual([integer, float, root], ["i32", "f32", "f32"])
  })
})
