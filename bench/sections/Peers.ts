/** Managers of buffers side by side, those of other libraries among them. */
import { Effect } from "effect"
import * as Contender from "../Contender.ts"
import * as ManagerMemory from "../contenders/managerMemory.ts"
import * as ManagerTime from "../contenders/managerTime.ts"
import * as Measure from "../Measure.ts"
import * as Managers from "../peers/Managers.ts"
import * as Requests from "../peers/Requests.ts"
import * as Report from "../Report.ts"
import * as Section from "../Section.ts"

const mebibytes = (bytes: number): Measure.Measure => Measure.make("MiB", [bytes / 2 ** 20])

const timesOf = (manager: Managers.Name, requests: Requests.Name) =>
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

export const section: Section.Section = {
  name: "peers",
  title: "managers of buffers on Dawn, each in fresh processes; times are medians of rounds in one process",
  run: Section.orReason(managers)
}
