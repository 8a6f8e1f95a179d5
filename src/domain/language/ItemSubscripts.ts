/**
 * How languages with bodies for one item reach elements and compute where they are, most of them alike.
 *
 * @internal
 */
import { bodyOfItem, type LanguageWriter, whenInBraces } from "./LanguageWriter.ts"

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
