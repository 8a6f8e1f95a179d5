/** Laws of the memory plan of traced commands. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as MemoryPlan from "../../src/services/queue/traced/MemoryPlan.ts"
import { runs } from "../support/explore.ts"

const spans = fc.array(
  fc.record({
    bytes: fc.nat({ max: 9 }),
    first: fc.nat({ max: 12 }),
    length: fc.nat({ max: 6 }),
    isResult: fc.boolean()
  })
    .map(({ bytes, first, isResult, length }) => ({ bytes, first, last: isResult ? Infinity : first + length })),
  { maxLength: 12 }
)

/** The most bytes that are needed by one command. */
const leastBytes = (all: ReadonlyArray<MemoryPlan.Span>): number =>
  Math.max(
    0,
    ...all.map(({ first }) =>
      all.filter((span) => span.first <= first && first <= span.last).reduce((sum, { bytes }) => sum + bytes, 0)
    )
  )

describe("A memory plan", () => {
  it("gives every span a block that is large enough, and never one block to two spans that share a command", () => {
    fc.assert(
      fc.property(spans, (all) => {
        const { blockOf, blocks } = MemoryPlan.plan(all)
        const results = all.filter(({ last }) => last === Infinity)
        assert.deepStrictEqual(blocks.slice(0, results.length), results.map(({ bytes }) => bytes))
        for (const [at, { bytes, first, last }] of all.entries()) {
          assert.isAtLeast(blocks[blockOf[at]!]!, bytes)
          for (const [index, other] of all.entries()) {
            if (index === at || blockOf[index] !== blockOf[at]) continue
            assert.isTrue(last < other.first || other.last < first)
          }
        }
        const planned = blocks.reduce((sum, bytes) => sum + bytes, 0)
        assert.isAtLeast(planned, leastBytes(all))
        assert.isAtMost(planned, all.reduce((sum, { bytes }) => sum + bytes, 0))
      }),
      { numRuns: runs(1000) }
    )
  })

  it("needs two blocks for a chain, one of which is the result's", () => {
    const chain = Array.from({ length: 6 }, (_, at) => ({ bytes: 8, first: at, last: at === 5 ? Infinity : at + 1 }))
    assert.deepStrictEqual(MemoryPlan.plan(chain).blocks, [8, 8])
  })
})
