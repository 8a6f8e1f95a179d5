/** Recordings of several hosts on one axis of time. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import {
  anyStep,
  type Event,
  eventsOf,
  leased,
  noFacts,
  released,
  statesOf
} from "../../../../test/support/anyRecording.ts"
import { runs } from "../../../../test/support/explore.ts"
import * as Recording from "../../src/recording/Recording.ts"
import { pictureOf } from "../../src/viewer/page/model/Picture.ts"
import { Runs } from "../../src/viewer/page/Runs.ts"
import { readTimeline } from "../../src/viewer/ReadTimeline.ts"
import * as Viewer from "../../src/viewer/Viewer.ts"

const begun = 1_700_000_000_000

const recordingOf = (events: ReadonlyArray<Event>, facts: Partial<Recording.RecordingFacts> = {}) =>
  Recording.make({ ...noFacts, ...facts }, events)

const timelineOf = (...given: Parameters<typeof recordingOf>) => readTimeline(recordingOf(...given), "test")

/** A lease of some bytes from one time to another. */
const lease = (from: number, to: number, size: number): ReadonlyArray<Event> => [
  leased({ at: from, size, label: "x" }, 1, "driver"),
  released(to, 1, size)
]

const one = lease(1000, 3000, 64)
const other = lease(2500, 9000, 32)

/** The bytes of leases that a lane draws in each of ten columns. */
const drawnIn = (hosts: Runs, host: number) => {
  const { stack, totals } = hosts.hosts[host]!
  const view = { axis: "time", from: 0, to: 10_000 } as const
  return Array.from(pictureOf(stack, totals, view, 10, true).tops[0]!)
}

describe("the runs of several hosts", () => {
  it("have one axis, which begins at the first event of all and ends where the last one ends", () => {
    const hosts = new Runs([timelineOf(other), timelineOf(one)], true)
    deepStrictEqual(hosts.hosts.map(({ run }) => Array.from(run.positions("time"))), [[1500, 1500, 8000], [0, 0, 2000]])
    assert.closeTo(hosts.whole("time"), 8000 * 1.005, 1e-6)
    strictEqual(hosts.second, undefined)
  })

  it("are drawn from their first event until they were taken", () => {
    const late = timelineOf(other.slice(0, 1), { takenAt: begun + 7000 })
    const hosts = new Runs([timelineOf(lease(1000, 9000, 64)), late], true)
    deepStrictEqual(drawnIn(hosts, 0), [64, 64, 64, 64, 64, 64, 64, 64, 0, 0])
    // from 1.5 s to 6 s on the axis that begins at 1 s
    deepStrictEqual(drawnIn(hosts, 1), [0, 32, 32, 32, 32, 32, 0, 0, 0, 0])
  })

  it("show what was there before the first event only from that on", () => {
    const block = { memory: 1, block: 7, capacity: 16, pool: "BufferPool", lease: { size: 16 } }
    const hosts = new Runs([timelineOf(one), timelineOf(lease(3000, 9000, 32), { blocks: [block] })], true)
    const { run, stack } = hosts.hosts[1]!
    deepStrictEqual([stack.active[0], run.stateAt("time", 0)], [16, 0])
    strictEqual(run.knows("time", 0, 1999), false)
    strictEqual(run.knows("time", 0, 2001), true)
  })

  it("keep each event at its own clock's time, whatever the recordings", () =>
    fc.assert(
      fc.property(
        fc.array(fc.array(anyStep, { minLength: 1, maxLength: 30 }).map(eventsOf), { minLength: 1, maxLength: 4 }),
        (recordings) => {
          const hosts = new Runs(recordings.map((events) => timelineOf(events)), true)
          const begin = Math.min(...recordings.flatMap((events) => events.slice(0, 1).map(({ at }) => at)))
          hosts.hosts.forEach(({ run }, host) => {
            const positions = run.positions("time")
            const events = recordings[host]!
            // the clocks of these recordings are never set back
            events.forEach(({ at }, place) => strictEqual(positions[place + 1], at - begin))
            strictEqual(hosts.hosts[host]!.run.states, statesOf(events).length)
            assert.isAtMost(run.length("time"), hosts.whole("time"))
          })
        }
      ),
      { numRuns: runs(100) }
    ))

  it("keep the chosen grouping, and lose the memory of the filter, when another host is shown", () => {
    const hosts = new Runs([timelineOf(one), timelineOf(other)], true)
    hosts.choose({ by: "size", filter: { text: "", memory: 0 } })
    deepStrictEqual(hosts.hosts.map(({ grouping: { names } }) => names), [["up to 64 B"], ["up to 32 B"]])
    hosts.show(1)
    deepStrictEqual([hosts.shown, hosts.choice], [1, { by: "size", filter: { text: "", memory: undefined } }])
    strictEqual(hosts.first.run.timeline.times[0], begun + 2500)
  })

  it("stay on their axis when a newer recording of one has lost its first events", () => {
    const hosts = new Runs([timelineOf(one), timelineOf(other)], true)
    hosts.renew(timelineOf(other.slice(1), { dropped: 1, blocks: [] }), 1)
    deepStrictEqual(Array.from(hosts.hosts[1]!.run.positions("time")), [8000, 8000])
    strictEqual(hosts.hosts[1]!.run.timeline.title, "test")
  })

  it("begin at the first event of a fleet that had none at first", () => {
    const hosts = new Runs([timelineOf([]), timelineOf([])], true)
    hosts.renew(timelineOf(other), 1)
    hosts.renew(timelineOf([...other, ...lease(9500, 9600, 8)]), 0)
    deepStrictEqual(Array.from(hosts.hosts[0]!.run.positions("time")), [0, 0, 6500, 7000, 7100])
  })

  it("are no hosts where one run is drawn over another", () => {
    const compared = new Runs([timelineOf(one), timelineOf(other)])
    deepStrictEqual(compared.hosts, [])
    deepStrictEqual(Array.from(compared.second!.run.positions("time")), [0, 0, 6500])
    strictEqual(compared.second!.run.knows("time", 1e9, 2e9), true)
  })
})

describe("Viewer.fleetHtml", () => {
  it.effect("has a recording for each host, and says that they are hosts", () =>
    Effect.gen(function*() {
      const hosts = [recordingOf(one, { host: "a" }), recordingOf(other, { host: "b" })] as const
      const page = yield* Viewer.fleetHtml(hosts)
      strictEqual(page.split("<script type=\"application/gzip\" data-recording>").length, 3)
      assert.include(page, "<title>A fleet</title>")
      assert.include(page, `<main id="app" data-fleet></main>`)
      const live = yield* Viewer.fleetHtml(hosts, { live: "/data", refresh: "2 seconds" })
      assert.include(live, `<main id="app" data-fleet data-live="/data" data-refresh="2000"></main>`)
    }))
})
