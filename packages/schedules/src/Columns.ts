/**
 * An interleaving as text: a column for each fiber, or, where there are too many for that, a mark for each.
 *
 * @internal
 */
import type { Across, Interleaving, Row } from "./Interleaving.ts"
import { cut, padded, widthOf, wrapped } from "./PrintedText.ts"

/** The narrowest column that is still readable. */
const leastColumn = 26
const stepsWidth = 11
const between = 2
const mostLinesOfText = 2

/** The text in lines of no more than `width` characters. */
export const print = ({ fibers, rows, summary }: Interleaving, width: number): string => {
  const isNarrow = (width - stepsWidth) / Math.max(1, fibers.length) < leastColumn + between
  const layout = isNarrow ? marks(fibers, width) : columns(fibers, rows, width)
  return [
    ...summary.flatMap((text) => text.split("\n").flatMap((line) => indented(line, width))),
    ...(summary.length === 0 ? [] : [""]),
    ...layout.head,
    ...rows.flatMap((row) => "text" in row ? [cut(row.text.padStart(stepsWidth), width)] : layout.row(row))
  ].map((line) => line.trimEnd()).join("\n")
}

interface Layout {
  readonly head: ReadonlyArray<string>
  readonly row: (row: Row) => ReadonlyArray<string>
}

const indented = (line: string, width: number): ReadonlyArray<string> => {
  const text = line.trimStart()
  const indent = " ".repeat(line.length - text.length)
  return wrapped(text, width - indent.length, 2, 4).map((part) => indent + part)
}

const stepsOf = ({ from, to }: Row): string =>
  (from === to ? `${from}` : `${from}-${to}`).padStart(stepsWidth - between)

/** The text of a row, in lines of `width` columns. */
const cell = ({ lines, notes, title }: Row, width: number): ReadonlyArray<string> => [
  ...wrapped(title, width, 2, mostLinesOfText),
  ...lines.flatMap((line) =>
    wrapped(line, width - 1, line.indexOf("|") + 2, mostLinesOfText).map((part) => ` ${part}`)
  ),
  ...notes.flatMap((note) => wrapped(`-> ${note}`, width, 3, mostLinesOfText + 1))
]

const columns = (
  fibers: Interleaving["fibers"],
  rows: ReadonlyArray<Row | Across>,
  width: number
): Layout => {
  const widths = widthsOf(fibers, rows, width - stepsWidth)
  const at = (texts: ReadonlyArray<string>): string =>
    texts.map((text, index) => padded(text, widths[index]! + between)).join("")
  const blank = " ".repeat(stepsWidth)
  const heads = fibers.map(({ origin, title }, index) => [
    cut(title, widths[index]!),
    ...wrapped(origin, widths[index]!, 2, mostLinesOfText)
  ])
  return {
    head: Array.from(
      { length: Math.max(0, ...heads.map((head) => head.length)) },
      (_, line) =>
        (line === 0 ? `${"steps".padStart(stepsWidth - between)}${" ".repeat(between)}` : blank) +
        at(heads.map((head) => head[line] ?? ""))
    ),
    row: (row) => {
      const column = fibers.findIndex(({ number }) => number === row.fiber)
      return cell(row, widths[column] ?? leastColumn).map((text, index) =>
        (index === 0 ? stepsOf(row) + " ".repeat(between) : blank) +
        at(fibers.map((_, nth) => nth === column ? text : ""))
      )
    }
  }
}

/** Gives each column the width that it needs; the widest columns share what the others leave. */
const widthsOf = (
  fibers: Interleaving["fibers"],
  rows: ReadonlyArray<Row | Across>,
  width: number
): ReadonlyArray<number> => {
  const needed = fibers.map(({ number, origin, title }) => {
    const texts = rows.flatMap((row) => "text" in row || row.fiber !== number ? [] : cell(row, width))
    return Math.max(...[title, origin, ...texts].map(widthOf))
  })
  let room = width - between * fibers.length
  const widths: Array<number> = []
  const ascending = needed.map((need, index) => ({ need, index })).sort((one, other) => one.need - other.need)
  for (const [nth, { index, need }] of ascending.entries()) {
    widths[index] = Math.min(need, Math.floor(room / (fibers.length - nth)))
    room -= widths[index]
  }
  return widths
}

/** A mark per fiber with the texts beside them; only the texts if there is no room for the marks. */
const marks = (fibers: Interleaving["fibers"], width: number): Layout => {
  const digits = Math.max(0, ...fibers.map(({ number }) => `${number}`.length)) + 1
  const shown = fibers.length * digits <= width / 3 ? fibers : []
  const lane = shown.length * digits
  const at = (number: number | undefined): string =>
    shown.map((fiber) => (fiber.number === number ? "*" : "|").padStart(digits)).join("")
  const room = Math.max(leastColumn, width - stepsWidth - lane - between)
  return {
    head: [
      ...fibers.flatMap(({ origin, title }) => wrapped(origin === "" ? title : `${title}, ${origin}`, width, 2, 2)),
      `${"steps".padStart(stepsWidth - between)}${" ".repeat(between)}${
        shown.map(({ number }) => `${number}`.padStart(digits)).join("")
      }`
    ],
    row: (row) => {
      const title = fibers.find(({ number }) => number === row.fiber)?.title ?? ""
      return cell({ ...row, title: `${title}: ${row.title}` }, room).map((text, index) =>
        (index === 0 ? stepsOf(row) + " ".repeat(between) : " ".repeat(stepsWidth)) +
        `${at(index === 0 ? row.fiber : undefined)}${" ".repeat(between)}${text}`
      )
    }
  }
}
