/**
 * Describes the moment at the cursor: the event, totals, who has how much, which requests wait, and how a request ran out of memory.
 *
 * @internal
 */
import type { Failure, Timeline } from "../Timeline.ts"
import { colorOf } from "./charts/Colors.ts"
import { button, element, link, swatch } from "./Elements.ts"
import { bytesText, countText, differenceText } from "./model/Format.ts"
import { noLabel, noSite } from "./model/Grouping.ts"
import type { BlockFacts, Holder, WaitingRequest } from "./model/Moment.ts"

/** A row of the table of holders. */
export interface HolderRow extends Holder {
  readonly group: number
  /** The age of the oldest lease. */
  readonly age: string
  /** The bytes in the other run; undefined without one. */
  readonly other: number | undefined
}

const mostRows = 200

/** Cells say their roles and the heads of their columns: a narrow page shows each row as a paragraph, in which they are no cells. */
const cell = (head: string, ...content: ReadonlyArray<string | Node>): HTMLElement =>
  element("td", { role: "cell", "data-head": head }, ...content)

const rowOf = (all: number, row: HolderRow, pick: (lease: number) => void): HTMLElement => {
  const { age, bytes, frames, group, label, leases, other, site } = row
  const share = all === 0 ? 0 : bytes / all * 100
  const compared = other === undefined
    ? []
    : [cell("Other run", bytesText(other)), cell("Difference", differenceText(bytes - other))]
  const bar = element("span", { class: "bar" })
  bar.style.width = `${share}%`
  bar.style.background = colorOf(group)
  const made = element(
    "tr",
    { role: "row" },
    element("td", { class: "name", role: "cell" }, swatch(colorOf(group)), label),
    element(
      "td",
      { class: "site", role: "cell" },
      ...(frames.length > 1 ? frames : [site]).map((frame) => element("div", {}, frame))
    ),
    cell("Bytes", bytesText(bytes)),
    ...compared,
    element("td", { class: "share", role: "cell", "data-head": "Share" }, bar, `${share.toFixed(1)} %`),
    cell("Leases", countText(leases)),
    cell("Oldest", link(age, `Show the oldest lease of ${label}, ${age} old`, () => pick(row.oldest)))
  )
  made.dataset["bytes"] = String(bytes)
  made.dataset["label"] = label
  made.dataset["site"] = site
  return made
}

export interface HoldersOptions {
  /** Which leases it has, such as "made after A"; empty for all. */
  readonly which: string
  readonly compares: boolean
  /** Chooses a lease. */
  readonly pick: (lease: number) => void
}

export const holdersTable = (
  rows: ReadonlyArray<HolderRow>,
  { compares, pick, which }: HoldersOptions
): HTMLElement => {
  const all = rows.reduce((sum, { bytes }) => sum + bytes, 0)
  const heads = [
    "Label",
    "Call site",
    "Bytes",
    ...compares ? ["Other run", "Difference"] : [],
    "Share",
    "Leases",
    "Oldest"
  ]
  const rest = rows.slice(mostRows)
  const body = element("tbody", { role: "rowgroup" }, ...rows.slice(0, mostRows).map((row) => rowOf(all, row, pick)))
  const note = (text: string): HTMLElement =>
    element("tr", { class: "rest", role: "row" }, element("td", { role: "cell", colspan: String(heads.length) }, text))
  if (rows.length === 0) body.append(note("none"))
  if (rest.length > 0) {
    const bytes = rest.reduce((sum, { bytes }) => sum + bytes, 0)
    const text = `and ${countText(rest.length)} more, with ${bytesText(bytes)}`
    body.append(note(text))
  }
  return element(
    "table",
    { id: "holders", role: "table" },
    element("caption", {}, `Holders at the cursor${which === "" ? "" : ` of leases ${which}`}, most bytes first`),
    element(
      "thead",
      { role: "rowgroup" },
      element(
        "tr",
        { role: "row" },
        ...heads.map((head) => element("th", { scope: "col", role: "columnheader" }, head))
      )
    ),
    body
  )
}

/** Numbers with their names. */
export const factList = (facts: ReadonlyArray<readonly [name: string, text: string]>): HTMLElement =>
  element(
    "dl",
    {},
    ...facts.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text)))
  )

