/** Frames of the viewer. */
import { Effect } from "effect"
import { chromium } from "../../scripts/backends.ts"
import { Missing } from "../ChildProgram.ts"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/frames.ts"
import * as Measure from "../Measure.ts"
import * as Section from "../Section.ts"

const few = 10_000
const many = 1_000_000

const measured = Effect.gen(function*() {
  const browser = yield* Effect.promise(chromium)
  if (browser === undefined) return yield* new Missing({ why: "Chromium" })
  const [ofFew, ofMany] = yield* Contender.run(contender, { browser, events: [few, many] })
  const millis = (rounds: typeof ofFew, what: "script" | "slowScript" | "between"): Measure.Measure =>
    Measure.make("ms", (rounds ?? []).map((round) => round[what]))
  const ratio = Measure.make("x", (ofMany ?? []).map(({ script }, at) => script / ofFew![at]!.script))
  const row = (name: string, rounds: typeof ofFew, ratio: Measure.Measure | null) => (
    { name, cells: [millis(rounds, "script"), ratio, millis(rounds, "slowScript"), millis(rounds, "between")] }
  )
  return Section.findings({
    tables: [{
      title: "a frame of the viewer, while one zooms and pans",
      columns: ["script, median", `to ${few.toLocaleString("en")} events`, "script, 99 of 100", "to the next frame"],
      rows: [
        row(`${few.toLocaleString("en")} events`, ofFew, null),
        row(`${many.toLocaleString("en")} events`, ofMany, ratio)
      ]
    }],
    checks: [
      { name: "script of a frame of a million events", figure: millis(ofMany, "script"), atMost: 8 },
      { name: "... to that of ten thousand", figure: ratio, atMost: 4 }
    ]
  })
})

export const section: Section.Section = {
  name: "frames",
  title: "frames of the viewer in Chromium, recordings turn by turn",
  run: Section.orReason(measured)
}
