/**
 * Each operation on the elements of arrays alone, on awkward and ordinary numbers. The tests record them together, so
 * that few kernels are enough.
 *
 * @internal
 */
import type { DeviceArray } from "@effect-gpu-pool/arrays/DeviceArray"
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DType } from "effect-gpu-pool/DType"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { anyNumber, awkwardNumbers, calmNumber } from "../expressions/AnyNumber.ts"
import { isSharp } from "../expressions/Interval.ts"
import { allows, read } from "../expressions/Reference.ts"
import { numberText } from "../expressions/Text.ts"
import { valueText } from "../expressions/Trials.ts"
import { Random } from "../Random.ts"
import { call } from "./ArrayFunctions.ts"
import { castValue, type ElementOperation, elementOperations } from "./ElementOperations.ts"
import { upload } from "./Execution.ts"
import type { Input } from "./Program.ts"

const test = inGroup("arrays")

/** Operands of two types. Every second item is a pair of awkward numbers; with enough items, every pair occurs. */
const inputsOf = (types: readonly [DType, DType], items: number): ReadonlyArray<Input> => {
  const random = new Random(items)
  const [rows, columns] = types.map(awkwardNumbers) as [ReadonlyArray<number>, ReadonlyArray<number>]
  const pairs = Array.from({ length: items }, (_, item): readonly [number, number] => {
    if (item % 2 === 0) return [calmNumber(random, types[0]) as number, calmNumber(random, types[1]) as number]
    const pair = items / 2 < rows.length * columns.length ? random.integer(0, items) : (item - 1) / 2
    return [rows[pair % rows.length]!, columns[Math.floor(pair / rows.length) % columns.length]!]
  })
  return [
    { dtype: types[0], shape: [items], numbers: pairs.map(([first]) => first) },
    { dtype: types[1], shape: [items], numbers: pairs.map(([, second]) => second) },
    { dtype: types[0], shape: [items], numbers: pairs.map(() => anyNumber(random, types[0]) as number) }
  ]
}

/** The operations that take arrays of the types, each with its operands. */
const operandsOf = ({ arity, name }: ElementOperation): ReadonlyArray<number> =>
  name === "where" ? [1, 0, 2] : [0, 1, 2].slice(0, arity)

const takes = (operation: ElementOperation, inputs: ReadonlyArray<Input>): boolean =>
  operation.types(operandsOf(operation).map((input) => inputs[input]!.dtype)) !== undefined

/** So many operations become two or three kernels. */
const batchSize = 12

const eachOperation = (types: readonly [DType, DType]): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    const { info } = yield* DeviceContext
    const rules = info.traits.floats
    const inputs = inputsOf(types, yield* scaled(800, 64))
    const arrays = yield* upload(inputs)
    const operations = elementOperations.filter((operation) => takes(operation, inputs))
    for (let from = 0; from < operations.length; from += batchSize) {
      const batch = operations.slice(from, from + batchSize)
      yield* Effect.scoped(Effect.gen(function*() {
        const results = yield* DeviceArrays.lazy(
          Effect.forEach(batch, (operation) =>
            call(
              operation.name,
              operandsOf(operation).map((input): DeviceArray => arrays.get(input)!)
            ))
        )
        for (const [at, operation] of batch.entries()) {
          compare(operation, inputs, (yield* DeviceArrays.toHost(results[at]!)) as ArrayLike<number>, rules)
        }
      }))
    }
  })

const compare = (
  operation: ElementOperation,
  inputs: ReadonlyArray<Input>,
  found: ArrayLike<number>,
  rules: FloatRules
): void => {
  const operands = operandsOf(operation).map((input) => inputs[input]!)
  const types = operation.types(operands.map(({ dtype }) => dtype))!
  let sharp = 0
  for (let item = 0; item < found.length; item++) {
    const values = operands.map(({ dtype, numbers }, at) =>
      castValue(read(numbers[item]!, dtype, rules), dtype, types[at]!, rules)
    )
    const expected = operation.value(values, types, rules)
    if (expected === undefined) continue
    if (typeof expected !== "object" || isSharp(expected)) sharp += 1
    if (!allows(expected, found[item]!)) {
      const texts = operands.map(({ dtype, numbers }) => `${dtype}(${numberText(numbers[item]!)})`)
      Expect.fail(
        `${operation.name}(${texts.join(", ")}) is ${numberText(found[item]!)}, expected ${valueText(expected)}`
      )
    }
  }
  const { name } = operation
  Expect.isTrue(
    `${sharp} of ${found.length} of ${name} could be compared, one of 32 must`,
    sharp >= found.length / 32
  )
}

const mixed = [["i32", "u32"], ["u32", "i32"], ["u32", "f32"], ["f32", "i32"]] as const

/** Most of them share their compiled code. */
const mixedOperations = Effect.gen(function*() {
  const { info } = yield* DeviceContext
  for (const types of info.traits.compiling === "slow" ? mixed.slice(0, 1) : mixed) yield* eachOperation(types)
})

const optional = [["f16", "f16"], ["i32", "f16"], ["f64", "f64"], ["f32", "f64"]] as const

const optionalOperations = Effect.gen(function*() {
  const { info } = yield* DeviceContext
  for (const types of optional) if (types.every((type) => info.dtypes.has(type))) yield* eachOperation(types)
})

export const tests: ReadonlyArray<ConformanceTest> = ([
  ["each operation on arrays of f32 gives what the reference gives", eachOperation(["f32", "f32"])],
  ["each operation on arrays of i32 gives what the reference gives", eachOperation(["i32", "i32"])],
  ["each operation on arrays of two types gives what the reference gives", mixedOperations],
  ["each operation on arrays of f16 and f64 does, where the device has them", optionalOperations]
] as const).map(([name, body]) => test(name, { heavy: true }, body))
