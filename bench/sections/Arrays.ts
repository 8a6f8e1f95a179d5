/** Array expressions: what the pool saves them, what fusion saves them, and what an operation costs the program. */
import { Effect } from "effect"
import type * as Backend from "../Backend.ts"
import * as Contender from "../Contender.ts"
import * as Expression from "../contenders/expression.ts"
import * as Matmul from "../contenders/matmul.ts"
import * as TinyArrays from "../contenders/tinyArrays.ts"
import { operations } from "../Expression.ts"
import * as Measure from "../Measure.ts"
import * as PyOpenCl from "../PyOpenCl.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"
import * as ArrayPeers from "./ArrayPeers.ts"

const processes = 3
const kibibyte = 1024
const mebibyte = 1024 * kibibyte

const backends: ReadonlyArray<Backend.Name> = ["host", "webgpu", "opencl"]

/** The shorter a run, the more runs. The first runs, with their misses, count where a program has few runs. */
const sizes = [
  { name: "4 KiB", bytes: 4 * kibibyte, runs: 100 },
  { name: "1 MiB", bytes: mebibyte, runs: 10 },
  { name: "16 MiB", bytes: 16 * mebibyte, runs: 3 },
  { name: "64 MiB", bytes: 64 * mebibyte, runs: 1 }
]

type Size = typeof sizes[number]

const total = (samples: ReadonlyArray<number>): number => samples.reduce((sum, sample) => sum + sample, 0)

/** Compiling the kernels is not what is compared, so the first run of a process counts only for its memory. */
const runOf = (
  backend: Backend.Name,
  form: "eager" | "fused",
  pooled: boolean,
  { bytes, runs }: Size,
  warmUpMillis: number = 0
) =>
  Effect.map(
    Contender.run(Expression.contender, { backend, form, pooled, bytes, warmUpMillis, runs }),
    (millis) => total(millis) / runs
  )

interface Compared {
  readonly name: string
  readonly eager: Measure.Measure
  readonly rival: Measure.Measure
  /** How many times as long the slower form takes, process by process. */
  readonly ratio: Measure.Measure
}

/** Process by process in turn, so that each pair meets the same machine. */
const compare = Effect.fnUntraced(function*(
  name: string,
  slow: ReturnType<typeof runOf>,
  fast: ReturnType<typeof runOf>
) {
  const pairs = yield* Effect.replicateEffect(Effect.all({ slow, fast }), processes)
  const compared: Compared = {
    name,
    eager: Measure.make("ms", pairs.map((pair) => pair.slow)),
    rival: Measure.make("ms", pairs.map((pair) => pair.fast)),
    ratio: Measure.make("x", pairs.map((pair) => pair.slow / pair.fast))
  }
  return compared
})

const table = (title: string, columns: readonly [string, string], rows: ReadonlyArray<Compared>): Report.Table => ({
  title,
  columns: [...columns, "ratio"],
  rows: rows.map(({ eager, name, ratio, rival }) => ({ name, cells: [eager, rival, ratio] }))
})

/** On a software GPU fresh memory costs more than the work on it. */
const leastGain = (backend: Backend.Name, { name }: Size): number =>
  backend === "webgpu" && name === "16 MiB" ? 1.15 : 1

const pooling = (backend: Backend.Name) =>
  Effect.gen(function*() {
    const rows = yield* Effect.forEach(sizes, (size) =>
      compare(size.name, runOf(backend, "eager", false, size), runOf(backend, "eager", true, size)))
    return Section.findings({
      tables: [
        table(`${backend}: ${operations} eager operations, one after the other`, ["unpooled", "pooled"], rows)
      ],
      checks: rows.map(({ ratio }, index) => ({
        name: `eager on ${backend} at ${sizes[index]!.name}, unpooled / pooled`,
        figure: ratio,
        atLeast: leastGain(backend, sizes[index]!)
      }))
    })
  })

