/**
 * Texts from programs, drivers, files and variables, such that printing them steers no terminal and forges no line.
 *
 * @internal
 */
import { format } from "effect/Formatter"

/** Control characters, line separators, characters that change the direction of text, and lone surrogates. */
const steering = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const shortEscapes: { readonly [char: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escaped = (char: string): string => shortEscapes[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`

/** A text in one line. Its middle is left out where it is longer than `most` characters. */
export const line = (text: string, most = 200): string =>
  (text.length <= most ? text : `${text.slice(0, most * 0.75)} ... ${text.slice(-most / 4)}`).replace(steering, escaped)

/** Texts in one line: the first `most` of them, and how many more there are. */
export const list = (texts: ReadonlyArray<string>, separator = ", ", most = 16, mostEach = 200): string => {
  const written = texts.slice(0, most).map((text) => line(text, mostEach)).join(separator)
  return texts.length > most ? `${written}${separator}and ${texts.length - most} more` : written
}

/** A value as JSON, in lines if it is indented. */
export const json = (value: object, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replace(steering, (char) => char === "\n" ? char : escaped(char))

/** The message of an error, or whatever else was thrown. */
export const messageOf = (thrown: unknown): string => thrown instanceof Error ? thrown.message : format(thrown)

/** The innermost frame of a stack. */
const innermost = /^\s+at (?:.*\()?(.+?:\d+:\d+)\)?$/m

/** What a program has thrown, and where: `RangeError: no tile, at /jobs.ts:4:9`. */
export const failureOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return line(format(thrown))
  const text = `${thrown.name}: ${thrown.message}`.split("\n").map((each) => line(each, 2000)).join("\n")
  const place = innermost.exec(thrown.stack ?? "")?.[1]
  return place === undefined ? text : `${text}, at ${line(place)}`
}
