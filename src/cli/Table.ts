/**
 * Tables, as wide as there is room.
 *
 * @internal
 */
import CliTable from "cli-table3"

export interface Column {
  readonly head: string
  /** Its texts stand on the right, as numbers do. */
  readonly isRight?: boolean
  /** Its texts may take several lines, where there is no room for them on one. */
  readonly wraps?: boolean
}

/** The fewest characters of a column that wraps. */
const least = 8

/** A column has a blank on either side, and a line after it. */
const around = 3

const widthOf = (table: string): number => table.indexOf("\n")

/** What columns that wrap have of the room for all of them: the narrow ones what they need, and the others the same. */
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

/** The width of each column of a table that has room for so many characters in a line. */
const widthsOf = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  room: number
): Array<number> => {
  const widths = columns.map((column, at) => widthOf(drawn([column], rows.map((row) => [row[at]!]))) - around - 1)
  const wrapping = columns.map((_, at) => at).filter((at) => columns[at]!.wraps === true)
  const others = widths.reduce((sum, width, at) => wrapping.includes(at) ? sum : sum + width, 0)
  const found = shares(wrapping.map((at) => widths[at]!), room - 1 - columns.length * around - others)
  wrapping.forEach((at, place) => {
    widths[at] = found[place]!
  })
  return widths
}

const drawn = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  widths: ReadonlyArray<number> = []
): string => {
  // A word that is longer than its column goes on in the next line.
  const fits = (text: string, at: number): boolean =>
    text.split(/\s/).every((word) => word.length <= (widths[at] ?? Infinity))
  const head = columns.map((column) => column.head)
  const table = new CliTable({
    head,
    style: { head: [], border: [], compact: true },
    colAligns: columns.map(({ isRight }) => isRight === true ? "right" : "left"),
    colWidths: widths.map((width) => width + 2),
    wordWrap: true,
    wrapOnWordBoundary: head.every(fits)
  })
  const cellsOf = (row: ReadonlyArray<string>) =>
    row.map((content, at) => ({ content, wrapOnWordBoundary: fits(content, at) }))
  table.push(...rows.map(cellsOf))
  return table.toString()
}

/** A table with a line of heads. Its lines have so many characters at most, where columns wrap that are wide. */
export const table = (
  columns: ReadonlyArray<Column>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  room: number
): string => {
  const whole = drawn(columns, rows)
  return widthOf(whole) <= room ? whole : drawn(columns, rows, widthsOf(columns, rows, room))
}
