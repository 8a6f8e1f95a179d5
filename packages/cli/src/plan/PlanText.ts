/**
 * What `effect-gpu-pool plan` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or
 * changes its meaning without a new `version`.
 *
 * @internal
 */
import type { Plan, PlanHolder } from "@effect-gpu-pool/observability/Plan"
import { line } from "effect-gpu-pool/Format"
import * as Format from "../Format.ts"
import { type Limits, millis, shownLimit } from "../replay/ReplayText.ts"
import { table } from "../Table.ts"

/** Sizes are bytes, and times milliseconds since the program began. */
export interface Report
  extends Pick<Plan<unknown>, "holders" | "peakAt" | "peakBytes" | "peakManagedBytes" | "timeline">
{
  readonly version: 1
  readonly input: string
  readonly events: number
  /** How many events the recorder has dropped: the plan is without them. */
  readonly dropped: number
  readonly limits: Limits
}

export const make = (input: string, plan: Plan<unknown>): Report => {
  const { atAll = null, holders, peakAt, peakBytes, peakManagedBytes, recording, timeline, withoutWaiting = null } =
    plan
  return {
    version: 1,
    input,
    events: recording.length,
    dropped: recording.dropped,
    peakBytes,
    peakAt,
    peakManagedBytes,
    holders,
    limits: { atAll, withoutWaiting },
    timeline
  }
}

/** The most rows that are printed, as many as fit on a screen; JSON has all. */
const mostHolders = 20

const holderColumns = [
  { head: "at the peak", isRight: true },
  { head: "leases", isRight: true },
  { head: "label", wraps: true },
  { head: "call site", wraps: true }
]

const holderTable = (holders: ReadonlyArray<PlanHolder>, width: number): string => {
  const rows = holders.slice(0, mostHolders).map((
    { bytes, callSite = "", label = "", leases }
  ) => [Format.bytes(bytes), Format.count(leases), line(label), line(callSite)])
  const shown = table(holderColumns, rows, width)
  const more = holders.length - mostHolders
  return more > 0 ? `${shown}\nand ${Format.count(more)} more` : shown
}

export const text = (
  { dropped, events, holders, input, limits, peakAt, peakBytes, peakManagedBytes }: Report,
  width: number
): string => {
  const lost = dropped === 0 ? "" : `, after ${Format.count(dropped)} that were too many to be kept`
  const rows = [
    `${line(input)}: ${Format.count(events)} events${lost}`,
    `most leased      ${Format.quantity("peakBytes", peakBytes)}, after ${millis(peakAt)}`,
    `most managed     ${Format.quantity("peakBytes", peakManagedBytes)}`,
    `smallest limit   ${shownLimit(limits.atAll)}`,
    `without waiting  ${shownLimit(limits.withoutWaiting)}`
  ]
  return (holders.length === 0 ? rows : [...rows, holderTable(holders, width)]).join("\n")
}
