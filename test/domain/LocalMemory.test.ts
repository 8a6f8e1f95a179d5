import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Result from "effect/Result"
import * as fc from "fast-check"
import * as LocalMemory from "../../src/domain/characterisation/LocalMemory.ts"

const banks = { banks: 32, granularity: 4, simultaneousWorkItems: 32 }

describe("accesses of local memory", () => {
  it.each([
    [4, [32, 32], undefined, 32, 0],
    [4, [32, 32], [32, 33], 1, undefined],
    [4, [16, 16], undefined, 8, 0],
    [8, [256], undefined, 2, 0],
    [1, [32], undefined, 1, undefined],
    [4, [2, 32, 32], undefined, 32, 1],
    [4, [1], undefined, 1, undefined],
    // Rows shorter than the items that go together: the others are in the next row, as in PyOpenCL.
    [4, [2, 17], [4, 33], 2, 1],
    [4, [33, 4], [49, 5], 2, 1],
    [4, [8, 4], [8, 32], 8, 0]
  ])("of %d bytes in %o stored as %o", (itemSize, shape, stored, multiplicity, axis) => {
    deepStrictEqual(LocalMemory.conflicts(banks, itemSize, shape, stored), Result.succeed({ multiplicity, axis }))
  })

  it("never conflict in memory without banks, whose shapes are checked all the same", () => {
    const none = { ...banks, banks: undefined }
    deepStrictEqual(LocalMemory.conflicts(none, 4, [32, 32]), Result.succeed({ multiplicity: 1, axis: undefined }))
    assert.isTrue(Result.isFailure(LocalMemory.conflicts(none, 4, [4], [3])))
  })

  it("never conflict where one item goes at a time", () => {
    const one = { ...banks, simultaneousWorkItems: 1 }
    deepStrictEqual(LocalMemory.conflicts(one, 4, [32, 32]), Result.succeed({ multiplicity: 1, axis: undefined }))
  })

  it("never conflict where the distance in words is odd", () => {
    const odd = fc.integer({ min: 0, max: 40 }).map((half) => 2 * half + 1)
    fc.assert(fc.property(fc.integer({ min: 1, max: 64 }), odd, (rows, stored) => {
      const found = LocalMemory.conflicts(banks, 4, [rows, stored])
      deepStrictEqual(found, Result.succeed({ multiplicity: 1, axis: undefined }))
    }))
  })

  it.each([
    [0, [4], [4]],
    [4, [], []],
    [4, [4], [3]],
    [4, [4], [4, 4]],
    [4, [1.5], [2]]
  ])("of %d bytes in %o stored as %o are no question", (itemSize, shape, stored) => {
    assert.isTrue(Result.isFailure(LocalMemory.conflicts(banks, itemSize, shape, stored)))
  })
})
