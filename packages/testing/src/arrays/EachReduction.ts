/**
 * Each reduction alone, over rows that are long enough to be divided among items.
 *
 * @internal
 */
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
import type { BackendTraits } from "effect-gpu-pool/BackendTraits"
import { DeviceContext } from "effect-gpu-pool/DeviceContext"
import type { DType } from "effect-gpu-pool/DType"
import * as Effect from "effect/Effect"
import { type ConformanceTest, inGroup } from "../ConformanceTest.ts"
import * as Expect from "../Expect.ts"
import { calmNumber } from "../expressions/AnyNumber.ts"
import { allows, read } from "../expressions/Reference.ts"
import { numberText } from "../expressions/Text.ts"
import { valueText } from "../expressions/Trials.ts"
import { Random } from "../Random.ts"
import { call } from "./ArrayFunctions.ts"
import * as ArrayModel from "./ArrayModel.ts"
import { upload } from "./Execution.ts"
import type { Input } from "./Program.ts"
import { type ArrayReduction, reductions } from "./Reductions.ts"

const test = inGroup("arrays")

const shape = [3, 1100]

const amount = {
  none: { dtypes: ["f32", "i32", "u32", "f16", "f64"], axes: [undefined, 0, 1] },
  fast: { dtypes: ["f32", "i32"], axes: [undefined, 1] },
  slow: { dtypes: ["f32"], axes: [1] }
} as const satisfies {
  readonly [C in BackendTraits["compiling"]]: { dtypes: ReadonlyArray<DType>; axes: ReadonlyArray<number | undefined> }
}

const inputOf = (dtype: DType): Input => {
  const random = new Random(1)
  return { dtype, shape, numbers: Array.from({ length: 3300 }, () => calmNumber(random, dtype) as number) }
}

const reduction = (dtype: DType, { name, result, value }: ArrayReduction, axis: number | undefined) =>
  Effect.scoped(Effect.gen(function*() {
    const rules = (yield* DeviceContext).info.traits.floats
    const input = inputOf(dtype)
    const array = (yield* upload([input])).get(0)!
    const model = { dtype, shape, elements: input.numbers.map((number) => read(number, dtype, rules)) }
    const expected = ArrayModel.reduce(
      model,
      axis === undefined ? [0, 1] : [axis],
      false,
      result(dtype),
      (elements) => value(elements, dtype, rules)
    )
    const found = yield* DeviceArrays.toHost(yield* call(name, [array, axis === undefined ? {} : { axis }]))
    for (const [at, element] of expected.elements.entries()) {
      if (element === undefined || allows(element, found[at]!)) continue
      Expect.fail(
        `${name} of ${dtype} [${shape.join(", ")}] along axis ${axis} is ${numberText(found[at]!)} at ${at}, ` +
          `expected ${valueText(element)}`
      )
    }
  }))

/** Each needs a kernel or two, and drivers compile slowly, so these have only some of the types. */
const eachReduction = Effect.gen(function*() {
  const { info } = yield* DeviceContext
  const { axes, dtypes } = amount[info.traits.compiling]
  for (const dtype of dtypes) {
    if (!info.dtypes.has(dtype)) continue
    for (const rule of reductions) {
      for (const axis of axes) yield* reduction(dtype, rule, axis)
    }
  }
})

export const tests: ReadonlyArray<ConformanceTest> = [
  test("each reduction of long rows is what a loop gives", { heavy: true }, eachReduction)
]
