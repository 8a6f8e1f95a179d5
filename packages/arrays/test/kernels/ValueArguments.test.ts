/** Scalars of expression kernels. */
import { assert, describe, it } from "@effect/vitest"
import * as Kernel from "effect-gpu-pool/Kernel"
import { ScalarArg, VectorArg } from "effect-gpu-pool/KernelArgument"
import type { SmallInteger } from "effect-gpu-pool/ValueType"
import { inOpenClC } from "../../../../test/support/writtenSource.ts"
import { ElementwiseKernel, Expr, ReductionKernel, ScanKernel } from "../../src/index.ts"

const one = () => Expr.constant("f32", 1)

const outputs = () => ({ y: one() })

/** The problems of kernels with an argument of that type, from the three constructors. */
const told = (type: SmallInteger): ReadonlyArray<string | undefined> => {
  const args = [VectorArg("f32", "x", { access: "read" }), ScalarArg(type, "a")]
  const written = [VectorArg("f32", "y", { access: "write" }), ScalarArg(type, "a")]
  const options = { name: "k", args, map: one, combine: Expr.add, neutral: 0 } as const
  return [
    Kernel.check(ElementwiseKernel.make({ name: "k", args: written, outputs })),
    ReductionKernel.make(options).problem,
    ScanKernel.make(options).problem
  ].map((problem) => {
    if (problem !== undefined) assert.strictEqual(problem.reason._tag, "InvalidRequest")
    return problem?.message
  })
}

describe("kernels made of expressions", () => {
  it("have small integers in their own types", () => {
    const args = [
      VectorArg("i32", "x", { access: "write" }),
      VectorArg("u32", "y", { access: "write" }),
      ScalarArg("i8", "a"),
      ScalarArg("u16", "b")
    ] as const
    const types: Array<string> = []
    const kernel = ElementwiseKernel.make({
      name: "k",
      args,
      outputs: ({ a, b }) => {
        types.push(a.type, b.type)
        return { x: Expr.astype(a, "i32"), y: Expr.astype(b, "u32") }
      }
    })
    assert.isUndefined(Kernel.check(kernel))
    assert.deepStrictEqual(types, ["i8", "u16"])
    assert.deepStrictEqual(kernel.args.map(({ dtype }) => dtype), ["i32", "u32", "i8", "u16"])
    assert.include(inOpenClC(kernel).body, "const char t__0 = a;")
    for (const type of ["i8", "u8", "i16", "u16"] as const) {
      assert.deepStrictEqual(told(type), [undefined, undefined, undefined])
    }
  })
})
