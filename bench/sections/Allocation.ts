/** Allocators without a pool, against PyOpenCL's on the same driver. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import { contender } from "../contenders/allocation.ts"
import * as Measure from "../Measure.ts"
import * as PyOpenCl from "../PyOpenCl.ts"
import * as Section from "../Section.ts"

const processes = 3
const sizes = [4096, 1024 * 1024]
const allocators = ["immediate", "deferred"] as const

const row = Effect.fnUntraced(function*(allocator: typeof allocators[number], size: number) {
  const ours = yield* Effect.replicateEffect(
    Contender.run(contender, { backend: "opencl", allocator, size }),
    processes
  )
  const python = yield* Section.optional(
    Effect.replicateEffect(PyOpenCl.run({ what: allocator, size }), processes)
  )
  const mine = Measure.medians("ns", ours)
  const theirs = python.figures === undefined ? null : Measure.medians("ns", python.figures)
  const ratio = theirs === null ? null : Measure.ratioToMiddle(mine, theirs)
  return { name: `${allocator}, ${size / 1024} KiB`, cells: [mine, theirs, ratio], remarks: python.remarks }
})

const measured = Effect.gen(function*() {
  const rows = yield* Effect.forEach(
    allocators.flatMap((allocator) => sizes.map((size) => ({ allocator, size }))),
    ({ allocator, size }) => row(allocator, size)
  )
  return Section.findings({
    tables: [{
      title: "OpenCL, create and release",
      columns: ["ours", "PyOpenCL", "ours / PyOpenCL"],
      rows: rows.map(({ cells, name }) => ({ name, cells }))
    }],
    remarks: [...new Set(rows.flatMap(({ remarks }) => remarks))]
  })
})

export const section: Section.Section = {
  name: "allocation",
  title: `OpenCL allocators without a pool, the wait for the queue included, median of ${processes} processes`,
  run: Section.orReason(measured)
}
