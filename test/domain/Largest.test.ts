import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { Largest } from "../../src/domain/pool/Largest.ts"

interface Element {
  readonly size: number
  readonly index: number
}

const largest = (sizes: ReadonlyArray<number>, count: number) => {
  let looks = 0
  const selection = new Largest<Element>(count, ({ size }) => {
    looks++
    return size
  })
  for (const [index, size] of sizes.entries()) selection.add({ size, index })
  const kept = selection.sorted()
  return { kept, looks }
}

describe("the largest of many", () => {
  it("are those of a sort of all, the first of one size first, without those of size 0", () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 9 }), { size: "large" })
    fc.assert(fc.property(sizes, fc.oneof(fc.nat(12), fc.constant(Infinity)), (all, count) => {
      const expected = all.map((size, index) => ({ size, index })).filter(({ size }) => size > 0)
        .sort((one, other) => other.size - one.size || one.index - other.index).slice(0, count)
      deepStrictEqual(largest(all, count).kept, expected)
    }))
  })

  it.each([1, 3, 100, 50_000, Infinity])("are found in few looks at each, where %d are wanted", (count) => {
    const rising = Array.from({ length: 50_000 }, (_, index) => index + 1)
    const { kept, looks } = largest(rising, count)
    deepStrictEqual(kept.map(({ size }) => size), rising.map((_, index) => rising.length - index).slice(0, count))
    // Each pair of a merge is looked at twice, and each element is sorted twice at most: now, and with the next ones.
    assert.isAtMost(looks, 5 * rising.length * Math.log2(rising.length))
  })
})
