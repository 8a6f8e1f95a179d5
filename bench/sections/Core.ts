/** The synchronous core: what a hit costs before Effect comes in. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/core.ts"
import * as HeldBlocks from "../HeldBlocks.ts"
import * as Measure from "../Measure.ts"
import * as Section from "../Section.ts"

const processes = 3

const pairs = (held: number) =>
  Effect.map(
    Effect.replicateEffect(Contender.run(contender, { held }), processes),
    (nanos) => ({ held, pair: Measure.make("ns", nanos) })
  )

const measured = Effect.map(Effect.forEach(HeldBlocks.counts, pairs), (rows) =>
  Section.findings({
    tables: [{
      title: "PoolCore, acquire and release",
      columns: ["a pair"],
      rows: rows.map(({ held, pair }) => ({ name: `${held} held blocks`, cells: [pair] }))
    }],
    checks: rows.map(({ held, pair }) => ({ name: `core pair with ${held} held blocks`, figure: pair, atMost: 50 }))
  }))

export const section: Section.Section = {
  name: "core",
  title: `the synchronous core pair, median of ${processes} processes`,
  run: Section.orReason(measured)
}
