/** Which plans have the same structure, so that they share a kernel, and which do not. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import type { PooledBuffer } from "effect-gpu-pool/BufferPool"
import type { DType } from "effect-gpu-pool/DType"
import { dense, DeviceArray, Pending } from "../../../src/array/ArrayValue.ts"
import type { ArrayOperation } from "../../../src/array/elementwise/ArrayOperation.ts"
import * as Plan from "../../../src/array/fusion/Plan.ts"
import * as PlanExpressions from "../../../src/array/fusion/PlanExpressions.ts"
import { Structures } from "../../../src/array/fusion/Structures.ts"

type Shape = ReadonlyArray<number>

const lease = () => ({}) as PooledBuffer

const stored = (shape: Shape, dtype: DType = "f32") => dense(dtype, shape, lease())

const view = (of: DeviceArray, shape: Shape, strides: Shape, offset: number) =>
  new DeviceArray(of.dtype, { shape, strides, offset }, of.lease!)

const operations = new Map<string, ArrayOperation>()

/** One object for each name. */
const named = (name: string): ArrayOperation => {
  const operation = operations.get(name) ?? { name, build: ([operand]) => operand! }
  operations.set(name, operation)
  return operation
}

const recorded = (
  name: string,
  shape: Shape,
  operands: ReadonlyArray<DeviceArray | number>,
  types?: ReadonlyArray<DType>,
  dtype: DType = "f32"
) => dense(dtype, shape, new Pending(named(name), operands, types ?? operands.map(() => "f32"), dtype))

const add = (shape: Shape, ...operands: ReadonlyArray<DeviceArray | number>) => recorded("add", shape, operands)

const planOf = (...results: ReadonlyArray<DeviceArray>) => Plan.make(results, results[0]!.shape)

const [x, y] = [stored([6]), stored([6])]
const table = stored([4, 6])
const turned = (rows: number, columns: number, offset: number) => view(table, [rows, columns], [1, rows], offset)

const structures = new Structures<string>(1000)
const [elementwise, sums] = [{}, {}]

const slotOf = (...results: ReadonlyArray<DeviceArray>) => structures.slot(elementwise, planOf(...results))

describe("Structures", () => {
  it("are the same for other memory, lengths, offsets, strides and numbers", () => {
    const pairs: ReadonlyArray<readonly [DeviceArray, DeviceArray]> = [
      [add([6], x, y), add([6], y, x)],
      [add([6], x, x), add([70], ...[stored([70])].flatMap((one) => [one, one]))],
      [add([6], x, 1), add([6], x, -0.5)],
      [add([6], x, y), add([2, 3], stored([2, 3]), stored([2, 3]))],
      [add([3], view(x, [3], [1], 1), 1), add([2], view(y, [2], [1], 4), 1)],
      [add([3], view(x, [3], [2], 0), 1), add([2], view(y, [2], [-1], 4), 1)],
      [add([4, 5], turned(4, 5, 0), 1), add([2, 3], turned(2, 3, 7), 2)],
      [add([6], x, stored([])), add([6], x, stored([1]))]
    ]
    for (const [one, other] of pairs) strictEqual(slotOf(one), slotOf(other))
  })

  it("differ in operations, types, reading and results", () => {
    const sum = add([6], x, y)
    const halves = stored([6], "f16")
    const plans = [
      [add([6], x, y)],
      [add([6], x, x)],
      [recorded("subtract", [6], [x, y])],
      [recorded("add", [6], [x, y], ["f32", "i32"])],
      [recorded("add", [6], [x, y], ["f32", "f32"], "u32")],
      [add([6], halves, y)],
      [add([6], x, halves)],
      [add([6], x, 1)],
      [add([6], 1, x)],
      [recorded("add", [6], [x, 1], ["f32", "i32"])],
      [add([5], view(x, [5], [1], 1), view(y, [5], [1], 0))],
      [add([5], view(x, [5], [1], 0), view(y, [5], [1], 1))],
      [add([3], view(x, [3], [2], 0), view(y, [3], [1], 0))],
      [add([6], x, stored([]))],
      [add([4, 6], table, stored([6]))],
      [add([4, 6], table, stored([4, 1]))],
      [add([4, 6], table, turned(4, 6, 0))],
      [add([2, 4, 6], table, stored([2, 1, 6]))],
      [sum, x],
      [sum, y],
      [sum, add([6], sum, y)],
      [add([6], sum, y), sum],
      [add([6], y, sum)],
      [add([6], sum, sum)],
      [add([6], sum, add([6], x, y))]
    ]
    const slots = new Set(plans.map((results) => slotOf(...results)))
    strictEqual(slots.size, plans.length)
    strictEqual(new Set([structures.slot(sums, planOf(sum)), slotOf(sum)]).size, 2)
  })

  it("keep what was put there, until there are too many", () => {
    const few = new Structures<number>(3)
    const plans = ["a", "b", "c", "d"].map((name) => planOf(recorded(name, [6], [x])))
    for (const [index, plan] of plans.slice(0, 3).entries()) few.slot(elementwise, plan).value = index
    deepStrictEqual(plans.slice(0, 3).map((plan) => few.slot(elementwise, plan).value), [0, 1, 2])
    few.slot(elementwise, plans[3]!).value = 3
    deepStrictEqual([few.slot(elementwise, plans[3]!).value, few.slot(elementwise, plans[0]!).value], [3, undefined])
  })

  it("are named after their first operations", () => {
    strictEqual(PlanExpressions.nameOf(planOf(add([6], add([6], x, 1), recorded("x<y", [6], [y])))), "add_x_y")
    const many = Array.from({ length: 9 }, (_, index) => `o${index}`).reduce<DeviceArray>(
      (array, name) => recorded(name, [6], [array]),
      x
    )
    strictEqual(PlanExpressions.nameOf(planOf(many)), "o0_o1_o2_o3_o4_o5_and_more")
  })

  it("find an array among many as they find it among few", () => {
    const terms = Array.from({ length: 40 }, (_, index) => add([6], x, index))
    const sum = [...terms, ...terms].reduce((total, term) => add([6], total, term))
    const { leaves, numbers, steps, weight } = planOf(sum)
    deepStrictEqual([leaves.length, numbers.length, steps.length], [1, 40, 1 + 40 + 40 + 79])
    strictEqual(weight, 1 + 40 + 79)
    assert.isFalse(Plan.fits(planOf(add([6], sum, sum), sum), 9, 8))
  })
})
