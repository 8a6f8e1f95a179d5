/** How much memory slabs that are split need beside blocks, how often they ask the driver, and what a hit costs. */
import { Effect } from "effect"
import { SizePolicy } from "effect-gpu-pool"
import { PoolStrategy } from "effect-gpu-pool/allocators"
import { mean } from "simple-statistics"
import * as Contender from "../Contender.ts"
import * as ArenaCore from "../contenders/arenaCore.ts"
import * as ArenaHit from "../contenders/arenaHit.ts"
import * as Measure from "../Measure.ts"
import * as Report from "../Report.ts"
import * as Rounds from "../Rounds.ts"
import * as Section from "../Section.ts"
import * as Simulation from "../Simulation.ts"
import * as Traces from "../Traces.ts"

const seeds = [0, 1, 2, 3, 4, 5, 6, 7]
const processes = 5
const coreProcesses = 3

/** Limits in shares of the live peak. */
const shares = Array.from({ length: 100 }, (_, index) => 1.02 + 0.02 * index)

const pools: Readonly<Record<string, Simulation.Thrift>> = {
  blocks: {},
  arena: { strategy: PoolStrategy.arena() },
  // On WebGPU a kernel cannot write to the buffer that it reads.
  "arena, apart from 2 live buffers": { strategy: PoolStrategy.arena(), apartFrom: 2 }
}

const traces = [
  { trace: Traces.varied, atMost: [undefined, 1.25, 1.3] },
  { trace: Traces.variedMany, atMost: [] },
  { trace: Traces.growing, atMost: [undefined, 1.35, 1.35] },
  { trace: Traces.changingShapes, atMost: [] }
]

const simulate = Simulation.simulate.bind(undefined, SizePolicy.defaultPolicy)

/** The smallest limit within which every request gets memory, in live peaks. */
const leastLimit = (
  phases: ReturnType<Traces.Trace["phases"]>,
  thrift: Simulation.Thrift,
  peakLiveBytes: number
): number => {
  const passes = (share: number) =>
    simulate(phases, { ...thrift, maxBytes: Math.ceil(share * peakLiveBytes) }).failures === 0
  return shares.find(passes) ?? Infinity
}

const row = (thrift: Simulation.Thrift, plans: ReadonlyArray<ReturnType<Traces.Trace["phases"]>>) => {
  const outcomes = plans.map((phases) => {
    const { driverCalls, peakLiveBytes, peakManagedBytes } = simulate(phases, thrift)
    return {
      managed: peakManagedBytes / peakLiveBytes,
      calls: driverCalls,
      limit: leastLimit(phases, thrift, peakLiveBytes)
    }
  })
  const meanOf = (unit: Measure.Unit, of: (outcome: typeof outcomes[number]) => number) =>
    Measure.make(unit, [mean(outcomes.map(of))])
  return {
    managed: meanOf("x", ({ managed }) => managed),
    most: Measure.make("x", [Math.max(...outcomes.map(({ managed }) => managed))]),
    calls: meanOf("", ({ calls }) => calls),
    limit: meanOf("x", ({ limit }) => limit)
  }
}

const memory = Effect.map(
  Effect.forEach(traces, ({ atMost, trace }) =>
    Effect.sync(() => {
      const plans = seeds.map(trace.phases)
      const rows = Object.entries(pools).map(([name, thrift]) => ({ name, ...row(thrift, plans) }))
      return Section.findings({
        tables: [{
          title: trace.name,
          columns: ["managed / live", "most of any seed", "driver calls", "least limit / live"],
          rows: rows.map(({ calls, limit, managed, most, name }) => ({ name, cells: [managed, most, calls, limit] }))
        }],
        checks: rows.flatMap(({ managed, name }, index) => {
          const most = atMost[index]
          return most === undefined
            ? []
            : [{ name: `${trace.name}: managed / live, ${name}`, figure: managed, atMost: most }]
        })
      })
    })),
  Report.merge
)

const pairs = [
  { name: "no lease", leases: 0, replaces: false, atMost: undefined },
  { name: "beside a lease", leases: 1, replaces: false, atMost: undefined },
  { name: "beside 1,000 leases and chunks", leases: 1000, replaces: false, atMost: 150 },
  { name: "beside 100,000", leases: 100_000, replaces: false, atMost: 400 },
  { name: "any of 1,000 leases replaced", leases: 1000, replaces: true, atMost: 150 },
  { name: "any of 100,000", leases: 100_000, replaces: true, atMost: 400 }
]

const core = Effect.map(
  Effect.replicateEffect(
    Effect.forEach(
      pairs,
      ({ leases, replaces }) =>
        Effect.forEach(
          ["blocks", "arena"] as const,
          (strategy) => Contender.run(ArenaCore.contender, { strategy, leases, replaces })
        )
    ),
    coreProcesses
  ),
  (turns) => {
    const measure = (pair: number, strategy: number) => Measure.make("ns", turns.map((turn) => turn[pair]![strategy]!))
    return Section.findings({
      tables: [{
        title: "the core, acquire and release",
        columns: ["blocks", "arena"],
        rows: pairs.map(({ name }, index) => ({ name, cells: [measure(index, 0), measure(index, 1)] }))
      }],
      checks: pairs.flatMap(({ atMost, name }, index) =>
        atMost === undefined ? [] : [{ name: `core pair of an arena, ${name}`, figure: measure(index, 1), atMost }]
      )
    })
  }
)

/** Each with its control, which has no pool of memory. */
const leases = [
  { name: "scoped(BufferPool.allocate)", control: "scoped(Pool.get)" },
  { name: "pool.use", control: "Pool.use" }
]

/** Each turn goes through all, and what is compared are ratios to the controls, so that other load affects all alike. */
const hits = Effect.map(
  Effect.replicateEffect(
    Effect.forEach(ArenaHit.sources, (from) => Contender.run(ArenaHit.contender, { from })),
    processes
  ),
  (turns) => {
    const runs = ArenaHit.sources.map((from, index) => ({ from, nanos: turns.map((turn) => turn[index]!) }))
    const toControl = (nanos: ReadonlyArray<Rounds.Nanos>, { control, name }: typeof leases[number]) =>
      Measure.make("x", nanos.map((run) => Rounds.netRatio(run, name, control)))
    const toBlocks = (nanos: ReadonlyArray<Rounds.Nanos>, lease: typeof leases[number]) =>
      Measure.ratioToMiddle(toControl(nanos, lease), toControl(runs[0]!.nanos, lease))
    return Section.findings({
      tables: [{
        title: "a hit on the host",
        columns: leases.flatMap(({ name }) => [name, "to blocks"]),
        rows: runs.map(({ from, nanos }) => ({
          name: from,
          cells: leases.flatMap((lease) => [
            Measure.make("ns", nanos.map((run) => Rounds.net(run, lease.name))),
            toBlocks(nanos, lease)
          ])
        }))
      }],
      checks: runs.slice(1).flatMap(({ from, nanos }) =>
        leases.map((lease) => ({
          name: `${lease.name}, ${from} / a block`,
          figure: toBlocks(nanos, lease),
          atMost: 1.6
        }))
      )
    })
  }
)

export const section: Section.Section = {
  name: "arena",
  title: `slabs that are split, beside blocks: traces of ${seeds.length} seeds, means; ` +
    `hits in ${processes} processes, the core in ${coreProcesses}`,
  run: Effect.map(Effect.all([memory, Section.orReason(core), Section.orReason(hits)]), Report.merge)
}
