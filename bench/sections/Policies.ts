/** Which size policy should be the default, how far it should borrow, and which blocks to evict at a limit. */
import { Effect } from "effect"
import { type EvictionPolicy, SizePolicy } from "effect-gpu-pool"
import { mean } from "simple-statistics"
import type * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as Pooled from "../contenders/pooledWorkload.ts"
import * as Measure from "../Measure.ts"
import * as Policies from "../Policies.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"
import * as Simulation from "../Simulation.ts"
import * as Traces from "../Traces.ts"
import * as Workload from "../Workload.ts"

const seeds = [1, 2, 3, 4, 5]

/** Limits in shares of the live peak: one that leaves some room, and one that leaves hardly any. */
const roomy = 1.25
const tight = 1.1

const { name: defaultName } = SizePolicy.defaultPolicy

interface Row {
  readonly name: string
  readonly hitRate: Measure.Measure
  readonly managedToLive: Measure.Measure
  readonly waste: Measure.Measure
  readonly heldToLive: Measure.Measure
  readonly roomyHitRate: Measure.Measure
  readonly tightRefusals: Measure.Measure
}

const hitRate = ({ hits, leases }: Simulation.Outcome): number => 100 * hits / leases

const managedToLive = ({ peakLiveBytes, peakManagedBytes }: Simulation.Outcome): number =>
  peakManagedBytes / peakLiveBytes

const heldToLive = ({ heldBytes, lastPeakLiveBytes }: Simulation.Outcome): number => heldBytes / lastPeakLiveBytes

const row = (policy: SizePolicy.SizePolicy, plans: ReadonlyArray<ReturnType<Traces.Trace["phases"]>>): Row => {
  const outcomes = plans.map((phases) => {
    const free = Simulation.simulate(policy, phases)
    const within = (share: number) =>
      Simulation.simulate(policy, phases, { maxBytes: Math.ceil(share * free.peakLiveBytes) })
    return { free, roomy: within(roomy), tight: within(tight) }
  })
  const measure = (unit: Measure.Unit, of: (outcome: typeof outcomes[number]) => number) =>
    Measure.make(unit, outcomes.map(of))
  return {
    name: policy.name,
    hitRate: measure("%", ({ free }) => hitRate(free)),
    managedToLive: measure("x", ({ free }) => managedToLive(free)),
    waste: measure("%", ({ free }) => 100 * free.waste),
    heldToLive: measure("x", ({ free }) => heldToLive(free)),
    roomyHitRate: measure("%", ({ roomy }) => hitRate(roomy)),
    tightRefusals: measure("%", ({ tight }) => 100 * tight.failures / tight.leases)
  }
}

const table = (title: string, rows: ReadonlyArray<Row>): Report.Table => ({
  title,
  columns: [
    "hit rate",
    "managed / live",
    "waste",
    "held / live, end",
    `hit rate in ${roomy} x live`,
    `refused in ${tight} x live`
  ],
  rows: rows.map((row) => ({
    name: row.name,
    cells: [row.hitRate, row.managedToLive, row.waste, row.heldToLive, row.roomyHitRate, row.tightRefusals]
  }))
})

const simulated = (trace: Traces.Trace) =>
  Effect.sync(() => {
    const plans = seeds.map(trace.phases)
    return { trace, rows: Policies.all.map((policy) => row(policy, plans)) }
  })

/** The mean of a policy's medians over the traces. */
const overall = (byTrace: ReadonlyArray<ReadonlyArray<Row>>) =>
  Policies.all.map(({ name }, index) => {
    const rows = byTrace.map((rows) => rows[index]!)
    const meanOf = (of: (row: Row) => Measure.Measure) => mean(rows.map((row) => Measure.middle(of(row))))
    return {
      name,
      hitRate: meanOf((row) => row.hitRate),
      managedToLive: meanOf((row) => row.managedToLive),
      waste: meanOf((row) => row.waste),
      tightRefusals: meanOf((row) => row.tightRefusals)
    }
  })

type Overall = ReturnType<typeof overall>[number]

const isBetter = (one: Overall, other: Overall): boolean =>
  one.hitRate > other.hitRate && one.managedToLive < other.managedToLive && one.waste < other.waste

const simulations = Effect.map(Effect.forEach(Traces.all, simulated), (traces) => {
  const policies = overall(traces.map(({ rows }) => rows))
  const chosen = policies.find(({ name }) => name === defaultName)!
  return Section.findings({
    tables: [
      ...traces.map(({ rows, trace }) => table(trace.name, rows)),
      {
        title: "mean of the traces",
        columns: ["hit rate", "managed / live", "waste", `refused in ${tight} x live`],
        rows: policies.map(({ hitRate, managedToLive, name, tightRefusals, waste }) => ({
          name,
          cells: [
            Measure.make("%", [hitRate]),
            Measure.make("x", [managedToLive]),
            Measure.make("%", [waste]),
            Measure.make("%", [tightRefusals])
          ]
        }))
      }
    ],
    checks: [{
      name: `policies with more hits, less memory and less waste than the default, ${defaultName}`,
      figure: Measure.make("", [policies.filter((policy) => isBetter(policy, chosen)).length]),
      atMost: 0
    }]
  })
})

