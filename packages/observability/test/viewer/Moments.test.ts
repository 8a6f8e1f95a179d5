/** What the viewer says of leases, blocks and two moments, against models. */
import { Recording } from "@effect-gpu-pool/observability"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as fc from "fast-check"
import {
  anyEvents,
  bytesBy,
  type Event,
  freed,
  leased,
  noFacts,
  released,
  type StateModel,
  statesOf
} from "../../../../test/support/anyRecording.ts"
import { Analysis } from "../../src/viewer/page/model/Analysis.ts"
import { noLabel, noSite } from "../../src/viewer/page/model/Grouping.ts"
import type { Holder } from "../../src/viewer/page/model/Moment.ts"
import { Run } from "../../src/viewer/page/model/Run.ts"
import { readTimeline } from "../../src/viewer/ReadTimeline.ts"

const everything = { by: "label", filter: { text: "", memory: undefined } } as const

const analysisOf = (events: ReadonlyArray<Event>, facts = noFacts) =>
  new Analysis(new Run(readTimeline(Recording.make(facts, events), "test")), everything)

/** The leases of a state that pass a test, by label and call site, the most bytes first. */
const expected = (state: StateModel, passes: (lease: Event & { readonly _tag: "Leased" }) => boolean) =>
  bytesBy(
    { ...state, leases: new Map([...state.leases].filter(([, lease]) => passes(lease))) },
    ({ callSite, label }) => `${label ?? noLabel} ${callSite ?? noSite}`
  )

const found = (holders: ReadonlyArray<Holder>) => holders.map(({ bytes, label, site }) => [`${label} ${site}`, bytes])

const byName = (rows: ReadonlyArray<ReadonlyArray<unknown>>) => new Map(rows.map(([name, bytes]) => [name, bytes]))

describe("two moments", () => {
  it("have between them the leases that were made after A and are alive at B", () => {
    fc.assert(fc.property(anyEvents(200), fc.nat(), fc.nat(), (events, one, other) => {
      const { moments, passes } = analysisOf(events)
      const states = statesOf(events)
      const [a, b] = [one % states.length, other % states.length]
      const holders = found(moments.holders(b, passes, { after: a, until: b }))
      const made = new Set<Event>(events.slice(a))
      deepStrictEqual(byName(holders), byName(expected(states[b]!, (lease) => made.has(lease))))
    }))
  })
})

describe("leases older than a time", () => {
  it("are those that began so long before", () => {
    fc.assert(fc.property(anyEvents(200), fc.nat(), fc.nat(40), (events, at, millis) => {
      const { moments, passes } = analysisOf(events)
      const states = statesOf(events)
      const state = at % states.length
      const now = state === 0 ? 0 : events[state - 1]!.at
      const holders = moments.holders(state, passes, { after: undefined, until: moments.stateBefore(state, millis) })
      deepStrictEqual(byName(found(holders)), byName(expected(states[state]!, (lease) => now - lease.at >= millis)))
    }))
  })
})

describe("a place in the picture", () => {
  it("is the lease that the block has there", () => {
    fc.assert(fc.property(anyEvents(200), fc.nat(), (events, at) => {
      const { moments, passes, run } = analysisOf(events)
      const states = statesOf(events)
      const state = at % states.length
      const leases = moments.leasesIn(state, passes)
      strictEqual(leases.length, states[state]!.leases.size)
      const { blocks: { address }, leases: { block, bytes } } = run.timeline
      const addresses = leases.map((lease) => address[block[lease]!]!)
      deepStrictEqual(addresses, addresses.slice().sort((a, b) => a - b))
      for (const lease of leases) {
        for (const offset of [0, bytes[lease]! - 1]) strictEqual(moments.leaseAt(block[lease]!, state, offset), lease)
        strictEqual(moments.leaseAt(block[lease]!, state, bytes[lease]!), undefined)
      }
    }))
  })

  it("is the group whose area has its bytes", () => {
    fc.assert(fc.property(anyEvents(200), fc.nat(), (events, at) => {
      const { grouping, stack } = analysisOf(events)
      const state = at % statesOf(events).length
      let top = 0
      grouping.names.forEach((_, group) => {
        const bytes = stack.bytesOf(state, group)
        if (bytes > 0) {
          strictEqual(stack.groupAt(state, top), group)
          strictEqual(stack.groupAt(state, top + bytes - 1), group)
        }
        top += bytes
      })
      deepStrictEqual([stack.groupAt(state, top), stack.groupAt(state, -1)], [undefined, undefined])
    }))
  })
})

describe("a lease", () => {
  const callSite = "/app/Tiles.ts:4:9 ← decode (/app/Decoder.ts:20:3) ← /app/main.ts:7:1"
  const events = [
    leased({ at: 0, size: 100, label: "a" }, 1, "driver", 128),
    leased({ at: 1250, size: 60, label: "tile", callSite }, 2, "driver", 64),
    released(2000, 1, 100, 128),
    released(3500, 2, 60, 64),
    freed(4000, 2, 64)
  ]
  const { moments } = analysisOf(events)

  it("has its call stack, its block and its life", () => {
    const { capacity, lease, pool } = moments.factsOf({ block: 1, lease: 1 })
    assert(lease !== undefined)
    deepStrictEqual([capacity, pool, lease.size, lease.label, lease.frames], [64, "BufferPool", 60, "tile", [
      "/app/Tiles.ts:4:9",
      "decode (/app/Decoder.ts:20:3)",
      "/app/main.ts:7:1"
    ]])
    strictEqual(moments.lifeText(lease), "from 1.25 s (event 2) to 3.5 s (event 4): 2.25 s")
    const block = moments.factsOf({ block: 0, lease: undefined })
    deepStrictEqual([block.capacity, block.lease], [128, undefined])
    strictEqual(
      moments.lifeText(block),
      "from 0 ms (event 1) to the end of the recording, where it still exists: at least 4 s"
    )
  })

  it("from before the first event has an unknown beginning", () => {
    const before = {
      memory: 1,
      block: 1,
      capacity: 8,
      pool: "BufferPool",
      family: undefined,
      lease: { size: 5, label: "before", callSite: undefined }
    }
    const { moments } = analysisOf(
      [leased({ at: 0, size: 8 }, 2, "driver"), released(500, 1, 5, 8)],
      { ...noFacts, blocks: [before] }
    )
    const { lease } = moments.factsOf({ block: 0, lease: 0 })
    deepStrictEqual(lease?.frames, [])
    strictEqual(moments.lifeText(lease!), "from before the first event to 500 ms (event 2): at least 500 ms")
  })
})
