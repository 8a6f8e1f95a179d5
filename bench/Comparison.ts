/** Two reports side by side, figure by figure. */
import * as Measure from "./Measure.ts"
import * as Report from "./Report.ts"

/** Every figure of a report by a name that is the same in each run. */
const figures = ({ sections }: Report.Report): ReadonlyMap<string, Measure.Measure> =>
  new Map(sections.flatMap(({ checks, name, tables }) => [
    ...tables.flatMap(({ columns, rows, title }) =>
      rows.flatMap((row) =>
        row.cells.flatMap((cell, index): ReadonlyArray<[string, Measure.Measure]> =>
          cell === null ? [] : [[`${name}: ${title}: ${row.name}: ${columns[index]}`, cell]]
        )
      )
    ),
    ...checks.map(({ figure, name: check }): [string, Measure.Measure] => [`${name}: ${check}`, figure])
  ]))

/** A difference counts only where the samples do not overlap; any other may be noise. */
const verdict = (before: Measure.Measure, after: Measure.Measure): string =>
  Measure.most(before) < Measure.least(after) ? "more" : Measure.most(after) < Measure.least(before) ? "less" : ""

const change = (before: Measure.Measure, after: Measure.Measure): string => {
  const percent = 100 * (Measure.middle(after) / Measure.middle(before) - 1)
  return Number.isFinite(percent) ? `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %` : ""
}

export const text = (before: Report.Report, after: Report.Report): string => {
  const later = figures(after)
  const rows = [...figures(before)].flatMap(([name, was]) => {
    const is = later.get(name)
    return is === undefined ? [] : [[name, Measure.format(was), Measure.format(is), change(was, is), verdict(was, is)]]
  })
  return Report.plainTable(["figure", "before", "after", "change", "beyond the spread"], rows)
}
