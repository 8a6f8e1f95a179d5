import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import * as StridedShape from "../../src/domain/data/StridedShape.ts"
import { isGpuError } from "../../src/domain/GpuError.ts"

const resolved = (options: StridedShape.ShapeOptions, available: number): StridedShape.StridedShape => {
  const layout = StridedShape.resolve("Mapping.test", options, available)
  if (isGpuError(layout)) throw layout
  return layout
}

const shapes = fc.array(fc.nat(4), { maxLength: 4 })

const strided = fc.array(fc.record({ length: fc.nat(4), stride: fc.nat(6) }), { maxLength: 3 }).map((axes) => ({
  shape: axes.map(({ length }) => length),
  strides: axes.map(({ stride }) => stride)
}))

/** Where the elements are, one by one. */
const places = ({ shape, strides }: Pick<StridedShape.StridedShape, "shape" | "strides">): ReadonlyArray<number> =>
  shape.reduce<ReadonlyArray<number>>(
    (found, length, axis) => found.flatMap((at) => Array.from({ length }, (_, index) => at + index * strides[axis]!)),
    [0]
  )

describe("a shape with strides", () => {
  it("spans from the first element to the last", () => {
    fc.assert(fc.property(strided, (options) => {
      const found = places(options)
      strictEqual(resolved(options, 1000).span, found.length === 0 ? 0 : Math.max(...found) + 1)
    }))
  })

  it("is packed when every element of the span belongs to one index", () => {
    fc.assert(fc.property(strided, (options) => {
      const found = places(options)
      const { packed, span } = resolved(options, 1000)
      if (span > 0) strictEqual(packed, new Set(found).size === found.length && found.length === span)
    }))
  })

  it("by rows or by columns is packed, each element once", () => {
    fc.assert(fc.property(shapes, fc.constantFrom("C" as const, "F" as const), (shape, order) => {
      const layout = resolved({ shape, order }, 1000)
      const sorted = [...places(layout)].sort((one, other) => one - other)
      deepStrictEqual(sorted, sorted.map((_, at) => at))
      assert.isTrue(layout.packed)
    }))
  })

  it("is refused beyond what there is", () => {
    fc.assert(fc.property(strided, (options) => {
      const { span } = resolved(options, 1000)
      if (span > 0) assert.isTrue(isGpuError(StridedShape.resolve("Mapping.test", options, span - 1)))
      assert.isFalse(isGpuError(StridedShape.resolve("Mapping.test", options, span)))
    }))
  })

  it("does not change with the program's lists", () => {
    const shape = [2, 2]
    const layout = resolved({ shape }, 4)
    shape[0] = 100
    deepStrictEqual(layout.shape, [2, 2])
  })
})
