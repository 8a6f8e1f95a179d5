/**
 * The lines of generated source that a compiler's log names. A program knows only a kernel's body, but the compiler
 * gets the whole generated source, so an error shows the line for each line number.
 *
 * @internal
 */
import { line } from "../arguments/Format.ts"

/** Lines shown before and after a line that the log names. */
const around = 2

/** A log of a hundred errors mostly repeats the first ones. */
const mostPlaces = 4

/** Lists of parameters are long. */
const longestLine = 400

/** Lines shown where the log names no line. */
const mostLines = 24

/** How compilers write places: `kernel.cl:10:14: error`, `1:10:14: error`, `17:14 error`; old ones `line 10`. */
const places: ReadonlyArray<RegExp> = [/(\d+):\d+:?\s+(?:fatal\s+)?error\b/g, /(\d+):\d+:/g, /\bline (\d+)/g]

/** The numbers of the first lines that a log names, from 1, in their order in the source. */
const spokenOf = (log: string, count: number): ReadonlyArray<number> => {
  for (const place of places) {
    const named = Array.from(log.matchAll(place), ([, number]) => Number(number))
    const inside = [...new Set(named)].filter((number) => number >= 1 && number <= count)
    if (inside.length > 0) return inside.slice(0, mostPlaces).sort((a, b) => a - b)
  }
  return []
}

/**
 * The lines of `source` that a log names, and those next to them, each with its number: `>` marks the named lines. The
 * beginning of the source where the log names none.
 */
export const of = (source: string, log: string): string => {
  const lines = source.trimEnd().split("\n")
  const spoken = spokenOf(log, lines.length)
  const shown = spoken.length === 0
    ? Array.from({ length: Math.min(mostLines, lines.length) }, (_, at) => at + 1)
    : lines.flatMap((_, at) => spoken.some((number) => Math.abs(number - at - 1) <= around) ? [at + 1] : [])
  const width = String(shown.at(-1) ?? 0).length
  const text = shown.flatMap((number, at) => [
    ...(at > 0 && number !== shown[at - 1]! + 1 ? [`  ${" ".repeat(width)} ...`] : []),
    `${spoken.includes(number) ? ">" : " "} ${String(number).padStart(width)} | ${line(lines[number - 1], longestLine)}`
      .trimEnd()
  ])
  const rest = lines.length - shown.length
  return [...text, ...(spoken.length === 0 && rest > 0 ? [`  ... and ${rest} more lines`] : [])].join("\n")
}
