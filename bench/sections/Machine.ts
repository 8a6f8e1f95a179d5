/** How many inputs the machine of a pool takes: what a model of it costs. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/machine.ts"
import * as Measure from "../Measure.ts"
import * as Section from "../Section.ts"

const processes = 3
const worlds = 200

const measured = Effect.map(Effect.replicateEffect(Contender.run(contender, { worlds }), processes), (inputs) => {
  const figure = Measure.make("/s", inputs)
  return Section.findings({
    tables: [{
      title: "PoolMachine, random programs with a driver and handlers",
      columns: ["inputs"],
      rows: [{ name: `${worlds} programs of 5,000 inputs each`, cells: [figure] }]
    }],
    // A million in a minute.
    checks: [{ name: "inputs of the machine", figure, atLeast: 1_000_000 / 60 }]
  })
})

export const section: Section.Section = {
  name: "machine",
  title: `the machine that decides, without fibers, median of ${processes} processes`,
  run: Section.orReason(measured)
}
