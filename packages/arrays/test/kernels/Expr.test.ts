import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { GpuError, KernelArgument } from "effect-gpu-pool"
import { pipe } from "effect/Function"
import * as Expression from "../../src/kernels/expression/Expression.ts"

const f32 = Expr.constant("f32", 2)
const i32 = Expr.constant("i32", 2)
const u32 = Expr.constant("u32", 2)
const bool = Expr.constant("bool", true)

const messageOf = ({ problem }: Expr.Expr): string => problem?.message ?? "no problem"

/** The expressions of a kernel's arguments. */
const inputs = () => {
  let found: { readonly x: Expr.Expr<"f32">; readonly a: Expr.Expr<"f32"> } | undefined
  ElementwiseKernel.make({
    name: "inputs",
    args: [
      KernelArgument.VectorArg("f32", "x", { access: "read" }),
      KernelArgument.VectorArg("f32", "y", { access: "write" }),
      KernelArgument.ScalarArg("f32", "a")
    ],
    outputs: ({ a, x }) => {
      found = { a, x }
      return { y: x }
    }
  })
  return found!
}

describe("Expr", () => {
  it("takes operands first or last, and numbers on either side", () => {
    const nodes = [
      Expr.subtract(f32, 1),
      pipe(f32, Expr.subtract(1)),
      f32.pipe(Expr.subtract(1)),
      Expr.subtract(Expr.constant("f32", 3), f32),
      pipe(3, Expr.subtract(f32)),
      Expr.subtract(3, f32)
    ].map(({ node, problem, type }) => ({ node, problem, type }))
    deepStrictEqual(nodes[1], nodes[0])
    deepStrictEqual(nodes[2], nodes[0])
    deepStrictEqual(nodes[4], nodes[3])
    deepStrictEqual(nodes[5], nodes[3])
    deepStrictEqual(Expr.clip(f32, 0, 1).node, pipe(f32, Expr.clip(0, 1)).node)
    deepStrictEqual(Expr.where(bool, f32, 0).node, pipe(bool, Expr.where(f32, 0)).node)
    deepStrictEqual(Expr.astype(f32, "i32").node, pipe(f32, Expr.astype("i32")).node)
    deepStrictEqual(Expr.leftShift(i32, 1).node, pipe(i32, Expr.leftShift(1)).node)
    deepStrictEqual(Expr.logicalAnd(bool, bool).node, pipe(bool, Expr.logicalAnd(bool)).node)
  })

  it("refuses mixed types when it is compiled, and keeps the mistake when it is run", () => {
    const wrong = [
      // @ts-expect-error -- two element types
      Expr.add(f32, i32),
      // @ts-expect-error -- two element types, the last first
      pipe(f32, Expr.add(i32)),
      // @ts-expect-error -- a function of floats
      Expr.sin(i32),
      // @ts-expect-error -- a function of integers
      Expr.bitwiseAnd(f32, f32),
      // @ts-expect-error -- no arithmetic with truth values
      Expr.add(bool, bool),
      // @ts-expect-error -- a condition is a truth value
      Expr.where(u32, f32, f32),
      // @ts-expect-error -- two element types to select from
      Expr.where(bool, f32, i32),
      // @ts-expect-error -- places are u32
      Expr.leftShift(i32, i32),
      // @ts-expect-error -- no truth value
      Expr.logicalAnd(bool, f32),
      // @ts-expect-error -- two element types
      Expr.less(f32, u32),
      // @ts-expect-error -- a test of floats
      Expr.isNaN(i32),
      // @ts-expect-error -- three element types
      Expr.clip(f32, i32, u32),
      // @ts-expect-error -- no truth value
      Expr.constant("bool", 1)
    ]
    for (const [index, expr] of wrong.entries()) {
      assert.instanceOf(expr.problem?.reason, GpuError.InvalidRequest, `number ${index}`)
    }
    assert.include(messageOf(wrong[0]!), "Expr.add")
    assert.include(messageOf(wrong[0]!), "f32, i32")
    assert.include(messageOf(wrong[0]!), "Expr.astype")
  })

  it("refuses numbers that a type does not hold", () => {
    const wrong = [
      Expr.constant("i32", 0.5),
      Expr.constant("i32", 2 ** 31),
      Expr.constant("u32", -1),
      Expr.constant("u32", NaN),
      Expr.add(i32, 0.5),
      Expr.add(u32, -1),
      Expr.rightShift(i32, -1),
      Expr.where(bool, i32, Infinity)
    ]
    for (const expr of wrong) assert.include(messageOf(expr), "is no ")
    const right = [
      Expr.constant("f32", NaN),
      Expr.constant("f16", 1e10),
      Expr.constant("i32", -(2 ** 31)),
      Expr.constant("u32", 2 ** 32 - 1),
      Expr.add(f32, -Infinity)
    ]
    for (const expr of right) strictEqual(expr.problem, undefined)
    deepStrictEqual(Expr.constant("i32", -0).node, { _tag: "Constant", value: 0 })
  })

  it("reports the first mistake of many, and keeps nothing of a tree that has one", () => {
    let expr: Expr.Expr<"i32"> = Expr.constant("i32", 0.5)
    for (let step = 0; step < 100_000; step++) expr = Expr.add(expr, 1)
    assert.include(messageOf(expr), "0.5")
    strictEqual(expr.depth, 1)
  })

  it("refuses trees that are too deep", () => {
    let expr: Expr.Expr<"i32"> = i32
    for (let step = 0; step < 100_000; step++) expr = Expr.add(expr, i32)
    assert.include(messageOf(expr), "deep")
    let element = Expr.astype(inputs().x, "u32")
    for (let step = 0; step < 10_000; step++) element = Expr.at(element, element)
    assert.instanceOf(element.problem, GpuError.GpuError)
  })

  it("refuses deep chains of indices, which have no operation", () => {
    const vector: Expr.Expr<"u32"> = Expression.make("u32", {
      _tag: "Element",
      vector: "x",
      dtype: "u32",
      at: { _tag: "Own", withOffset: false }
    })
    let element = vector
    for (let step = 0; step < 100_000; step++) element = Expr.at(vector, element)
    assert.include(messageOf(element), "deep")
  })

  it("reads other elements of vectors only", () => {
    const { a, x } = inputs()
    strictEqual(Expr.at(x, 0).problem, undefined)
    strictEqual(Expr.at(Expr.at(x, 0), Expr.index).problem, undefined)
    assert.include(messageOf(Expr.at(a, 0)), "Expr.at")
    assert.include(messageOf(Expr.at(Expr.add(x, 1), 0)), "Expr.at")
    assert.include(messageOf(Expr.at(x, -1)), "-1 is no u32")
  })

  it("knows expressions from other values", () => {
    strictEqual(Expr.isExpr(f32), true)
    for (const value of [undefined, null, 1, "x", {}, { type: "f32", node: {} }]) {
      strictEqual(Expr.isExpr(value), false)
    }
  })
})
