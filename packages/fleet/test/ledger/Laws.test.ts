/** The ledger decides as the reference does, whatever hosts, clients and brokers do. */
import { describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { runs } from "../../../../test/support/explore.ts"
import { FleetWorld } from "./FleetWorld.ts"

const options = fc.record({
  maxBypasses: fc.constantFrom(0, 1, 3),
  recovery: fc.constantFrom(0, 70),
  prefersMost: fc.boolean()
})

const steps = fc.array(fc.nat(16 * 3 * 8 * 27), { minLength: 20, maxLength: 150, size: "max" })

describe("the ledger", () => {
  it("decides as the reference does, keeps the bound on bypasses, and serves whatever can be served", () => {
    fc.assert(
      fc.property(options, steps, (options, steps) => {
        const world = new FleetWorld(options)
        for (const host of [0, 1, 2]) world.step(6 + 16 * host)
        for (const step of steps) world.step(step)
        world.finish()
      }),
      { numRuns: runs(3000) }
    )
  })
})
