/** Addresses for blocks: those that exist at the same time never overlap. */
import { assert, describe, it } from "@effect/vitest"
import { GpuError } from "effect-gpu-pool/GpuError"
import * as fc from "fast-check"
import { runs } from "../../../../test/support/explore.ts"
import { Addresses } from "../../src/formats/Addresses.ts"

describe("Addresses", () => {
  it("keep blocks apart, give each one address, and take those of freed ones again", () => {
    const step = fc.record({
      ends: fc.boolean(),
      place: fc.nat(16),
      capacity: fc.constantFrom(0, 1, 64, 64, 100)
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const addresses = new Addresses("test")
        const live = new Map<number, { readonly address: number; readonly capacity: number }>()
        let most = 0
        for (const { capacity: wanted, ends, place } of steps) {
          const known = live.get(place)
          const capacity = known?.capacity ?? wanted
          if (ends) {
            addresses.end({ place, capacity })
            live.delete(place)
            continue
          }
          const address = addresses.of({ place, capacity })
          if (known !== undefined) {
            assert.strictEqual(address, known.address)
            continue
          }
          for (const other of live.values()) {
            assert.isTrue(
              address + Math.max(1, capacity) <= other.address || other.address + Math.max(1, other.capacity) <= address
            )
          }
          live.set(place, { address, capacity })
          most = Math.max(most, live.size)
          // First fit needs little more than what was live at one time.
          assert.isBelow(address, 0x1000 + most * (1 + 1 + 64 + 100))
        }
      }),
      { numRuns: runs(500) }
    )
  })

  it("are refused beyond what a number can distinguish", () => {
    const addresses = new Addresses("TorchSnapshot.toText")
    addresses.of({ place: 1, capacity: 2 ** 52 })
    assert.throws(
      () => addresses.of({ place: 2, capacity: 2 ** 52 }),
      GpuError,
      "the blocks take more than 9007199254740991 B"
    )
  })
})
