/** What leases leave behind on the heap. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/memory.ts"
import * as Measure from "../Measure.ts"
import * as Section from "../Section.ts"

const processes = 3

const kinds = [
  { kind: "pairs", name: "a scope for each lease" },
  { kind: "early", name: "released early in one scope" }
] as const

/** A lease that stayed would be a hundred bytes and more; what the first million leaves once, whatever follows, is below this. */
const flatBytes = 1

const row = ({ kind, name }: typeof kinds[number]) =>
  Effect.map(Effect.replicateEffect(Contender.run(contender, { kind }), processes), (all) => ({
    name,
    before: Measure.make("MiB", all.map(({ before }) => before / 2 ** 20)),
    after: Measure.make("MiB", all.map(({ after }) => after / 2 ** 20)),
    each: Measure.make("B", all.map(({ after, before, leases }) => (after - before) / leases))
  }))

const measured = Effect.map(Effect.forEach(kinds, row), (rows) =>
  Section.findings({
    tables: [{
      title: "1,000,000 leases",
      columns: ["heap before", "heap after", "growth per lease"],
      rows: rows.map(({ after, before, each, name }) => ({ name, cells: [before, after, each] }))
    }],
    checks: rows.map(({ each, name }) => ({ name: `heap growth per lease, ${name}`, figure: each, atMost: flatBytes }))
  }))

export const section: Section.Section = {
  name: "memory",
  title: `the heap after collection, before and after, median of ${processes} processes`,
  run: Section.orReason(measured)
}
