/** How the viewer reads recordings. */
import { assert, describe, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Recording from "../../../src/observability/recording/Recording.ts"
import { readTimeline } from "../../../src/observability/viewer/ReadTimeline.ts"
import { leased, noFacts } from "../../support/anyRecording.ts"
import { stepsTaken } from "../../support/stepsTaken.ts"

const memory = (number: number, label: string | undefined): Recording.RecordedMemory => ({
  number,
  label,
  device: "host",
  kind: "pool",
  maxBytes: Infinity,
  maxHeldBytes: Infinity,
  maxOvertakes: 8,
  suspectAfterMillis: 1000
})

/** So many memories of one label, each with a lease. */
const alike = (count: number): Recording.Recording =>
  Recording.make(
    { ...noFacts, memories: Array.from({ length: count }, (_, number) => memory(number, "worker")) },
    Array.from({ length: count }, (_, number) => ({
      ...leased({ at: number, size: 100 }, number, "driver"),
      memoryNumber: number
    }))
  )

/** The steps for each of so many memories. */
const steps = (count: number) => {
  const recording = alike(count)
  return stepsTaken("/observability/viewer/", () => readTimeline(recording, "test")) / count
}

describe("a recording in the viewer", () => {
  it("tells memories apart by their names, and puts their blocks over each other", () => {
    const memories = [memory(1, "a"), memory(2, "a"), memory(3, undefined), memory(4, "b")]
    const events = [1, 2, 2, 3].map((number, block) => ({
      ...leased({ size: 10 * number }, block, "driver"),
      memoryNumber: number
    }))
    const timeline = readTimeline(Recording.make({ ...noFacts, memories }, events), "test")
    deepStrictEqual(timeline.memories.map(({ name }) => name), ["a", "a 2", "memory 3", "b"])
    deepStrictEqual([...timeline.blocks.address], [0, 10, 30, 50])
  })

  it("takes as many steps for each memory, however many have one label", () => {
    const few = steps(100)
    assert.isAbove(few, 1)
    assert.isAtMost(steps(2000), few)
  })
})
