import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { isGpuError } from "effect-gpu-pool/GpuError"
import * as fc from "fast-check"
import { runs } from "../../../../../test/support/explore.ts"
import * as Layout from "../../../src/array/layout/Layout.ts"
import { reshapedStrides, shapeFor } from "../../../src/array/layout/Reshape.ts"
import { size } from "../../../src/array/layout/Shape.ts"
import * as Slice from "../../../src/array/layout/Slice.ts"
import { coordinatesOf, sliced } from "../ArrayModel.ts"

/** Where each element is, in row-major order. */
const places = ({ offset, shape, strides }: Layout.Layout): ReadonlyArray<number> =>
  coordinatesOf(shape).map((at) => at.reduce((place, position, axis) => place + position * strides[axis]!, offset))

const shapes = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 })

/** Any strides, also overlapping and negative ones: dense ones, their negatives, and halves of them. */
const layouts: fc.Arbitrary<Layout.Layout> = shapes.chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    offset: fc.integer({ min: 0, max: 9 }),
    strides: fc.oneof(
      fc.constant(Layout.rowMajor(shape)),
      fc.constant(Layout.rowMajor(shape).map((stride) => -2 * stride)),
      fc.tuple(...Layout.rowMajor(shape).map((stride) => fc.constantFrom(stride, stride, 0, 2 * stride))),
      fc.tuple(...shape.map(() => fc.integer({ min: -12, max: 12 })))
    )
  })
)

/** Shapes with this number of elements. */
const others = (elements: number): fc.Arbitrary<ReadonlyArray<number>> =>
  fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }).map((lengths) => {
    const shape: Array<number> = []
    let rest = elements
    for (const length of lengths) {
      if (rest % length !== 0 && rest !== 0) continue
      shape.push(length)
      rest /= length
    }
    return [...shape, rest]
  })

describe("Layout", () => {
  it("is contiguous exactly when the elements follow each other", () =>
    fc.assert(fc.property(layouts, (layout) => {
      const inOrder = places(layout).every((place, index) => place === layout.offset + index)
      strictEqual(Layout.isContiguous(layout), inOrder)
    })))

  it("collapses several layouts to fewer axes with the same places in the same order", () =>
    fc.assert(fc.property(layouts, fc.infiniteStream(fc.integer({ min: -3, max: 3 })), ({ shape, strides }, more) => {
      const second = shape.map(() => more.next().value as number)
      const collapsed = Layout.collapse(shape, [strides, second])
      for (const [array, original] of [strides, second].entries()) {
        deepStrictEqual(
          places({ shape: collapsed.shape, strides: collapsed.strides[array]!, offset: 0 }),
          places({ shape, strides: original, offset: 0 })
        )
      }
      assert.isAtMost(collapsed.shape.length, shape.length)
      assert.notInclude(collapsed.shape, 1)
    })))

  it("reads an array of one shape as one of a larger shape", () => {
    const layout = { shape: [3, 1], strides: [5, 1], offset: 7 }
    deepStrictEqual(Layout.broadcastStrides(layout, [2, 3, 4]), [0, 5, 0])
    deepStrictEqual(Layout.broadcastStrides(layout, [3, 1]), [5, 1])
    deepStrictEqual(Layout.broadcastStrides({ shape: [1], strides: [1], offset: 0 }, [0]), [0])
  })
})

const shapeOf = (shape: ReadonlyArray<number>, elements: number) => shapeFor("test", shape, elements, "it")

describe("Reshape", () => {
  it("finds strides for another shape exactly where there are any", () =>
    fc.assert(
      fc.property(
        layouts.chain((layout) => fc.tuple(fc.constant(layout), others(size(layout.shape)))),
        ([layout, shape]) => {
          const strides = reshapedStrides(layout, shape)
          const wanted = places(layout)
          if (strides !== undefined) {
            deepStrictEqual(places({ shape, strides, offset: layout.offset }), wanted)
            return
          }
          // the place of the second element along an axis determines its stride
          const steps = shape.map((length, axis) =>
            length < 2 ? 0 : wanted[shape.slice(axis + 1).reduce((a, b) => a * b, 1)]! - wanted[0]!
          )
          assert.notDeepEqual(places({ shape, strides: steps, offset: layout.offset }), [...wanted])
        }
      ),
      { numRuns: runs(2000) }
    ))

  it("fills in the length that is left open", () => {
    deepStrictEqual(shapeOf([2, -1], 6), [2, 3])
    deepStrictEqual(shapeOf([-1], 1), [1])
    deepStrictEqual(shapeOf([-1, 3], 0), [0, 3])
    deepStrictEqual(shapeOf([], 1), [])
    deepStrictEqual(shapeOf([0, 5], 0), [0, 5])
    const refused: ReadonlyArray<readonly [ReadonlyArray<number>, number]> = [
      [[-1, -1], 4],
      [[0, -1], 0],
      [[4, -1], 6],
      [[2, 2], 6],
      [[-2, -3], 6],
      [[], 0]
    ]
    for (const [shape, elements] of refused) assert.isTrue(isGpuError(shapeOf(shape, elements)), String(shape))
  })
})

const positions = (length: number, start?: number, stop?: number, step?: number) => {
  const found = Slice.progression({ start, stop, step }, length)
  return Array.from({ length: found.length }, (_, index) => found.start + index * found.step)
}

describe("Slice", () => {
  it("takes what Python takes", () => {
    const bounds = [undefined, -7, -4, -3, -2, -1, 0, 1, 2, 3, 4, 7]
    for (const length of [0, 1, 2, 3, 4]) {
      for (const start of bounds) {
        for (const stop of bounds) {
          for (const step of [undefined, -5, -2, -1, 1, 2, 5]) {
            deepStrictEqual(
              positions(length, start, stop, step),
              [...sliced(length, start, stop, step)],
              `${start}:${stop}:${step} of ${length}`
            )
          }
        }
      }
    }
  })

  it("agrees with lists written down from Python", () => {
    deepStrictEqual(positions(5, undefined, undefined, -2), [4, 2, 0])
    deepStrictEqual(positions(5, -2), [3, 4])
    deepStrictEqual(positions(5, 10, -10, -3), [4, 1])
    deepStrictEqual(positions(5, 3, 1), [])
    deepStrictEqual(positions(5, 3, 0, -1), [3, 2, 1])
    deepStrictEqual(positions(5, -100, 100, 4), [0, 4])
  })
})
