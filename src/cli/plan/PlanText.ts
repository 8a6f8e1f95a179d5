/**
 * What `effect-gpu-pool plan` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or
 * changes its meaning without a new `version`.
 *
 * @internal
 */
import CliTable from "cli-table3"
import { line } from "../../domain/arguments/ShownValue.ts"
import type { Plan, PlanHolder } from "../../observability/replay/Plan.ts"
import { type Limits, millis, shownLimit } from "../replay/ReplayText.ts"
import * as Shown from "../Shown.ts"

/** Sizes are bytes, and times milliseconds since the program began. */
export interface Report
  extends Pick<Plan<unknown>, "holders" | "peakAt" | "peakBytes" | "peakManagedBytes" | "timeline">
{
  readonly version: 1
  readonly input: string
  readonly events: number
  /** Events before the first that the recorder no longer had: the plan is without them. */
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

/** A screen has room for so many; JSON has all. */
const mostHolders = 20

const holderTable = (holders: ReadonlyArray<PlanHolder>): string => {
  const table = new CliTable({
    head: ["at the peak", "leases", "label", "call site"],
    style: { head: [], border: [], compact: true },
    colAligns: ["right", "right", "left", "left"]
  })
  for (const { bytes, callSite = "", label = "", leases } of holders.slice(0, mostHolders)) {
    table.push([Shown.bytes(bytes), Shown.count(leases), line(label), line(callSite)])
  }
  const more = holders.length - mostHolders
  return more > 0 ? `${table.toString()}\nand ${Shown.count(more)} more` : table.toString()
}

export const text = (
  { dropped, events, holders, input, limits, peakAt, peakBytes, peakManagedBytes }: Report
): string => {
  const lost = dropped === 0 ? "" : `, after ${Shown.count(dropped)} that were too many to be kept`
  const rows = [
    `${line(input)}: ${Shown.count(events)} events${lost}`,
    `most leased      ${Shown.quantity("peakBytes", peakBytes)}, after ${millis(peakAt)}`,
    `most managed     ${Shown.quantity("peakBytes", peakManagedBytes)}`,
    `smallest limit   ${shownLimit(limits.atAll)}`,
    `without waiting  ${shownLimit(limits.withoutWaiting)}`
  ]
  return (holders.length === 0 ? rows : [...rows, holderTable(holders)]).join("\n")
}
