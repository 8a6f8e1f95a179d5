/** How the viewer reads recordings. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import { leased, noFacts, ranOut, tooLarge } from "../../../../test/support/anyRecording.ts"
import { stepsTaken } from "../../../../test/support/stepsTaken.ts"
import * as Recording from "../../src/recording/Recording.ts"
import { Run } from "../../src/viewer/page/model/Run.ts"
import { Totals } from "../../src/viewer/page/model/Stack.ts"
import { readTimeline } from "../../src/viewer/ReadTimeline.ts"

const memory = (number: number, label: string | undefined): Recording.RecordedMemory => ({
  number,
  label,
  device: "host",
  kind: "pool",
  maxBytes: Infinity,
  maxHeldBytes: Infinity,
  maxBypasses: 8,
  deadlockTimeoutMillis: 1000
})

const changed = (memoryNumber: number, from: number, to: number) => ({
  ...leased({ size: 1 }, 1, "driver"),
  _tag: "LimitChanged" as const,
  budget: undefined,
  budgetNumber: undefined,
  memoryNumber,
  from,
  to
})

/** A recording of `count` memories of one label, each with a lease. */
const alike = (count: number): Recording.Recording =>
  Recording.make(
    { ...noFacts, memories: Array.from({ length: count }, (_, number) => memory(number, "worker")) },
    Array.from({ length: count }, (_, number) => ({
      ...leased({ at: number, size: 100 }, number, "driver"),
      memoryNumber: number
    }))
  )

/** The steps per memory for `count` memories. */
const steps = (count: number) => {
  const recording = alike(count)
  return stepsTaken("/observability/src/viewer/", () => readTimeline(recording, "test")) / count
}

describe("a recording in the viewer", () => {
  it("distinguishes memories by their names, and puts their blocks over each other", () => {
    const memories = [memory(1, "a"), memory(2, "a"), memory(3, undefined), memory(4, "b")]
    const events = [1, 2, 2, 3].map((number, block) => ({
      ...leased({ size: 10 * number }, block, "driver"),
      memoryNumber: number
    }))
    const timeline = readTimeline(Recording.make({ ...noFacts, memories }, events), "test")
    deepStrictEqual(timeline.memories.map(({ name }) => name), ["a", "a 2", "memory 3", "b"])
    deepStrictEqual([...timeline.blocks.address], [0, 10, 30, 50])
  })

  it("has a mark for what ran out and for what is larger than a limit, with the bytes of its memory then", () => {
    const events = [
      leased({ size: 100 }, 1, "driver", 128),
      tooLarge({ at: 1, size: 500, label: "large", callSite: "a.ts:1" }),
      { ...tooLarge({ at: 2, size: 64 }), _tag: "GaveUp" as const, why: "interrupted" as const },
      ranOut({ at: 3, size: 200 }, ["bin"])
    ]
    const { failures } = readTimeline(
      Recording.make({ ...noFacts, memories: [memory(1, "a")] }, events as never),
      "test"
    )
    const read = failures.map((
      { activeBytes, heldBytes, isTooLarge, label, stepsTried, site, size, state }
    ) => [state, isTooLarge, size, label, site, stepsTried.join(), activeBytes, heldBytes])
    deepStrictEqual(read, [[2, true, 500, "large", "a.ts:1", "", 100, 0], [4, false, 200, "", "", "bin", 1, 0]])
  })

  it("has the sum of the limits after each change of one, and none while a memory has none", () => {
    const memories = [{ ...memory(1, "a"), maxBytes: 100 }, memory(2, "b"), { ...memory(3, "c"), maxBytes: 30 }]
    const events = [changed(2, Infinity, 7), changed(1, 100, 50), changed(3, 30, Infinity), changed(3, Infinity, 0)]
    const timeline = readTimeline(Recording.make({ ...noFacts, memories }, events), "test")
    const limits = (of: number | undefined) => Array.from(new Totals(new Run(timeline), of).limit)
    deepStrictEqual(limits(undefined), [Infinity, 137, 87, Infinity, 57])
    deepStrictEqual(limits(2), [30, 30, 30, Infinity, 0])
  })

  it("takes as many steps for each memory, however many have one label", () => {
    const few = steps(100)
    assert.isAbove(few, 1)
    // Steps that grew with the memories would be 20 times as many. The engine counts no loops in functions that it has compiled before
    // it is asked to count, so the two figures differ by up to 2 times.
    assert.isAtMost(steps(2000), 4 * few)
  })
})
