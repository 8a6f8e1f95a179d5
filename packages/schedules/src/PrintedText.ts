/**
 * Texts as a trace prints them: without what controls a terminal, and cut to so many of its columns.
 *
 * @internal
 */

/** What takes two columns: scripts of East Asia, and pictures. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** What a reader sees as characters. */
const charactersOf = (text: string): ReadonlyArray<string> =>
  /^[\x20-\x7e]*$/.test(text) ? Array.from(text) : Array.from(segmenter.segment(text), ({ segment }) => segment)

const widthOfOne = (character: string): number => wide.test(character) ? 2 : 1

export const widthOf = (text: string): number => {
  let width = 0
  for (const character of charactersOf(text)) width += widthOfOne(character)
  return width
}

/** The text with spaces up to so many columns. */
export const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)))

/** The text in so many columns: a longer one ends with dots. */
export const cut = (text: string, width: number): string =>
  widthOf(text) <= width ? text : `${begin(text, width - 3)}...`

/**
 * The text in lines of so many columns, the later ones indented, divided at spaces and brackets where there are any; what is more than
 * `most` lines is left out.
 */
export const wrapped = (text: string, width: number, indent: number, most: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let rest = text
  while (rest !== "") {
    const room = lines.length === 0 ? width : width - indent
    if (lines.length === most - 1) {
      lines.push(lead(lines.length, indent) + cut(rest, room))
      break
    }
    const piece = begin(rest, room)
    const taken = piece.length === rest.length ? piece : dividedBefore(piece)
    lines.push(lead(lines.length, indent) + taken.trimEnd())
    rest = rest.slice(taken.length).trimStart()
  }
  return lines
}

/** Up to the last space, or the last bracket or comma; the whole where that leaves little of it. */
const dividedBefore = (piece: string): string => {
  const [words = ""] = /^.*\s/.exec(piece) ?? []
  if (words.length > piece.length / 3) return words
  const [parts = ""] = /^.*[(,]/.exec(piece) ?? []
  return parts.length > piece.length / 3 ? parts : piece
}

const lead = (nth: number, indent: number): string => nth === 0 ? "" : " ".repeat(indent)

/** The beginning of the text that takes no more than so many columns, with at least one character. */
const begin = (text: string, width: number): string => {
  let taken = 0
  let length = 0
  for (const character of charactersOf(text)) {
    taken += widthOfOne(character)
    if (taken > width && length > 0) break
    length += character.length
  }
  return text.slice(0, length)
}

/** Control characters, separators of lines, what turns the direction of text, and halves of surrogate pairs. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const shortEscapes: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escaped = (character: string): string =>
  shortEscapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** The text on one line, its control characters escaped; of a longer one than `most` characters the middle is left out. */
export const printable = (text: string | undefined, most: number): string => {
  if (text === undefined) return "undefined"
  const left = text.length - most
  const kept = left <= 0
    ? text
    : `${text.slice(0, Math.ceil(most * 0.75))}... (${left} characters left out) ...${
      text.slice(text.length - Math.floor(most / 4))
    }`
  return kept.replace(unprintable, escaped)
}

/** A thrown value on one line; reading it may throw. */
export const thrownText = (thrown: unknown): string => {
  try {
    return printable(thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown), 400)
  } catch {
    return "something that cannot be read"
  }
}

/** The text of a value as it says it itself, which may throw. */
export const asText = (value: unknown): string => {
  try {
    return String(value)
  } catch {
    return thrownText(value)
  }
}
