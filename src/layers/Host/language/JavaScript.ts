/**
 * Expressions in JavaScript, for the host backend. Numbers of 32 bits and less are rounded after every step, as a
 * device's registers round them.
 *
 * @since 0.1.0
 */
import * as HostSource from "../../../domain/data/HostSource.ts"
import type { KernelBody } from "../../../domain/kernel/Kernel.ts"
import { comparing, computing, rounds, whenInBraces } from "../../../domain/language/CommonSyntax.ts"
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

/** Operators that give the type its numbers at once, or truth values. */
const infix: { readonly [name in Operation]?: string } = { ...comparing, equal: "===", notEqual: "!==" }

/** Operators whose result may lie outside the type. */
const roundedInfix: { readonly [name in Operation]?: string } = { ...computing, leftShift: "<<" }

/** Functions of the same meaning, of `Math` or among {@link functions}, where they have other names than the operation. */
const calls: { readonly [name in Operation]?: string } = {
  inverseSqrt: "1 / sqrt",
  round: "roundHalfEven",
  // `Math.min` and `Math.max` return NaN where an operand is NaN, as these operations do.
  minimum: "min",
  maximum: "max",
  countLeadingZeros: "clz32"
}

const apply = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result: ExprType): string => {
  const [a = "", b = "", c = ""] = operands
  const exact = infix[operation]
  if (exact !== undefined) return `${a} ${exact} ${b}`
  const sign = roundedInfix[operation]
  if (sign !== undefined) return rounded(type, `${a} ${sign} ${b}`)
  switch (operation) {
    case "multiply":
      return rounded(type, isFloat(type) ? `${a} * ${b}` : `imul(${a}, ${b})`)
    case "divide":
      return rounded(type, `${a} / ${b}`)
    case "truncDivide":
      return `${b} === 0 ? 0 : ${rounded(type, `${a} / ${b}`)}`
    case "fmod":
      return isFloat(type)
        ? rounded(type, `${a} - ${rounded(type, `${b} * trunc(${rounded(type, `${a} / ${b}`)})`)}`)
        : `${b} === 0 ? 0 : ${rounded(type, `${a} % ${b}`)}`
    case "negative":
      return rounded(type, `-${a}`)
    case "clip":
      return rounded(type, `min(max(${a}, ${b}), ${c})`)
    case "bitwiseNot":
      return rounded(type, `~${a}`)
    case "rightShift":
      return type === "u32" ? `${a} >>> ${b}` : `${a} >> ${b}`
    case "logicalNot":
      return `!${a}`
    case "isNaN":
      return `${a} !== ${a}`
    case "isFinite":
      return `${a} - ${a} === 0`
    case "where":
      return `${a} ? ${b} : ${c}`
    case "astype":
      return cast(a, type, result)
    case "fract":
      return rounded(type, `${a} - floor(${a})`)
    case "degrees":
      return rounded(type, `${a} * ${type === "f64" ? 180 / Math.PI : Math.fround(180 / Math.PI)}`)
    case "radians":
      return rounded(type, `${a} * ${type === "f64" ? Math.PI / 180 : Math.fround(Math.PI / 180)}`)
    case "mix": {
      const first = rounded(type, `${a} * ${rounded(type, `1 - ${c}`)}`)
      return rounded(type, `${first} + ${rounded(type, `${b} * ${c}`)}`)
    }
    case "fma":
      return rounded(type, `${a} * ${b} + ${c}`)
    default:
      return rounded(type, `${calls[operation] ?? operation}(${operands.join(", ")})`)
  }
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
