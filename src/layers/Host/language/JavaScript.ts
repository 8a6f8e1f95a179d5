/**
 * Expressions in JavaScript, for the host backend. Numbers of 32 bits and less are rounded after every step, as a
 * device's registers round them.
 *
 * @since 0.1.0
 */
import * as HostSource from "../../../domain/data/HostSource.ts"
import type { KernelBody } from "../../../domain/kernel/Kernel.ts"
import {
  call,
  comparing,
  computing,
  infix,
  rounds,
  whenInBraces,
  type Writings
} from "../../../domain/language/CommonSyntax.ts"
import type { Language } from "../../../domain/language/Language.ts"
import type { LanguageWriter } from "../../../domain/language/LanguageWriter.ts"
import { type ExprType, isFloat, type Operation } from "../../../domain/language/Operation.ts"
import { roundToType } from "../../../domain/language/RoundToType.ts"
import { makeBody } from "./JavaScriptBody.ts"

/** A computed number as the type holds it. */
const rounded = (type: ExprType, text: string): string => {
  switch (type) {
    case "f32":
      return `fround(${text})`
    case "f16":
      return `f16round(${text})`
    case "i32":
      return `(${text}) | 0`
    case "u32":
      return `(${text}) >>> 0`
    case "f64":
    case "bool":
      return `(${text})`
  }
}

const constant = (value: number | boolean, type: ExprType): string => {
  const held = typeof value === "number" ? roundToType(type, value) : value
  return Object.is(held, -0) ? "-0" : String(held)
}

/** What gives the type its numbers at once, or truth values. */
const exact: Writings = {
  ...comparing,
  equal: infix("==="),
  notEqual: infix("!=="),
  isNaN: ([a]) => `${a} !== ${a}`,
  isFinite: ([a]) => `${a} - ${a} === 0`,
  where: ([a, b, c]) => `${a} ? ${b} : ${c}`,
  rightShift: ([a, b], type) => type === "u32" ? `${a} >>> ${b}` : `${a} >> ${b}`,
  truncDivide: ([a, b], type) => `${b} === 0 ? 0 : ${rounded(type, `${a} / ${b}`)}`,
  fmod: ([a, b], type) =>
    isFloat(type)
      ? rounded(type, `${a} - ${rounded(type, `${b} * trunc(${rounded(type, `${a} / ${b}`)})`)}`)
      : `${b} === 0 ? 0 : ${rounded(type, `${a} % ${b}`)}`
}

/** Functions of the same meaning, of `Math` or among those of bodies, where they have other names than the operation. */
const calls: { readonly [name in Operation]?: string } = {
  inverseSqrt: "1 / sqrt",
  round: "roundHalfEven",
  // `Math.min` and `Math.max` return NaN where an operand is NaN, as these operations do.
  minimum: "min",
  maximum: "max",
  countLeadingZeros: "clz32"
}

const factor = (type: ExprType, value: number): number => type === "f64" ? value : Math.fround(value)

/** What may lie outside the type. */
const inexact: Writings = {
  ...computing,
  multiply: ([a, b], type) => isFloat(type) ? `${a} * ${b}` : `imul(${a}, ${b})`,
  divide: infix("/"),
  negative: ([a]) => `-${a}`,
  leftShift: infix("<<"),
  clip: ([a, b, c]) => `min(max(${a}, ${b}), ${c})`,
  degrees: ([a], type) => `${a} * ${factor(type, 180 / Math.PI)}`,
  radians: ([a], type) => `${a} * ${factor(type, Math.PI / 180)}`,
  mix: ([a, b, c], type) => `${rounded(type, `${a} * ${rounded(type, `1 - ${c}`)}`)} + ${rounded(type, `${b} * ${c}`)}`,
  fma: ([a, b, c]) => `${a} * ${b} + ${c}`
}

const apply = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result: ExprType): string => {
  if (operation === "astype") return cast(operands[0]!, type, result)
  return exact[operation]?.(operands, type) ??
    rounded(type, (inexact[operation] ?? call(calls[operation] ?? operation))(operands, type))
}

/** Converts floats to integers with saturation, and NaN to 0 as `| 0` does. */
const cast = (a: string, type: ExprType, result: ExprType): string => {
  if (type === result) return a
  if (type === "bool") return `${a} ? 1 : 0`
  if (result === "bool") return `${a} !== 0`
  if (isFloat(type) && result === "i32") return `max(-2147483648, min(2147483647, ${a})) | 0`
  if (isFloat(type) && result === "u32") return `max(0, min(4294967295, ${a})) >>> 0`
  return rounded(result, a)
}

/**
 * JavaScript as a language of kernels: their bodies in it are functions, under the name `host`.
 *
 * @category constants
 * @since 0.1.0
 */
export const language: Language = { id: "host", name: "host", bodies: "ranges", hasEights: false }

/**
 * Writes expressions in JavaScript.
 *
 * @category constants
 * @since 0.1.0
 */
export const writer: LanguageWriter = {
  language,
  declare: (name, _type, value) => `const ${name} = ${value}`,
  constant,
  load: (vector, index) => `v__${vector}[${index}]`,
  store: (vector, index, value) => `v__${vector}[${index}] = ${value}`,
  scalar: (name) => `s__${name}`,
  viewIndex: (vector, index, withOffset) => withOffset ? `${index} + o__${vector}` : index,
  clampedIndex: (vector, index, withOffset) =>
    withOffset
      ? `min(${index}, v__${vector}.length - 1 - o__${vector}) + o__${vector}`
      : `min(${index}, v__${vector}.length - 1)`,
  apply,
  multiplyAdd: (a, b, c) => `(${a} + imul(${b}, ${c})) >>> 0`,
  quotient: (a, b) => `(${a} / ${b}) >>> 0`,
  variable: (name, _type, value) => `let ${name} = ${value}`,
  assign: (name, value) => `${name} = ${value}`,
  walk: ({ begin, position, step, times }, lines) => [
    `for (let ${rounds} = 0, ${position} = ${begin}; ${rounds} < ${times}; ${rounds}++, ${position} += ${step}) {`,
    ...lines,
    "}"
  ],
  when: whenInBraces,
  preamble: () => "",
  body: ({ args, before, inside, name }) =>
    makeBody(name, args, [...before, "for (let i = from; i < to; i++) {", ...inside, "}"])
}

/**
 * A body in JavaScript as text, for backends that run it where functions cannot be sent: an expression that gives the body, in
 * strict mode or not. Bodies of generated kernels are written as such, those of `Kernel.hostFunction` with the values that they
 * use; every other is its function's own text, and sees nothing but its arguments and what JavaScript has everywhere: a name of
 * the program around it is a ReferenceError where it runs.
 *
 * **Example** (Running a body from its text)
 *
 * ```ts
 * import { JavaScript } from "effect-gpu-pool/host"
 *
 * const double = (from: number, to: number, { x }: { readonly x: Uint32Array }) => {
 *   for (let i = from; i < to; i++) x[i] = 2 * x[i]!
 * }
 * const body = new Function(`return ${JavaScript.textOf(double)}`)()
 * const x = Uint32Array.of(1, 2, 3)
 * body(0, 3, { x })
 * Array.from(x) // => [2, 4, 6]
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const textOf = (body: KernelBody): string => typeof body === "string" ? body : HostSource.textOf(body)
