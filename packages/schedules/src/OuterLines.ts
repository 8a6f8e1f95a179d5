/**
 * Finds the lines of a function itself, without those of nested functions, which run at another time or never.
 *
 * The scanner knows only brackets, quotes, comments and arrows. A regular expression with a bracket can make it return
 * a line too many or too few.
 *
 * @internal
 */

/** Where code begins in a file. The line counts from 1, the column from 0. */
interface Begin {
  readonly line: number
  readonly column: number
}

/**
 * A nested function: the depth of its code, and whether it ends with its bracket, as after `{`, or also before a comma.
 */
interface Inner {
  readonly depth: number
  readonly braced: boolean
}

const opening = "([{"
const closing = ")]}"
/** A line continues an expression if it begins like this, or if the line before matches `endsOpen`. */
const opensLine = /^[.?:&|+*/%<>=,)\]}-]/
const endsOpen = /(?:=>|[.?:&|+*/%<=,([{-])$/
/** The scan stops after this many lines, in case it misread where the function ends. */
const mostLines = 1_000
const mostCharacters = 2_000
const quotes = "\"'`"

/**
 * The lines of the function that begins there, up to its end or `last`, without its parameters and nested functions.
 */
export const outerLines = (
  source: ReadonlyArray<string>,
  begin: Begin,
  last = Infinity
): ReadonlyArray<number> => {
  const scanner = new Scanner()
  const lines: Array<number> = []
  const end = Math.min(last, source.length, begin.line + mostLines)
  for (let line = begin.line; line <= end; line++) {
    const text = source[line - 1] ?? ""
    const isInside = scanner.begin(text.trim())
    if (scanner.isOver) break
    if (!isInside && (line === begin.line || scanner.hasBegun)) lines.push(line)
    const column = line === begin.line ? begin.column : 0
    scanner.read(text.slice(column, column + mostCharacters))
  }
  return lines
}

interface Bracket {
  readonly char: string
  /** The bracket follows a colon, as the parameters of a function type do. */
  readonly afterColon: boolean
}

class Scanner {
  /** The function's own code, after its header. */
  #own: Inner | undefined
  isOver = false
  /** After `function`, up to the bracket that opens its code. */
  #inHeader = false
  readonly #brackets: Array<Bracket> = []
  /** How many brackets closed that were open at the beginning. */
  #closedBefore = 0
  #closed: Bracket | undefined
  readonly #inner: Array<Inner> = []
  #quote: string | undefined
  #inComment = false
  /** The last character that is no space. */
  #char = ""
  /** The line before. */
  #before = ""

  /** Its header is over. */
  get hasBegun(): boolean {
    return this.#own !== undefined
  }

  get #depth(): number {
    return this.#brackets.length - this.#closedBefore
  }

  /** Whether this line begins in a nested function. The function's closing bracket counts as outside. */
  begin(text: string): boolean {
    const inner = this.#inner.at(-1)
    const goesOn = opensLine.test(text) || endsOpen.test(this.#before)
    if (inner?.braced === false && this.#depth === inner.depth && !goesOn) this.#inner.pop()
    if (this.#own?.braced === false && this.#depth <= this.#own.depth && !goesOn) this.isOver = true
    if (text !== "") this.#before = text
    return this.#inner.length > 0 && !(this.#inner.length === 1 && closing.includes(text[0] ?? " "))
  }

  read(text: string): void {
    for (let at = 0; at < text.length && !this.isOver;) at += this.#take(text, at)
    if (this.#quote !== "`") this.#quote = undefined
  }

  /** Reads one token of one or more characters. */
  #take(text: string, at: number): number {
    const char = text[at]!
    const two = text.slice(at, at + 2)
    if (this.#inComment) {
      if (two !== "*/") return 1
      this.#inComment = false
      return 2
    }
    if (this.#quote !== undefined) {
      if (char === "\\") return 2
      if (char === this.#quote) this.#quote = undefined
      return 1
    }
    if (two === "//") return text.length - at
    if (two === "/*") {
      this.#inComment = true
      return 2
    }
    return this.#code(char, two, text.slice(at))
  }

  #code(char: string, two: string, rest: string): number {
    if (two === "=>") {
      this.#arrow(rest.slice(2))
      return 2
    }
    const word = /^\w+/.exec(rest)?.[0]
    if (word === "function" && this.#own !== undefined) this.#inHeader = true
    if (quotes.includes(char)) this.#quote = char
    else if (opening.includes(char)) this.#open(char)
    else if (closing.includes(char)) this.#close()
    else if (char === ",") this.#comma()
    if (char.trim() !== "") this.#char = char
    return word?.length ?? 1
  }

  #arrow(rest: string): void {
    if (this.#closed?.afterColon === true && this.#brackets.at(-1)?.char === "(") return
    const code = { depth: this.#depth, braced: rest.trimStart().startsWith("{") }
    if (this.#own === undefined) this.#own = code
    else this.#inner.push(code)
  }

  #open(char: string): void {
    if (char === "{" && this.#inHeader) {
      this.#inHeader = false
      this.#inner.push({ depth: this.#depth, braced: true })
    } else if (char === "{" && this.#own === undefined && this.#closed?.char === "(" && this.#char !== ":") {
      this.#own = { depth: this.#depth, braced: true }
    }
    this.#brackets.push({ char, afterColon: this.#char === ":" })
  }

  #close(): void {
    this.#closed = this.#brackets.pop()
    if (this.#closed === undefined) this.#closedBefore++
    this.#endArrow(this.#depth + 1)
    const inner = this.#inner.at(-1)
    if (inner?.braced === true && this.#depth === inner.depth) this.#inner.pop()
    const own = this.#own
    if (own !== undefined && (own.braced ? this.#depth <= own.depth : this.#depth < own.depth)) this.isOver = true
  }

  #comma(): void {
    this.#endArrow(this.#depth)
    if (this.#own?.braced === false && this.#depth === this.#own.depth) this.isOver = true
  }

  /** An arrow function's expression ends where the surrounding expression ends. */
  #endArrow(depth: number): void {
    while (this.#inner.at(-1)?.braced === false && this.#inner.at(-1)!.depth >= depth) this.#inner.pop()
  }
}
