import { describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import type { ImageRegion } from "../../src/domain/images/ImageShape.ts"
import { MappedRegions } from "../../src/domain/images/MappedRegions.ts"

const three = (from: number, to: number) => {
  const each = fc.integer({ min: from, max: to })
  return fc.tuple(each, each, each)
}

const anyMapped = fc.record({
  region: fc.record({ origin: three(0, 3), extent: three(1, 3) }),
  writes: fc.boolean()
})

/** The elements of a region, by name. */
const elementsOf = ({ extent, origin: [left, top, front] }: ImageRegion): ReadonlySet<string> => {
  const elements = new Set<string>()
  for (let x = 0; x < extent[0]; x++) {
    for (let y = 0; y < extent[1]; y++) {
      for (let z = 0; z < extent[2]; z++) elements.add(`${left + x} ${top + y} ${front + z}`)
    }
  }
  return elements
}

describe("mapped regions", () => {
  it("forbid what shares an element with one of them where either writes", () => {
    fc.assert(
      fc.property(anyMapped, anyMapped, (one, other) => {
        const regions = new MappedRegions()
        regions.add(one)
        const theirs = elementsOf(other.region)
        const meets = [...elementsOf(one.region)].some((element) => theirs.has(element))
        strictEqual(regions.conflict(other) !== undefined, meets && (one.writes || other.writes))
        regions.remove(one)
        strictEqual(regions.conflict(other), undefined)
      }),
      { numRuns: 2000 }
    )
  })
})
