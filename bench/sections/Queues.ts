/** The cost of a second queue, and the gain when the device waits instead of the program. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender, type Policy, type Way } from "../contenders/queues.ts"
import * as Measure from "../Measure.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"

type Backend = "host" | "opencl"

const rows: ReadonlyArray<readonly [name: string, way: Way, reuse: Policy]> = [
  ["one queue", "alone", "events"],
  ["one of two queues", "beside", "events"],
  ["two in turn, the program waits", "program", "events"],
  ["two in turn, the device waits", "events", "events"],
  ["two in turn, whenEnded", "events", "ended"],
  ["two in turn, ownQueue", "events", "own"]
]

const measured = (backend: Backend, way: Way, reuse: Policy) =>
  Effect.map(Contender.run(contender, { backend, way, reuse }), ({ nanos, peakManagedBytes }) => ({
    time: Measure.scale(Measure.make("ns", nanos), "µs", 1e-3),
    peak: Measure.scale(Measure.make("B", [peakManagedBytes]), "MiB", 2 ** -20)
  }))

const on = (backend: Backend) =>
  Effect.map(
    Effect.forEach(rows, ([, way, reuse]) => measured(backend, way, reuse)),
    (figures) =>
      Section.findings({
        tables: [{
          title: `${backend}, a lease of 64 KiB, a fill of it and its end`,
          columns: ["time", "ratio to one queue", "peak of the pool"],
          rows: rows.map(([name], index) => {
            const { peak, time } = figures[index]!
            return { name, cells: [time, Measure.ratioToMiddle(time, figures[0]!.time), peak] }
          })
        }]
      })
  )

export const section: Section.Section = {
  name: "queues",
  title: "leases on one queue and on two, rounds of one process",
  run: Effect.map(
    Effect.forEach(["host", "opencl"] as const, (backend) => Section.orReason(on(backend))),
    Report.merge
  )
}
