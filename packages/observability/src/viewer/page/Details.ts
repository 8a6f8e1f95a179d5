/**
 * Describes the moment at the cursor: the event, totals, who has how much, which requests wait, and how a request ran out of memory.
 *
 * @internal
 */
import type { Failure, Timeline } from "../Timeline.ts"
import { colorOf } from "./charts/Colors.ts"
import { element, swatch } from "./Elements.ts"
import { bytesText, countText, differenceText, millisText } from "./model/Format.ts"
import { noLabel, noSite } from "./model/Grouping.ts"
import type { Holder, WaitingRequest } from "./model/Moment.ts"

/** A row of the table of holders. */
export interface HolderRow extends Holder {
  readonly group: number
  /** The age of the oldest lease, in milliseconds. */
  readonly age: number
  /** The bytes in the other run; undefined without one. */
  readonly other: number | undefined
}

const mostRows = 200

const cells = (name: "th" | "td", texts: ReadonlyArray<string | Node>): ReadonlyArray<HTMLElement> =>
  texts.map((text) => element(name, name === "th" ? { scope: "col" } : {}, text))

const rowOf = (all: number, row: HolderRow): HTMLElement => {
  const { age, bytes, group, label, leases, other, site } = row
  const share = all === 0 ? 0 : bytes / all * 100
  const compared = other === undefined ? [] : [bytesText(other), differenceText(bytes - other)]
  const bar = element("span", { class: "bar" })
  bar.style.width = `${share}%`
  bar.style.background = colorOf(group)
  const made = element(
    "tr",
    {},
    element("td", { class: "name" }, swatch(colorOf(group)), label),
    element("td", { class: "site", title: site }, site),
    ...cells("td", [bytesText(bytes), ...compared]),
    element("td", { class: "share" }, bar, `${share.toFixed(1)} %`),
    ...cells("td", [countText(leases), millisText(age)])
  )
  made.dataset["bytes"] = String(bytes)
  made.dataset["label"] = label
  made.dataset["site"] = site
  return made
}

export const holdersTable = (rows: ReadonlyArray<HolderRow>, compares: boolean): HTMLElement => {
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
  const body = element("tbody", {}, ...rows.slice(0, mostRows).map((row) => rowOf(all, row)))
  if (rest.length > 0) {
    const bytes = rest.reduce((sum, { bytes }) => sum + bytes, 0)
    const text = `and ${countText(rest.length)} more, with ${bytesText(bytes)}`
    body.append(element("tr", { class: "rest" }, element("td", { colspan: String(heads.length) }, text)))
  }
  return element(
    "table",
    { id: "holders" },
    element("caption", {}, "Holders at the cursor, most bytes first"),
    element("thead", {}, element("tr", {}, ...cells("th", heads))),
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
  ageOf: (state: number) => number
): ReadonlyArray<HTMLElement> => {
  if (requests.length === 0) return []
  const shown = requests.slice(0, 50)
  const lines = shown.map(({ label, since, site, size }) =>
    element("li", {}, `${bytesText(size)} for ${label}, at ${site}, for ${millisText(ageOf(since))}`)
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
