/** What a pool under a device of other libraries costs for each buffer. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/installed.ts"
import * as Measure from "../Measure.ts"
import * as Section from "../Section.ts"

const processes = 3

const measured = Effect.map(Effect.replicateEffect(Contender.run(contender, {}), processes), (runs) => {
  const raw = Measure.medians("µs", runs.map(({ raw }) => raw))
  const pooled = Measure.medians("µs", runs.map(({ pooled }) => pooled))
  const shared = Measure.medians("µs", runs.map(({ shared }) => shared))
  return Section.findings({
    tables: [{
      title: "a buffer of 4 KiB made and destroyed",
      columns: ["without a pool", "with it", "with it / without"],
      rows: [
        { name: "install: create + destroy", cells: [raw, pooled, Measure.ratioToMiddle(pooled, raw)] },
        { name: "InstalledPool.layer: the same", cells: [raw, shared, Measure.ratioToMiddle(shared, raw)] }
      ]
    }],
    checks: [{ name: "with a pool", figure: pooled, atMost: 1 }]
  })
})

export const section: Section.Section = {
  name: "install",
  title: `a pool under a device of other libraries, median of ${processes} processes`,
  run: Section.orReason(measured)
}
