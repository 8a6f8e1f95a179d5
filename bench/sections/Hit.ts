/** A hit alone in a process. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/hit.ts"
import * as Measure from "../Measure.ts"
import * as Section from "../Section.ts"

const processes = 10

const kinds = ["BufferPool.allocate", "pool.allocate", "Pool.get", "acquireRelease"] as const

/** What counts is each process: a program has only one. */
const worst = (measure: Measure.Measure): Measure.Measure => Measure.make(measure.unit, [Measure.most(measure)])

/** Turn by turn, so that all meet the same machine. */
const measured = Effect.gen(function*() {
  const turns = yield* Effect.replicateEffect(
    Effect.forEach(kinds, (kind) => Contender.run(contender, { kind })),
    processes
  )
  const rows = kinds.map((kind, index) => {
    const runs = turns.map((turn) => turn[index]!)
    return {
      name: `scoped(${kind})`,
      nanos: Measure.make("ns", runs.map(({ nanos }) => nanos)),
      bytes: Measure.make("B", runs.map(({ bytes }) => bytes)),
      collecting: Measure.make("%", runs.map(({ collecting }) => 100 * collecting))
    }
  })
  return Section.findings({
    tables: [{
      title: "2,000,000 in a row, the loop's share included",
      columns: ["each", "allocates", "garbage collection"],
      rows: rows.map(({ bytes, collecting, name, nanos }) => ({ name, cells: [nanos, bytes, collecting] }))
    }],
    // Those of ours.
    checks: rows.slice(0, 2).flatMap(({ bytes, collecting, name }) => [
      { name: `${name}, bytes in any process`, figure: worst(bytes), atMost: 900 },
      { name: `${name}, garbage collection in any process`, figure: worst(collecting), atMost: 10 }
    ])
  })
})

export const section: Section.Section = {
  name: "hit",
  title: `a hit alone in a process, median of ${processes} processes`,
  run: Section.orReason(measured)
}
