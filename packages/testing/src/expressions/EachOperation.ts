/**
 * Each operation and each awkward constant alone against the reference, on awkward and on ordinary numbers.
 *
 * @internal
 */
import * as Expr from "@effect-gpu-pool/arrays/Expr"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DType } from "effect-gpu-pool/DType"
import type { ExprType } from "effect-gpu-pool/Operation"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup, scaled, type TestServices } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { Random } from "../Random.ts"
import { applied, constantOf, type Signature, signaturesOf } from "./AnyExpression.ts"
import { anyNumber, awkwardNumbers } from "./AnyNumber.ts"
import type { Arguments } from "./Reference.ts"
import { supporting } from "./Supporting.ts"
import { numberText } from "./Text.ts"
import { type Bench, leavesOf, runTrials, type Trial } from "./Trials.ts"

const test = inGroup("expressions")

/** Three operands of the type, and one for shifts and conditions. */
const benchOf = (type: DType): Bench => ({
  vectors: [
    { name: "x", dtype: type },
    { name: "y", dtype: type },
    { name: "z", dtype: type },
    { name: "k", dtype: "u32" }
  ],
  scalars: []
})

/** The operations whose rules depend on this type; those on truth values are with u32. */
const signaturesFor = (type: DType): ReadonlyArray<Signature> =>
  signaturesOf([...new Set<DType>([type, "f32", "i32", "u32"])]).filter(({ operands, operation }) => {
    const decisive = operands[operation === "where" ? 1 : 0]
    return decisive === type || (type === "u32" && decisive === "bool")
  })

const trialsOf = (type: DType, bench: Bench, items: number): ReadonlyArray<Trial> => {
  const [x, y, z, k] = leavesOf(bench).elements as [
    Expr.Expr<DType>,
    Expr.Expr<DType>,
    Expr.Expr<DType>,
    Expr.Expr<"u32">
  ]
  const truths = [Expr.less(k, 8), Expr.astype(Expr.bitwiseAnd(k, 1), "bool"), Expr.less(k, 16)]
  const operand = (wanted: ExprType, at: number): Expr.Expr =>
    wanted === type ? [x, y, z][at]! : wanted === "bool" ? truths[at]! : k
  const operations = signaturesFor(type).map((signature) => {
    const expr = applied(signature, signature.operands.map(operand))
    const element = expr.type === "bool" && type !== "bool" ? Expr.astype(expr, "u32") : expr
    return { name: signature.operation, expr: element }
  })
  const constants = awkwardNumbers(type).map((number) => ({
    name: `constant ${numberText(number)}`,
    expr: Expr.where(truths[0]!, constantOf(type, number), x)
  }))
  const starts = new Map<ExprType, number>()
  return [...operations, ...constants].map((trial) => {
    const start = starts.get(trial.expr.type) ?? 0
    starts.set(trial.expr.type, start + items)
    return { ...trial, start }
  })
}

/** Each trial gets every pair of awkward numbers, if it has enough items, and then ordinary ones. */
const inputsOf = (type: DType, trials: number, items: number): Arguments => {
  const random = new Random(items)
  const special = awkwardNumbers(type)
  const pairs = special.length ** 2
  const choose = (divisor: number) => (_: unknown, at: number) => {
    const item = at % items
    if (items <= pairs) return random.integer(0, 1) === 0 ? random.pick(special) : anyNumber(random, type)
    return item < pairs ? special[Math.floor(item / divisor) % special.length]! : anyNumber(random, type)
  }
  const length = trials * items
  return {
    vectors: {
      x: Array.from({ length }, choose(1)),
      y: Array.from({ length }, choose(special.length)),
      z: Array.from({ length }, () => anyNumber(random, type)),
      k: Array.from({ length }, () => random.integer(0, 3) === 0 ? anyNumber(random, "u32") : random.integer(0, 65))
    },
    offsets: {},
    scalars: {}
  }
}

const eachOperation = (type: DType): Effect.Effect<void, unknown, TestServices> =>
  Effect.gen(function*() {
    const { info } = yield* DeviceContext
    const items = yield* scaled(512, 24)
    const bench = benchOf(type)
    const trials = trialsOf(type, bench, items)
    const inputs = inputsOf(type, trials.length, items)
    const rules = info.traits.floats
    const compared = yield* runTrials(trials, { bench, inputs, items, rules })
    for (const [at, { elements, sharp }] of compared.entries()) {
      const { name } = trials[at]!
      Expect.isTrue(
        `${sharp} of ${elements} results of ${name} could be compared, one of eight must`,
        sharp >= elements / 8
      )
    }
  })

export const tests: ReadonlyArray<ConformanceTest> = [
  ...(["f32", "i32", "u32"] as const).map((type) =>
    test(`each operation on ${type} gives what the reference gives`, { heavy: true }, eachOperation(type))
  ),
  ...(["f16", "f64", "i8", "u8", "i16", "u16", "i64", "u64", "bool"] as const).map((type) =>
    test(`each operation on ${type} does, where the device has it`, {
      heavy: true
    }, supporting(type, eachOperation(type)))
  )
]
