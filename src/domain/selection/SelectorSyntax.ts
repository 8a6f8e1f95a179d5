/**
 * Parses the text of a selection, with the place of a mistake.
 *
 * @internal
 */
import { attempt, valid } from "../arguments/ArgumentProblem.ts"
import { formatted, line } from "../arguments/Format.ts"
import { type GpuError, InvalidRequest, invalidRequest, make } from "../GpuError.ts"
import * as ListedDevice from "./ListedDevice.ts"
import type { Entry, Part, Selection } from "./Selection.ts"

/** A way to write selections. */
export interface Dialect {
  /** What an entry looks like, for messages. */
  readonly form: string
  /** The backend of every entry, where entries do not name one. */
  readonly backend: string | undefined
  /** Characters that mean `:`. */
  readonly colons: string
  /** Whether `;` separates entries; else there is one. */
  readonly entries: boolean
  /** Whether a quoted part is a name, whatever it contains, and `*` matches anything. */
  readonly quotes: boolean
}

/** The text between two separators. */
interface Word {
  readonly at: number
  readonly length: number
  /** Without the quotes. */
  readonly text: string
  readonly quoted: boolean
}

interface Mark {
  readonly at: number
  readonly char: string
}

/** The words of an entry; the mark before word i + 1 is mark i. */
interface Words {
  readonly words: Array<Word>
  readonly marks: Array<Mark>
}

/** A text, with its name in errors. */
interface Source {
  readonly name: string
  readonly text: string
  readonly dialect: Dialect
  /** The names of the known backends. */
  readonly backends: ReadonlyArray<string>
}

/** The entries of a text, at least one. A mistake is an InvalidRequest of `name`, with its position. */
export const parse = (
  name: string,
  text: string,
  dialect: Dialect,
  backends: ReadonlyArray<string> = ListedDevice.backends
): Selection | GpuError =>
  attempt(() => {
    valid(lengthProblem(name, text))
    const source = { name, text, dialect, backends }
    if (text.trim() === "") return problem(source, 0, 1, "the selection is empty", `Write ${dialect.form}`)
    const [first, ...others] = scan(source).map((words) => entryOf(source, words))
    return [first!, ...others]
  })

/** Longer than a selection of all devices of any machine. */
const longestText = 4096

/** The error of a text too long for a selection, as of a file with something else. */
export const lengthProblem = (name: string, text: string): GpuError | undefined =>
  text.length <= longestText ? undefined : invalidRequest(
    name,
    `the selection has ${text.length} characters, more than ${longestText}`,
    "Name the devices, as opencl:0:1."
  )

/** An InvalidRequest that shows the text with a caret under what is wrong with it. */
export const problem = (
  { name, text }: Pick<Source, "name" | "text">,
  at: number,
  length: number,
  what: string,
  hint: string
): GpuError =>
  make(
    new InvalidRequest({
      operation: name,
      problem: `${what}, at character ${at + 1}`,
      hint: `${hint}.\n${marked(text, at, length)}`,
      position: at
    })
  )

/** Characters shown before and after what is wrong. */
const around = 60

/** The text with carets under a part of it; only what is near that, of a long text. */
const marked = (text: string, at: number, length: number): string => {
  const line = onOneLine(text)
  const from = characterAfter(line, Math.max(0, at - around))
  const end = characterAfter(line, Math.min(at + length, at + around))
  const last = characterAfter(line, end + around)
  const before = (from > 0 ? "... " : "") + line.slice(from, at)
  const part = line.slice(at, end)
  const after = line.slice(end, last) + (last < line.length ? " ..." : "")
  return `  ${before}${part}${after}\n  ${" ".repeat(widthOf(before))}${"^".repeat(Math.max(1, widthOf(part)))}`
}

/** Replaces control characters by one character each, since escapes would move the carets. */
const onOneLine = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, " ")

/** Where a text can be cut at or after an offset: not within a surrogate pair, whose halves are no characters. */
const characterAfter = (text: string, offset: number): number =>
  offset > 0 && (text.codePointAt(offset - 1) ?? 0) > 0xffff ? offset + 1 : offset

const widthOf = (text: string): number => [...text].length

const entryOf = (source: Source, { marks, words }: Words): Entry => {
  const { dialect } = source
  const [first] = words as [Word]
  if (words.length === 1 && isEmpty(first)) {
    throw problem(source, first.at, 1, "an entry is empty", `Write ${dialect.form}`)
  }
  const backend = dialect.backend ?? backendOf(source, first)
  const colons = dialect.backend === undefined ? 2 : 1
  const parts: Array<Part> = []
  for (const [i, word] of words.entries()) {
    const mark = marks[i - 1]
    if (mark !== undefined && mark.char !== (i <= colons ? ":" : ",")) throw misplaced(source, mark)
    if (i === 0 && dialect.backend === undefined) continue
    parts.push(partOf(source, word))
  }
  const [platform, device, ...others] = parts
  return { backend, platform, devices: [device, ...others] }
}

