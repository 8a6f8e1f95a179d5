/** Who should decide where a fleet reserves, and what the decisions of its broker cost. */
import { Effect } from "effect"
import * as Deciders from "../fleet/Deciders.ts"
import * as Load from "../fleet/Load.ts"
import * as Simulation from "../fleet/Simulation.ts"
import * as Waiters from "../fleet/Waiters.ts"
import * as Measure from "../Measure.ts"
import type * as Report from "../Report.ts"
import * as Section from "../Section.ts"

const seeds = [1, 2, 3]
const loads = [0.5, 0.8, 0.95]
const jobs = 20_000

/** As a pool has it, for each device. */
const bound = 16

const deciders: ReadonlyArray<readonly [name: string, make: Deciders.MakeDecider]> = [
  ["broker, least left", Deciders.broker("leastLeft", bound)],
  ["broker, most left", Deciders.broker("mostLeft", bound)],
  ["broker, least left, no bypasses", Deciders.broker("leastLeft", 0)],
  ["broker, least left, no bound", Deciders.broker("leastLeft", Infinity)],
  ["two choices, queue of a pool", Deciders.twoChoices(bound)],
  ["two choices, strict order", Deciders.twoChoices(0)],
  ["random host, queue of a pool", Deciders.random(bound)],
  ["random host, strict order", Deciders.random(0)]
]

const simulated = (load: number): Effect.Effect<Report.Table> =>
  Effect.sync(() => {
    const plans = seeds.map((seed) => Load.jobs(seed, load, jobs))
    return {
      title: `load ${load}`,
      columns: [
        "mean wait",
        "95th of 100",
        "longest",
        "mean, over 24 GiB",
        "utilisation",
        "waits with room elsewhere",
        "most bypasses"
      ],
      rows: deciders.map(([name, make]) => {
        const outcomes = plans.map((plan, n) => Simulation.simulate(make, plan, seeds[n]!))
        const measure = (unit: Measure.Unit, of: (outcome: Simulation.Outcome) => number): Measure.Measure =>
          Measure.make(unit, outcomes.map(of))
        return {
          name,
          cells: [
            measure("ms", ({ meanWait }) => meanWait),
            measure("ms", ({ wait95 }) => wait95),
            measure("ms", ({ mostWait }) => mostWait),
            measure("ms", ({ meanWaitOfLarge }) => meanWaitOfLarge),
            measure("%", ({ utilisation }) => 100 * utilisation),
            measure("%", ({ needless }) => 100 * needless),
            measure("", ({ mostBypasses }) => mostBypasses)
          ]
        }
      })
    }
  })

const one = (unit: Measure.Unit, value: number): Measure.Measure => Measure.make(unit, [value])

const crowds = [1000, 10_000, 100_000]

const costs: Effect.Effect<Pick<Report.Findings, "checks" | "tables">> = Effect.sync(() => {
  const found = crowds.map((waiting) => ({ waiting, cost: Waiters.cost(waiting) }))
  return {
    tables: [{
      title: "waiting requests",
      columns: ["looks, placing", "most", "looks, ending", "most", "placing", "ending"],
      rows: found.map(({ cost: { end, endLooks, place, placeLooks }, waiting }) => ({
        name: waiting.toLocaleString("en"),
        cells: [
          one("x", placeLooks[0]),
          one("", placeLooks[1]),
          one("x", endLooks[0]),
          one("", endLooks[1]),
          one("µs", place),
          one("µs", end)
        ]
      }))
    }],
    checks: [{
      name: "looks of an ending with 100,000 waiting over those with 10,000",
      figure: one("x", found[2]!.cost.endLooks[0] / found[1]!.cost.endLooks[0]),
      atMost: 1.2
    }]
  }
})

export const section: Section.Section = {
  name: "fleet",
  title: `reservations of 0.25 to 40 GiB on ${Load.capacities.length} hosts of 8 to 80 GiB, ${
    jobs.toLocaleString("en")
  } jobs of ${Load.meanMillis / 1000} s on average, ${seeds.length} seeds, simulated`,
  run: Effect.map(
    Effect.all([Effect.forEach(loads, simulated), costs]),
    ([tables, { checks, tables: ofCosts }]) => Section.findings({ tables: [...tables, ...ofCosts], checks })
  )
}
