/**
 * Formats values and texts for messages: the one place that decides which text from outside gets into an error, a log
 * line or a table. Labels, files, variables and drivers' answers can contain anything. No text may forge a line of a
 * log, control a terminal, or be too long to read. Packages that extend the library write their messages with it.
 *
 * @since 0.1.0
 */

const longest = 40

/** Control characters, line separators, characters that change the direction of text, and lone surrogates. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
/** The same, except for the line break. */
const unprintableInLines = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const shortEscapes: { readonly [char: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escaped = (char: string): string => shortEscapes[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Its beginning and its end, where it is longer than `most` characters. */
const shortened = (text: string, most: number): string => {
  if (text.length <= most) return text
  const left = text.length - most
  return `${text.slice(0, Math.ceil(most * 0.75))}... (${left} characters left out) ...${
    text.slice(text.length - Math.floor(most / 4))
  }`
}

/**
 * A text from outside on one line: control characters are escaped, and of a text of more than `most` characters the middle
 * is left out. Any other value is written as {@link formatted} does.
 *
 * **Example** (A label with a line break)
 *
 * ```ts
 * import { Format } from "effect-gpu-pool/backend"
 *
 * Format.line("a\nb") // => "a\\nb"
 * ```
 *
 * @category texts
 * @since 0.1.0
 */
export const line = (text: unknown, most = 200): string =>
  typeof text === "string" ? shortened(text, most).replace(unprintable, escaped) : formatted(text)

/**
 * A text from outside that keeps its lines, as what a compiler printed; otherwise like {@link line}.
 *
 * **Example** (What a compiler printed)
 *
 * ```ts
 * import { Format } from "effect-gpu-pool/backend"
 *
 * Format.lines("1 error\r\n\tin line 2") // => "1 error\n  in line 2"
 * ```
 *
 * @category texts
 * @since 0.1.0
 */
export const lines = (text: unknown, most = 8000): string =>
  typeof text === "string"
    ? shortened(text, most).replaceAll("\r\n", "\n").replaceAll("\t", "  ").replace(unprintableInLines, escaped)
    : formatted(text)

/**
 * Texts from outside as a list on one line. Of more than `most` texts the rest is counted.
 *
 * **Example** (Three names, two of them shown)
 *
 * ```ts
 * import { Format } from "effect-gpu-pool/backend"
 *
 * Format.list(["x", "y", "z"], ", ", 2) // => "x, y, and 1 more"
 * ```
 *
 * @category texts
 * @since 0.1.0
 */
export const list = (texts: ReadonlyArray<unknown>, separator = ", ", most = 16, mostEach = 200): string => {
  const written = texts.slice(0, most).map((text) => line(text, mostEach)).join(separator)
  return texts.length > most ? `${written}${separator}and ${texts.length - most} more` : written
}

/** `Uint8Array`, `unit` and `u32` begin with a consonant when spoken; `f32` and 8 do not. */
const spokenVowel = /^(?:(?!u(?:\d|int|ni|s[aeiu]|t[aeiou])|one|eu)[aeiou8]|f\d)/i

/**
 * A word with its indefinite article.
 *
 * **Example** (Spoken, not written, vowels count)
 *
 * ```ts
 * import { Format } from "effect-gpu-pool/backend"
 *
 * Format.withArticle("OpenCL") // => "an OpenCL"
 * Format.withArticle("Uint8Array") // => "a Uint8Array"
 * ```
 *
 * @category texts
 * @since 0.1.0
 */
export const withArticle = (word: string): string => `${spokenVowel.test(word) ? "an" : "a"} ${line(word, 40)}`

/** Whether a value is an array; `false` for a revoked proxy, which throws at that question. */
const isArray = (value: unknown): value is ReadonlyArray<unknown> => {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

const classOfView = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)
  ?.get

/** The name of a typed array's class, from its internal slot; `undefined` for any other value. */
const typedArrayName = (value: object): string | undefined => classOfView?.call(value) as string | undefined

/** What `typeof` says of elements that are shown: those without text and without parts. */
const plain: ReadonlySet<string> = new Set(["number", "bigint", "boolean", "undefined"])

/** The elements of a short array of numbers, as `[1, NaN]`; any other is `an array`. One that is a proxy may throw. */
const shownArray = (values: ReadonlyArray<unknown>): string => {
  try {
    const isShort = values.length <= 4 && Array.from(values).every((value) => plain.has(typeof value))
    return isShort ? `[${Array.from(values, formatted).join(", ")}]` : "an array"
  } catch {
    return "an array"
  }
}

/**
 * A value in a few words, without calling any of its methods: texts are quoted, and of objects only their kind is written, or the
 * numbers of a short array.
 *
 * **Example** (Values that are no shape)
 *
 * ```ts
 * import { Format } from "effect-gpu-pool/backend"
 *
 * Format.formatted("2x3") // => `"2x3"`
 * Format.formatted([2, NaN]) // => "[2, NaN]"
 * Format.formatted({ rows: 2 }) // => "an object"
 * ```
 *
 * @category values
 * @since 0.1.0
 */
export const formatted = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > longest ? `${value.slice(0, longest)}...` : value).replace(
        unprintable,
        escaped
      )
    case "object":
      return value === null
        ? "null"
        : isArray(value)
        ? shownArray(value)
        : withArticle(typedArrayName(value) ?? "object")
    case "function":
      return "a function"
    case "bigint":
      return value > -(10n ** 40n) && value < 10n ** 40n ? `${value}n` : "a very large bigint"
    case "number":
      return Object.is(value, -0) ? "-0" : String(value)
    case "symbol":
      return line(String(value), longest)
    default:
      return String(value)
  }
}

