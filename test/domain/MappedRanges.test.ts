import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { type MappedRange, MappedRanges } from "../../src/domain/MappedRanges.ts"

const anyRange = fc.record({ from: fc.nat(20), bytes: fc.integer({ min: 1, max: 10 }), writes: fc.boolean() })
  .map(({ bytes, from, writes }): MappedRange => ({ from, to: from + bytes, writes }))

const meet = (one: MappedRange, other: MappedRange): boolean => {
  for (let byte = one.from; byte < one.to; byte++) if (byte >= other.from && byte < other.to) return true
  return false
}

describe("mapped ranges", () => {
  it("forbid what meets one of them where either writes, and tell what is mapped", () => {
    fc.assert(fc.property(fc.array(fc.tuple(anyRange, fc.boolean())), (steps) => {
      const ranges = new MappedRanges()
      let model: ReadonlyArray<MappedRange> = []
      for (const [range, ends] of steps) {
        const expected = model.some((other) => meet(range, other) && (range.writes || other.writes))
        strictEqual(ranges.conflict(range) !== undefined, expected)
        if (!expected) {
          ranges.add(range)
          model = [...model, range]
        }
        if (ends && model.length > 0) {
          ranges.remove(model[0]!)
          ranges.remove(model[0]!)
          model = model.slice(1)
        }
        const state = model.length === 0 ? "unmapped" : model.some(({ writes }) => writes) ? "writing" : "reading"
        strictEqual(ranges.state, state)
      }
    }))
  })
})
