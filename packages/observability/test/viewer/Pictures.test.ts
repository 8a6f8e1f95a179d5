/** The viewer's computations before it draws, against models that would be too slow for it. */
import { Recording } from "@effect-gpu-pool/observability"
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import * as Base64 from "effect/encoding/Base64"
import * as fc from "fast-check"
import {
  activeIn,
  anyEvents,
  bytesBy,
  type Event,
  freed,
  leased,
  managedIn,
  noFacts,
  released,
  statesOf,
  waited,
  waiting
} from "../../../../test/support/anyRecording.ts"
import { above } from "../../src/Bisection.ts"
import { compressed, decompressed, fromText, pack, unpack } from "../../src/viewer/Packing.ts"
import { Analysis } from "../../src/viewer/page/model/Analysis.ts"
import { BlockPictures } from "../../src/viewer/page/model/BlockPicture.ts"
import { noLabel, noSite } from "../../src/viewer/page/model/Grouping.ts"
import { Intervals } from "../../src/viewer/page/model/Intervals.ts"
import { Peaks } from "../../src/viewer/page/model/Peaks.ts"
import { pictureOf, rangeOf } from "../../src/viewer/page/model/Picture.ts"
import { Run } from "../../src/viewer/page/model/Run.ts"
import { readTimeline } from "../../src/viewer/ReadTimeline.ts"

const timelineOf = (events: ReadonlyArray<Event>) => readTimeline(Recording.make(noFacts, events), "test")
const runOf = (events: ReadonlyArray<Event>) => new Run(timelineOf(events))
const everything = { by: "label", filter: { text: "", memory: undefined } } as const
const analysisOf = (events: ReadonlyArray<Event>) => new Analysis(runOf(events), everything)

describe("each state of a recording", () => {
  it("has the bytes, blocks and waits of the model", () => {
    fc.assert(fc.property(anyEvents(300), (events) => {
      const { run, stack, totals } = analysisOf(events)
      const states = statesOf(events)
      strictEqual(run.states, states.length)
      states.forEach((state, at) => {
        const leasedBytes = [...state.leases.values()].reduce((sum, { capacity }) => sum + capacity, 0)
        deepStrictEqual(
          [stack.active[at], totals.managed[at], totals.leased[at], totals.waiting[at]],
          [activeIn(state), managedIn(state), leasedBytes, state.waiting]
        )
      })
    }))
  })

  it("has the groups' bytes and the holders of the model", () => {
    fc.assert(fc.property(anyEvents(300), (events) => {
      const { grouping, moments, passes, stack } = analysisOf(events)
      const bytes = new Float64Array(grouping.names.length)
      statesOf(events).forEach((state, at) => {
        const expected = new Map(bytesBy(state, ({ label }) => label ?? noLabel))
        stack.read(at, bytes)
        grouping.names.forEach((name, group) => {
          if (group < 12) strictEqual(bytes[group], expected.get(name) ?? 0)
        })
        strictEqual(bytes.reduce((sum, of) => sum + of, 0), activeIn(state))
        deepStrictEqual(
          moments.holders(at, passes).map(({ bytes }) => bytes),
          bytesBy(state, ({ callSite, label }) => `${label ?? noLabel} ${callSite ?? noSite}`).map(([, bytes]) => bytes)
        )
      })
    }))
  })

  it("has no two blocks at one place", () => {
    fc.assert(fc.property(anyEvents(300), (events) => {
      const { blocks } = timelineOf(events)
      const end = (at: number): number => blocks.address[at]! + blocks.capacity[at]!
      for (let one = 0; one < blocks.start.length; one++) {
        for (let other = 0; other < one; other++) {
          const together = blocks.start[one]! < blocks.end[other]! && blocks.start[other]! < blocks.end[one]!
          const overlap = blocks.address[one]! < end(other) && blocks.address[other]! < end(one)
          assert.isFalse(together && overlap)
        }
      }
    }))
  })
})

const sorted = (places: ReadonlyArray<number>) => [...places].sort((a, b) => a - b)

