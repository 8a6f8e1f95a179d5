/** A soak of several backends at the same time, each in a process of its own, and what came of it. */
import { Effect } from "effect"
import type * as Backend from "../Backend.ts"
import * as ChildProgram from "../ChildProgram.ts"
import * as Contender from "../Contender.ts"
import * as Chaos from "../contenders/chaos.ts"
import * as Pools from "../contenders/soak.ts"
import * as Measure from "../Measure.ts"
import type * as Report from "../Report.ts"
import * as Section from "../Section.ts"
import type { Figures } from "./Figures.ts"

/** What happens all the time. */
const loads = {
  pools: {
    contender: Pools.contender,
    title: "random load on pools of buffers, faults, interruptions and changes of limits"
  },
  chaos: {
    contender: Chaos.contender,
    title: "every kind of memory under one limit, by all operations, while devices are lost"
  }
}

export type Load = keyof typeof loads

export const allLoads: ReadonlyArray<Load> = ["pools", "chaos"]

export interface SoakOptions {
  /** Of each load. */
  readonly minutes: number
  /** The first of the seeds; each backend has its own. */
  readonly seed: number
  readonly backends: ReadonlyArray<Backend.Name>
  /** One after the other. */
  readonly loads: ReadonlyArray<Load>
}

/**
 * The ratio that the heap of the last tenth may have to that of the first; a leak of a hundred bytes per lease would be
 * far above it.
 */
const mostHeapGrowth = 1.1

/**
 * The typical growth of resident memory from one tenth to the next that is allowed, in percent. A driver keeps the
 * memory of its peak, so resident memory may rise at any time; a leak rises all the time.
 */
const mostResidentSteps = 1

/** Minutes that opening, closing and the checks may take in addition. */
const graceMinutes = 3

interface Soaked {
  readonly backend: Backend.Name
  readonly seed: number
  readonly figures: typeof Figures.Type
}

const mebibytes = (bytes: ReadonlyArray<number>): Measure.Measure =>
  Measure.make("MiB", bytes.map((it) => it / 2 ** 20))

const parts = 10

/** Ten columns have no room for more. */
const middle = (measure: Measure.Measure): Measure.Measure => Measure.make("", [Measure.middle(measure)])

/** What was seen in each tenth. */
const tenths = (bytes: ReadonlyArray<number>): ReadonlyArray<Measure.Measure> =>
  Array.from(
    { length: parts },
    (_, part) =>
      mebibytes(bytes.slice(Math.floor(part * bytes.length / parts), Math.floor((part + 1) * bytes.length / parts)))
  )

const growth = (bytes: ReadonlyArray<number>): Measure.Measure => {
  const all = tenths(bytes)
  return Measure.make("x", [Measure.middle(all.at(-1)!) / Measure.middle(all[0]!)])
}

/** The median of the growth from tenth to tenth. */
const steps = (bytes: ReadonlyArray<number>): Measure.Measure => {
  const middles = tenths(bytes).map(Measure.middle)
  return Measure.make("%", middles.slice(1).map((tenth, index) => 100 * (tenth / middles[index]! - 1)))
}

const leftObjects = ({ figures }: Soaked): number => Object.values(figures.left).reduce((sum, count) => sum + count, 0)

const counted = (value: number): Measure.Measure => Measure.make("", [value])

const memoryTable = (soaked: ReadonlyArray<Soaked>): Report.Table => ({
  title: "memory between rounds, MiB by tenth",
  columns: [...Array.from({ length: parts }, (_, part) => String(part + 1)), "last / first"],
  rows: soaked.flatMap(({ backend, figures: { heapBytes, residentBytes } }) => [
    { name: `${backend}, heap`, cells: [...tenths(heapBytes).map(middle), growth(heapBytes)] },
    { name: `${backend}, RSS`, cells: [...tenths(residentBytes).map(middle), growth(residentBytes)] }
  ])
})

/** How often each event occurred: a soak without any failure of a request proves nothing. */
const countsTable = (soaked: ReadonlyArray<Soaked>): Report.Table => ({
  title: "what happened",
  columns: soaked.map(({ backend }) => backend),
  rows: [...new Set(soaked.flatMap(({ figures }) => Object.keys(figures.counts)))].map((name) => ({
    name,
    cells: soaked.map(({ figures }) => counted(figures.counts[name] ?? 0))
  }))
})

const checks = (soaked: Soaked): ReadonlyArray<Report.Check> => {
  const { backend, figures } = soaked
  return [
    { name: `${backend}: driver objects left`, figure: counted(leftObjects(soaked)), atMost: 0 },
    { name: `${backend}: problems`, figure: counted(figures.problemCount), atMost: 0 },
    { name: `${backend}: bytes above the limit`, figure: Measure.make("B", [figures.excessBytes]), atMost: 0 },
    { name: `${backend}: heap, last / first tenth`, figure: growth(figures.heapBytes), atMost: mostHeapGrowth },
    {
      name: `${backend}: typical RSS growth from tenth to tenth`,
      figure: steps(figures.residentBytes),
      atMost: mostResidentSteps
    }
  ]
}

const remarks = ({ backend, figures, seed }: Soaked): ReadonlyArray<string> => [
  `${backend}: seed ${seed}`,
  ...figures.problems.map((problem) => `${backend}: PROBLEM ${problem}`),
  ...(Object.keys(figures.left).length === 0 ? [] : [`${backend}: left: ${JSON.stringify(figures.left)}`])
]

const on = (load: Load, backend: Backend.Name, seed: number, minutes: number) =>
  Contender.run(loads[load].contender, { backend, seconds: 60 * minutes, seed }).pipe(
    Effect.timeoutOrElse({
      duration: `${minutes + graceMinutes} minutes`,
      orElse: () =>
        Effect.fail(
          new ChildProgram.ChildFailed({ program: `${load} on ${backend}`, how: `seed ${seed}: did not end` })
        )
    }),
    Effect.map((figures): Soaked => ({ backend, seed, figures })),
    Section.optional,
    Effect.catchTag("ChildFailed", ({ message }) => Effect.succeed(message))
  )

const under = (load: Load, { backends, minutes, seed }: SoakOptions): Section.Part<Report.Section, never> =>
  Effect.map(
    Effect.forEach(backends, (backend, index) => on(load, backend, seed + index, minutes), {
      concurrency: "unbounded"
    }),
    (ends) => {
      const failures = ends.filter((end) => typeof end === "string")
      const others = ends.filter((end) => typeof end !== "string")
      const soaked = others.flatMap(({ figures }) => figures === undefined ? [] : [figures])
      return {
        name: load,
        title: `${minutes} minutes of ${loads[load].title}`,
        ...Section.findings({
          tables: soaked.length === 0 ? [] : [countsTable(soaked), memoryTable(soaked)],
          checks: soaked.flatMap(checks),
          remarks: [...soaked.flatMap(remarks), ...others.flatMap((other) => other.remarks)],
          failures
        })
      }
    }
  )

/** A section for each load. */
export const run = (options: SoakOptions): Section.Part<ReadonlyArray<Report.Section>, never> =>
  Effect.forEach(options.loads, (load) => under(load, options))
