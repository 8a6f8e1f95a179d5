/**
 * The program that runs out of memory: its recording shows who has the memory, and the run with a bound does not fail.
 */
import { assert, describe, it } from "@effect/vitest"
import { strictEqual } from "@effect/vitest/utils"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { recorded } from "../../examples/leak/main.ts"
import { Analysis } from "../../packages/observability/src/viewer/page/model/Analysis.ts"
import { Run } from "../../packages/observability/src/viewer/page/model/Run.ts"
import { readTimeline } from "../../packages/observability/src/viewer/ReadTimeline.ts"

const analysisOf = (keep: number) =>
  Effect.gen(function*() {
    const running = yield* Effect.forkChild(recorded(400, keep))
    yield* TestClock.adjust("1 minute")
    const timeline = readTimeline(yield* Fiber.join(running), "")
    return new Analysis(new Run(timeline), { by: "label", filter: { text: "", memory: undefined } })
  })

describe("the leak", () => {
  it.effect("leaves a recording that names the line with most bytes when memory ran out", () =>
    Effect.gen(function*() {
      const { moments, passes, run } = yield* analysisOf(Infinity)
      const [failure] = run.timeline.failures
      const [most] = moments.holders(failure!.state, passes)
      strictEqual(most!.label, "preview")
      assert.match(most!.site, /Previews\.ts:29:/)
      assert.isAbove(most!.leases, 100)
    }))

  it.effect("is none with a bound", () =>
    Effect.gen(function*() {
      const { run } = yield* analysisOf(32)
      strictEqual(run.timeline.failures.length, 0)
    }))
})
