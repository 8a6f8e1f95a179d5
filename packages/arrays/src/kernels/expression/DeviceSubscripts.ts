/**
 * How the languages of devices reach elements and compute where they are: WGSL and OpenCL C write it alike.
 *
 * @internal
 */
import type { Language } from "./Language.ts"

export const deviceSubscripts: Omit<Language, "declare" | "constant" | "apply"> = {
  load: (vector, index) => `${vector}[${index}]`,
  store: (vector, index, value) => `${vector}[${index}] = ${value};`,
  scalar: (name) => name,
  viewIndex: (vector, index, withOffset) => withOffset ? `${index} + ${vector}_offset` : index,
  clampedIndex: (vector, index, withOffset) =>
    withOffset
      ? `min(${index}, ${vector}_length - 1u - ${vector}_offset) + ${vector}_offset`
      : `min(${index}, ${vector}_length - 1u)`,
  multiplyAdd: (a, b, c) => `${a} + ${b} * ${c}`,
  quotient: (a, b) => `${a} / ${b}`
}