/**
 * The message of a caught error, or the other value that was thrown. Reading an error may throw, which is caught.
 *
 * **Example** (An error, and no error)
 *
 * ```ts
 * import { Format } from "effect-gpu-pool/backend"
 *
 * Format.messageOf(new Error("no device")) // => "no device"
 * Format.messageOf(7) // => "7"
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export const messageOf = (thrown: unknown): string =>
  readable(() => thrown instanceof Error ? String(thrown.message) : formatted(thrown))

const readable = (read: () => string): string => {
  try {
    return read()
  } catch {
    return "something that cannot be read"
  }
}

/**
 * A thrown value or a failure, on one line, with the name of an error. Reading it may throw, which is caught.
 *
 * **Example** (An error of the engine)
 *
 * ```ts
 * import { Format } from "effect-gpu-pool/backend"
 *
 * Format.thrownText(new RangeError("no tile")) // => "RangeError: no tile"
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export const thrownText = (thrown: unknown): string =>
  readable(() => thrown instanceof Error ? line(`${thrown.name}: ${thrown.message}`, 400) : formatted(thrown))

/** The innermost frame of a stack, in V8's format or that of other engines. */
const innermost = /^\s+at (?:.*\()?(.+?:\d+:\d+)\)?$|^[^@\n]*@(.+?:\d+:\d+)$/m

/**
 * A thrown value with all its lines, and its place where the engine reports one.
 *
 * **Example** (A value that has no place)
 *
 * ```ts
 * import { Format } from "effect-gpu-pool/backend"
 *
 * Format.thrownPlace("stop") // => `"stop"`
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export const thrownPlace = (thrown: unknown): string => {
  try {
    const text = thrown instanceof Error ? lines(`${thrown.name}: ${thrown.message}`) : formatted(thrown)
    const frame = thrown instanceof Error ? innermost.exec(String(thrown.stack)) : null
    const place = frame?.[1] ?? frame?.[2]
    return place === undefined ? text : `${text}, at ${line(place)}`
  } catch {
    return thrownText(thrown)
  }
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"]

/**
 * A number of bytes as people read it.
 *
 * **Example** (A gibibyte and a half)
 *
 * ```ts
 * import { Format } from "effect-gpu-pool/backend"
 *
 * Format.shownBytes(1.5 * 2 ** 30) // => "1.5 GiB"
 * ```
 *
 * @category values
 * @since 0.1.0
 */
export const shownBytes = (count: number): string => {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10))
  const value = count / 2 ** (10 * power)
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`
}
