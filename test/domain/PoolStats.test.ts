import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { hitRate } from "../../src/domain/pool/PoolStats.ts"

const counts = fc.record({ hits: fc.nat(), misses: fc.nat() })

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
})
