/**
 * The element types of results, compared with those that `../numpy/types.py` wrote down.
 *
 * There is one rule of exceptions: where NumPy's result has 64 bits although no operand has, ours has 32, complex numbers always
 * have parts of 32 bits, and where
 * NumPy computes functions of real numbers in 16 bits although no operand is a float, ours has 32. Besides, a shift has the
 * type of its first operand, and operations for which NumPy casts truth values to i8 are refused here, as is the order that NumPy
 * gives to complex numbers.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import { assert, layer } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { DType } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import { floating, promote, summed } from "../../../src/array/layout/Promotion.ts"
import { strictHost } from "../ArrayBackends.ts"
import numpy from "../numpy/types.json" with { type: "json" }

const dtypes = numpy.types.split(" ") as ReadonlyArray<DType.DType>

type Found = DType.DType | null

const bitsOf = (dtype: DType.DType): number => 8 * DType.byteSize(dtype)

const isInteger = (dtype: DType.DType): boolean => /^[iu]/.test(dtype)

const isFloat = (dtype: DType.DType): boolean => dtype.startsWith("f")

/** NumPy's type, changed by the one rule of exceptions. Of two integers without a type for both, the result has a sign. */
const expected = (theirs: string | null, operands: ReadonlyArray<DType.DType>): Found => {
  if (theirs === null || theirs === "None") return null
  if (theirs === "c128") return "c64"
  const type = theirs as DType.DType
  if (bitsOf(type) === 64 && operands.every((operand) => bitsOf(operand) < 64)) {
    return `${type[0] as "f" | "i" | "u"}32`
  }
  return type === "f16" && !operands.some(isFloat) ? "f32" : type
}

/** The type that an operation gives, or null if it refuses the types. */
const typeOf = (operands: ReadonlyArray<DType.DType>, call: Call) =>
  Effect.gen(function*() {
    const [x, y] = yield* Effect.forEach(operands, (dtype) => DeviceArray.ones([2], { dtype }))
    return yield* DeviceArray.lazy(call(x!, y)).pipe(
      Effect.map(({ dtype }): Found => dtype),
      Effect.catch((error) => error.reason._tag === "InvalidRequest" ? Effect.succeed<Found>(null) : Effect.fail(error))
    )
  })

type Any = DeviceArray.DeviceArray

type Call = (x: Any, y?: Any) => DeviceArray.Computed

/** Operations of arrays by name, which the tables of NumPy have, so that any can be called with any types. */
const operations = DeviceArray as unknown as {
  readonly [name: string]: (...arrays: ReadonlyArray<Any>) => ReturnType<Call>
}

const call = (name: string): Call => {
  if (name === "where") return (x, y) => DeviceArray.where(x, x, y!)
  if (name === "concatenate") return (x, y) => DeviceArray.concatenate([x, y!])
  const operation = operations[name]!
  // Reductions take options, and are functions of them where there is one argument that is no array.
  return (x, y) => y === undefined ? operation(x) : operation(x, y)
}

/** What NumPy computes of complex numbers by an order of their real parts. */
const needsOrder = ["minimum", "maximum", "less", "lessEqual", "greater", "greaterEqual", "min", "max"]

const isRefused = (name: string, ...operands: ReadonlyArray<DType.DType>): boolean =>
  operands.every((dtype) => dtype === "bool")
    ? castsTruths.includes(name)
    : operands.includes("c64") && needsOrder.includes(name)

const castsTruths = ["floorDivide", "remainder", "power", "square", "conj"]

layer(strictHost)("the element types of results", (it) => {
  it("are those of every type", () => {
    assert.sameMembers([...dtypes], [...DType.all])
  })

  it("are promoted as by numpy.result_type", () => {
    for (const a of dtypes) {
      const row = numpy.promotion[a].split(" ")
      deepStrictEqual(
        dtypes.map((b) => promote(a, b)),
        dtypes.map((b, at) => expected(row[at]!, [a, b])),
        a
      )
      strictEqual(promote(a, a), a)
      deepStrictEqual(dtypes.map((b) => promote(b, a)), dtypes.map((b) => promote(a, b)))
    }
  })

  for (const [name, table] of Object.entries(numpy.unary)) {
    it.effect(`of ${name} are NumPy's`, () =>
      Effect.forEach(dtypes, (a) =>
        Effect.map(typeOf([a], call(name)), (found) => {
          strictEqual(found, isRefused(name, a) ? null : expected(table[a], [a]), `${name} of ${a}`)
        })))
  }

  for (const [name, table] of Object.entries(numpy.binary)) {
    it.effect(`of ${name} are NumPy's`, () =>
      Effect.forEach(
        dtypes,
        (a) =>
          Effect.forEach(dtypes, (b, at) =>
            Effect.map(typeOf([a, b], call(name)), (found) => {
              const theirs = expected(table[a].split(" ")[at]!, [a, b])
              const shifts = name.endsWith("Shift")
              const shifted = isInteger(a) && isInteger(b) ? a : null
              const ours = shifts ? shifted : isRefused(name, a, b) ? null : theirs
              strictEqual(found, ours, `${name} of ${a} and ${b}`)
            }))
      ))
  }

  for (const [name, table] of Object.entries(numpy.reductions)) {
    it.effect(`of ${name} are NumPy's`, () =>
      Effect.forEach(dtypes, (a) =>
        Effect.map(typeOf([a], call(name)), (found) => {
          strictEqual(found, isRefused(name, a) ? null : expected(table[a], [a]), `${name} of ${a}`)
        })))
  }

  it("are precise in TypeScript", () => {
    const integer: "i32" = promote("u32", "i32")
    const float: "f32" = promote("f16", "u32")
    const root: "f32" = floating("u32")
    const sum: "u32" = summed("u8")
    deepStrictEqual([integer, float, root, sum], ["i32", "f32", "f32", "u32"])
  })
})
