/**
 * Parses the text of a selection, with the place of a mistake.
 *
 * @internal
 */
import { attempt, valid } from "../arguments/ArgumentProblem.ts"
import { formatted, line } from "../arguments/Format.ts"
import { type GpuError, InvalidRequest, invalidRequest, make } from "../GpuError.ts"
import * as ListedDevice from "./ListedDevice.ts"
import type { DeviceSelector, Entry, Part } from "./Selection.ts"

/** A way to write selections. */
export interface Dialect {
  /** What an entry looks like, for messages. */
  readonly form: string
  /** The backend of every entry, where entries do not name one. */
  readonly backend: string | undefined
  /** The separators: `;` of entries, `,` of devices, and all others of parts. */
  readonly marks: string
  /** Whether a quoted part is a name, whatever it contains, and `*` matches anything. */
  readonly quotes: boolean
}

/** The grammar of this library. */
export const own: Dialect = {
  form: "backend:platform:device,device;...",
  backend: undefined,
  marks: ":,;",
  quotes: true
}

/** A place in a text, of one character at least. */
interface Place {
  readonly at: number
  readonly length: number
}

/** The text between two separators. */
interface Word extends Place {
  /** Without the quotes. */
  readonly text: string
  readonly quoted: boolean
  /** Where the next separator is, or the end of the whole text. */
  readonly end: number
}

/** A word of an entry, after a separator, and where that is. */
interface MarkedWord extends Word {
  readonly mark: string
  readonly markedAt: number
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
): DeviceSelector | GpuError =>
  attempt(() => {
    valid(lengthProblem(name, text))
    const source = { name, text, dialect, backends }
    if (text.trim() === "") throw problem(source, start, "the selection is empty", `Write ${dialect.form}`)
    const [first, ...others] = scan(source).map((words) => entryOf(source, words))
    return [first!, ...others] as const
  })

/** A selection from its text in the grammar of this library; a selection is returned as it is. */
export const from = (
  selector: string | DeviceSelector,
  source: string,
  backends?: ReadonlyArray<string>
): DeviceSelector | GpuError => typeof selector === "string" ? parse(source, selector, own, backends) : selector

const start: Place = { at: 0, length: 1 }

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
  place: Place,
  what: string,
  hint: string
): GpuError =>
  make(
    new InvalidRequest({
      operation: name,
      problem: `${what}, at character ${place.at + 1}`,
      hint: `${hint}.\n${marked(text, place)}`,
      position: place.at
    })
  )

/** Characters shown before and after what is wrong. */
const around = 60

/** The text with carets under a part of it; only what is near that, of a long text. */
const marked = (text: string, { at, length }: Place): string => {
  const all = characters(text)
  const from = characters(text.slice(0, at)).length
  const end = from + Math.min(around, characters(text.slice(at, at + length)).length)
  const before = (from > around ? "... " : "") + all.slice(Math.max(0, from - around), from).join("")
  const after = all.slice(end, end + around).join("") + (end + around < all.length ? " ..." : "")
  const carets = "^".repeat(Math.max(1, end - from))
  return `  ${before}${all.slice(from, end).join("")}${after}\n  ${" ".repeat(characters(before).length)}${carets}`
}

/** The characters of a text. One that would move the carets, since it is written as an escape, is a space. */
const characters = (text: string): ReadonlyArray<string> =>
  Array.from(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, " "))

const entryOf = (source: Source, words: ReadonlyArray<MarkedWord>): Entry => {
  const { dialect } = source
  const first = words[0]!
  if (words.length === 1 && isEmpty(first)) throw problem(source, first, "an entry is empty", `Write ${dialect.form}`)
  const backend = dialect.backend ?? backendOf(source, first)
  // Of the words, the backend if it is one, the platform, and the devices.
  const colons = dialect.backend === undefined ? 2 : 1
  const parts: Array<Part> = []
  for (const [i, word] of words.entries()) {
    if (i > 0 && (word.mark === ",") !== (i > colons)) throw misplaced(source, word)
    if (i > 0 || dialect.backend !== undefined) parts.push(partOf(source, word))
  }
  const [platform, device, ...others] = parts
  return { backend, platform, devices: [device, ...others] }
}

