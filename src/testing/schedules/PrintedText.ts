/**
 * How many columns of a terminal a text takes, and texts cut to so many.
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