const isEmpty = ({ quoted, text }: Word): boolean => text === "" && !quoted

const backendOf = (source: Source, word: Word): string => {
  const name = word.text.toLowerCase()
  if (!word.quoted && source.backends.includes(name)) return name
  const what = isEmpty(word) ? "the backend is missing" : `${formatted(word.text)} is no backend`
  throw problem(
    source,
    word.at,
    word.length,
    what,
    `Write ${source.dialect.form}, where backend is ${choices(source.backends)}`
  )
}

const choices = (backends: ReadonlyArray<string>): string =>
  backends.length < 2 ? backends.join("") : `${backends.slice(0, -1).join(", ")} or ${backends.at(-1)}`

const misplaced = (source: Source, { at, char }: Mark): GpuError =>
  char === ","
    ? problem(source, at, 1, `only devices can be a list, so "," is misplaced`, `Write ${source.dialect.form}`)
    : problem(
      source,
      at,
      1,
      `"${char}" is one too many`,
      `Write ${source.dialect.form}` + (source.dialect.quotes ? `; a name that has a "${char}" stands in quotes` : "")
    )

const wholeNumber = /^-?\d+$/

const partOf = (source: Source, word: Word): Part => {
  const { at, length, quoted, text } = word
  if (quoted) {
    if (text === "") throw problem(source, at, length, "the name is empty", "Write * for any")
    return text
  }
  if (text === "" || (text === "*" && source.dialect.quotes)) return undefined
  if (!wholeNumber.test(text)) return text
  const index = Number(text)
  if (!Number.isSafeInteger(index)) {
    const hint = "Write the index that the list of devices shows" +
      (source.dialect.quotes ? ", or a part of the name in quotes" : "")
    throw problem(source, at, length, `${line(text, 40)} is no index`, hint)
  }
  // -0 is the index 0.
  return index === 0 ? 0 : index
}

const strayQuote = `Put the whole part in quotes, and write \\" for a quote within them`

/** The words of each entry. */
const scan = (source: Source): ReadonlyArray<Words> => {
  const { dialect: { colons, entries, quotes }, text } = source
  const isMark = (char: string) => char === "," || (char === ";" && entries) || colons.includes(char)
  let entry: Words = { words: [], marks: [] }
  const scanned = [entry]
  for (let at = 0; at <= text.length; at++) {
    const word = quotes && text.slice(at).trimStart().startsWith(`"`)
      ? quotedWord(source, text.indexOf(`"`, at), isMark)
      : plainWord(text, at, isMark)
    const stray = quotes && !word.quoted ? word.text.indexOf(`"`) : -1
    if (stray !== -1) {
      throw problem(source, word.at + stray, 1, "a quote begins in the middle of a part", strayQuote)
    }
    entry.words.push(word)
    at = word.end
    const char = text[at]
    if (char === ";" && entries) scanned.push(entry = { words: [], marks: [] })
    else if (char !== undefined) entry.marks.push({ at, char: colons.includes(char) ? ":" : char })
  }
  return scanned
}

const plainWord = (text: string, from: number, isMark: (char: string) => boolean): Word & { readonly end: number } => {
  let end = from
  while (end < text.length && !isMark(text[end]!)) end += 1
  const word = text.slice(from, end)
  const trimmed = word.trim()
  const at = trimmed === "" ? end : from + word.indexOf(trimmed)
  return { at, length: Math.max(1, trimmed.length), text: trimmed, quoted: false, end }
}

/** A name from its opening quote on; `\"` and `\\` stand for a quote and a backslash. */
const quotedWord = (
  source: Source,
  at: number,
  isMark: (char: string) => boolean
): Word & { readonly end: number } => {
  const { text } = source
  let name = ""
  let close = at + 1
  while (close < text.length && text[close] !== `"`) {
    if (text[close] === "\\" && /["\\]/.test(text[close + 1] ?? "")) close += 1
    name += text[close]
    close += 1
  }
  if (close >= text.length) throw problem(source, at, text.length - at, "the quote is not closed", `Close it with "`)
  let end = close + 1
  while (end < text.length && text[end]!.trim() === "") end += 1
  if (end < text.length && !isMark(text[end]!)) {
    throw problem(source, end, 1, "a part goes on after its quotes", strayQuote)
  }
  return { at, length: close + 1 - at, text: name, quoted: true, end }
}
