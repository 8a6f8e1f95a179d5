/** Managers of buffers side by side, those of other libraries among them. */
import { Effect } from "effect"
import { median } from "simple-statistics"
import * as Contender from "../Contender.ts"
import * as Library from "../contenders/library.ts"
import * as ManagerMemory from "../contenders/managerMemory.ts"
import * as ManagerTime from "../contenders/managerTime.ts"
import * as Measure from "../Measure.ts"
import * as Libraries from "../peers/Libraries.ts"
import * as Managers from "../peers/Managers.ts"
import * as Requests from "../peers/Requests.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"

const mebibytes = (bytes: number): Measure.Measure => Measure.make("MiB", [bytes / 2 ** 20])

const timesOf = (manager: Managers.Name, requests: Requests.Name) =>
  Managers.isRun(manager) ?
    Effect.succeed([null, null]) :
    Effect.map(Contender.run(ManagerTime.contender, { manager, requests }), ({ micros, overRaw }) => [
      Measure.make("µs", micros),
      Measure.make("x", overRaw)
    ])

const row = (requests: Requests.Name, peakAsked: number) => (manager: Managers.Name) =>
  Effect.all([Contender.run(ManagerMemory.contender, { manager, requests }), timesOf(manager, requests)]).pipe(
    Effect.map(([{ creates, heldBytes, peakBytes }, times]) => ({
      name: manager,
      cells: [
        Measure.make("", [creates]),
        mebibytes(peakBytes),
        Measure.make("x", [peakBytes / peakAsked]),
        mebibytes(heldBytes),
        ...times
      ]
    }))
  )

const ofRequests = Effect.fnUntraced(function*(requests: Requests.Name) {
  const { buffers, peakBytes } = Requests.asked(Requests.steps(requests, 0))
  return Section.findings({
    tables: [{
      title: `${requests}: ${buffers.toLocaleString("en")} buffers`,
      columns: ["driver creates", "peak", "peak / asked for", "held at the end", "each", "over raw calls"],
      rows: yield* Effect.forEach(Managers.Name.literals, row(requests, peakBytes))
    }]
  })
})

const managers = Effect.map(Effect.forEach(Requests.Name.literals, ofRequests), Report.merge)

type Run = Effect.Success<ReturnType<typeof Library.contender.measure>>

/** A pool is worth nothing when results are others. */
const problemsOf = (library: Libraries.Name, own: Run, ours: Run): ReadonlyArray<string> => [
  ...(own.results.join() === ours.results.join() ? [] : [`${library}: other results with a pool under it`]),
  ...[...own.errors, ...ours.errors].map((error) => `${library}: ${error}`)
]

/** The same step of both, since each has its own length; the first ones compile kernels. */
const timeOf = (own: Run, ours: Run): Measure.Measure | null => {
  const ratios = ours.stepMillis.map((millis, step) => millis / own.stepMillis[step]!)
  const settled = ratios.slice(Math.floor(ratios.length / 4))
  return settled.length === 0 ? null : Measure.make("x", [median(settled)])
}

const ofLibrary = Effect.fnUntraced(function*(library: Libraries.Name) {
  const own = yield* Contender.run(Library.contender, { library, manager: "own" })
  const ours = yield* Contender.run(Library.contender, { library, manager: "ours" })
  return {
    name: library,
    cells: [
      Measure.make("", [own.creates]),
      Measure.make("", [ours.creates]),
      mebibytes(own.peakBytes),
      mebibytes(ours.peakBytes),
      Measure.make("x", [own.peakBytes / ours.peakBytes]),
      timeOf(own, ours)
    ],
    problems: problemsOf(library, own, ours)
  }
})

const libraries = Effect.map(Effect.forEach(Libraries.Name.literals, ofLibrary), (rows) =>
  Section.findings({
    tables: [{
      title: "programs of libraries, on their own manager and on ours",
      columns: ["creates, own", "ours", "peak, own", "ours", "own / ours", "a step, ours / own"],
      rows: rows.map(({ cells, name }) => ({ name, cells }))
    }],
    failures: rows.flatMap(({ problems }) => problems)
  }))

export const section: Section.Section = {
  name: "peers",
  title: "managers of buffers on Dawn, each in a fresh process; times are medians within one",
  run: Section.orReason(Effect.map(Effect.all([libraries, managers]), Report.merge))
}
