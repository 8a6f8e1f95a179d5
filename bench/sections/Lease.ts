/** Leases on a hit. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import * as Held from "../contenders/held.ts"
import * as Lease from "../contenders/lease.ts"
import * as HeldBlocks from "../HeldBlocks.ts"
import * as Measure from "../Measure.ts"
import * as PyOpenCl from "../PyOpenCl.ts"
import * as Report from "../Report.ts"
import * as Rounds from "../Rounds.ts"
import * as Section from "../Section.ts"

const processes = 5
const heldProcesses = 3

const nanos = (runs: ReadonlyArray<Rounds.Nanos>, name: string): Measure.Measure =>
  Measure.make("ns", runs.map((run) => Rounds.net(run, name)))

const ratio = (runs: ReadonlyArray<Rounds.Nanos>, over: string, under: string): Measure.Measure =>
  Measure.make("x", runs.map((run) => Rounds.netRatio(run, over, under)))

const scoped = "scoped(Pool.get)"
const used = "Pool.use"

/** What each contender is held against. */
const rivals: Readonly<Record<string, string>> = {
  "scoped(pool.allocate)": scoped,
  "scoped(BufferPool.allocate)": scoped,
  "scoped(acquireRelease)": scoped,
  "pool.use": used,
  "BufferPool.use": used,
  "scoped(pool.allocate), recorded": "scoped(pool.allocate)",
  "pool.use, recorded": "pool.use",
  "pool.useAll of 2, each": used,
  "10 pool.allocate in a scope, each": "10 Pool.get in a scope, each",
  "10 acquireRelease in a scope, each": "10 Pool.get in a scope, each"
}

const hits = Effect.gen(function*() {
  const runs = yield* Effect.replicateEffect(Contender.run(Lease.contender, {}), processes)
  const python = yield* Section.optional(
    Effect.replicateEffect(PyOpenCl.run({ what: "hit", size: 4096 }), processes)
  )
  const rows = Object.keys(runs[0]!).map((name) => {
    const rival = rivals[name]
    return { name, cells: [nanos(runs, name), rival === undefined ? null : ratio(runs, name, rival)] }
  })
  const pythonRows = python.figures === undefined
    ? []
    : [{
      name: "PyOpenCL, MemoryPool.allocate and release",
      cells: [Measure.medians("ns", python.figures), null]
    }]
  return Section.findings({
    tables: [{
      title: "a hit, without the loop's share",
      columns: ["acquire + release", "to its rival"],
      rows: [...rows, ...pythonRows]
    }],
    checks: [
      {
        name: `scoped(pool.allocate) / ${scoped}`,
        figure: ratio(runs, "scoped(pool.allocate)", scoped),
        atMost: 1.5
      },
      { name: `pool.use / ${used}`, figure: ratio(runs, "pool.use", used), atMost: 0.8 },
      ...["scoped(pool.allocate)", "pool.use"].map((name) => ({
        name: `${name}, recorded / not`,
        figure: ratio(runs, `${name}, recorded`, name),
        atMost: 1.3
      })),
      {
        name: `pool.useAll of 2, each / ${used}`,
        figure: ratio(runs, "pool.useAll of 2, each", used),
        atMost: 1.5
      }
    ],
    remarks: python.remarks
  })
})

/** Each with its control, which knows nothing of held blocks. */
const heldLeases = [
  { name: "scoped(pool.allocate)", control: scoped },
  { name: "pool.use", control: used }
]

/** As ratios to the controls, since the machine may be busier or quieter for a later process. */
const flatness = (byHeld: ReadonlyArray<{ readonly held: number; readonly runs: ReadonlyArray<Rounds.Nanos> }>) => {
  const [fewest, ...others] = byHeld
  return heldLeases.flatMap(({ control, name }) =>
    others.map(({ held, runs }) => ({
      name: `${name} with ${held} / with ${fewest!.held} held blocks, each to ${control}`,
      figure: Measure.ratioToMiddle(ratio(runs, name, control), ratio(fewest!.runs, name, control)),
      atLeast: 0.8,
      atMost: 1.2
    }))
  )
}

/** Each round goes through all counts, so that changes of the machine's load affect all alike. */
const held = Effect.gen(function*() {
  const all = yield* Effect.replicateEffect(
    Effect.forEach(HeldBlocks.counts, (held) => Contender.run(Held.contender, { held })),
    heldProcesses
  )
  const byHeld = HeldBlocks.counts.map((held, index) => ({ held, runs: all.map((counts) => counts[index]!) }))
  return Section.findings({
    tables: [{
      title: "a hit by held blocks",
      columns: heldLeases.flatMap(({ control, name }) => [name, `control: ${control}`]),
      rows: byHeld.map(({ held, runs }) => ({
        name: `${held} held blocks`,
        cells: heldLeases.flatMap(({ control, name }) => [nanos(runs, name), nanos(runs, control)])
      }))
    }],
    checks: flatness(byHeld)
  })
})

export const section: Section.Section = {
  name: "lease",
  title: `leases on the host backend, median of ${processes} processes (${heldProcesses} by held blocks)`,
  run: Effect.map(Effect.all([Section.orReason(hits), Section.orReason(held)]), Report.merge)
}
