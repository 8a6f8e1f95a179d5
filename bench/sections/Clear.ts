/** What it costs to hand memory out cleared. */
import { Effect } from "effect"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/clear.ts"
import * as Measure from "../Measure.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"

const sizes = [4096, 65_536, 1_048_576, 16_777_216]

const perHit = (backend: Backend.Name, clear: "never" | "acquire") =>
  Effect.map(
    Contender.run(contender, { backend, clear, sizes }),
    (bySize) => bySize.map((nanos) => Measure.scale(Measure.make("ns", nanos), "µs", 1e-3))
  )

const on = (backend: Backend.Name) =>
  Effect.map(
    Effect.all([perHit(backend, "never"), perHit(backend, "acquire")]),
    ([never, acquire]) =>
      Section.findings({
        tables: [{
          title: `${backend}, a hit and its share of the wait`,
          columns: [`clear: "never"`, `clear: "acquire"`, "ratio"],
          rows: sizes.map((size, index) => ({
            name: `${size / 1024} KiB`,
            cells: [never[index]!, acquire[index]!, Measure.ratioToMiddle(acquire[index]!, never[index]!)]
          }))
        }]
      })
  )

export const section: Section.Section = {
  name: "clear",
  title: "zero-filling recycled memory, rounds of one process",
  run: Effect.map(Effect.forEach(Backend.Name.literals, (backend) => Section.orReason(on(backend))), Report.merge)
}
