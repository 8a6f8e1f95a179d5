import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import { type HolderGroup, holderGroups } from "../../src/domain/pool/HolderSums.ts"
import { runs } from "../support/explore.ts"

type Lease = readonly [label: string | undefined, callSite: string | undefined, bytes: number]

const groupsOf = (leases: ReadonlyArray<Lease>, count: number): ReadonlyArray<HolderGroup> =>
  holderGroups((add) => leases.forEach((lease) => add(...lease)), count)

/** The sums by their definition. */
const sumsOf = (leases: ReadonlyArray<Lease>): ReadonlyMap<string, HolderGroup> => {
  const sums = new Map<string, HolderGroup>()
  for (const [label, callSite, bytes] of leases) {
    const known = sums.get(JSON.stringify([label, callSite]))
    sums.set(JSON.stringify([label, callSite]), {
      label,
      callSite,
      leases: (known?.leases ?? 0) + 1,
      bytes: (known?.bytes ?? 0) + bytes
    })
  }
  return sums
}

const text = fc.constantFrom(undefined, "a", "b", "c")
const lease = fc.tuple(text, text, fc.integer({ min: 1, max: 100 }))

describe("holders summed by label and call site", () => {
  it("are the groups with the most bytes, each with the sums of all its leases", () => {
    fc.assert(fc.property(fc.array(lease, { maxLength: 100 }), fc.integer({ min: 1, max: 20 }), (leases, count) => {
      const sums = sumsOf(leases)
      const groups = groupsOf(leases, count)
      const most = [...sums.values()].map(({ bytes }) => bytes).sort((one, other) => other - one).slice(0, count)
      deepStrictEqual(groups.map(({ bytes }) => bytes), most)
      for (const group of groups) deepStrictEqual(group, sums.get(JSON.stringify([group.label, group.callSite])))
    }))
  })

  it("are exact where each lease has a label of its own, wherever the leases of another stand", () => {
    const others = fc.integer({ min: 2000, max: 10_000 })
    fc.assert(
      fc.property(others, fc.array(fc.nat(), { minLength: 1, maxLength: 50 }), (count, places) => {
        const leases: Array<Lease> = Array.from({ length: count }, (_, at) => [`lease ${at}`, undefined, 1 + at % 3])
        for (const place of places) leases.splice(place % (leases.length + 1), 0, ["atlas", "leak.ts:1:1", 1000])
        const groups = groupsOf(leases, 5)
        strictEqual(groups.length, 5)
        deepStrictEqual(groups[0], {
          label: "atlas",
          callSite: "leak.ts:1:1",
          leases: places.length,
          bytes: 1000 * places.length
        })
        const sums = sumsOf(leases)
        for (const group of groups) deepStrictEqual(group, sums.get(JSON.stringify([group.label, group.callSite])))
      }),
      { numRuns: runs(30) }
    )
  })

  it("are all there where all are asked for", () => {
    const leases = Array.from({ length: 5000 }, (_, at): Lease => [`lease ${at}`, undefined, 1])
    strictEqual(groupsOf(leases, Infinity).length, 5000)
    assert.deepStrictEqual(groupsOf([], 5), [])
  })
})
