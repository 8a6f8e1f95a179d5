/**
 * The part of the page that describes the moment at the cursor.
 *
 * @internal
 */
import type { Failure } from "../Timeline.ts"
import { factList, failureText, type HolderRow, holdersTable, waitingList } from "./Details.ts"
import { element } from "./Elements.ts"
import type { Analysis } from "./model/Analysis.ts"
import { bytesText, countText, differenceText, millisText } from "./model/Format.ts"
import type { Holder } from "./model/Moment.ts"

/** The other run, and its state at the cursor. */
export interface OtherRun {
  readonly run: Analysis
  readonly state: number
}

const nameOf = ({ label, site }: Holder): string => JSON.stringify([label, site])

const rowsOf = (first: Analysis, state: number, other: OtherRun | undefined): ReadonlyArray<HolderRow> => {
  const { grouping, moments, passes, run } = first
  const times = run.positions("time")
  const others = other === undefined
    ? undefined
    : new Map(other.run.moments.holders(other.state, other.run.passes).map((holder) => [nameOf(holder), holder.bytes]))
  return moments.holders(state, passes).map((holder) => ({
    ...holder,
    group: grouping.of[holder.oldest]!,
    age: times[state]! - times[run.timeline.leases.start[holder.oldest]!]!,
    other: others === undefined ? undefined : others.get(nameOf(holder)) ?? 0
  }))
}

/** Describes the event before a state. */
const eventText = ({ run: { leaseChanges, timeline } }: Analysis, state: number): string => {
  if (state === 0) return "before the first event"
  const { kind, kinds, leases, texts } = timeline
  const name = `event ${countText(state)}: ${kinds[kind[state - 1]!]}`
  const change = leaseChanges.of[leaseChanges.from[state]!]
  if (change === undefined || leaseChanges.from[state] === leaseChanges.from[state + 1]) return name
  const lease = Math.abs(change) - 1
  return `${name} ${bytesText(leases.size[lease]!)} ${texts[leases.label[lease]!]!}`
}

export class Panel {
  readonly root = element("div", { id: "panel" })
  /** What is shown now: elements are made again only when it changes. */
  #shown: ReadonlyArray<unknown> = []
  #text = ""

  /** Shows the moment, and returns a description of it. */
  show(
    first: Analysis,
    state: number,
    other: OtherRun | undefined,
    failure: Failure | undefined,
    memory: number | undefined
  ): string {
    const shows = [first.stack, state, other?.state, other?.run.stack]
    if (shows.every((of, at) => of === this.#shown[at])) return this.#text
    this.#shown = shows
    const rows = rowsOf(first, state, other)
    const times = first.run.positions("time")
    const when = millisText(times[state]!, 6)
    const active = first.stack.active[state]!
    this.#text = `${when}, ${eventText(first, state)}, ${bytesText(active)} active`
    this.root.replaceChildren(
      element(
        "section",
        { id: "moment", "aria-label": "At the cursor" },
        element("h2", {}, `At ${when}, ${eventText(first, state)}`),
        factList(this.#facts(first, state, other))
      ),
      ...failure === undefined ? [] : [failureText(failure, first.run.timeline, rows[0])],
      ...waitingList(first.moments.waiting(state, memory), (since) => times[state]! - times[since]!),
      holdersTable(rows, other !== undefined)
    )
    return this.#text
  }

  #facts({ stack, totals }: Analysis, state: number, other: OtherRun | undefined) {
    const active = stack.active[state]!
    const managed = totals.managed[state]!
    const limit = totals.limit[state]!
    return [
      ["Active", bytesText(active)],
      ["Held", bytesText(managed - totals.leased[state]!)],
      ["Managed", bytesText(managed)],
      ["Limit", limit === Infinity ? "none" : bytesText(limit)],
      ["Waiting", countText(totals.waiting[state]!)],
      ...other === undefined ? [] : [
        ["Other run", bytesText(other.run.stack.active[other.state]!)] as const,
        ["Difference", differenceText(active - other.run.stack.active[other.state]!)] as const
      ]
    ] as const
  }
}
