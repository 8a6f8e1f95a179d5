/** What recording a copy costs, and what a lease for it adds. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/copies.ts"
import * as Measure from "../Measure.ts"
import * as Rounds from "../Rounds.ts"
import * as Section from "../Section.ts"

const processes = 5

/** What each contender is held against. */
const rivals: Readonly<Record<string, string>> = {
  copy: "raw calls",
  "pool.use and copy": "raw calls",
  "scoped(pool.allocate) and copy": "raw calls",
  "pool.use and raw call": "raw calls",
  "scoped(pool.allocate) and raw call": "raw calls",
  "pool.use with options": "pool.use"
}

const measured = Effect.map(Effect.replicateEffect(Contender.run(contender, {}), processes), (runs) => {
  const ratio = (over: string, under: string) => Measure.make("x", runs.map((run) => Rounds.netRatio(run, over, under)))
  return Section.findings({
    tables: [{
      title: "a copy of 256 B, 64 in a submit, without the loop's share",
      columns: ["each", "to its rival"],
      rows: Object.keys(runs[0]!).map((name) => ({
        name,
        cells: [
          Measure.make("ns", runs.map((run) => Rounds.net(run, name))),
          rivals[name] === undefined ? null : ratio(name, rivals[name])
        ]
      }))
    }],
    checks: [
      { name: "pool.use with options / without", figure: ratio("pool.use with options", "pool.use"), atMost: 1.1 },
      ...["pool.use", "scoped(pool.allocate)"].map((lease) => ({
        name: `${lease} and copy / and raw call`,
        figure: ratio(`${lease} and copy`, `${lease} and raw call`),
        atMost: 1.25
      }))
    ]
  })
})

export const section: Section.Section = {
  name: "copies",
  title: `recorded copies on Dawn's null device, medians of ${processes} processes`,
  run: Section.orReason(measured)
}
