/** A part of the benchmarks that can be run by itself, and the parts of its findings. */
import { Effect } from "effect"
import type { ChildProcessSpawner } from "effect/process"
import type { ChildFailed, Missing } from "./ChildProgram.ts"
import type * as Report from "./Report.ts"

/** Something measured in processes of its own. */
export type Part<A, E> = Effect.Effect<A, E, ChildProcessSpawner.ChildProcessSpawner>

export interface Section {
  readonly name: string
  readonly title: string
  readonly run: Part<Report.Findings, never>
}

export const findings = (some: Partial<Report.Findings>): Report.Findings => ({
  tables: [],
  checks: [],
  remarks: [],
  failures: [],
  ...some
})

const notHere = ({ why }: Missing): string => `not here: ${why}`

/** Where a part cannot be measured, its findings are a line that says why; the other parts still run. */
export const orReason = (part: Part<Report.Findings, Missing | ChildFailed>): Part<Report.Findings, never> =>
  Effect.catchTags(part, {
    Missing: (missing) => Effect.succeed(findings({ remarks: [notHere(missing)] })),
    ChildFailed: ({ message }) => Effect.succeed(findings({ failures: [message] }))
  })

/** Figures that a table can do without. */
export interface Optional<A> {
  readonly figures: A | undefined
  readonly remarks: ReadonlyArray<string>
}

/** One contender among several; the others are measured where it is missing. */
export const optional = <A>(part: Part<A, Missing | ChildFailed>): Part<Optional<A>, ChildFailed> =>
  part.pipe(
    Effect.map((figures): Optional<A> => ({ figures, remarks: [] })),
    Effect.catchTag("Missing", (missing) =>
      Effect.succeed<Optional<A>>({ figures: undefined, remarks: [notHere(missing)] }))
  )
