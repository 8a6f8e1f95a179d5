/** A language of your own, with parentheses around everything, and the writer of kernels of expressions in it. */
import type { Language, LanguageWriter } from "effect-gpu-pool/backend"

export const language: Language.Language = { id: "lisp", name: "Lisp", bodies: "items" }

const list = (...parts: ReadonlyArray<string>): string => `(${parts.join(" ")})`

export const writer: LanguageWriter.LanguageWriter = {
  language,
  reserved: new Set(["at", "get", "madd", "near", "quotient"]),
  declare: (name, type, value) => list("let", name, type, value),
  constant: (value, type) => list("constant", type, Object.is(value, -0) ? "-0" : String(value)),
  load: (vector, index) => list("get", vector, index),
  store: (vector, index, value) => list("put", vector, index, value),
  scalar: (name) => name,
  viewIndex: (vector, index, withOffset) => withOffset ? list("at", vector, index) : index,
  clampedIndex: (vector, index, withOffset) => list("near", vector, index, withOffset ? "offset" : "start"),
  apply: (operation, operands, type, result) => list(operation, type, result, ...operands),
  multiplyAdd: (a, b, c) => list("madd", a, b, c),
  quotient: (a, b) => list("quotient", a, b),
  variable: (name, type, value) => list("var", name, type, value),
  assign: (name, value) => list("set", name, value),
  walk: ({ begin, position, step, times }, lines) => [list("walk", position, begin, step, times, list(...lines))],
  each: (values, _type, { lines, place, value }) => [list("each", list(...values), value, place, list(...lines))],
  when: (condition, lines, otherwise = []) => [list("when", condition, list(...lines), list(...otherwise))],
  preamble: () => "",
  body: ({ before, inside }) => [...before, ...inside].join("\n")
}
