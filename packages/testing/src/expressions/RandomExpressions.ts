/**
 * Random expressions against the reference.
 *
 * @internal
 */
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DType } from "effect-gpu-pool/DType"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, replay, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { forSeeds, type Random, seeds } from "../Random.ts"
import { AnyExpression } from "./AnyExpression.ts"
import { supporting } from "./Supporting.ts"
import { anyInputs, type Bench, type Compared, leavesOf, runTrials, type Trial } from "./Trials.ts"

const test = inGroup("expressions")

/** Expressions of each type in one kernel, and items of each expression. */
const perType = 16
const items = 24

const benchOf = (type: DType): Bench => ({
  vectors: [
    { name: "x", dtype: type },
    { name: "y", dtype: "f32", offset: 2 },
    { name: "j", dtype: "i32" },
    { name: "k", dtype: "u32" }
  ],
  scalars: [{ name: "a", dtype: type }, { name: "b", dtype: "i32" }, { name: "c", dtype: "u32" }]
})

/** One kernel of random expressions. */
const kernel = Effect.fnUntraced(function*(random: Random, type: DType) {
  const { info } = yield* DeviceContext
  const only = yield* replay
  const bench = benchOf(type)
  const types: ReadonlyArray<DType> = [...new Set<DType>([type, "f32", "i32", "u32"])]
  const expressions = new AnyExpression(random, leavesOf(bench))
  const trials = Array.from({ length: perType * types.length }, (_, at): Trial => ({
    name: `case ${at + 1}`,
    expr: expressions.next(types[at % types.length]!, random.integer(1, 4)),
    start: Math.floor(at / types.length) * items
  }))
  const inputs = anyInputs(random, bench, perType * items)
  const chosen = only?.case === undefined ? trials : trials.filter((_, at) => at + 1 === only.case)
  return yield* runTrials(chosen, { bench, inputs, items, rules: info.traits.floats })
})

/** Each kernel is compiled, and drivers compile slowly. */
const randomExpressions = (type: DType, kernels: number): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    const { info } = yield* DeviceContext
    const count = yield* scaled(info.traits.compiling === "none" ? kernels * 15 : kernels, 2)
    const total: Array<Compared> = []
    yield* forSeeds(seeds(count), (random) => Effect.map(kernel(random, type), (compared) => total.push(...compared)))
    const only = yield* replay
    if (only === undefined) expectEnough(total)
  })

/** Most elements must be compared; otherwise the test would pass without checking much. */
const expectEnough = (total: ReadonlyArray<Compared>): void => {
  const sum = (of: (compared: Compared) => number) => total.reduce((sum, compared) => sum + of(compared), 0)
  const elements = sum((compared) => compared.elements)
  const sharp = sum((compared) => compared.sharp)
  const numbers = sum((compared) => compared.numbers)
  Expect.isTrue(`${sharp} of ${elements} elements could be compared, three of four must`, sharp >= elements * 0.75)
  Expect.isTrue(`${numbers} of ${elements} elements are numbers, two of three must be`, numbers >= elements * 2 / 3)
}

export const tests: ReadonlyArray<ConformanceTest> = [
  test("random expressions of f32, i32 and u32 match the reference", { heavy: true }, randomExpressions("f32", 8)),
  ...(["f16", "f64", "i8", "u8", "i16", "u16", "i64", "u64", "bool"] as const).map((type) =>
    test(`random expressions with ${type} do, where the device has it`, {
      heavy: true
    }, supporting(type, randomExpressions(type, 3)))
  )
]
