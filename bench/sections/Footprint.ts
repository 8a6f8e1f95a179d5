/**
 * How much memory a pool needs: the smallest limit under which a program succeeds, and what is kept where sizes grow.
 */
import { Effect } from "effect"
import { PoolStats } from "effect-gpu-pool"
import * as HostPool from "../HostPool.ts"
import * as Measure from "../Measure.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"
import * as Traces from "../Traces.ts"
import * as Workload from "../Workload.ts"

/** Limits in shares of the live peak. */
const shares = [1.05, 1.1, 1.25, 1.5, 2]

/** The limit under which no request may fail. */
const tight = 1.1

/** The driver's allocations of a pool that keeps everything. */
const allocationsWithoutBound = 3217

/** Limits in shares of the peak of each row's live bytes. */
const underLimits = Effect.gen(function*() {
  const plan = Workload.plan(0)
  const live = Workload.peakLiveBytes(plan)
  const rows = yield* Effect.forEach(
    shares,
    (share) =>
      Effect.map(HostPool.play(plan, { maxBytes: Math.ceil(share * live) }), ({ refused, stats }) => ({
        share,
        refused: Measure.make("", [refused]),
        hitRate: Measure.make("%", [100 * PoolStats.hitRate(stats)]),
        allocations: Measure.make("", [stats.driverAllocations])
      }))
  )
  return Section.findings({
    tables: [{
      title: `the touched workload, ${Workload.steps} mixed sizes, ${Workload.slots} live, under a limit`,
      columns: ["refused", "hit rate", "driver allocations"],
      rows: rows.map(({ allocations, hitRate, refused, share }) => ({
        name: `${share} x the live peak`,
        cells: [refused, hitRate, allocations]
      }))
    }],
    checks: [{
      name: `requests refused within ${tight} x the live peak`,
      figure: rows.find(({ share }) => share === tight)!.refused,
      atMost: 0
    }]
  })
})

const bounds = [
  { name: "the default", options: {} },
  { name: "maxHeldBytes: Infinity", options: { maxHeldBytes: Infinity } }
]

const whereSizesGrow = Effect.gen(function*() {
  const steps = Traces.growing.phases(0).flat()
  const rows = yield* Effect.forEach(
    bounds,
    ({ name, options }) =>
      Effect.map(HostPool.play(steps, options), ({ mostManagedToLive, stats }) => ({
        name,
        managed: Measure.make("x", [mostManagedToLive]),
        held: Measure.make("x", [stats.heldBytes / stats.activeBytes]),
        allocations: Measure.make("", [stats.driverAllocations])
      }))
  )
  return Section.findings({
    tables: [{
      title: Traces.growing.name,
      columns: ["managed / live, most", "held / live, end", "driver allocations"],
      rows: rows.map(({ allocations, held, managed, name }) => ({ name, cells: [managed, held, allocations] }))
    }],
    checks: [
      { name: "managed / live where sizes grow", figure: rows[0]!.managed, atMost: 2 },
      {
        name: "driver allocations where sizes grow",
        figure: rows[0]!.allocations,
        atMost: 2 * allocationsWithoutBound
      }
    ]
  })
})

export const section: Section.Section = {
  name: "footprint",
  title: "how much memory a pool with default options needs, on the host",
  run: Effect.map(Effect.all([underLimits, whereSizesGrow]), Report.merge)
}
