/**
 * The part of the page that describes the moment at the cursor.
 *
 * @internal
 */
import type { Failure } from "../Timeline.ts"
import { factList, failureText, type HolderRow, holdersTable, waitingList } from "./Details.ts"
import { element } from "./Elements.ts"
import type { Analysis } from "./model/Analysis.ts"
import { bytesText, countText, differenceText, momentText, spanText } from "./model/Format.ts"
import type { Holder } from "./model/Moment.ts"

/** The other run, and its states at the cursor and at the moment A. */
export interface OtherRun {
  readonly run: Analysis
  readonly state: number
  readonly since: number | undefined
}

/** What the panel describes. */
export interface Described {
  readonly first: Analysis
  readonly state: number
  /** The state of the moment A, if there is one: the table has the leases that were made after it. */
  readonly since: number | undefined
  /** The table has leases of this age, in milliseconds. */
  readonly olderThan: number
  readonly other: OtherRun | undefined
  readonly failure: Failure | undefined
  readonly memory: number | undefined
}

const nameOf = ({ label, site }: Holder): string => JSON.stringify([label, site])

/** The holders of the leases that were made after A and are old enough. */
const holdersOf = (
  { moments, passes }: Analysis,
  state: number,
  since: number | undefined,
  olderThan: number
): ReadonlyArray<Holder> =>
  moments.holders(state, passes, { after: since, until: moments.stateBefore(state, olderThan) })

const rowsOf = ({ first, olderThan, other, since, state }: Described): ReadonlyArray<HolderRow> => {
  const { grouping, run } = first
  const others = other === undefined
    ? undefined
    : new Map(
      holdersOf(other.run, other.state, other.since, olderThan).map((holder) => [nameOf(holder), holder.bytes])
    )
  return holdersOf(first, state, since, olderThan).map((holder) => ({
    ...holder,
    group: grouping.of[holder.oldest]!,
    age: ageText(first, run.timeline.leases.start[holder.oldest]!, state),
    other: others === undefined ? undefined : others.get(nameOf(holder)) ?? 0
  }))
}

/** How long before a state another one began. */
const ageText = ({ run }: Analysis, start: number, state: number): string => {
  const times = run.positions("time")
  return spanText(times[state]! - times[start]!, run.timeStep)
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

const momentOf = ({ run }: Analysis, state: number): string => momentText(run.positions("time")[state]!, run.timeStep)

/** Says which leases the table has. */
const whichOf = ({ first, olderThan, since }: Described): string =>
  [
    ...since === undefined ? [] : [`made after A (${momentOf(first, since)})`],
    ...olderThan > 0 ? [`${momentText(olderThan, first.run.timeStep)} old or older`] : []
  ].join(", ")

const bytesAndLeases = (rows: ReadonlyArray<HolderRow>): string => {
  const [bytes, leases] = rows.reduce(([sum, count], row) => [sum + row.bytes, count + row.leases] as const, [0, 0])
  return `${bytesText(bytes)} in ${countText(leases)} leases`
}

export class Panel {
  readonly root = element("div", { id: "panel" })
  /** The lease or block that is chosen; what changes in it is read aloud. */
  readonly picked = element("section", { id: "picked", "aria-label": "Chosen", "aria-live": "polite", hidden: true })
  readonly #moment = element("div")
  readonly #pick: (lease: number) => void
  /** What is shown now: elements are made again only when it changes. */
  #shown: ReadonlyArray<unknown> = []
  #text = ""

  constructor(pick: (lease: number) => void) {
    this.#pick = pick
    this.root.append(this.picked, this.#moment)
  }

  /** Shows what is chosen. */
  showPicked(content: ReadonlyArray<HTMLElement>): void {
    this.picked.replaceChildren(...content)
    this.picked.hidden = content.length === 0
  }

  /** Shows the moment, and returns a description of it. */
  show(described: Described): string {
    const { failure, first, memory, olderThan, other, since, state } = described
    const shows = [first.stack, state, since, olderThan, other?.state, other?.run.stack]
    if (shows.every((of, at) => of === this.#shown[at])) return this.#text
    this.#shown = shows
    const rows = rowsOf(described)
    const when = momentOf(first, state)
    const active = first.stack.active[state]!
    this.#text = `${when}, ${eventText(first, state)}, ${bytesText(active)} active`
    this.#moment.replaceChildren(
      element(
        "section",
        { id: "moment", "aria-label": "At the cursor" },
        element("h2", {}, `At ${when}, ${eventText(first, state)}`),
        factList(this.#facts(described)),
        ...since === undefined ? [] : [factList(this.#sinceFacts(first, since, state, rows, olderThan))]
      ),
      ...failure === undefined ? [] : [failureText(failure, first.run.timeline, this.#most(described))],
      ...waitingList(first.moments.waiting(state, memory), (begun) => ageText(first, begun, state)),
      holdersTable(rows, { which: whichOf(described), compares: other !== undefined, pick: this.#pick })
    )
    return this.#text
  }

  /** Who has the most bytes, whichever leases the table has. */
  #most(described: Described): HolderRow | undefined {
    return rowsOf({ ...described, since: undefined, olderThan: 0 })[0]
  }

  /** Compares the cursor with the moment A. */
  #sinceFacts(
    { stack }: Analysis,
    since: number,
    state: number,
    rows: ReadonlyArray<HolderRow>,
    olderThan: number
  ): ReadonlyArray<readonly [name: string, text: string]> {
    const before = stack.active[since]!
    return [
      ["Active at A", bytesText(before)],
      ["Change since A", differenceText(stack.active[state]! - before)],
      [olderThan > 0 ? "Made after A, and as old" : "Made after A, still leased", bytesAndLeases(rows)]
    ]
  }

  #facts({ first: { stack, totals }, other, state }: Described) {
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
