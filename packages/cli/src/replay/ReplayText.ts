/**
 * What `effect-gpu-pool replay` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or
 * changes its meaning without a new `version`.
 *
 * @internal
 */
import type { PoolEvent } from "@effect-gpu-pool/observability"
import { events as eventsOf, type Recording } from "@effect-gpu-pool/observability/Recording"
import type { FailedRequest, ReplayReport, SmallestLimit } from "@effect-gpu-pool/observability/Replay"
import { line } from "effect-gpu-pool/Format"
import * as Struct from "effect/Struct"
import * as Format from "../Format.ts"
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

/** The request in whose failure a recording ends. */
export interface LastFailure extends Pick<FailedRequest, "callSite" | "label" | "pool" | "request" | "size"> {}

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
  /** The request in whose failure the recording ends: no request got memory after it. Null where it ends otherwise. */
  readonly endsIn: LastFailure | null
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

type Failed = PoolEvent.RanOut | PoolEvent.GaveUp

const isFailed = (event: PoolEvent.PoolEvent): event is Failed =>
  event._tag === "RanOut" || (event._tag === "GaveUp" && event.why === "limitExceeded")

const lastFailure = (recording: Recording): LastFailure | null => {
  let last: Failed | undefined
  for (const event of eventsOf(recording)) {
    if (isFailed(event)) last = event
    else if (event._tag === "Leased") last = undefined
  }
  return last === undefined ? null : Struct.pick(last, ["request", "size", "label", "callSite", "pool"])
}

export const make = ({ changed, input, limits, recorded, recording, replayed }: Replayed): Report => ({
  version: 1,
  input,
  events: recording.length,
  dropped: recording.dropped,
  changed,
  recorded: recorded === undefined ? null : countsOf(recorded),
  replayed: countsOf(replayed),
  failed: replayed.failed,
  limits,
  endsIn: lastFailure(recording)
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
  { changed, dropped, endsIn, events, input, limits, recorded, replayed }: Report,
  width: number
): string => {
  const options = Object.entries(changed).map(([name, value]) => `${name} ${value}`)
  const counts = recorded === null ? [replayed] : [recorded, replayed]
  const heads = recorded === null ? ["as recorded"] : ["as recorded", line(options.join(", "))]
  const columns = [{ head: "" }, ...heads.map((head) => ({ head, isRight: true, wraps: true }))]
  const shown = [...rows.map(([name, shown]) => [name, ...counts.map(shown)]), ...limitRows(limits)]
  const lost = dropped === 0 ? "" : `, after ${Format.count(dropped)} that the recorder no longer had`
  const notes = [difference(counts[0]!, events), ...limits === null || endsIn === null ? [] : [noEnd(endsIn)]]
  return [
    `${line(input)}: ${Format.count(events)} events${lost}`,
    table(columns, shown, width),
    ...notes.filter((note) => note !== "")
  ].join("\n")
}

/** Says if the replay under the recorded policy differs from its recording: docs/observability.md says when. */
export const difference = ({ differsAt }: Pick<Counts, "differsAt">, events: number): string => {
  if (differsAt === undefined) return ""
  return differsAt === 0
    ? "The replay differs from the recording from the first event on."
    : `As recorded up to event ${Format.count(differsAt)} of ${Format.count(events)}; the replay differs from there on.`
}

const requestText = ({ callSite, label, pool, size }: LastFailure): string =>
  `${Format.bytes(size)}${label === undefined ? "" : ` "${line(label)}"`} of ${line(pool)}${
    callSite === undefined ? "" : `, at ${line(callSite)}`
  }`

/** Says that a limit is enough for what was recorded alone. */
const noEnd = (failure: LastFailure): string =>
  `The recording ends in the failure of request ${failure.request} (${
    requestText(failure)
  }): no request got memory after it. ` +
  "What the program does once that request is served is not recorded, so it may need more than these limits."

/** The first request that failed, and how many more did. */
export const firstFailure = ([first, ...others]: ReadonlyArray<FailedRequest>): string | undefined => {
  if (first === undefined) return undefined
  const more = others.length === 0 ? "" : ` ${Format.count(others.length)} more failed.`
  return `Request ${first.request} failed: ${requestText(first)}: ${line(first.why)}.${more}`
}
