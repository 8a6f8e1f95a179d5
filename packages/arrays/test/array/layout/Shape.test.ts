import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { GpuError } from "effect-gpu-pool/GpuError"
import * as fc from "fast-check"
import * as Shape from "../../../src/array/layout/Shape.ts"

const lengths = fc.integer({ min: 0, max: 3 })
const shapes = fc.array(lengths, { maxLength: 4 })

const messageOf = (value: unknown): string => {
  assert(value instanceof GpuError, "it is no error")
  return value.reason.message
}

describe("Shape", () => {
  it("broadcasts as NumPy does: aligned at the last axis, with ones repeated", () =>
    fc.assert(fc.property(shapes, shapes, (a, b) => {
      const rank = Math.max(a.length, b.length)
      const padded = (shape: ReadonlyArray<number>) => [...Array<number>(rank - shape.length).fill(1), ...shape]
      const pairs = padded(a).map((length, axis) => [length, padded(b)[axis]!] as const)
      const fits = pairs.every(([x, y]) => x === y || x === 1 || y === 1)
      const common = Shape.broadcast("test", a, b)
      if (fits) deepStrictEqual(common, pairs.map(([x, y]) => x === 1 ? y : x))
      else assert.include(messageOf(common), `${Shape.format(a)} and ${Shape.format(b)}`)
    })))

  it("refuses a common shape that nobody could count", () => {
    assert.include(messageOf(Shape.broadcast("test", [2 ** 30, 1], [1, 2 ** 30])), "2^53")
    deepStrictEqual(Shape.broadcast("test", [2 ** 20, 1], [1, 2 ** 30]), [2 ** 20, 2 ** 30])
  })

  it("says what is wrong with a list that is no shape", () => {
    const wrong: ReadonlyArray<readonly [Shape.Shape, string]> = [
      [[-1], "[-1]"],
      [[1.5], "[1.5]"],
      [[NaN], "[NaN]"],
      [[Infinity], "[Infinity]"],
      [[2 ** 53], "[9007199254740992]"],
      [Array<number>(33).fill(1), "33 axes"],
      [[2 ** 40, 2 ** 40], "2^53"],
      [[0, 2 ** 40, 2 ** 40], "2^53"]
    ]
    for (const [value, mention] of wrong) assert.include(messageOf(Shape.problem("test", value)), mention)
  })

  it("takes every shape that there can be", () => {
    for (const shape of [[], [0], [1, 1, 1], [0, 2 ** 52], [2, 3, 4, 5, 6, 7, 8, 9], Array<number>(32).fill(1)]) {
      strictEqual(Shape.problem("test", shape), undefined)
    }
  })

  it("counts axes from the front and from the back", () => {
    for (const [axis, expected] of [[0, 0], [2, 2], [-1, 2], [-3, 0], [-0, 0]] as const) {
      deepStrictEqual(Shape.axisOf("test", axis, [2, 3, 4]), expected)
    }
    for (const axis of [3, -4, 0.5, NaN]) {
      assert.include(messageOf(Shape.axisOf("test", axis, [2, 3, 4])), "[2, 3, 4]")
    }
    assert.include(messageOf(Shape.axisOf("test", 0, [])), "[]")
    for (const [axis, shown] of [["0", `"0"`], [1n, "1n"], [Symbol("x"), "Symbol(x)"], [[0], "[0]"]] as const) {
      strictEqual(
        messageOf(Shape.axisOf("test", axis as never, [2, 3])),
        `test: ${shown} was given for an axis of the shape [2, 3]. Use -2 to 1.`
      )
      assert.include(messageOf(Shape.countProblem("test", "the count", axis as never)), `the count is ${shown}.`)
    }
  })

  it("takes each axis of a list once", () => {
    deepStrictEqual(Shape.axesOf("test", [2, -3], [2, 3, 4]), [2, 0])
    deepStrictEqual(Shape.axesOf("test", -1, [2, 3, 4]), [2])
    deepStrictEqual(Shape.axesOf("test", [], [2, 3, 4]), [])
    assert.include(messageOf(Shape.axesOf("test", [2, -1], [2, 3, 4])), "axis 2")
    assert.include(messageOf(Shape.axesOf("test", [3], [2, 3, 4])), "no axis 3")
  })
})
