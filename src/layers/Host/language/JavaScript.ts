/**
 * Expressions in JavaScript, for the host backend. Numbers are rounded to their types after every step, as a device's
 * registers round them. Integers of 64 bits are bigints.
 *
 * @since 0.1.0
 */
import * as HostSource from "../../../domain/data/HostSource.ts"
import { rangeOf } from "../../../domain/data/ValueType.ts"
import type { KernelBody } from "../../../domain/kernel/Kernel.ts"
import {
  call,
  comparing,
  computing,
  infix,
  listed,
  rounds,
  whenInBraces,
  type Writings
} from "../../../domain/language/CommonSyntax.ts"
import type { Language } from "../../../domain/language/Language.ts"
import type { Constant, LanguageWriter } from "../../../domain/language/LanguageWriter.ts"
import {
  bitsOf,
  type ExprType,
  isFloat,
  isInteger,
  isLong,
  isUnsigned,
  type Operation
} from "../../../domain/language/Operation.ts"
import { roundToType } from "../../../domain/language/RoundToType.ts"
import { makeBody } from "./JavaScriptBody.ts"

/** A computed number as the type holds it. */
const rounded = (type: ExprType, text: string): string => {
  switch (type) {
    case "f32":
      return `fround(${text})`
    case "f16":
      return `f16round(${text})`
    case "i8":
    case "i16": {
      const rest = 32 - bitsOf(type)
      return `(${text}) << ${rest} >> ${rest}`
    }
    case "u8":
      return `(${text}) & 0xff`
    case "u16":
      return `(${text}) & 0xffff`
    case "i32":
      return `(${text}) | 0`
    case "u32":
      return `(${text}) >>> 0`
    case "i64":
      return `asSigned64(${text})`
    case "u64":
      return `asUnsigned64(${text})`
    case "f64":
    case "c64":
    case "bool":
      return `(${text})`
  }
}

/** A zero of the type. */
const zero = (type: ExprType): string => isLong(type) ? "0n" : "0"

const constant = (value: Constant, type: ExprType): string => {
  if (typeof value === "bigint") return `${value}n`
  const held = typeof value === "number" ? roundToType(type, value) : value
  return Object.is(held, -0) ? "-0" : String(held)
}

/** The number of places of a shift, modulo the bits of the type. JavaScript takes it modulo 32 itself for numbers. */
const places = (b: string, type: ExprType): string => {
  const most = bitsOf(type) - 1
  return isLong(type) ? `BigInt(${b} & ${most})` : bitsOf(type) === 32 ? b : `(${b} & ${most})`
}

/** The bits of an integer of up to 32, as a number without a sign. */
const ownBits = (a: string, type: ExprType): string =>
  isUnsigned(type) || bitsOf(type) === 32 ? a : `${a} & ${2 ** bitsOf(type) - 1}`

/** What gives the type its numbers at once, or truth values. A complex number is an array of its parts. */
const exact: Writings = {
  ...comparing,
  complex: ([a, b]) => `[${a}, ${b}]`,
  real: ([a]) => `${a}[0]`,
  imag: ([a]) => `${a}[1]`,
  equal: infix("==="),
  notEqual: infix("!=="),
  isNaN: ([a]) => `${a} !== ${a}`,
  isFinite: ([a]) => `${a} - ${a} === 0`,
  where: ([a, b, c]) => `${a} ? ${b} : ${c}`,
  rightShift: ([a, b = ""], type) => `${a} ${type === "u32" ? ">>>" : ">>"} ${places(b, type)}`,
  truncDivide: ([a, b], type) => `${b} === ${zero(type)} ? ${zero(type)} : ${rounded(type, `${a} / ${b}`)}`,
  fmod: ([a, b], type) =>
    isFloat(type)
      ? rounded(type, `${a} - ${rounded(type, `${b} * trunc(${rounded(type, `${a} / ${b}`)})`)}`)
      : `${b} === ${zero(type)} ? ${zero(type)} : ${rounded(type, `${a} % ${b}`)}`,
  countOneBits: ([a = ""], type) => isLong(type) ? `countOneBits64(${a})` : `countOneBits(${ownBits(a, type)})`,
  countLeadingZeros: ([a = ""], type) => {
    if (isLong(type)) return `countLeadingZeros64(${a})`
    const more = 32 - bitsOf(type)
    return more === 0 ? `clz32(${a})` : `clz32(${ownBits(a, type)}) - ${more}`
  }
}