describe("a picture", () => {
  it("shows in each column the greatest and the least of all its states", () => {
    fc.assert(
      fc.property(anyEvents(300), fc.constantFrom("time", "events"), fc.nat(99), fc.integer({ min: 1, max: 100 }), (
        events,
        axis,
        from,
        share
      ) => {
        const { run, stack, totals } = analysisOf(events)
        const positions = run.positions(axis)
        const whole = run.length(axis)
        const view = { axis, from: whole * from / 100, to: whole * Math.min(1, (from + share) / 100) } as const
        const columns = 37
        const picture = pictureOf(stack, totals, view, columns, true)
        const states = statesOf(events)
        picture.x.forEach((left, column) => {
          const right = column + 1 < columns ? picture.x[column + 1]! : view.to
          // those that begin in the column, and the one that was there before
          const before = positions.filter((x) => x <= left).length - 1
          const shown = states.filter((_, at) =>
            at === Math.max(0, before) || (positions[at]! > left && positions[at]! < right)
          )
          const top = picture.tops.at(-1)?.[column] ?? 0
          strictEqual(top, Math.max(...shown.map(activeIn)))
          strictEqual(picture.least[column], Math.min(...shown.map(activeIn)))
          strictEqual(picture.managed[column], Math.max(...shown.map(managedIn)))
          strictEqual(picture.waiting[column], Math.max(...shown.map(({ waiting }) => waiting)))
        })
      }),
      { endOnFailure: true }
    )
  })

  it("leaves no state out where columns stand for many, and puts each where it belongs", () => {
    const pauses = fc.constantFrom(0, 0, 1, 1, 50)
    const times = fc.array(fc.tuple(fc.integer({ min: 1, max: 400 }), pauses), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(
        times,
        fc.constantFrom("time", "events"),
        fc.integer({ min: 1, max: 40 }),
        (bursts, axis, columns) => {
          let now = 0
          const run = runOf(
            bursts.flatMap(([count, pause]) =>
              Array.from({ length: count }, () => leased({ at: now += pause, size: 1 }, 1, "driver"))
            )
          )
          const positions = run.positions(axis)
          const whole = run.length(axis)
          const ranges = Array.from(
            { length: columns },
            (_, at) => rangeOf(run, { axis, from: 0, to: whole }, columns, at)
          )
          const width = whole / columns
          strictEqual(ranges[0]!.first, Math.max(0, above(positions, 0) - 1))
          strictEqual(ranges.at(-1)!.last, run.states - 1)
          ranges.forEach(({ first, last, left }, at) => {
            assert.isAtMost(first, last)
            if (at > 0) assert.isAtMost(first, ranges[at - 1]!.last + 1)
            assert.isBelow(positions[last]!, Math.max(left + 1.125 * width, positions[first]! + 1e-9))
            // the one before it may last into the column
            const second = positions[Math.min(last, first + 1)]!
            assert.isTrue(first === last || second >= left - 0.125 * width)
          })
        }
      )
    )
  })

  it("has every block and lease that is long enough, and no other", () => {
    fc.assert(fc.property(anyEvents(200), fc.nat(200), fc.nat(200), fc.nat(20), (events, one, other, shortest) => {
      const run = runOf(events)
      const view = { axis: "events", from: Math.min(one, other), to: Math.max(one, other) + 1 } as const
      const { blocks, leases } = run.timeline
      const seen = (columns: { readonly start: Int32Array; readonly end: Int32Array }) =>
        Array.from(columns.start, (start, at) => ({ at, start, end: columns.end[at]! }))
          .filter(({ end, start }) => start < view.to && end > view.from && end - start >= shortest)
          .map(({ at }) => at)
      const picture = new BlockPictures(run, "events").picture(view, shortest, 0)
      deepStrictEqual(sorted(picture.blocks), seen(blocks))
      deepStrictEqual(sorted(picture.leases), seen(leases))
    }))
  })

  it("takes no more looks for a hundred times the events", () => {
    const looks = [3000, 300_000].map((count) => {
      const events = Array.from(
        { length: count },
        (_, at) => at % 2 === 0 ? leased({ at, size: 1 + at % 7 }, at % 5, "driver", 8) : released(at, (at - 1) % 5)
      )
      const { run, stack, totals } = analysisOf(events)
      return pictureOf(stack, totals, { axis: "time", from: 0, to: run.length("time") }, 1000).looks
    })
    assert.isBelow(looks[1]!, 6 * looks[0]!)
    assert.isBelow(looks[1]!, 300_000)
  })
})

