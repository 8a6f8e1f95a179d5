/** Recordings: written, read and replayed. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender, events, names } from "../contenders/recordings.ts"
import * as Measure from "../Measure.ts"
import type * as Rounds from "../Rounds.ts"
import * as Section from "../Section.ts"

/** The ratio of each round to JSON.parse in that round. */
const ratioOf = (nanos: Rounds.Nanos, name: string): Measure.Measure =>
  Measure.make("x", nanos[name]!.map((sample, round) => sample / nanos[names.parse]![round]!))

const row = (nanos: Rounds.Nanos, name: string) => {
  const perEvent = Measure.make("ns", nanos[name]!)
  const perSecond = Measure.make("/s", nanos[name]!.map((sample) => 1e9 / sample))
  return { name, cells: [perEvent, perSecond, name === names.parse ? null : ratioOf(nanos, name)] }
}

const measured = Effect.map(Contender.run(contender, {}), (nanos) =>
  Section.findings({
    tables: [{
      title: `a recording of ${events.toLocaleString("en")} events, on the host backend`,
      columns: ["an event", "events", `to ${names.parse}`],
      rows: Object.values(names).map((name) => row(nanos, name))
    }],
    checks: [{ name: `${names.load} / ${names.parse}`, figure: ratioOf(nanos, names.load), atMost: 2.5 }]
  }))

export const section: Section.Section = {
  name: "recordings",
  title: "recordings written, read and replayed, turn by turn in one process",
  run: Section.orReason(measured)
}
