/**
 * Reads the lines of a text in JSON, from its bytes. Those of events, as they are mostly written, it reads number by number, without a value for each
 * line: JSON.parse takes twice as long, beside what it leaves to the garbage collector.
 *
 * @internal
 */

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** The bytes of a text. */
export const bytesOf = (text: string): Uint8Array => encoder.encode(text)

const [zero, nine, comma, point, close, newline] = bytesOf("09,.]\n") as Iterable<number> as [
  number,
  number,
  number,
  number,
  number,
  number
]
const infinity = bytesOf("\"Infinity\"")

/** By these a whole number is divided without an error but that of the quotient. */
const powersOfTen = Array.from({ length: 17 }, (_, digits) => Number(`1e${digits}`))

/** Cuts bytes that come in pieces of any length where lines end. */
export class LinePieces {
  #rest: Array<Uint8Array> = []

  /** The whole lines that there are with one piece more: the one that it ends, and the others. */
  add(piece: Uint8Array): ReadonlyArray<LineScanner> {
    const first = piece.indexOf(newline) + 1
    const end = piece.lastIndexOf(newline) + 1
    this.#rest.push(piece.subarray(0, first || piece.length))
    if (first === 0) return []
    const begun = joined(this.#rest)
    this.#rest = [piece.subarray(end)]
    return [new LineScanner(begun), new LineScanner(piece.subarray(first, end))]
  }

  /** What comes after the last line that has an end. */
  get rest(): string {
    return decoder.decode(joined(this.#rest))
  }
}

const joined = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const all = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}

export class LineScanner {
  readonly #bytes: Uint8Array
  /** Where the line begins that comes next. */
  #start = 0
  /** Where it goes on. */
  #at = 0
  /** Whether all of it so far is as expected. */
  #isPlain = true

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get hasMore(): boolean {
    return this.#start < this.#bytes.length
  }

  /** Whether the line begins so. What comes next are its numbers then. */
  begins(head: Uint8Array): boolean {
    this.#at = this.#start
    this.#isPlain = true
    return this.#skip(head)
  }

  #skip(expected: Uint8Array): boolean {
    const bytes = this.#bytes
    for (let at = 0; at < expected.length; at++) if (bytes[this.#at + at] !== expected[at]) return false
    this.#at += expected.length
    return true
  }

  /** The next number, after a comma. Of what only {@link take} reads {@link ends} is false then. */
  number(): number {
    const bytes = this.#bytes
    const start = this.#at + 1
    if (bytes[this.#at] !== comma) return this.#other()
    let at = start
    let value = 0
    let byte = bytes[at]!
    for (; byte >= zero && byte <= nine; byte = bytes[++at]!) value = value * 10 + (byte - zero)
    this.#at = at
    if (at === start) return this.#skip(infinity) ? Infinity : this.#other()
    // 01 is no number.
    if (bytes[start] === zero && at > start + 1) return this.#other()
    if (byte === point) return this.#fraction(value)
    return value <= Number.MAX_SAFE_INTEGER ? value : this.#other()
  }

  #fraction(whole: number): number {
    const bytes = this.#bytes
    const start = this.#at + 1
    let at = start
    let value = whole
    for (let byte = bytes[at]!; byte >= zero && byte <= nine; byte = bytes[++at]!) value = value * 10 + (byte - zero)
    this.#at = at
    const power = powersOfTen[at - start]
    return at > start && power !== undefined && value <= Number.MAX_SAFE_INTEGER ? value / power : this.#other()
  }

  #other(): number {
    this.#isPlain = false
    return NaN
  }

  /** Whether the line ends after the last number. The next one comes then. */
  ends(): boolean {
    const bytes = this.#bytes
    if (!this.#isPlain || bytes[this.#at] !== close || bytes[this.#at + 1] !== newline) return false
    this.#start = this.#at + 2
    return true
  }

  /** The line as a text. The next one comes then. */
  take(): string {
    const newlineAt = this.#bytes.indexOf(newline, this.#start)
    const end = newlineAt < 0 ? this.#bytes.length : newlineAt
    const line = decoder.decode(this.#bytes.subarray(this.#start, end))
    this.#start = end + 1
    return line
  }
}