/** The names that errors have for the steps. Recordings of other programs may have other steps. */
const stepsTried: ReadonlyMap<string, string> = new Map([
  ["bin", "a held block of its size"],
  ["borrow", "a larger held block"],
  ["driver", "a new block of the driver"],
  ["reclaim", "waiting for the driver to have back what was freed"],
  ["evict", "freeing held blocks"],
  ["exact", "a block without rounding"],
  ["handlers", "handlers of the program that free something"],
  ["wait", "waiting in the wait queue"]
])

const stepText = (step: string): string => {
  const meaning = stepsTried.get(step)
  return meaning === undefined ? step : `${step}: ${meaning}`
}

export const failureText = (failure: Failure, { memories }: Timeline, top: HolderRow | undefined): HTMLElement => {
  const { activeBytes, budget, heldBytes, isTooLarge, label, memory, pool, site, size } = failure
  const heading = isTooLarge ? "Larger than a limit" : "Out of memory"
  const nothing = isTooLarge ? "It is larger than the limit." : "Nothing was tried."
  const asked = `${label === "" ? noLabel : label}, at ${site === "" ? noSite : site}`
  return element(
    "section",
    { id: "failure", "aria-label": heading },
    element("h2", {}, heading),
    element("p", {}, `${pool} had no ${bytesText(size)} for ${asked}.`),
    // A request that is larger than a limit fails whoever has memory.
    ...top === undefined || isTooLarge ? [] : [
      element(
        "p",
        {},
        "Most bytes had ",
        element("strong", {}, top.label),
        ", allocated at ",
        element("strong", {}, top.site),
        `: ${bytesText(top.bytes)} in ${countText(top.leases)} leases.`
      )
    ],
    factList([
      ["Memory", memories[memory]?.name ?? ""],
      ...budget === "" ? [] : [["Budget", budget] as const],
      ["Active", bytesText(activeBytes)],
      ["Held", bytesText(heldBytes)]
    ]),
    element("p", {}, failure.stepsTried.length === 0 ? nothing : "What was tried, in order:"),
    element("ol", {}, ...failure.stepsTried.map((step) => element("li", {}, stepText(step))))
  )
}

export const waitingList = (
  requests: ReadonlyArray<WaitingRequest>,
  ageOf: (state: number) => string
): ReadonlyArray<HTMLElement> => {
  if (requests.length === 0) return []
  const shown = requests.slice(0, 50)
  const lines = shown.map(({ label, since, site, size }) =>
    element("li", {}, `${bytesText(size)} for ${label}, at ${site}, for ${ageOf(since)}`)
  )
  const more = requests.length - shown.length
  return [
    element(
      "section",
      { id: "waiting", "aria-label": "Waiting requests" },
      element("h2", {}, `${countText(requests.length)} waiting`),
      element("ol", {}, ...lines, ...more > 0 ? [element("li", {}, `and ${countText(more)} more`)] : [])
    )
  ]
}

/** What the buttons beside a lease or a block do. */
export interface PickedCommands {
  readonly zoomToPicked: () => void
  readonly unpick: () => void
}

/** Describes a lease, or a block that has none where it was chosen. `lifeText` says from when to when it lasts. */
export const pickedSection = (
  { capacity, family, lease, memory, pool, ...block }: BlockFacts,
  lifeText: (of: { readonly start: number; readonly end: number }) => string,
  { unpick, zoomToPicked }: PickedCommands
): ReadonlyArray<HTMLElement> => {
  const kinds = [pool, family].filter((text) => text !== "").join(", ")
  const heading = lease === undefined
    ? `Block of ${bytesText(capacity)}, held where it was chosen`
    : `Lease of ${bytesText(lease.size)} for ${lease.label}`
  const place = lease === undefined || lease.bytes === capacity
    ? []
    : [["Place", `${bytesText(lease.bytes)} from byte ${countText(lease.offset)} on`] as const]
  return [
    element("h2", {}, heading),
    factList([
      ["Life", lifeText(lease ?? block)],
      ["Block", `${bytesText(capacity)} (${kinds})`],
      ...place,
      ["Memory", memory]
    ]),
    ...lease === undefined ? [] : [
      element("h3", {}, "Call stack, innermost first"),
      lease.frames.length === 0
        ? element("p", {}, noSite)
        : element("ol", { class: "frames" }, ...lease.frames.map((frame) => element("li", {}, frame)))
    ],
    element("p", {}, button("See its life", "See its life", zoomToPicked), " ", button("Close", "Close", unpick))
  ]
}