const isEmpty = ({ quoted, text }: Word): boolean => text === "" && !quoted

const backendOf = (source: Source, word: Word): string => {
  const name = word.text.toLowerCase()
  if (!word.quoted && source.backends.includes(name)) return name
  const what = isEmpty(word) ? "the backend is missing" : `${formatted(word.text)} is no backend`
  throw problem(source, word, what, `Write ${source.dialect.form}, where backend is ${choices(source.backends)}`)
}

const choices = (backends: ReadonlyArray<string>): string =>
  backends.length < 2 ? backends.join("") : `${backends.slice(0, -1).join(", ")} or ${backends.at(-1)}`

const misplaced = (source: Source, { mark, markedAt }: MarkedWord): GpuError => {
  const { form, quotes } = source.dialect
  const [what, hint] = mark === ","
    ? [`only devices can be a list, so "," is misplaced`, ""]
    : [`":" is one too many`, quotes ? `; a name that has a ":" stands in quotes` : ""]
  return problem(source, { at: markedAt, length: 1 }, what, `Write ${form}${hint}`)
}

const wholeNumber = /^-?\d+$/

const partOf = (source: Source, word: Word): Part => {
  const { quoted, text } = word
  const { quotes } = source.dialect
  if (quoted && text === "") throw problem(source, word, "the name is empty", "Write * for any")
  if (text === "" || (text === "*" && quotes && !quoted)) return undefined
  if (quoted || !wholeNumber.test(text)) return text
  const index = Number(text)
  if (Number.isSafeInteger(index)) return index === 0 ? 0 : index
  const hint = `Write the index that the list of devices shows${quotes ? ", or a part of the name in quotes" : ""}`
  throw problem(source, word, `${line(text, 40)} is no index`, hint)
}

/** The words of each entry. */
const scan = (source: Source): ReadonlyArray<ReadonlyArray<MarkedWord>> => {
  const { dialect, text } = source
  const scanned: Array<Array<MarkedWord>> = [[]]
  for (let from = 0, mark = ""; from <= text.length;) {
    const word = (dialect.quotes ? quotedWord(source, from) : undefined) ?? plainWord(source, from)
    scanned.at(-1)!.push({ ...word, mark, markedAt: from - 1 })
    mark = text[word.end] ?? ""
    if (mark === ";") scanned.push([])
    from = word.end + 1
  }
  return scanned
}

const strayQuote = `Put the whole part in quotes, and write \\" for a quote within them`

const plainWord = (source: Source, from: number): Word => {
  const { dialect: { marks, quotes }, text } = source
  let end = from
  while (end < text.length && !marks.includes(text[end]!)) end += 1
  const word = text.slice(from, end)
  const trimmed = word.trim()
  const stray = quotes ? word.indexOf(`"`) : -1
  if (stray !== -1) {
    throw problem(source, { at: from + stray, length: 1 }, "a quote begins in the middle of a part", strayQuote)
  }
  const at = trimmed === "" ? end : from + word.indexOf(trimmed)
  return { at, length: Math.max(1, trimmed.length), text: trimmed, quoted: false, end }
}

/** From an opening quote on: the name, in which `\"` and `\\` stand for a quote and a backslash, and a closing quote. */
const quotedName = /(\s*)"((?:[^"\\]|\\["\\]|\\(?!["\\]))*)("?)\s*/y

/** The name that stands in quotes at an offset, if one does. */
const quotedWord = (source: Source, from: number): Word | undefined => {
  const { dialect: { marks }, text } = source
  quotedName.lastIndex = from
  const found = quotedName.exec(text)
  if (found === null) return undefined
  const [, space, name, close] = found as unknown as readonly [string, string, string, string]
  const at = from + space.length
  if (close === "") {
    throw problem(source, { at, length: text.length - at }, "the quote is not closed", `Close it with "`)
  }
  const end = quotedName.lastIndex
  if (end < text.length && !marks.includes(text[end]!)) {
    throw problem(source, { at: end, length: 1 }, "a part goes on after its quotes", strayQuote)
  }
  return { at, length: name.length + 2, text: name.replaceAll(/\\(["\\])/g, "$1"), quoted: true, end }
}
