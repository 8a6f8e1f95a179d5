import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { PoolCore } from "../../src/domain/PoolCore.ts"
import { hitRate, wasteBytes } from "../../src/domain/PoolStats.ts"

const counts = fc.record({ hits: fc.nat(), misses: fc.nat() })
const blocks = fc.array(
  fc.record({ request: fc.integer({ min: 1, max: 1000 }), spare: fc.nat(1000), held: fc.boolean() }),
  { maxLength: 20 }
)

describe("PoolStats", () => {
  it("hitRate is the share of leases served from held blocks", () => {
    assert.strictEqual(hitRate({ hits: 3, misses: 1 }), 0.75)
    assert.strictEqual(hitRate({ hits: 0, misses: 0 }), 0)
  })

  it("hitRate lies between 0 and 1, and complements the share of misses", () => {
    fc.assert(fc.property(counts, ({ hits, misses }) => {
      const rate = hitRate({ hits, misses })
      assert.isAtLeast(rate, 0)
      assert.isAtMost(rate, 1)
      if (hits + misses > 0) assert.closeTo(rate + hitRate({ hits: misses, misses: hits }), 1, 1e-12)
    }))
  })

  it("wasteBytes is what active blocks have beyond their requests", () => {
    const core = new PoolCore<string>()
    assert.isTrue(core.reserve(64))
    core.addActive(0, 64, "a", 50)
    assert.isTrue(core.reserve(128))
    core.addHeld(0, 128, "b")
    assert.strictEqual(wasteBytes(core.stats()), 14)
  })

  it("wasteBytes sums the spare bytes of the active blocks alone", () => {
    fc.assert(fc.property(blocks, (all) => {
      const core = new PoolCore<number>()
      for (const [index, { held, request, spare }] of all.entries()) {
        assert.isTrue(core.reserve(request + spare))
        if (held) core.addHeld(0, request + spare, index)
        else core.addActive(0, request + spare, index, request)
      }
      const expected = all.reduce((sum, { held, spare }) => held ? sum : sum + spare, 0)
      assert.strictEqual(wasteBytes(core.stats()), expected)
    }))
  })
})