/**
 * A GPU computes 16 MiB in less time than the host takes to record the operations, all the more while its code is cold.
 * The host's time is the same for both forms, which differ in the work of the device.
 */
const fusionSizes: { readonly [B in Backend.Name]: Size } = { host: sizes[2]!, webgpu: sizes[3]!, opencl: sizes[3]! }
const fusionRuns = 3
const fusionWarmUpMillis = 300

const fusion = Effect.gen(function*() {
  const rows = yield* Effect.forEach(backends, (backend) => {
    const size = { ...fusionSizes[backend], runs: fusionRuns }
    const formOf = (form: "eager" | "fused") => runOf(backend, form, true, size, fusionWarmUpMillis)
    return compare(`${backend}, ${size.name}`, formOf("eager"), formOf("fused"))
  })
  return Section.findings({
    tables: [table(`${operations} operations, with warm code`, ["eager", "fused"], rows)],
    checks: rows.map(({ name, ratio }) => ({ name: `eager / fused on ${name}`, figure: ratio, atLeast: 4 }))
  })
})

/** Microseconds that an operation may cost the program. */
const budgets: { readonly [B in Backend.Name]?: number } = { webgpu: 40, opencl: 15 }

const hostCost = Effect.gen(function*() {
  const rows = yield* Effect.forEach(backends, (backend) =>
    Effect.map(
      Effect.replicateEffect(Contender.run(TinyArrays.contender, { backend }), processes),
      (runs) => ({
        name: backend,
        thread: Measure.medians("µs", runs.map((run) => run.thread)),
        wall: Measure.medians("µs", runs.map((run) => run.wall))
      })
    ))
  const python = yield* Section.optional(
    Effect.replicateEffect(PyOpenCl.run({ what: "array", size: 64 }), processes)
  )
  const pythonRows = python.figures === undefined
    ? []
    : [{ name: "pyopencl.array", cells: [Measure.scale(Measure.medians("ns", python.figures), "µs", 1e-3), null] }]
  return Section.findings({
    tables: [{
      title: "host cost of an operation on 16 elements, until it is submitted",
      columns: ["the program's thread", "wall clock"],
      rows: [...rows.map(({ name, thread, wall }) => ({ name, cells: [thread, wall] })), ...pythonRows]
    }],
    checks: rows.flatMap(({ name, thread }) => {
      const atMost = budgets[name]
      return atMost === undefined ? [] : [{ name: `host cost per operation on ${name}`, figure: thread, atMost }]
    }),
    remarks: python.remarks
  })
})

const matmulSize = 512

const products = Effect.gen(function*() {
  const rows = yield* Effect.forEach(
    backends,
    (backend) =>
      Effect.map(Contender.run(Matmul.contender, { backend, size: matmulSize, rounds: 5 }), ({ naive, tiled }) => ({
        name: backend,
        naive: Measure.make("ms", naive),
        tiled: Measure.make("ms", tiled),
        ratio: Measure.make("x", naive.map((sample, round) => sample / tiled[round]!))
      }))
  )
  return Section.findings({
    tables: [{
      title: `matmul of ${matmulSize} x ${matmulSize} matrices`,
      columns: ["naive", "tiled", "ratio"],
      rows: rows.map(({ naive, name, ratio, tiled }) => ({ name, cells: [naive, tiled, ratio] }))
    }],
    checks: rows.map(({ name, ratio }) => ({ name: `naive / tiled product on ${name}`, figure: ratio, atLeast: 1 }))
  })
})

export const section: Section.Section = {
  name: "arrays",
  title: `array expressions, ${processes} fresh processes each; products in one`,
  run: Effect.map(
    Effect.forEach(
      [
        ...backends.map(pooling),
        fusion,
        hostCost,
        products,
        ArrayPeers.products,
        ArrayPeers.compiled,
        ArrayPeers.kmeans
      ],
      Section.orReason
    ),
    Report.merge
  )
}