/** What `Math` has of numbers, of bigints. */
const ofLongs: Writings = {
  abs: ([a], type) => rounded(type, `${a} < 0n ? -${a} : ${a}`),
  sign: ([a]) => `${a} > 0n ? 1n : ${a} < 0n ? -1n : 0n`,
  minimum: ([a, b]) => `${a} < ${b} ? ${a} : ${b}`,
  maximum: ([a, b]) => `${a} > ${b} ? ${a} : ${b}`,
  clip: ([a, b, c]) => `(${a} > ${b} ? ${a} : ${b}) < ${c} ? (${a} > ${b} ? ${a} : ${b}) : ${c}`
}

/** Functions of the same meaning, of `Math` or among those of bodies, where they have other names than the operation. */
const calls: { readonly [name in Operation]?: string } = {
  inverseSqrt: "1 / sqrt",
  round: "roundHalfEven",
  // `Math.min` and `Math.max` return NaN where an operand is NaN, as these operations do.
  minimum: "min",
  maximum: "max"
}

const factor = (type: ExprType, value: number): number => type === "f64" ? value : Math.fround(value)

/** What may lie outside the type. */
const inexact: Writings = {
  ...computing,
  multiply: ([a, b], type) => isFloat(type) || isLong(type) ? `${a} * ${b}` : `imul(${a}, ${b})`,
  divide: infix("/"),
  negative: ([a]) => `-${a}`,
  leftShift: ([a, b = ""], type) => `${a} << ${places(b, type)}`,
  clip: ([a, b, c]) => `min(max(${a}, ${b}), ${c})`,
  degrees: ([a], type) => `${a} * ${factor(type, 180 / Math.PI)}`,
  radians: ([a], type) => `${a} * ${factor(type, Math.PI / 180)}`,
  mix: ([a, b, c], type) => `${rounded(type, `${a} * ${rounded(type, `1 - ${c}`)}`)} + ${rounded(type, `${b} * ${c}`)}`,
  fma: ([a, b, c]) => `${a} * ${b} + ${c}`
}

const apply = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result: ExprType): string => {
  if (operation === "astype") return cast(operands[0]!, type, result)
  return (isLong(type) ? ofLongs[operation]?.(operands, type) : undefined) ?? exact[operation]?.(operands, type) ??
    rounded(type, (inexact[operation] ?? call(calls[operation] ?? operation))(operands, type))
}

/** Converts floats to integers with saturation, and NaN to 0 as `| 0` does. */
const cast = (a: string, type: ExprType, result: ExprType): string => {
  if (type === result) return a
  if (type === "bool") return isLong(result) ? `${a} ? 1n : 0n` : `${a} ? 1 : 0`
  if (result === "bool") return `${a} !== ${zero(type)}`
  if (isLong(type)) return castLong(a, result)
  if (isFloat(type) && isInteger(result)) {
    const [least, most] = rangeOf(result)
    return isLong(result)
      ? `saturated64(${a}, ${constant(least, result)}, ${constant(most, result)})`
      : rounded(result === "u32" ? "u32" : "i32", `max(${least}, min(${most}, ${a}))`)
  }
  return rounded(result, isLong(result) ? `BigInt(${a})` : a)
}

/** A float is rounded once, which that of a double is not. */
const castLong = (a: string, result: ExprType): string => {
  if (isLong(result)) return rounded(result, a)
  if (isInteger(result)) return rounded(result, `Number(BigInt.asIntN(32, ${a}))`)
  return rounded(result, result === "f64" ? `Number(${a})` : `oddOf64(${a})`)
}

/**
 * JavaScript as a language of kernels: their bodies in it are functions, under the name `host`.
 *
 * @category constants
 * @since 0.1.0
 */
export const language: Language = { id: "host", name: "host", bodies: "ranges" }

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
  load: (vector, index, dtype) =>
    dtype === "c64"
      ? `[v__${vector}[2 * (${index})], v__${vector}[2 * (${index}) + 1]]`
      : `v__${vector}[${index}]${dtype === "bool" ? " !== 0" : ""}`,
  store: (vector, index, value, dtype) =>
    dtype === "c64"
      ? `v__${vector}[2 * (${index})] = ${value}[0]; v__${vector}[2 * (${index}) + 1] = ${value}[1]`
      : `v__${vector}[${index}] = ${value}`,
  scalar: (name) => `s__${name}`,
  viewIndex: (vector, index, withOffset) => withOffset ? `${index} + o__${vector}` : index,
  clampedIndex: (vector, index, withOffset, dtype) => {
    const length = `v__${vector}.length${dtype === "c64" ? " / 2" : ""}`
    return withOffset
      ? `min(${index}, ${length} - 1 - o__${vector}) + o__${vector}`
      : `min(${index}, ${length} - 1)`
  },
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
  each: (values, _type, { lines, place, value }) => [
    "{",
    `const ${listed} = [${values.join(", ")}]`,
    `for (let ${place} = 0; ${place} < ${values.length}; ${place}++) {`,
    `const ${value} = ${listed}[${place}]`,
    ...lines,
    "}",
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
