/** The host's vector instructions against its JavaScript: the same bits, operation by operation and in chains. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { view } from "../../../src/domain/DType.ts"
import { ScalarArg, VectorArg } from "../../../src/domain/KernelArgument.ts"
import * as Expr from "../../../src/kernels/Expr.ts"
import { makeHostBody } from "../../../src/kernels/expression/JavaScript.ts"
import { type Operation, operations, resultType } from "../../../src/kernels/expression/Operation.ts"
import { makeSimdBody } from "../../../src/kernels/expression/Simd.ts"
import { Statements } from "../../../src/kernels/expression/Statements.ts"

type Element32 = "f32" | "i32" | "u32"

const types: ReadonlyArray<Element32> = ["f32", "i32", "u32"]

const samples: { readonly [T in Element32]: ReadonlyArray<number> } = {
  f32: [0, -0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3e9, -3e9, 5e9, 1e-45, -1e-45, 3.4e38, -3.4e38, Infinity, -Infinity, NaN],
  i32: [0, 1, -1, 2, 7, -7, 31, 32, 65_536, 0x7fffffff, -0x80000000, -0x7fffffff],
  u32: [0, 1, 2, 7, 31, 32, 65_536, 0x7fffffff, 0x80000000, 0xffffffff]
}

/** Every pair of samples, so often that more than one block is worked through and the last one is not full. */
const pairs = (type: Element32) => {
  const all = samples[type].flatMap((a) => samples[type].map((b) => [a, b] as const))
  return Array.from({ length: 5003 }, (_, index) => all[index % all.length]!)
}

const element = (type: Element32, vector: string, withOffset = false): Expr.Expr<Element32> =>
  Expr.make(type, { _tag: "Element", vector, dtype: type, at: { _tag: "Own", withOffset } })

const argumentsOf = (type: Element32, result: Element32) => [
  VectorArg(type, "x", { access: "read", withOffset: true }),
  VectorArg(type, "y", { access: "read" }),
  VectorArg(result, "z", { access: "write" }),
  ScalarArg(type, "a")
]

/** Bits of what both bodies store for an expression over `x`, `y` and `a`; `undefined` where there is no vector form. */
const bothBits = (type: Element32, value: Expr.Expr<Element32>) => {
  const args = argumentsOf(type, value.type)
  const simd = makeSimdBody<typeof args>([{ vector: VectorArg(value.type, "z", { access: "write" }), value }])
  if (simd === undefined) return undefined
  const javaScript = makeHostBody("test", args, (language) => {
    const statements = new Statements(language, { index: "i", indexVaries: true })
    statements.store("z", false, value)
    return [...statements.before, "for (let i = from; i < to; i++) {", ...statements.inside, "}"]
  })
  const inputs = pairs(type)
  return [simd, javaScript].map((body) => {
    const filled = (length: number, numberAt: (index: number) => number) => {
      const array = view(type, new ArrayBuffer(length * 4), 0, length)
      for (let index = 0; index < length; index++) array[index] = numberAt(index)
      return array
    }
    const z = view(value.type, new ArrayBuffer(inputs.length * 4), 0, inputs.length)
    const values = {
      x: filled(inputs.length + 3, (index) => inputs[Math.max(0, index - 3)]![0]),
      x_offset: 3,
      y: filled(inputs.length, (index) => inputs[index]![1]),
      z,
      a: samples[type][3]!
    }
    body(0, 17, values as never)
    body(17, inputs.length, values as never)
    return withoutPayloads(z)
  })
}

/** A NaN is a NaN, whatever else its bits say. */
const withoutPayloads = (values: Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>) => {
  if (values instanceof Float32Array) values.forEach((value, index) => Number.isNaN(value) && (values[index] = NaN))
  return Array.from(new Uint32Array(values.buffer))
}

const storable = (value: Expr.Expr): Expr.Expr<Element32> =>
  (value.type === "bool" ? Expr.apply("cast", [value], "u32") : value) as Expr.Expr<Element32>

const names = Object.keys(operations) as ReadonlyArray<Operation>

const single = (operation: Operation, type: Element32): ReadonlyArray<Expr.Expr<Element32>> => {
  const [x, y] = [element(type, "x", true), element(type, "y")]
  const a = Expr.make(type, { _tag: "Scalar", name: "a" })
  if (operation === "cast") return types.map((target) => storable(Expr.apply("cast", [x], target)))
  if (operation === "select") return [storable(Expr.apply("select", [Expr.apply("less", [x, y]), x, a]))]
  const operands = [x, y, a].slice(0, operations[operation].arity)
  const flags = operands.map((operand) => Expr.apply("cast", [operand], "bool"))
  return [operands, flags].flatMap((given) =>
    resultType(operation, given.map((operand) => operand.type), undefined) === undefined
      ? []
      : [storable(Expr.apply(operation, given))]
  )
}

describe("Simd", () => {
  for (const type of types) {
    it(`gives the bits that JavaScript gives, for every operation on ${type}`, () => {
      let compared = 0
      for (const operation of names) {
        for (const value of single(operation, type)) {
          const both = bothBits(type, value)
          if (both === undefined) continue
          assert.deepStrictEqual(both[0], both[1], `${operation} of ${type} to ${value.type}`)
          compared += 1
        }
      }
      assert.isAtLeast(compared, 20)
    })
  }

  it("gives the bits that JavaScript gives, for random chains", () => {
    const chain = fc.record({ type: fc.constantFrom(...types), steps: fc.array(fc.nat(), { maxLength: 12 }) })
    fc.assert(
      fc.property(chain, ({ steps, type }) => {
        const values: Array<Expr.Expr> = [
          element(type, "x", true),
          element(type, "y"),
          Expr.make(type, { _tag: "Scalar", name: "a" }),
          Expr.apply("cast", [Expr.make("u32", { _tag: "Index" })], type)
        ]
        const usable = names.filter((name) => {
          const { arity, rule } = operations[name]
          return resultType(name, Array.from({ length: arity }, () => type), undefined) === type &&
            single(name, type).every((value) => makeSimdBody([{ vector: VectorArg(value.type, "z"), value }])) &&
            rule !== "select"
        })
        for (const step of steps) {
          const name = usable[step % usable.length]!
          const operands = Array.from(
            { length: operations[name].arity },
            (_, index) => values[(step >>> (3 * index + 2)) % values.length]!
          )
          values.push(Expr.apply(name, operands))
        }
        const both = bothBits(type, storable(values.at(-1)!))
        assert.isDefined(both)
        assert.deepStrictEqual(both![0], both![1])
      }),
      { numRuns: 60 }
    )
  })

  it("leaves to JavaScript what has no vector form", () => {
    const sine = storable(Expr.apply("sin", [element("f32", "x")]))
    assert.isUndefined(makeSimdBody([{ vector: VectorArg("f32", "z"), value: sine }]))
  })
})
