/**
 * What the page says of its recordings as a whole, and of its colors.
 *
 * @internal
 */
import type { TimelineFacts } from "../Timeline.ts"
import { colorOf } from "./charts/Colors.ts"
import { element, swatch } from "./Elements.ts"
import type { Analysis } from "./model/Analysis.ts"
import { countText, millisText } from "./model/Format.ts"

const reasons: { readonly [Reason in TimelineFacts["reason"]]: string } = {
  asked: "asked for",
  outOfMemory: "out of memory",
  signal: "a signal",
  imported: "imported",
  planned: "planned"
}

/** Imported recordings have no time, or an odd one. */
const takenText = (takenAt: number): string => {
  const date = new Date(takenAt)
  return Number.isNaN(date.getTime()) ? "taken" : `taken ${date.toISOString().slice(0, 19).replace("T", " ")}`
}

export const headingOf = ({ run }: Analysis, other: Analysis | undefined): ReadonlyArray<HTMLElement> => {
  const { dropped, kind, reason, source, strays, takenAt, title } = run.timeline
  const facts = [
    ...other === undefined ? [] : [`over ${other.run.timeline.title}`],
    source,
    `${takenText(takenAt)}: ${reasons[reason]}`,
    `${countText(kind.length)} events in ${millisText(run.positions("time")[kind.length]!)}`,
    ...dropped > 0 ? [`${countText(dropped)} earlier events dropped`] : [],
    ...strays > 0 ? [`${countText(strays)} events of unknown blocks not drawn`] : []
  ]
  return [element("h1", {}, title), element("p", {}, facts.join(" · "))]
}

export const legendOf = ({ grouping, run, totals }: Analysis, compares: boolean): ReadonlyArray<HTMLElement> => {
  const entries: ReadonlyArray<readonly [name: string, color: string, when: boolean]> = [
    ...grouping.names.map((name, group) => [name, colorOf(group), true] as const),
    ["beyond what was requested", "var(--slack)", true],
    ["held", "var(--held)", true],
    ["leases too short to be seen", "var(--busy)", true],
    ["limit", "var(--limit)", totals.limit.some((bytes) => bytes !== Infinity)],
    ["requests wait", "var(--waiting)", totals.waiting.some((count) => count > 0)],
    ["failure", "var(--failure)", run.timeline.failures.length > 0],
    ["the other run", "var(--other-run)", compares]
  ]
  return entries.flatMap(([name, color, when]) => when ? [element("li", {}, swatch(color), name)] : [])
}
