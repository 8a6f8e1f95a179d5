/**
 * Syntax that most languages share: operators, conditions, and how bodies for one item access elements.
 *
 * @internal
 */
import type { LanguageWriter, Statements } from "./LanguageWriter.ts"
import type { Operation } from "./Operation.ts"

/** Operators that languages write alike between two operands, truth values or numbers to truth values. */
export const comparing: { readonly [name in Operation]?: string } = {
  less: "<",
  lessEqual: "<=",
  greater: ">",
  greaterEqual: ">=",
  logicalAnd: "&&",
  logicalOr: "||"
}

/** Operators from numbers to numbers that languages write alike; the result may lie outside the type. */
export const computing: { readonly [name in Operation]?: string } = {
  add: "+",
  subtract: "-",
  bitwiseAnd: "&",
  bitwiseOr: "|",
  bitwiseXor: "^"
}

/** The name of the loop counter. */
export const rounds = "round__"

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
