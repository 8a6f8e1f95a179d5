/**
 * Syntax that most languages share: operators, conditions, and how bodies for one item access elements.
 *
 * @internal
 */
import type { LanguageWriter, Statements } from "./LanguageWriter.ts"
import { bitsOf, type ExprType, type Operation } from "./Operation.ts"

/** How a language writes an operation on named values, the first of which has the type, mostly. */
export type Writing = (operands: ReadonlyArray<string>, type: ExprType) => string

/** How a language writes some operations. */
export type Writings = { readonly [name in Operation]?: Writing }

/** An operator between two operands. */
export const infix = (sign: string): Writing => ([a, b]) => `${a} ${sign} ${b}`

/** A call of a function that the language has. */
export const call = (name: string): Writing => (operands) => `${name}(${operands.join(", ")})`

/** A call of a function that the library adds to the language, one for each type. */
export const callOwn = (name: string): Writing => (operands, type) => `${name}__${type}(${operands.join(", ")})`

/** What languages write alike: of truth values, or from numbers to truth values. */
export const comparing: Writings = {
  less: infix("<"),
  lessEqual: infix("<="),
  greater: infix(">"),
  greaterEqual: infix(">="),
  logicalAnd: infix("&&"),
  logicalOr: infix("||"),
  logicalNot: ([a]) => `!${a}`
}

/** What languages write alike from numbers to numbers; the result may lie outside the type. */
export const computing: Writings = {
  add: infix("+"),
  subtract: infix("-"),
  bitwiseAnd: infix("&"),
  bitwiseOr: infix("|"),
  bitwiseXor: infix("^"),
  bitwiseNot: ([a]) => `~${a}`,
  fract: ([a]) => `${a} - floor(${a})`
}

/** What languages with integers of 32 bits write alike, of these. */
export const integers: Writings = {
  minimum: call("min"),
  maximum: call("max"),
  clip: ([a, b, c]) => `min(max(${a}, ${b}), ${c})`,
  leftShift: ([a, b], type) => `${a} << (${b} & ${bitsOf(type) - 1}u)`,
  rightShift: ([a, b], type) => `${a} >> (${b} & ${bitsOf(type) - 1}u)`
}

/** What such languages write alike, of floats of any size: their own functions make nothing of NaN. */
export const floats: Writings = {
  sign: callOwn("sign"),
  minimum: callOwn("minimum"),
  maximum: callOwn("maximum"),
  fmod: callOwn("fmod"),
  clip: ([a, b, c], type) => `minimum__${type}(maximum__${type}(${a}, ${b}), ${c})`
}

/** The name of the loop counter. */
export const rounds = "round__"

/** The name of a list of values, of which a loop takes one after the other. */
export const listed = "listed__"

/** Lines within braces, as most languages write them. */
export const whenInBraces: LanguageWriter["when"] = (condition, lines, otherwise = []) => [
  `if (${condition}) {`,
  ...lines,
  ...(otherwise.length === 0 ? ["}"] : ["} else {", ...otherwise, "}"])
]

/** The body for one item, as text. */
export const bodyOfItem = ({ before, inside }: Statements): string =>
  [...before, ...inside].map((line) => `  ${line}`).join("\n")

type Alike =
  | "load"
  | "store"
  | "scalar"
  | "viewIndex"
  | "clampedIndex"
  | "multiplyAdd"
  | "quotient"
  | "assign"
  | "when"
  | "body"

export const itemSubscripts: Pick<LanguageWriter, Alike> = {
  load: (vector, index) => `${vector}[${index}]`,
  store: (vector, index, value) => `${vector}[${index}] = ${value};`,
  scalar: (name) => name,
  viewIndex: (vector, index, withOffset) => withOffset ? `${index} + ${vector}_offset` : index,
  clampedIndex: (vector, index, withOffset) =>
    withOffset
      ? `min(${index}, ${vector}_length - 1u - ${vector}_offset) + ${vector}_offset`
      : `min(${index}, ${vector}_length - 1u)`,
  multiplyAdd: (a, b, c) => `${a} + ${b} * ${c}`,
  quotient: (a, b) => `${a} / ${b}`,
  assign: (name, value) => `${name} = ${value};`,
  when: whenInBraces,
  body: bodyOfItem
}
