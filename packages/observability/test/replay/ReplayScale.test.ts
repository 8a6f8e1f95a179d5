/** A recording with four times as much of anything takes about four times as many steps to check, read and replay. */
import { assert, describe, it } from "@effect/vitest"
import type { OfRequest, PoolEvent } from "effect-gpu-pool/PoolEvent"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { noFacts, requestNumbered } from "../../../../test/support/anyRecording.ts"
import { stepsTaken } from "../../../../test/support/stepsTaken.ts"
import * as Recording from "../../src/recording/Recording.ts"
import * as Replay from "../../src/replay/Replay.ts"
import { readTimeline } from "../../src/viewer/ReadTimeline.ts"

const facts = noFacts
const memory = noFacts.memories[0]!

const happened = { at: 0, memory: undefined, memoryNumber: 1, device: "" }

const asked = (request: number, more: Partial<OfRequest> = {}): OfRequest => ({ ...requestNumbered(request), ...more })

const leaseOf = (request: number, more: Partial<OfRequest> = {}): ReadonlyArray<PoolEvent> => [
  { _tag: "DriverAsked", ...asked(request, more), capacity: 10 },
  { _tag: "Leased", ...asked(request, more), from: "driver", block: request, capacity: 10 }
]

const released = (block: number, memoryNumber = 1): PoolEvent => ({
  _tag: "Released",
  ...happened,
  memoryNumber,
  pool: "BufferPool",
  block,
  capacity: 10,
  size: 10,
  label: undefined,
  callSite: undefined,
  why: "released"
})

/** A recording with `count` of something. */
type Growing = (count: number) => readonly [facts: Recording.RecordingFacts, events: ReadonlyArray<PoolEvent>]

const times = <A>(count: number, make: (number: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, at) => make(at + 1))

const limited: Recording.RecordingFacts = { ...facts, memories: [{ ...memory, maxBytes: 10 }] }

const growing: Readonly<Record<string, Growing>> = {
  "budgets, one after the other": (count) => [
    { ...facts, budgets: times(count, (number) => ({ number, memory: 1, kind: "budget", maxBytes: 10 })) },
    times(count, (number) => leaseOf(number, { budgetNumber: number })).flat()
  ],
  "budgets within each other, as deep as they may be": (count) => [
    {
      ...facts,
      budgets: times(count, (number) => {
        const parent = number % 100 === 1 ? undefined : number - 1
        return { number, memory: 1, kind: "budget" as const, maxBytes: 10, parent }
      })
    },
    []
  ],
  "memories without events": (count) => [
    { ...facts, memories: times(count, (number) => ({ ...memory, number })) },
    []
  ],
  "memories, one after the other": (count) => [
    {
      ...facts,
      memories: times(count, (number) => ({ ...memory, number })),
      families: times(
        count,
        (number) => ({ memory: number, pool: "BufferPool", family: "1", clears: false, sizes: [] })
      )
    },
    times(count, (number) => [...leaseOf(number, { memoryNumber: number }), released(number, number)]).flat()
  ],
  "blocks before the first event": (count) => [
    {
      ...facts,
      blocks: times(count, (block) => ({ memory: 1, block, capacity: 10, pool: "BufferPool", family: "1" }))
    },
    times(count, (block) => ({ _tag: "Leased", ...asked(block), from: "held", block, capacity: 10 }))
  ],
  "requests that wait at one time": (count) => [
    limited,
    [
      ...leaseOf(count + 1),
      ...times(count, (one): PoolEvent => ({ _tag: "Waiting", ...asked(one, { waitAtMost: 5 }) }))
    ]
  ],
  "requests that wait at one time within a reservation": (count) => [
    limited,
    [
      { _tag: "Reserved", ...asked(count + 2, { family: "" }) },
      ...leaseOf(count + 1, { under: count + 2 }),
      ...times(count, (request): PoolEvent => {
        return { _tag: "Waiting", ...asked(request, { waitAtMost: Infinity, under: count + 2 }) }
      })
    ]
  ],
  "reservations within each other": (count) => [
    limited,
    [
      ...times(count, (request): PoolEvent => {
        const under = request === 1 ? undefined : request - 1
        return { _tag: "Reserved", ...asked(request, { family: "", under }) }
      }),
      ...leaseOf(count + 1, { under: count }),
      // The outermost ends first, as when the inner ones run in fibers of their own.
      ...times(count, (request): PoolEvent => ({ _tag: "ReservationEnded", ...asked(request, { family: "" }) })),
      released(count + 1)
    ]
  ],
  "requests that fail while there are leases": (count) => [
    { ...facts, memories: [{ ...memory, maxBytes: 10 * count }] },
    [
      ...times(count, (request) => leaseOf(request)).flat(),
      ...times(count, (number): PoolEvent => {
        const stepsTried = ["bin"]
        return { _tag: "RanOut", ...asked(count + number), stepsTried, activeBytes: 10 * count, heldBytes: 0 }
      })
    ]
  ],
  "refusals of one request": (count) => [
    facts,
    times(count, (): ReadonlyArray<PoolEvent> => [
      { _tag: "DriverAsked", ...asked(1), capacity: 10 },
      { _tag: "Refused", ...asked(1), capacity: 10, why: "OutOfMemory" }
    ]).flat()
  ],
  "families": (count) => [
    facts,
    [
      ...times(count, (request) => leaseOf(request, { family: `${request}` })).flat(),
      ...times(count, (to): PoolEvent => {
        return {
          _tag: "LimitChanged",
          ...happened,
          budget: undefined,
          budgetNumber: undefined,
          from: 1e9,
          to: 1e9 + to
        }
      })
    ]
  ]
}

/**
 * Somewhat more than four, because the first 64 requests of a wait queue are examined again and again. A scan of all others for each
 * of 200 things is found that takes 7 % of their steps.
 */
const mostMore = 4.75

/** The steps for few and for many of something. */
const stepsOf = (work: (count: number) => () => void): readonly [few: number, many: number] => {
  // Objects that are created at the first use are not counted.
  work(10)()
  return [stepsTaken("/src/", work(200)), stepsTaken("/src/", work(800))]
}

const replay = (make: Growing, options?: Replay.ReplayOptions) => (count: number) => {
  const recording = Recording.make(...make(count))
  return () => void Effect.runSync(Replay.run(recording, options))
}

describe.each(Object.entries(growing))("a recording of %s", (_name, make) => {
  it("is made in steps for each", () => {
    const [few, many] = stepsOf((count) => () => void Recording.make(...make(count)))
    assert.isBelow(many / few, mostMore)
  })

  it("is read in steps for each", () => {
    const [few, many] = stepsOf((count) => {
      const lines = Effect.runSync(Stream.runCollect(Recording.toLines(Recording.make(...make(count)))))
      return () => void Effect.runSync(Recording.fromLines(Stream.fromIterable(lines)))
    })
    assert.isBelow(many / few, mostMore)
  })

  it("is replayed in steps for each, as recorded and under another policy", () => {
    for (const options of [undefined, { maxBytes: 20 }]) {
      const [few, many] = stepsOf(replay(make, options))
      assert.isBelow(many / few, mostMore)
    }
  })

  it("is drawn in steps for each", () => {
    const [few, many] = stepsOf((count) => {
      const recording = Recording.make(...make(count))
      return () => void readTimeline(recording, "")
    })
    assert.isBelow(many / few, mostMore)
  })
})