/**
 * What a program can do about memory that is held from a past phase. The limit is in shares of that phase's live peak.
 */
const thrifts = [
  { name: "nothing", thrift: () => ({}) },
  { name: "maxHeldBytes, half the live peak", thrift: (live: number) => ({ maxHeldBytes: Math.ceil(live / 2) }) },
  { name: "maxHeldBytes, a tenth of it", thrift: (live: number) => ({ maxHeldBytes: Math.ceil(live / 10) }) },
  { name: "idle for 4,000 steps", thrift: () => ({ idleSteps: 4000 }) },
  { name: "idle for 1,000 steps", thrift: () => ({ idleSteps: 1000 }) },
  { name: "idle for 250 steps", thrift: () => ({ idleSteps: 250 }) }
]

const leftovers = (trace: Traces.Trace) =>
  Effect.sync(() => {
    const plans = seeds.map(trace.phases)
    return Section.findings({
      tables: [{
        title: `${trace.name}: the default policy, and what frees held memory`,
        columns: ["hit rate", "managed / live", "held / live, end"],
        rows: thrifts.map(({ name, thrift }) => {
          const outcomes = plans.map((phases) => {
            const { peakLiveBytes } = Simulation.simulate(SizePolicy.defaultPolicy, phases)
            return Simulation.simulate(SizePolicy.defaultPolicy, phases, thrift(peakLiveBytes))
          })
          return {
            name,
            cells: [
              Measure.make("%", outcomes.map(hitRate)),
              Measure.make("x", outcomes.map(managedToLive)),
              Measure.make("x", outcomes.map(heldToLive))
            ]
          }
        })
      }]
    })
  })

/**
 * A size policy that borrows, so that most held blocks serve most requests, and one whose blocks serve one size each.
 */
const reuses = [SizePolicy.defaultPolicy, SizePolicy.exact]

const limits = [roomy, tight]

/** Hit rates within each of the limits. */
const evicted = (
  sizePolicy: SizePolicy.SizePolicy,
  eviction: EvictionPolicy.EvictionPolicy,
  plans: ReadonlyArray<ReturnType<Traces.Trace["phases"]>>
) =>
  limits.map((share) =>
    Measure.make(
      "%",
      plans.map((phases) => {
        const { peakLiveBytes } = Simulation.simulate(sizePolicy, phases)
        return hitRate(
          Simulation.simulate(sizePolicy, phases, { maxBytes: Math.ceil(share * peakLiveBytes), eviction })
        )
      })
    )
  )

const evictions = (trace: Traces.Trace) =>
  Effect.sync(() => {
    const plans = seeds.map(trace.phases)
    return Section.findings({
      tables: [{
        title: `${trace.name}: what goes where a limit is in the way`,
        columns: limits.map((share) => `hit rate in ${share} x live`),
        rows: reuses.flatMap((sizePolicy) =>
          Policies.evictions.map((eviction) => ({
            name: `${sizePolicy.name}, ${eviction.name}`,
            cells: evicted(sizePolicy, eviction, plans)
          }))
        )
      }]
    })
  })

/** From this run on a process is in its steady state. */
const steadyFrom = 3

const timed = (backend: Backend.Name, policy: SizePolicy.SizePolicy) =>
  Effect.map(
    Contender.run(Pooled.contender, { backend, policy: policy.name, maxBytes: null }),
    ({ hitRates, millis }) => ({
      name: policy.name,
      first: Measure.make("ms", millis.slice(0, 1)),
      steady: Measure.make("ms", millis.slice(steadyFrom)),
      hitRate: Measure.make("%", hitRates)
    })
  )

const onDevice = (backend: Backend.Name) =>
  Effect.map(Effect.forEach(Policies.timed, (policy) => timed(backend, policy)), (rows) => {
    const reference = rows.find(({ name }) => name === defaultName)!
    return Section.findings({
      tables: [{
        title: `varied, on ${backend}`,
        columns: ["first run", "steady state", "to the default", "hit rate"],
        rows: rows.map(({ first, hitRate, name, steady }) => ({
          name,
          cells: [first, steady, Measure.ratioToMiddle(steady, reference.steady), hitRate]
        }))
      }]
    })
  })

export const section: Section.Section = {
  name: "policies",
  title: `size policies on traces of requests, simulated with ${seeds.length} seeds; ` +
    `on a device ${Workload.runs} runs of one process, steady from run ${steadyFrom + 1}`,
  run: Effect.map(
    Effect.all([
      simulations,
      Effect.map(Effect.forEach(Traces.twoPhases, leftovers), Report.merge),
      Effect.map(Effect.forEach(Traces.underLimits, evictions), Report.merge),
      Section.orReason(onDevice("webgpu")),
      Section.orReason(onDevice("opencl"))
    ]),
    Report.merge
  )
}
