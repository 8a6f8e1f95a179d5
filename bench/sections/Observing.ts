/** What an observation of other libraries' memory costs for each buffer. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender, Device } from "../contenders/observing.ts"
import * as Measure from "../Measure.ts"
import * as Section from "../Section.ts"

const processes = 3

const ofDevice = (device: typeof Device.Type) =>
  Effect.map(Effect.replicateEffect(Contender.run(contender, { device }), processes), (runs) => ({
    device,
    alone: Measure.medians("µs", runs.map(({ alone }) => alone)),
    bare: Measure.medians("µs", runs.map(({ bare }) => bare)),
    framed: Measure.medians("µs", runs.map(({ framed }) => framed))
  }))

const measured = Effect.map(Effect.forEach(Device.literals, ofDevice), (rows) =>
  Section.findings({
    tables: [{
      title: "a buffer made and destroyed",
      columns: ["not observed", "added without frames", "added with 8 frames"],
      rows: rows.map(({ alone, bare, device, framed }) => ({
        name: `a device ${device}`,
        cells: [alone, bare, framed]
      }))
    }],
    checks: rows.flatMap(({ bare, device, framed }) => [
      { name: `without frames, a device ${device}`, figure: bare, atMost: 1 },
      { name: `with 8 frames, a device ${device}`, figure: framed, atMost: 10 }
    ])
  }))

export const section: Section.Section = {
  name: "observe",
  title: `what observing adds to a buffer, median of ${processes} processes`,
  run: Section.orReason(measured)
}
