/**
 * Matrix products, also of views, with sizes around those of a kernel's tiles.
 *
 * @internal
 */
import type { DeviceArray } from "@effect-gpu-pool/arrays/DeviceArray"
import * as DeviceArrays from "@effect-gpu-pool/arrays/DeviceArray"
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
import * as ArrayModel from "./ArrayModel.ts"
import { upload } from "./Execution.ts"
import { matrixProduct } from "./MatrixProduct.ts"
import type { Input } from "./Program.ts"

const test = inGroup("arrays")

type Shape = ReadonlyArray<number>

const shapes: ReadonlyArray<readonly [Shape, Shape]> = [
  [[1, 1], [1, 1]],
  [[7, 9], [9, 5]],
  [[3, 33], [33, 16]],
  [[66, 5], [5, 17]],
  [[17, 2], [2, 67]],
  [[9, 0], [0, 20]],
  [[40], [40, 19]],
  [[19, 40], [40]],
  [[40], [40]],
  [[2, 1, 9, 4], [3, 4, 18]],
  [[4, 5, 3], [3, 21]]
]

/** The last two axes change places. */
const turned = (shape: Shape): Shape => [...shape.slice(0, -2), ...shape.slice(-1), ...shape.slice(-2, -1)]

const axesTurned = ({ length }: Shape): Shape => turned(Array.from({ length }, (_, axis) => axis))

const inputOf = (random: Random, dtype: DType, shape: Shape): Input => ({
  dtype,
  shape,
  numbers: Array.from({ length: ArrayModel.sizeOf(shape) }, () => calmNumber(random, dtype) as number)
})

const products = (dtype: DType, isTurned: boolean) =>
  Effect.gen(function*() {
    const rules = (yield* DeviceContext).info.traits.floats
    for (const [of, by] of shapes) {
      const random = new Random(1)
      const inputs = [of, by].map((shape) => inputOf(random, dtype, isTurned ? turned(shape) : shape))
      const [a, b] = inputs.map((input): ArrayModel.ArrayModel => {
        const elements = input.numbers.map((number) => read(number, dtype, rules))
        const model = { dtype, shape: input.shape, elements }
        return isTurned ? ArrayModel.transpose(model, axesTurned(input.shape)) : model
      }) as [ArrayModel.ArrayModel, ArrayModel.ArrayModel]
      const expected = matrixProduct(a, b, rules)
      const found = yield* Effect.scoped(Effect.gen(function*() {
        const arrays = yield* upload(inputs)
        const operand = (index: number) => {
          const array: DeviceArray = arrays.get(index)!
          return isTurned ? DeviceArrays.transpose(array, axesTurned(array.shape)) : Effect.succeed(array)
        }
        return yield* DeviceArrays.toHost(yield* DeviceArrays.matmul(yield* operand(0), yield* operand(1)))
      }))
      Expect.equal("elements of a product", found.length, expected.elements.length)
      for (const [at, element] of expected.elements.entries()) {
        if (element === undefined || allows(element, found[at]!)) continue
        Expect.fail(
          `matmul of ${dtype} [${of.join(", ")}] and [${by.join(", ")}]${isTurned ? ", transposed," : ""} is ` +
            `${numberText(found[at]!)} at ${at}, expected ${valueText(element)}`
        )
      }
    }
  })

/** Each combination of types has its own kernel, and drivers compile slowly. */
const eachProduct = Effect.gen(function*() {
  const { info } = yield* DeviceContext
  yield* products("f32", false)
  yield* products("f32", true)
  yield* products("i32", true)
  if (info.traits.compiling !== "none") return
  for (const dtype of ["u32", "f16", "f64"] as const) if (info.dtypes.has(dtype)) yield* products(dtype, false)
})

export const tests: ReadonlyArray<ConformanceTest> = [
  test("products of matrices of every size are what a loop gives", { heavy: true }, eachProduct)
]
