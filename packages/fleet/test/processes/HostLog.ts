/** What a host did, as it wrote it down at once: a line for each job that began or ended. Nothing is missing if the host is killed. */
import * as Schema from "effect/Schema"
import { appendFileSync, existsSync, readFileSync } from "node:fs"

const Line = Schema.Struct({
  what: Schema.Literals(["started", "begin", "end"]),
  /** Milliseconds of the machine's clock, which all processes have and nobody sets. */
  at: Schema.Number,
  host: Schema.String,
  pid: Schema.Int,
  id: Schema.String,
  job: Schema.String,
  epoch: Schema.Number,
  bytes: Schema.Number,
  /** What the pool of the device has reserved and leased. */
  used: Schema.Number
})

export type Line = typeof Line.Type

export const now = (): number => Number(process.hrtime.bigint()) / 1e6

export const append = (file: string, line: Line): void => appendFileSync(file, `${JSON.stringify(line)}\n`)

export const read = (file: string): ReadonlyArray<Line> =>
  existsSync(file)
    ? readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) =>
      Schema.decodeUnknownSync(Line)(JSON.parse(line))
    )
    : []

/** The most bytes that the jobs of a host had together, and the most that its pool had, of all its processes. */
export const mostUsed = (lines: ReadonlyArray<Line>): { readonly byJobs: number; readonly byPool: number } => {
  const running = new Map<string, number>()
  let byJobs = 0
  for (const { bytes, id, job, pid, what } of lines) {
    // The process before this one has ended, and all that it ran.
    if (what === "started") running.clear()
    if (what === "begin") running.set(`${pid} ${job} ${id}`, bytes)
    if (what === "end") running.delete(`${pid} ${job} ${id}`)
    byJobs = Math.max(byJobs, [...running.values()].reduce((sum, bytes) => sum + bytes, 0))
  }
  return { byJobs, byPool: Math.max(0, ...lines.map(({ used }) => used)) }
}

/** How often each job began, on all hosts. */
export const begins = (lines: ReadonlyArray<Line>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { id, what } of lines) if (what === "begin") counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}
