/** The whole demo: read, compute the reference, compare the backends one after the other, report. */
import { Console, Data, Effect } from "effect"
import * as Airports from "./Airports.ts"
import * as Backends from "./Backends.ts"
import * as Comparison from "./Comparison.ts"
import { Progress } from "./Progress.ts"
import * as Reference from "./Reference.ts"
import * as Report from "./Report.ts"

export interface Options extends Comparison.Options {
  readonly backends: ReadonlyArray<Backends.Choice>
  /** Only the first so many airports; all when undefined. */
  readonly airports: number | undefined
  readonly json: boolean
}

/** The report was printed, but not all is well. */
export class DemoFailed extends Data.TaggedError("DemoFailed")<{ readonly problems: ReadonlyArray<string> }> {
  override get message(): string {
    return this.problems.join("\n")
  }
}

export const run = Effect.fn("Demo.run")(function*(options: Options) {
  const airports = (yield* Airports.read).slice(0, options.airports)
  const progress = yield* Progress
  const reference = yield* progress.track(
    "float64 on the CPU, to compare with",
    airports.length,
    (onRows) => Reference.run(airports, { rowsPerTile: options.rowsPerTile, onRows })
  )
  const backends = yield* Backends.find(options.backends)
  const outcomes = yield* Effect.forEach(
    backends,
    (backend) => Comparison.run(backend, airports, reference, options)
  )
  yield* Console.log((options.json ? Report.json : Report.text)(airports, outcomes))
  const problems = Report.problems(outcomes)
  if (problems.length > 0) return yield* new DemoFailed({ problems })
})
