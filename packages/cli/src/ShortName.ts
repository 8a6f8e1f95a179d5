/**
 * Names that are cut to a width on the terminal, with an ellipsis where something is left out. No character is cut in two.
 *
 * @internal
 */
import wrapAnsi from "wrap-ansi"

const ellipsis = "…"

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" })

/** A character as people see it: a letter with its accents, or an emoji. */
interface Character {
  readonly text: string
  /** The columns of a terminal that it takes. */
  readonly width: number
}

const charactersOf = (text: string): ReadonlyArray<Character> =>
  Array.from(segmenter.segment(text), ({ segment }) => ({ text: segment, width: widthOf(segment) }))

/** One line of two columns has room for a letter beside it only if it is narrow. */
const widthOf = (character: string): number =>
  /^[ -~]$/.test(character) || !wrapAnsi(`${character}a`, 2, { hard: true, trim: false }).includes("\n") ? 1 : 2

/** The columns of a terminal that a text takes. */
export const columnsOf = (text: string): number => charactersOf(text).reduce((sum, { width }) => sum + width, 0)

/** As many characters from the beginning as fit. */
const fitting = (characters: ReadonlyArray<Character>, most: number): ReadonlyArray<Character> => {
  let room = most
  const end = characters.findIndex(({ width }) => (room -= width) < 0)
  return end === -1 ? characters : characters.slice(0, end)
}

const textOf = (characters: ReadonlyArray<Character>): string => characters.map(({ text }) => text).join("")

const prefixOf = (characters: ReadonlyArray<Character>, most: number): string => textOf(fitting(characters, most))

const suffixOf = (characters: ReadonlyArray<Character>, most: number): string => {
  let room = most
  let from = characters.length
  while (from > 0 && (room -= characters[from - 1]!.width) >= 0) from--
  return textOf(characters.slice(from))
}

/** Cuts the end, between words where one ends in the second half: the beginning tells devices apart. */
export const withoutEnd = (name: string, most: number): string => {
  const characters = charactersOf(name)
  if (columnsOf(name) <= most) return name
  const kept = fitting(characters, most - 1)
  const prefix = textOf(kept)
  const words = /^(.*[^\s,;:([])[\s,;:([]/su.exec(`${prefix}${characters[kept.length]?.text ?? ""}`)?.[1]
  return `${words !== undefined && columnsOf(words) >= most / 2 ? words : prefix}${ellipsis}`
}

/** Cuts the middle: labels of one program often have the same beginning, and differ at the end. */
export const withoutMiddle = (name: string, most: number): string => {
  const characters = charactersOf(name)
  if (columnsOf(name) <= most) return name
  const tail = Math.floor((most - 1) / 3)
  return `${prefixOf(characters, most - 1 - tail)}${ellipsis}${suffixOf(characters, tail)}`
}
