/** The text of expressions, without a driver: its values are tested where there is one. */
import { ElementwiseKernel, Expr } from "@effect-gpu-pool/arrays"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { KernelArgument } from "effect-gpu-pool"
import { writer as javaScript } from "effect-gpu-pool/JavaScript"
import type { LanguageWriter } from "effect-gpu-pool/LanguageWriter"
import { type ExprType, type Operation, operations, resultType } from "effect-gpu-pool/Operation"
import { openClC } from "../../../../../src/layers/OpenCl/language/OpenClC.ts"
import { wgsl } from "../../../../../src/layers/WebGpu/language/Wgsl.ts"
import { inOpenClC, inWgsl } from "../../../../../test/support/writtenSource.ts"
import * as Expression from "../../../src/kernels/expression/Expression.ts"
import { usedIn } from "../../../src/kernels/expression/Inspection.ts"

const languages: Readonly<Record<string, LanguageWriter>> = { javaScript, openClC, wgsl }
const types = ["f32", "i32", "u32", "f16", "f64", "bool"] as const

interface Use {
  readonly operation: Operation
  readonly operands: ReadonlyArray<ExprType>
  readonly target: ExprType | undefined
  readonly result: ExprType
}

const operandsOf = (operation: Operation, type: ExprType): ReadonlyArray<ExprType> => {
  const { arity, rule } = operations[operation]
  if (rule === "shift") return [type, "u32"]
  return rule === "where" ? ["bool", type, type] : Array.from({ length: arity }, () => type)
}

/** Every operation on every type that it takes, and every cast. */
const uses: ReadonlyArray<Use> = (Object.keys(operations) as ReadonlyArray<Operation>).flatMap((operation) =>
  types.flatMap((type) =>
    (operation === "astype" ? types : [undefined]).flatMap((target): ReadonlyArray<Use> => {
      const operands = operandsOf(operation, type)
      const result = resultType(operation, operands, target)
      return result === undefined ? [] : [{ operation, operands, target, result }]
    })
  )
)

const titled = uses.map((use) => ({ title: `${use.operation} of ${use.operands.join(", ")} to ${use.result}`, ...use }))

const expressionOf = ({ operands, operation, target }: Use): Expr.Expr =>
  Expression.applyReal(
    operation,
    operands.map((type, index) => Expression.make(type, { _tag: "Scalar", name: `x${index}` })),
    target
  )

const kernelOf = (value: (x: Expr.Expr<"f32">) => Expr.Expr<"f32">) =>
  ElementwiseKernel.make({
    name: "k",
    args: [KernelArgument.VectorArg("f32", "x", { withOffset: true }), KernelArgument.ScalarArg("f32", "a")],
    outputs: ({ x }) => ({ x: value(x) })
  })

