/**
 * How deep a kernel's source nests. Compilers parse recursively, and some abort the process when their stack overflows.
 * So a source that nests too deep must not reach them.
 *
 * @internal
 */

/** What each level adds. */
export interface NestingCosts {
  /** A pair of brackets, an operator before its operand, or a cast: a parser calls itself for each. */
  readonly bracket: number
  /** An operator between or behind operands, a label, or a subscript. */
  readonly operator: number
  /** A statement that contains another, as `if`, with or without braces around it. */
  readonly control: number
}

/**
 * The deepest nesting of a source in C's syntax. It is an upper bound: everything in one statement counts as nested.
 * Macros are not expanded.
 */
export const deepest = (source: string, costs: NestingCosts): number => {
  let most = 0
  // A directive ends with its line, and not with a semicolon.
  const rest = source.replaceAll(directive, (line) => {
    most = Math.max(most, walk(line.slice(line.indexOf("#") + 1), costs))
    return ""
  })
  return Math.max(most, walk(rest, costs))
}

const directive = /^[ \t]*#[^\\\n]*(?:\\[\s\S][^\\\n]*)*/gm

const token =
  /\/\/|\/\*|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|<<=|>>=|[-+*/%&|^=<>!]=|&&|\|\||\+\+|--|<<|>>|->|\S/g

const control: ReadonlySet<string> = new Set(["if", "for", "while", "do", "switch", "loop", "case", "default"])

/** The tokens after which an operand follows, not an operator. */
const introduces: ReadonlySet<string> = new Set([...control, "else", "return", "sizeof", "goto"])

/** An open pair of brackets, or the whole source. */
interface Frame {
  /** Whether commas separate its elements, as in an initialiser. */
  readonly isList: boolean
  /** Whether a statement follows it, as after the condition of an `if`. */
  readonly isHeader: boolean
  /** The depth that the statement or element itself adds so far. */
  own: number
  /** The deepest nesting in it. */
  nested: number
  /** The deepest nesting of its parts that have ended. */
  most: number
}

const frame = (isList: boolean, isHeader: boolean): Frame => ({ isList, isHeader, own: 0, nested: 0, most: 0 })

const endPart = (part: Frame): void => {
  part.most = Math.max(part.most, part.own + part.nested)
  part.own = 0
  part.nested = 0
}

const walk = (source: string, costs: NestingCosts): number => {
  const open: Array<Frame> = [frame(false, false)]
  const close = (): Frame => {
    const [outer, closed] = open.splice(-2) as [Frame, Frame]
    endPart(closed)
    outer.nested = Math.max(outer.nested, closed.most + costs.bracket)
    open.push(outer)
    return closed
  }
  let before = ";"
  for (const text of tokens(source)) {
    const here = open.at(-1)!
    if (endsPart(here, before, text)) endPart(here)
    if (closing.has(text)) {
      before = open.length > 1 && close().isHeader ? "else" : text
      continue
    }
    here.own += costOf(text, before, costs)
    if (opening.has(text)) open.push(frame(text === "{" && startsList(here, before), control.has(before)))
    before = text
  }
  while (open.length > 1) close()
  endPart(open[0]!)
  return open[0]!.most
}

function* tokens(source: string): Generator<string, void> {
  const matcher = new RegExp(token)
  for (let match = matcher.exec(source); match !== null; match = matcher.exec(source)) {
    const [text] = match
    const comment = commentEnds[text]
    if (comment === undefined) {
      yield text
      continue
    }
    const end = source.indexOf(comment, matcher.lastIndex)
    if (end === -1) return
    matcher.lastIndex = end + comment.length
  }
}

const commentEnds: { readonly [start: string]: string } = { "//": "\n", "/*": "*/" }

const opening: ReadonlySet<string> = new Set(["(", "[", "{"])
const closing: ReadonlySet<string> = new Set([")", "]", "}"])

/**
 * `else` continues a statement that a semicolon or a brace seemed to end; an operator continues an expression after a
 * brace.
 */
const endsPart = (here: Frame, before: string, text: string): boolean => {
  if (before === ";") return text !== "else"
  if (before === "}") return text !== "else" && (isWord(text) || text === "{")
  return before === "," && here.isList
}

const startsList = (here: Frame, before: string): boolean => before === "=" || (here.isList && before !== ")")

const isWord = (text: string): boolean => /^["'\w.]/.test(text) && text !== "."

const endsOperand = (text: string): boolean => text === ")" || text === "]" || (isWord(text) && !introduces.has(text))

/** A closing bracket may have closed a cast, which only its operand shows. */
const afterCast: ReadonlySet<string> = new Set(["-", "+", "*", "&"])

const costOf = (text: string, before: string, { bracket, control: contains, operator }: NestingCosts): number => {
  if (text === ";" || text === "{") return 0
  if (control.has(text)) return contains
  if (text === "(" || text === "[") {
    return before === ")" && text === "(" ? bracket : endsOperand(before) ? operator : 0
  }
  if (isWord(text)) return before === ")" ? bracket : 0
  if (!endsOperand(before)) return bracket
  if (before !== ")") return operator
  return text === "!" || text === "~" ? 2 * bracket : afterCast.has(text) ? bracket : operator
}
