/**
 * Tables that fit the available width.
 *
 * @internal
 */
import CliTable from "cli-table3"
import wrapAnsi from "wrap-ansi"

export interface Column {
  readonly head: string
  /** Whether its texts are aligned to the right, as numbers are. */
  readonly isRight?: boolean
  /** Whether its texts may wrap. */
  readonly wraps?: boolean
}

/** The least width of a column that wraps. */
const least = 8

/** A column has a blank on either side, and a line after it. */
const around = 3

const widthOf = (table: string): number => table.indexOf("\n")

/** Divides the width among the columns that wrap: narrow ones get what they need, and the others equal shares of the rest. */
const shares = (needs: ReadonlyArray<number>, room: number): ReadonlyArray<number> => {
  const found: Array<number> = []
  let left = room
  const fromNarrow = needs.map((_, at) => at).sort((one, other) => needs[one]! - needs[other]!)
  fromNarrow.forEach((at, before) => {
    found[at] = Math.min(needs[at]!, Math.max(least, Math.floor(left / (needs.length - before))))
    left -= found[at]
  })
  return found
}

/** Wraps the texts so that the table fits the width. */
const wrapped = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  room: number
): ReadonlyArray<ReadonlyArray<string>> => {
  const needs = columns.map((_, at) => widthOf(drawn(rows.map((row) => [row[at]!]))) - around - 1)
  const wrapping = columns.map((_, at) => at).filter((at) => columns[at]!.wraps === true)
  const others = needs.reduce((sum, need, at) => wrapping.includes(at) ? sum : sum + need, 0)
  const found = shares(wrapping.map((at) => needs[at]!), room - 1 - columns.length * around - others)
  return rows.map((row) =>
    row.map((text, at) =>
      columns[at]!.wraps === true ? wrapAnsi(text, found[wrapping.indexOf(at)]!, { hard: true }) : text
    )
  )
}

const drawn = (
  [head = [], ...rows]: ReadonlyArray<ReadonlyArray<string>>,
  columns: ReadonlyArray<Column> = []
): string => {
  const table = new CliTable({
    head: [...head],
    style: { head: [], border: [], compact: true },
    colAligns: columns.map(({ isRight }) => isRight === true ? "right" : "left")
  })
  table.push(...rows.map((row) => [...row]))
  return table.toString()
}

/** A table with a heading. It is no wider than `width`, as far as columns can wrap. */
export const table = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  room: number
): string => {
  const all = [columns.map(({ head }) => head), ...rows]
  const whole = drawn(all, columns)
  return widthOf(whole) <= room ? whole : drawn(wrapped(columns, all, room), columns)
}