const called = (text: string): ReadonlyArray<string> => [...text.matchAll(/\b(\w+__\w+)\(/g)].map(([, name]) => name!)

describe("every language", () => {
  it.each(titled)("writes $title, with the functions that it calls", (use) => {
    const expression = expressionOf(use)
    strictEqual(expression.problem, undefined)
    const decisive = use.operands[use.operation === "where" ? 1 : 0]!
    for (const [name, language] of Object.entries(languages)) {
      const text = language.apply(use.operation, ["p", "q", "r"].slice(0, use.operands.length), decisive, use.result)
      const preamble = language.preamble(usedIn([expression]))
      if (name === "javaScript") continue
      const defined = called(preamble.split("\n").filter((line) => /^(fn |\w+ \w+__\w+\()/.test(line)).join("\n"))
      for (const function_ of called(text)) assert.include(defined, function_, name)
      assert.notInclude(text, "undefined")
    }
  })

  it.each(["openClC", "wgsl"])("calls nothing, in %s, that an argument may be called", (name) => {
    const language = languages[name]!
    // No compiler of WGSL sees f64.
    const seen = uses.filter(({ operands, result }) => name !== "wgsl" || ![...operands, result].includes("f64"))
    const words = new Set(
      seen.flatMap(({ operands, operation, result }) => {
        const decisive = operands[operation === "where" ? 1 : 0]!
        const text = language.apply(operation, ["p__", "q__", "r__"].slice(0, operands.length), decisive, result)
        return [...text.matchAll(/(?<![\w.])[A-Za-z]\w*/g)].map(([word]) => word)
      }).filter((word) => !word.includes("__"))
    )
    for (const word of words) {
      const { problem } = ElementwiseKernel.make({
        name: "k",
        args: [KernelArgument.VectorArg("f32", "x"), KernelArgument.ScalarArg("f32", word as "a")],
        outputs: ({ x }) => ({ x })
      })
      strictEqual(problem?.reason._tag, "InvalidRequest", word)
    }
  })

  it("writes every function once, after those that it calls", () => {
    const all = uses.filter(({ operands }) => !operands.includes("f64")).map(expressionOf)
    for (const preamble of [wgsl.preamble(usedIn(all)), openClC.preamble(usedIn(all))]) {
      const names = [...preamble.matchAll(/^(?:fn |\w+ )(\w+__\w+)\(/gm)].map(([, name]) => name!)
      deepStrictEqual([...new Set(names)], names)
      for (const name of names) {
        const definition = preamble.indexOf(`${name}(`)
        assert.match(preamble.slice(0, definition).split("\n").at(-1)!, /^(fn |\w+ )$/, name)
      }
    }
  })
})

const constantsOf = (type: ExprType, values: ReadonlyArray<number>) =>
  Object.fromEntries(
    Object.entries(languages).map(([name, language]) => [
      name,
      values.map((value) => language.constant(value, type))
    ])
  )

describe("constants", () => {
  it("of f32 are what the type holds, in bits where a literal would not do", () => {
    deepStrictEqual(constantsOf("f32", [1, 0.1, -2.5, 1e21, -0, NaN, -Infinity, 1e-40]), {
      javaScript: [
        "1",
        "0.10000000149011612",
        "-2.5",
        "1.0000000200408773e+21",
        "-0",
        "NaN",
        "-Infinity",
        "9.99994610111476e-41"
      ],
      openClC: [
        "1.0f",
        "0.10000000149011612f",
        "-2.5f",
        "1.0000000200408773e+21f",
        "-0.0f",
        "as_float(0x7fc00000u)",
        "as_float(0xff800000u)",
        "9.99994610111476e-41f"
      ],
      wgsl: [
        "1f",
        "0.10000000149011612f",
        "-2.5f",
        "1.0000000200408773e+21f",
        "bits__f32(0x80000000u)",
        "bits__f32(0x7fc00000u)",
        "bits__f32(0xff800000u)",
        "bits__f32(0x116c2u)"
      ]
    })
  })

  it("of integers are within what literals can say", () => {
    deepStrictEqual(constantsOf("i32", [0, -7, 2 ** 31 - 1, -(2 ** 31)]), {
      javaScript: ["0", "-7", "2147483647", "-2147483648"],
      openClC: ["0", "-7", "2147483647", "(-2147483647 - 1)"],
      wgsl: ["0i", "-7i", "2147483647i", "i32(-2147483648)"]
    })
    deepStrictEqual(constantsOf("u32", [0, 2 ** 32 - 1]), {
      javaScript: ["0", "4294967295"],
      openClC: ["0u", "4294967295u"],
      wgsl: ["0u", "4294967295u"]
    })
  })

  it("of f16 and f64", () => {
    deepStrictEqual(constantsOf("f16", [0.1, 1e10, NaN, -0, 2 ** -24, -(2 ** -20)]), {
      javaScript: ["0.0999755859375", "Infinity", "NaN", "-0", "5.960464477539063e-8", "-9.5367431640625e-7"],
      openClC: [
        "(half) (0.0999755859375f)",
        "as_half((ushort) 0x7c00)",
        "as_half((ushort) 0x7e00)",
        "(half) (-0.0f)",
        "(half) (5.960464477539063e-8f)",
        "(half) (-9.5367431640625e-7f)"
      ],
      wgsl: [
        "0.0999755859375h",
        "bits__f16(0x7c00u)",
        "bits__f16(0x7e00u)",
        "bits__f16(0x8000u)",
        "bits__f16(0x1u)",
        "bits__f16(0x8010u)"
      ]
    })
    deepStrictEqual(openClC.constant(Infinity, "f64"), "as_double(0x7ff0000000000000ul)")
    deepStrictEqual(openClC.constant(0.1, "f64"), "0.1")
  })
})

describe("a kernel's text", () => {
  it("has one statement for each node, in WGSL", () => {
    const { body, preamble } = inWgsl(kernelOf((x) => Expr.add(Expr.multiply(x, x), 1)))
    deepStrictEqual(body.split("\n").map((line) => line.trim()), [
      "let t__2: f32 = 1f;",
      "let t__0: f32 = x[i + x_offset];",
      "let t__1: f32 = t__0 * t__0;",
      "let t__3: f32 = t__1 + t__2;",
      "x[i + x_offset] = t__3;"
    ])
    strictEqual(preamble, "")
  })

  it("calls no abs of integers in WGSL, which NVIDIA's compiler joins wrongly with max", () => {
    const kernel = ElementwiseKernel.make({
      name: "k",
      args: [KernelArgument.VectorArg("i32", "x")],
      outputs: ({ x }) => ({ x: Expr.maximum(x, Expr.abs(x)) })
    })
    deepStrictEqual(inWgsl(kernel).body.split("\n").map((line) => line.trim()), [
      "let t__0: i32 = x[i];",
      "let t__1: i32 = (t__0 ^ (t__0 >> 31u)) - (t__0 >> 31u);",
      "let t__2: i32 = max(t__0, t__1);",
      "x[i] = t__2;"
    ])
  })

  it("has one statement for each node, in OpenCL C, and rounds every step by itself", () => {
    strictEqual(kernelOf((x) => Expr.at(x, 5)).problem?.reason._tag, "InvalidRequest")
    const read = ElementwiseKernel.make({
      name: "k",
      args: [
        KernelArgument.VectorArg("i32", "x", { access: "read", withOffset: true }),
        KernelArgument.VectorArg("i32", "y", { access: "write" })
      ],
      outputs: ({ x }) => ({ y: Expr.truncDivide(Expr.at(x, 5), x) })
    })
    deepStrictEqual(inOpenClC(read).body.split("\n").map((line) => line.trim()), [
      "const uint t__0 = 5u;",
      "const uint t__1 = min(t__0, x_length - 1u - x_offset) + x_offset;",
      "const int t__2 = x[t__1];",
      "const int t__3 = x[i + x_offset];",
      "const int t__4 = truncDivide__i32(t__2, t__3);",
      "y[i] = t__4;"
    ])
    assert.match(inOpenClC(read).preamble, /^#pragma OPENCL FP_CONTRACT OFF\nint truncDivide__i32\(/)
  })

  it("names nothing that a program can name", () => {
    const everything = kernelOf((x) => Expr.power(Expr.atan2(x, Expr.acosh(x)), Expr.maximum(x, Expr.tanh(x))))
    for (const name of inWgsl(everything).preamble.matchAll(/^fn (\w+)/gm)) assert.include(name[1], "__")
    for (const name of inOpenClC(everything).preamble.matchAll(/^\w+ (\w+)\(/gm)) assert.include(name[1], "__")
  })
})
