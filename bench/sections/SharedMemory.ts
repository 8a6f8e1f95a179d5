/** Shared virtual memory on OpenCL. */
import { Effect } from "effect"
import { median } from "simple-statistics"
import * as Contender from "../Contender.ts"
import * as SharedMemory from "../contenders/sharedMemory.ts"
import * as Measure from "../Measure.ts"
import * as PyOpenCl from "../PyOpenCl.ts"
import * as Rounds from "../Rounds.ts"
import * as Section from "../Section.ts"

const processes = 5

const ways = ["scoped(pool.allocate)", "pool.use"]

const measured = Effect.gen(function*() {
  const runs = yield* Effect.replicateEffect(Contender.run(SharedMemory.contender, {}), processes)
  const python = yield* Section.optional(
    Effect.replicateEffect(PyOpenCl.run({ what: "svm", size: 4096 }), processes)
  )
  const hits = runs.map((run) => run.hits)
  const nanos = (name: string) => Measure.make("ns", hits.map((run) => Rounds.net(run, name)))
  const ratio = (way: string) =>
    Measure.make("x", hits.map((run) => Rounds.netRatio(run, `${way}, shared memory`, `${way}, buffers`)))
  const pythonRows = python.figures === undefined
    ? []
    : [{ name: "PyOpenCL, SVMPool and release", cells: [null, Measure.medians("ns", python.figures), null] }]
  const tripRows = SharedMemory.trips.flatMap(({ bytes }, at) => {
    const taken = runs.map(({ trips }) => trips[at]).filter((trip) => trip !== undefined)
    if (taken.length === 0) return []
    const micros = (name: string) => Measure.make("µs", taken.map((trip) => median([...trip[name]!]) / 1000))
    const shares = taken.map((trip) =>
      median(trip["a view"]!.map((sample, round) => sample / trip["write and read"]![round]!))
    )
    return [{
      name: `${bytes / 1024} KiB`,
      cells: [micros("write and read"), micros("a view"), Measure.make("x", shares)]
    }]
  })
  return Section.findings({
    tables: [
      {
        title: "a hit, without the loop's share",
        columns: ["pool of buffers", "pool of shared memory", "shared / buffers"],
        rows: [
          ...ways.map((way) => ({
            name: way,
            cells: [nanos(`${way}, buffers`), nanos(`${way}, shared memory`), ratio(way)]
          })),
          ...pythonRows
        ]
      },
      {
        title: "made by the program, changed by a kernel, read by the program",
        columns: ["write and read", "a view", "view / copies"],
        rows: tripRows
      }
    ],
    checks: ways.map((way) => ({ name: `${way}, shared memory / buffers`, figure: ratio(way), atMost: 1.1 })),
    remarks: python.remarks
  })
})

export const section: Section.Section = {
  name: "svm",
  title: `shared virtual memory on OpenCL, median of ${processes} processes`,
  run: Section.orReason(measured)
}
