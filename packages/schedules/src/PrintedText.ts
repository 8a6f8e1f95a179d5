/**
 * Texts as a trace prints them: without characters that control a terminal, and cut to a number of columns.
 *
 * @internal
 */

/** Characters that take two columns: East Asian scripts and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** The characters that a reader sees (grapheme clusters). */
const charactersOf = (text: string): ReadonlyArray<string> =>
  /^[\x20-\x7e]*$/.test(text) ? Array.from(text) : Array.from(segmenter.segment(text), ({ segment }) => segment)

const widthOfOne = (character: string): number => wide.test(character) ? 2 : 1

export const widthOf = (text: string): number => {
  let width = 0
  for (const character of charactersOf(text)) width += widthOfOne(character)
  return width
}

/** Pads the text with spaces to `width` columns. */
export const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)))

/** Cuts the text to `width` columns; a cut text ends with dots. */
export const cut = (text: string, width: number): string =>
  widthOf(text) <= width ? text : `${begin(text, width - 3)}...`

/**
 * Wraps the text at `width` columns, at spaces and brackets where there are any. Lines after the first are indented,
 * and lines beyond `most` are left out.
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

/** The text up to its last space, bracket or comma; the whole text if that part would be short. */
const dividedBefore = (piece: string): string => {
  const [words = ""] = /^.*\s/.exec(piece) ?? []
  if (words.length > piece.length / 3) return words
  const [parts = ""] = /^.*[(,]/.exec(piece) ?? []
  return parts.length > piece.length / 3 ? parts : piece
}

const lead = (nth: number, indent: number): string => nth === 0 ? "" : " ".repeat(indent)

/** The beginning of the text that fits in `width` columns, at least one character. */
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

/** Control characters, line separators, bidirectional controls and lone surrogates. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const shortEscapes: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escaped = (character: string): string =>
  shortEscapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/**
 * The text on one line, with control characters escaped; the middle of a text longer than `most` characters is left
 * out.
 */
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

/** The value's own text, from its `toString`, which may throw. */
export const asText = (value: unknown): string => {
  try {
    return String(value)
  } catch {
    return thrownText(value)
  }
}
