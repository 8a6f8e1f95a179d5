/**
 * What `effect-gpu-pool replay` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or
 * changes its meaning without a new `version`.
 *
 * @internal
 */
import type { Recording } from "@effect-gpu-pool/observability/Recording"
import type { FailedRequest, ReplayReport, SmallestLimit } from "@effect-gpu-pool/observability/Replay"
import * as Struct from "effect/Struct"
import * as Format from "../Format.ts"
import { line } from "../Printable.ts"
import { table } from "../Table.ts"

export interface Counts extends Omit<ReplayReport, "failed" | "recording"> {
  /** How many requests failed. */
  readonly failed: number
}

/** The smallest limits under which no request fails; null where one fails or waits without a limit too. */
export interface Limits {
  readonly atAll: SmallestLimit | null
  /** The same, if no request may wait. */
  readonly withoutWaiting: SmallestLimit | null
}

export interface Report {
  readonly version: 1
  readonly input: string
  readonly events: number
  /** How many events the recorder has dropped. */
  readonly dropped: number
  /** What differs from the recording, as on the command line. */
  readonly changed: Readonly<Record<string, string>>
  /** The replay under the recorded policy; null if no option changes anything. */
  readonly recorded: Counts | null
  readonly replayed: Counts
  readonly failed: ReadonlyArray<FailedRequest>
  /** The result of `--bisect`; null without it. */
  readonly limits: Limits | null
}

/** The input of a report. */
export interface Replayed extends Pick<Report, "changed" | "input" | "limits"> {
  readonly recording: Recording
  readonly recorded: ReplayReport | undefined
  readonly replayed: ReplayReport
}

const countsOf = (report: ReplayReport): Counts => ({
  ...Struct.omit(report, ["recording"]),
  failed: report.failed.length
})

export const make = (
  { changed, input, limits, recorded, recording: { dropped, length }, replayed }: Replayed
): Report => ({
  version: 1,
  input,
  events: length,
  dropped,
  changed,
  recorded: recorded === undefined ? null : countsOf(recorded),
  replayed: countsOf(replayed),
  failed: replayed.failed,
  limits
})

const percent = (part: number): string => `${(100 * part).toFixed(1)} %`
export const millis = (value: number): string => value === 0 ? "0" : Format.duration(value * 1e6)

type Row = readonly [name: string, shown: (counts: Counts) => string]

const rows: ReadonlyArray<Row> = [
  ["leases", ({ leases }) => Format.count(leases)],
  ["hits", ({ hitRate }) => percent(hitRate)],
  ["borrows", ({ borrows }) => Format.count(borrows)],
  ["misses", ({ misses }) => Format.count(misses)],
  ["evictions", ({ evictions }) => Format.count(evictions)],
  ["bytes evicted", ({ evictedBytes }) => Format.bytes(evictedBytes)],
  ["most leased", ({ peakActiveBytes }) => Format.bytes(peakActiveBytes)],
  ["most managed", ({ peakManagedBytes }) => Format.bytes(peakManagedBytes)],
  ["not leased of that", ({ fragmentation }) => percent(fragmentation)],
  ["waits", ({ waits }) => Format.count(waits)],
  ["waited", ({ waitedMillis }) => millis(waitedMillis)],
  ["longest wait", ({ longestWaitMillis }) => millis(longestWaitMillis)],
  ["failed", ({ failed }) => Format.count(failed)]
]

/** A limit with its exact bytes, since a byte less fails. */
export const shownLimit = (found: SmallestLimit | null | undefined): string =>
  found ? Format.quantity("maxBytes", found.maxBytes) : "none"

const limitRows = (limits: Limits | null): Array<Array<string>> =>
  limits === null ? [] : [
    ["smallest limit", "", shownLimit(limits.atAll)],
    ["without waiting", "", shownLimit(limits.withoutWaiting)]
  ]

export const text = (
  { changed, dropped, events, input, limits, recorded, replayed }: Report,
  width: number
): string => {
  const options = Object.entries(changed).map(([name, value]) => `${name} ${value}`)
  const counts = recorded === null ? [replayed] : [recorded, replayed]
  const heads = recorded === null ? ["as recorded"] : ["as recorded", line(options.join(", "))]
  const columns = [{ head: "" }, ...heads.map((head) => ({ head, isRight: true, wraps: true }))]
  const shown = [...rows.map(([name, shown]) => [name, ...counts.map(shown)]), ...limitRows(limits)]
  const lost = dropped === 0 ? "" : `, after ${Format.count(dropped)} that the recorder no longer had`
  return `${line(input)}: ${Format.count(events)} events${lost}\n${table(columns, shown, width)}${
    difference(counts[0]!)
  }`
}

/** Says if the replay under the recorded policy differs from its recording: docs/observability.md says when. */
const difference = ({ differsAt }: Counts): string =>
  differsAt === undefined ? "" : `\nAs recorded but for what follows its first ${Format.count(differsAt)} events.`

/** The first request that failed, and how many more did. */
export const firstFailure = ([first, ...others]: ReadonlyArray<FailedRequest>): string | undefined => {
  if (first === undefined) return undefined
  const { callSite, label, pool, request, size, why } = first
  const place = callSite === undefined ? "" : `, at ${line(callSite)}`
  const more = others.length === 0 ? "" : ` ${Format.count(others.length)} more failed.`
  return `Request ${request} failed: ${Format.bytes(size)}${label === undefined ? "" : ` "${line(label)}"`} of ${
    line(pool)
  }${place}: ${line(why)}.${more}`
}
