/** Buffers that come, are touched by the device, and go: pooled, and straight from the driver. */
import { Effect } from "effect"
import { SizePolicy } from "effect-gpu-pool"
import type * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as Driver from "../contenders/driverWorkload.ts"
import * as Pooled from "../contenders/pooledWorkload.ts"
import * as Raw from "../contenders/rawWebGpuWorkload.ts"
import * as Measure from "../Measure.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"
import * as Workload from "../Workload.ts"

const processes = 3

/** From this run on a process is in its steady state. */
const steadyFrom = 3

const mebibyte = 2 ** 20

interface Row {
  readonly name: string
  readonly first: Measure.Measure
  readonly steady: Measure.Measure
  readonly hitRate: Measure.Measure | null
  readonly managedToLive: Measure.Measure | null
  readonly resident: Measure.Measure
}

const row = (name: string, all: ReadonlyArray<Workload.Figures>): Row => {
  const hitRates = all.flatMap(({ hitRates }) => hitRates.slice(steadyFrom))
  const managed = all.flatMap(({ peakLiveBytes, peakManagedBytes }) =>
    peakManagedBytes === null ? [] : [peakManagedBytes / peakLiveBytes]
  )
  return {
    name,
    first: Measure.make("ms", all.map(({ millis }) => millis[0]!)),
    steady: Measure.make("ms", all.flatMap(({ millis }) => millis.slice(steadyFrom))),
    hitRate: hitRates.length === 0 ? null : Measure.make("%", hitRates),
    managedToLive: managed.length === 0 ? null : Measure.make("x", managed),
    resident: Measure.make("MiB", all.map(({ peakResidentBytes }) => peakResidentBytes / mebibyte))
  }
}

const rowOf = <Input>(
  name: string,
  contender: Contender.Contender<Input, Workload.Figures>,
  input: NoInfer<Input>,
  times: number = processes
) => Effect.map(Effect.replicateEffect(Contender.run(contender, input), times), (all) => row(name, all))

const policies = {
  default: SizePolicy.defaultPolicy,
  leadingBits: SizePolicy.leadingBits(4),
  exact: SizePolicy.exact
}

const pooled = (backend: Backend.Name, policy: keyof typeof policies, maxBytes: number | null = null) =>
  rowOf(
    `pooled, ${policy}${maxBytes === null ? "" : ` within ${maxBytes / mebibyte} MiB`}`,
    Pooled.contender,
    { backend, policy: policies[policy].name, maxBytes },
    // Nearly every step is a miss, as it is without a pool.
    policy === "exact" ? 1 : processes
  )

const table = (title: string, reference: Row, rows: ReadonlyArray<Row>): Report.Table => ({
  title,
  columns: ["first run", "steady state", "to the first row", "hit rate", "managed / live", "peak RSS"],
  rows: [reference, ...rows].map((row) => ({
    name: row.name,
    cells: [
      row.first,
      row.steady,
      row === reference ? null : Measure.ratioToMiddle(row.steady, reference.steady),
      row.hitRate,
      row.managedToLive,
      row.resident
    ]
  }))
})

/** Exact sizes are all different here, so a pool of them keeps everything: it needs a limit. */
const exactLimit = 256 * mebibyte

const webGpu = Effect.gen(function*() {
  const reference = yield* pooled("webgpu", "default")
  const leadingBits = yield* pooled("webgpu", "leadingBits")
  // The first run of these takes ten seconds and more, so two processes have to do.
  const raw = yield* rowOf("raw createBuffer + destroy", Raw.contender, { waits: false }, 2)
  const waiting = yield* rowOf("raw, waiting for each submit", Raw.contender, { waits: true })
  const exact = yield* pooled("webgpu", "exact", exactLimit)
  return Section.findings({
    tables: [table("WebGPU", reference, [leadingBits, exact, raw, waiting])],
    checks: [
      {
        name: "steady state, raw / pooled on WebGPU",
        figure: Measure.ratioToMiddle(raw.steady, reference.steady),
        atLeast: 8
      },
      ...managedCheck("WebGPU", reference)
    ]
  })
})

const openCl = Effect.gen(function*() {
  const reference = yield* pooled("opencl", "default")
  const leadingBits = yield* pooled("opencl", "leadingBits")
  const driver = yield* rowOf("create + release (deferred allocator)", Driver.contender, { backend: "opencl" })
  return Section.findings({
    tables: [table("OpenCL", reference, [leadingBits, driver])],
    checks: managedCheck("OpenCL", reference)
  })
})

const managedCheck = (backend: string, { managedToLive }: Row): ReadonlyArray<Report.Check> =>
  managedToLive === null
    ? []
    : [{ name: `peak managed / peak live bytes on ${backend}`, figure: managedToLive, atMost: 2.5 }]

export const section: Section.Section = {
  name: "touched",
  title:
    `${Workload.steps} steps, ${Workload.slots} live buffers, a copy into each; steady state: runs ${
      steadyFrom + 1
    } to ` +
    `${Workload.runs} of a process`,
  run: Effect.map(Effect.all([Section.orReason(webGpu), Section.orReason(openCl)]), Report.merge)
}
