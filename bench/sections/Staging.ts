/** What reads cost with and without a pool of staging memory. */
import { Effect } from "effect"
import * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/staging.ts"
import * as Measure from "../Measure.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"

const sizes = [65_536, 1_048_576, 16_777_216]

/** Only WebGPU reads through staging memory: elsewhere the driver writes into the program's array itself. */
const targets: Partial<Record<Backend.Name, { readonly pooled: number; readonly inPlace: number }>> = {
  webgpu: { pooled: 0.5, inPlace: 0.2 }
}

const on = (backend: Backend.Name) =>
  Effect.map(Contender.run(contender, { backend, sizes }), (bySize) => {
    const rows = bySize.map((rounds, index) => {
      const figure = (way: "fresh" | "pooled" | "inPlace") => Measure.make("ms", rounds.map((round) => round[way]))
      const ratio = (way: "pooled" | "inPlace") => Measure.make("x", rounds.map((round) => round[way] / round.fresh))
      return {
        name: `${sizes[index]! / 1024} KiB`,
        cells: [figure("fresh"), figure("pooled"), figure("inPlace")],
        ratios: { pooled: ratio("pooled"), inPlace: ratio("inPlace") }
      }
    })
    const target = targets[backend]
    const { ratios } = rows.at(-1)!
    return Section.findings({
      tables: [{
        title: `${backend}, one read`,
        columns: ["no pool", "with a pool", "in place (readView)"],
        rows: rows.map(({ cells, name }) => ({ name, cells }))
      }],
      checks: target === undefined ? [] : [
        { name: "16 MiB, with a pool / without", figure: ratios.pooled, atMost: target.pooled },
        { name: "16 MiB, in place / without a pool", figure: ratios.inPlace, atMost: target.inPlace }
      ]
    })
  })

export const section: Section.Section = {
  name: "staging",
  title: "reads through staging memory, turn by turn in one process",
  run: Effect.map(Effect.forEach(Backend.Name.literals, (backend) => Section.orReason(on(backend))), Report.merge)
}
