/** Functions of arrays and of expressions have NumPy's names, and the same name is the same function. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as BufferPool from "effect-gpu-pool/BufferPool"
import * as CommandQueue from "effect-gpu-pool/CommandQueue"
import { byteSize, type DType } from "effect-gpu-pool/DType"
import { Host } from "effect-gpu-pool/host"
import * as KernelArgument from "effect-gpu-pool/KernelArgument"
import { operations } from "effect-gpu-pool/Operation"
import * as Effect from "effect/Effect"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as DeviceArray from "../../src/array/DeviceArray.ts"
import * as ElementwiseKernel from "../../src/kernels/ElementwiseKernel.ts"
import * as Expr from "../../src/kernels/Expr.ts"
import * as GeneratedElementwise from "../../src/kernels/GeneratedElementwise.ts"

const expressions: Readonly<Record<string, unknown>> = Expr
const arrays: Readonly<Record<string, unknown>> = DeviceArray

const shared = Object.keys(expressions).filter((name) => typeof arrays[name] === "function")

type Call = (...operands: ReadonlyArray<unknown>) => never

const arityOf = (name: string): number => operations[name as keyof typeof operations]?.arity ?? 2

const inputs = {
  f32: Float32Array.of(-7.5, 7.5, 0, 1, -1, 2.5, NaN, Infinity, -2),
  i32: Int32Array.of(-7, 7, 0, 1, -1, 2, -2147483648, 5, -3),
  u32: Uint32Array.of(7, 5, 0, 1, 4294967295, 2, 31, 33, 3)
}

type Type = keyof typeof inputs | "c64"

/** The class of a type's numbers, of which a complex number has two. */
const classOf = (dtype: Type) => inputs[dtype === "c64" ? "f32" : dtype].constructor as Float32ArrayConstructor

/** Every pair of numbers. As complex numbers, numbers that follow each other are one. */
const operandsOf = (dtype: Type) => {
  const numbers = dtype === "c64" ? inputs.f32.slice(1) : inputs[dtype]
  const length = numbers.length
  return [
    new Float64Array(length ** 2).map((_, item) => numbers[item % length]!),
    new Float64Array(length ** 2).map((_, item) => numbers[Math.floor(item / length)]!),
    new Float64Array(length ** 2).map((_, item) => numbers[(item * 5) % length]!)
  ].map((list) => new (classOf(dtype))(list))
}

const expressionOf = (name: string, operands: ReadonlyArray<Expr.Expr<DType>>): Expr.Expr => {
  const call = expressions[name] as Call
  if (name === "astype") return call(operands[0], "u32")
  const truths = name.startsWith("logical") ? operands.length : name === "where" ? 1 : 0
  return call(
    ...operands.slice(0, arityOf(name)).map((operand, at) => at < truths ? Expr.astype(operand, "bool") : operand)
  )
}

/** The expression's results; `undefined` if it does not take the type. */
const computed = Effect.fnUntraced(function*(name: string, dtype: Type) {
  const operands = operandsOf(dtype)
  const args = ["x", "y", "z"].map((vector) => KernelArgument.VectorArg(dtype, vector, { access: "read" }))
  let result: Expr.Expr | undefined
  const probe = ElementwiseKernel.make({
    name: "probe",
    args: [...args, KernelArgument.VectorArg("f32", "r", { access: "write" })],
    outputs: (vectors) => {
      const given = vectors as unknown as Readonly<Record<string, Expr.Expr<DType>>>
      result = expressionOf(name, [given["x"]!, given["y"]!, given["z"]!])
      return { r: Expr.constant("f32", 0) } as never
    }
  })
  strictEqual(probe.problem, undefined)
  if (result!.problem !== undefined) return undefined
  const value = (result!.type === "bool" ? Expr.astype(result!, "u32") : result!) as Expr.Expr<DType>
  const kernel = GeneratedElementwise.generate({
    name: "computed",
    args: [...args, KernelArgument.VectorArg(value.type, "r", { access: "write" })],
    outputs: { r: value }
  })
  const [x, y, z] = yield* Effect.forEach(operands, (numbers) =>
    Effect.gen(function*() {
      const lease = yield* BufferPool.allocate(numbers.byteLength)
      yield* CommandQueue.write(lease, numbers)
      return lease
    }))
  const count = operands[0]!.byteLength / byteSize(dtype)
  const r = yield* BufferPool.allocate(count * byteSize(value.type))
  yield* CommandQueue.dispatch(kernel, { x, y, z, r } as never, count)
  const numbers = yield* CommandQueue.read(r, classOf(value.type as Type))
  return { type: result!.type, numbers: Array.from(numbers) }
})

const ofArrays = Effect.fnUntraced(function*(name: string, dtype: Type) {
  const given = yield* Effect.forEach(
    operandsOf(dtype),
    (numbers) => DeviceArray.fromHost(numbers, { dtype: dtype as "c64" })
  )
  const call = arrays[name] as (...operands: ReadonlyArray<unknown>) => DeviceArray.Computed
  const array = yield* name === "astype" ? call(given[0], "u32") : call(...given.slice(0, arityOf(name)))
  return { type: array.dtype, numbers: Array.from((yield* DeviceArray.toHost(array)) as ArrayLike<number>) }
})

describe("a name that expressions and arrays share", () => {
  it("is there for what both have", () => {
    for (const name of ["remainder", "floorDivide", "minimum", "clip", "where", "logicalAnd", "astype", "leftShift"]) {
      assert.include(shared, name)
    }
    assert.notInclude(shared, "min")
  })

  for (const name of shared) {
    it.effect(`${name} is one function`, () =>
      Effect.gen(function*() {
        let compared = 0
        for (const dtype of ["f32", "i32", "u32", "c64"] as const) {
          const expected = yield* computed(name, dtype)
          if (expected === undefined) continue
          compared += 1
          deepStrictEqual(yield* ofArrays(name, dtype), expected)
        }
        assert.isAbove(compared, 0)
      }).pipe(Effect.scoped, Effect.provide(BufferPool.layer()), Effect.provide(Host.layer())))
  }
})

/**
 * `countOneBits` has its own name, because NumPy's `bitwise_count` counts the bits of the magnitude, which differs for
 * negative numbers.
 */
const named = /@see numpy\.(\w+)\n(?: \*[^\n]*\n)*? \*\/\nexport const (\w+)/g

const others: ReadonlyMap<string, string> = new Map([["countOneBits", "bitwise_count"]])

describe("a function that follows one of NumPy's", () => {
  const found = globSync(join(import.meta.dirname, "../../src/array/**/*.ts")).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(named)].map(([, numpy, name]) => ({ numpy: numpy!, name: name! }))
  )

  it("has its name", () => {
    assert.isAbove(found.length, 60)
    const wrong = found.filter(({ name, numpy }) =>
      name.toLowerCase() !== numpy.replaceAll("_", "").toLowerCase() && others.get(name) !== numpy
    )
    deepStrictEqual(wrong, [])
  })
})