describe("indexes", () => {
  it("find the greatest and the least of any range", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1, maxLength: 300 }), fc.nat(), fc.nat(), (list, one, other) => {
        const values = Float64Array.from(list)
        const [first, last] = [one % list.length, other % list.length].sort((a, b) => a - b) as [number, number]
        const range = list.slice(first, last + 1)
        const [greatest, least] = [new Peaks(values), new Peaks(values, -1)].map((peaks) => peaks.between(first, last))
        assert.isTrue(greatest! >= first && greatest! <= last && least! >= first && least! <= last)
        strictEqual(list[greatest!], Math.max(...range))
        strictEqual(list[least!], Math.min(...range))
      })
    )
  })

  it("find the intervals at a place", () => {
    const interval = fc.tuple(fc.nat(100), fc.nat(60))
    fc.assert(fc.property(fc.array(interval, { maxLength: 200 }), fc.nat(170), (list, x) => {
      const sorted = list.sort(([one], [other]) => one - other)
      const start = Float64Array.from(sorted, ([from]) => from)
      const end = Float64Array.from(sorted, ([from, length]) => from + length)
      const found: Array<number> = []
      new Intervals(start, end).at(x, (place) => found.push(place))
      deepStrictEqual(
        found.sort((a, b) => a - b),
        sorted.flatMap((_, at) => start[at]! <= x && end[at]! > x ? [at] : [])
      )
    }))
  })
})

describe("a timeline in a page", () => {
  it("is read as it was written", async () => {
    await fc.assert(
      fc.asyncProperty(anyEvents(100), async (events) => {
        const timeline = timelineOf(events)
        const text = Base64.encode(await compressed(pack(timeline)))
        assert.match(text, /^[\w+/=]*$/)
        deepStrictEqual(unpack(await decompressed(fromText(text))), timeline)
      }),
      { numRuns: 20 }
    )
  })
})

const factsOf = (events: ReadonlyArray<Event>) => {
  const { run, stack, totals } = analysisOf(events)
  return { active: [...stack.active], managed: [...totals.managed], strays: run.timeline.strays }
}

describe("an odd recording", () => {
  it("counts events of blocks that it does not know", () => {
    deepStrictEqual(
      factsOf([released(0, 7), freed(1, 8), leased({ size: 4 }, 1, "held", 8), released(2, 1), released(3, 1)]),
      {
        active: [0, 0, 0, 4, 0, 0],
        managed: [0, 0, 0, 8, 8, 8],
        strays: 3
      }
    )
  })

  it("takes a second lease of a block as the newer one, and a second block of its number", () => {
    deepStrictEqual(
      factsOf([
        leased({ size: 4 }, 1, "driver", 8),
        leased({ size: 5 }, 1, "held", 8),
        leased({ size: 6 }, 1, "driver", 16)
      ]),
      { active: [0, 4, 5, 6], managed: [0, 8, 8, 16], strays: 0 }
    )
  })

  it("adds huge bytes", () => {
    const { active } = factsOf([
      leased({ size: Number.MAX_SAFE_INTEGER }, 4, "driver"),
      leased({ size: Number.MAX_SAFE_INTEGER }, 5, "driver")
    ])
    deepStrictEqual(active, [0, Number.MAX_SAFE_INTEGER, 2 * Number.MAX_SAFE_INTEGER])
  })

  it("has times that never go back on the axis", () => {
    const run = runOf([5, 3, 9].map((at) => leased({ at, size: 1 }, at, "driver")))
    deepStrictEqual([...run.positions("time")], [0, 0, 0, 4])
  })

  it("has waits without an end, and ends of no wait", () => {
    const { totals } = analysisOf([waited({ size: 1, request: 9 }, true), waiting({ size: 1, request: 1 })])
    deepStrictEqual([...totals.waiting], [0, 0, 1])
  })

  it("may be empty", () => {
    deepStrictEqual(factsOf([]), { active: [0], managed: [0], strays: 0 })
  })

  it("begins with the blocks that were there before it", () => {
    const block = { memory: 1, capacity: 8, pool: "BufferPool", family: undefined }
    const lease = { size: 5, label: "before", callSite: undefined }
    const recording = Recording.make(
      { ...noFacts, blocks: [{ ...block, block: 1, lease }, { ...block, block: 2, lease: undefined }] },
      [released(0, 1)]
    )
    const { grouping, stack, totals } = new Analysis(new Run(readTimeline(recording, "")), everything)
    deepStrictEqual([[...stack.active], [...totals.managed], grouping.names], [[5, 0], [16, 16], ["before"]])
  })
})
