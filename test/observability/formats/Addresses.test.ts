/** Addresses for blocks: those that exist at the same time never overlap. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { readValues } from "../../../src/domain/arguments/ArgumentProblem.ts"
import { isGpuError } from "../../../src/domain/GpuError.ts"
import { Addresses } from "../../../src/observability/formats/Addresses.ts"

describe("Addresses", () => {
  it("keep blocks apart, give each one address, and take those of freed ones again", () => {
    const step = fc.record({
      ends: fc.boolean(),
      memory: fc.nat(1),
      block: fc.nat(8),
      capacity: fc.constantFrom(0, 1, 64, 64, 100)
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const addresses = new Addresses("test")
        const live = new Map<string, { readonly address: number; readonly capacity: number }>()
        let most = 0
        for (const { block, capacity, ends, memory } of steps) {
          const key = `${memory} ${block}`
          if (ends) {
            addresses.end(memory, block)
            live.delete(key)
            continue
          }
          const address = addresses.of(memory, block, capacity)
          const known = live.get(key)
          if (known !== undefined) {
            assert.strictEqual(address, known.address)
            continue
          }
          for (const other of live.values()) {
            assert.isTrue(
              address + Math.max(1, capacity) <= other.address || other.address + Math.max(1, other.capacity) <= address
            )
          }
          live.set(key, { address, capacity })
          most = Math.max(most, live.size)
          // No more places of each capacity than there were blocks at once.
          assert.isBelow(address, 0x1000 + most * (1 + 1 + 64 + 100))
        }
      }),
      { numRuns: 500 }
    )
  })

  it("are refused beyond what a number tells apart", () => {
    const addresses = new Addresses("TorchSnapshot.toText")
    addresses.of(1, 1, 2 ** 52)
    const error = readValues("test", () => addresses.of(1, 2, 2 ** 52))
    assert.isTrue(isGpuError(error) && error.message.includes("the blocks take more than 9007199254740991 B"))
  })
})
