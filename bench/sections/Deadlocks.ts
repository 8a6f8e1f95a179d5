/** Programs that wait for each other's memory, and are retried. */
import { Effect } from "effect"
import type * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as Deadlocks from "../contenders/deadlocks.ts"
import * as Measure from "../Measure.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"

const processes = 3

const backends: ReadonlyArray<Backend.Name> = ["host", "opencl", "webgpu"]

const crowds = [
  { crowd: "two leases", title: "64 jobs of two leases in room for four", mostMillis: 2000 },
  { crowd: "arrays", title: "32 programs of 1 MiB arrays in 8 MiB, five at a time each", mostMillis: 5000 }
] as const

const measured = ({ crowd, mostMillis, title }: typeof crowds[number], backend: Backend.Name) =>
  Section.orReason(Effect.map(
    Effect.replicateEffect(Contender.run(Deadlocks.contender, { backend, crowd }), processes),
    (runs) => {
      const taken = Measure.make("ms", runs.map(({ millis }) => millis))
      return Section.findings({
        tables: [{
          title: `${title}, ${backend}`,
          columns: ["until all have ended", "failures"],
          rows: [{ name: "retried", cells: [taken, Measure.make("", runs.map(({ failures }) => failures))] }]
        }],
        checks: [{ name: `${title}, ${backend}`, figure: taken, atMost: mostMillis }]
      })
    }
  ))

export const section: Section.Section = {
  name: "deadlocks",
  title:
    `programs that have memory and wait for more, with the options that a pool has by itself, ${processes} processes`,
  run: Effect.map(
    Effect.forEach(crowds, (crowd) => Effect.forEach(backends, (backend) => measured(crowd, backend))),
    (all) => Report.merge(all.flat())
  )
}
