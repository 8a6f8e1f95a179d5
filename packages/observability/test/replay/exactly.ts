/** Checks that a replay, which gives the machine its recorded inputs, repeats the recording event by event. */
import { assert } from "@effect/vitest"
import { deepStrictEqual, strictEqual } from "@effect/vitest/utils"
import { isGpuError } from "effect-gpu-pool/GpuError"
import * as Effect from "effect/Effect"
import * as Recording from "../../src/recording/Recording.ts"
import { ExactReplay } from "../../src/replay/exact/ExactReplay.ts"
import * as Replay from "../../src/replay/Replay.ts"
import { planOf } from "../../src/replay/ReplayOptions.ts"
import { comparable } from "./comparable.ts"

/** Returns what the replay reports. */
export const exactly = (recording: Recording.Recording): Replay.ReplayReport => {
  const plan = planOf("test", recording, undefined)
  if (isGpuError(plan)) throw plan
  const exact = new ExactReplay(recording, plan)
  const isSame = exact.run()
  strictEqual(exact.defect, undefined)
  assert.isTrue(isSame, "it differs")
  const report = Effect.runSync(Replay.run(recording))
  strictEqual(report.differsAt, undefined)
  deepStrictEqual(comparable(Recording.events(report.recording)), comparable(Recording.events(recording)))
  return report
}
