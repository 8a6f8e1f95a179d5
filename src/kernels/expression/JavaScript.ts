/**
 * Expressions in JavaScript, for the host backend. Numbers of 32 bits and less are rounded after every step, as a
 * device's registers round them.
 *
 * @internal
 */
import * as HostSource from "../../domain/HostSource.ts"
import type { HostBody } from "../../domain/Kernel.ts"
import type { NumericArgument } from "../../domain/KernelArgument.ts"
import { messageOf } from "../../domain/ShownValue.ts"
import * as SourceExcerpt from "../../domain/SourceExcerpt.ts"
import { heldBy } from "./HeldBy.ts"
import type { Language } from "./Language.ts"
import { type ExprType, isFloat, type Operation } from "./Operation.ts"

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
  const held = typeof value === "number" ? heldBy(type, value) : value
  return Object.is(held, -0) ? "-0" : String(held)
}

/** Operators that give the type its numbers at once, or truth values. */
const infix: { readonly [name in Operation]?: string } = {
  equal: "===",
  notEqual: "!==",
  less: "<",
  lessEqual: "<=",
  greater: ">",
  greaterEqual: ">=",
  and: "&&",
  or: "||"
}

/** Operators whose result may lie outside the type. */
const roundedInfix: { readonly [name in Operation]?: string } = {
  add: "+",
  subtract: "-",
  bitAnd: "&",
  bitOr: "|",
  bitXor: "^",
  shiftLeft: "<<"
}

/** Functions of the same meaning, of `Math` or among {@link functions}. */
const calls: { readonly [name in Operation]?: string } = {
  sqrt: "sqrt",
  inverseSqrt: "1 / sqrt",
  exp: "exp",
  exp2: "exp2",
  log: "log",
  log2: "log2",
  pow: "power",
  sin: "sin",
  cos: "cos",
  tan: "tan",
  asin: "asin",
  acos: "acos",
  atan: "atan",
  atan2: "atan2",
  sinh: "sinh",
  cosh: "cosh",
  tanh: "tanh",
  asinh: "asinh",
  acosh: "acosh",
  atanh: "atanh",
  floor: "floor",
  ceil: "ceil",
  trunc: "trunc",
  round: "roundHalfEven",
  sign: "sign",
  abs: "abs",
  // Math's answer NaN where an operand is, as ours do.
  min: "min",
  max: "max",
  countOneBits: "countOneBits",
  countLeadingZeros: "clz32"
}

const apply = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result: ExprType): string => {
  const [a = "", b = "", c = ""] = operands
  const exact = infix[operation]
  if (exact !== undefined) return `${a} ${exact} ${b}`
  const sign = roundedInfix[operation]
  if (sign !== undefined) return rounded(type, `${a} ${sign} ${b}`)
  const call = calls[operation]
  if (call !== undefined) return rounded(type, `${call}(${operands.join(", ")})`)
  switch (operation) {
    case "multiply":
      return rounded(type, isFloat(type) ? `${a} * ${b}` : `imul(${a}, ${b})`)
    case "divide":
      return isFloat(type) ? rounded(type, `${a} / ${b}`) : `${b} === 0 ? 0 : ${rounded(type, `${a} / ${b}`)}`
    case "remainder":
      return isFloat(type)
        ? rounded(type, `${a} - ${rounded(type, `${b} * trunc(${rounded(type, `${a} / ${b}`)})`)}`)
        : `${b} === 0 ? 0 : ${rounded(type, `${a} % ${b}`)}`
    case "negate":
      return rounded(type, `-${a}`)
    case "clamp":
      return rounded(type, `min(max(${a}, ${b}), ${c})`)
    case "bitNot":
      return rounded(type, `~${a}`)
    case "shiftRight":
      return type === "u32" ? `${a} >>> ${b}` : `${a} >> ${b}`
    case "not":
      return `!${a}`
    case "isNaN":
      return `${a} !== ${a}`
    case "isFinite":
      return `${a} - ${a} === 0`
    case "select":
      return `${a} ? ${b} : ${c}`
    case "cast":
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
      throw new Error(`JavaScript has no ${operation}`)
  }
}

/** Floats go to integers saturated; NaN goes to 0, as `| 0` has it. */
const cast = (a: string, type: ExprType, result: ExprType): string => {
  if (type === result) return a
  if (type === "bool") return `${a} ? 1 : 0`
  if (result === "bool") return `${a} !== 0`
  if (isFloat(type) && result === "i32") return `max(-2147483648, min(2147483647, ${a})) | 0`
  if (isFloat(type) && result === "u32") return `max(0, min(4294967295, ${a})) >>> 0`
  return rounded(result, a)
}

/** @internal */
export const javaScript: Language = {
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
  quotient: (a, b) => `(${a} / ${b}) >>> 0`
}

const countOneBits = (value: number): number => {
  const pairs = value - ((value >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** From 2^52 on every double is whole, so a sum of that and a smaller number is rounded to a whole one. */
const roundHalfEven = (value: number): number => {
  const wholeFrom = 2 ** 52
  const magnitude = Math.abs(value)
  if (!(magnitude < wholeFrom)) return value
  const whole = (magnitude + wholeFrom) - wholeFrom
  return value < 0 || Object.is(value, -0) ? -whole : whole
}

/** 1 to any power is 1, and so is -1 to an infinite one, which JavaScript denies. */
const power = (base: number, exponent: number): number =>
  base === 1 || (base === -1 && Math.abs(exponent) === Infinity) ? 1 : base ** exponent

/** What bodies can call, beside `Math`. They call nothing of this file themselves, since they move with the bodies as text. */
const functions = { countOneBits, roundHalfEven, power, exp2: (value: number) => 2 ** value }

const mathNames = [
  "fround",
  "f16round",
  "imul",
  "clz32",
  "min",
  "max",
  "abs",
  "sign",
  "sqrt",
  "exp",
  "log",
  "log2",
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "atan",
  "atan2",
  "sinh",
  "cosh",
  "tanh",
  "asinh",
  "acosh",
  "atanh",
  "floor",
  "ceil",
  "trunc"
]

/** The function of a range of items, as a function of what it calls. */
type Program = (math: Math, own: typeof functions) => (from: number, to: number, args: unknown) => void

/**
 * A body for the host backend. It is written and compiled when it first runs, so that programs on other backends do not
 * pay for it. Where a page's policy forbids that, it throws, and the command fails with what to do.
 *
 * @internal
 */
export const makeHostBody = <Args extends ReadonlyArray<NumericArgument>>(
  name: string,
  args: Args,
  write: (language: Language) => ReadonlyArray<string>
): HostBody<Args> => {
  let body: HostBody<Args> | undefined
  const source = () => sourceOf(name, args, write(javaScript))
  return HostSource.withText<HostBody<Args>>(
    (from, to, values) => {
      body ??= compile(source())
      body(from, to, values)
    },
    () => `((math, own) => {\n${source()}\n})(Math, ${HostSource.literal(functions)})`
  )
}

/** Names become code, so they must be names, also in a program without types that calls a body by itself. */
const identifier = /^[A-Za-z]\w*$/

const sourceOf = (name: string, args: ReadonlyArray<NumericArgument>, lines: ReadonlyArray<string>): string => {
  const stray = [name, ...args.map((argument) => argument.name)].find((text) => !identifier.test(text))
  if (stray !== undefined) throw new TypeError(`${JSON.stringify(stray)} is no name of a kernel or an argument`)
  return [
    `"use strict"`,
    `const { ${mathNames.join(", ")} } = math`,
    `const { ${Object.keys(functions).join(", ")} } = own`,
    `return (from, to, args) => {`,
    ...args.flatMap(unpack),
    ...lines,
    `}`,
    `//# sourceURL=effect-gpu-pool/${name}.js`
  ].join("\n")
}

const compile = <Args extends ReadonlyArray<NumericArgument>>(source: string): HostBody<Args> => {
  try {
    const program = new Function("math", "own", source) as Program
    return program(Math, functions)
  } catch (cause) {
    if (!(cause instanceof EvalError)) {
      throw new SyntaxError(`${messageOf(cause)} in this source:\n${SourceExcerpt.of(source, "")}`, { cause })
    }
    throw new EvalError(
      `kernels made of expressions become code on the host, which this runtime forbids (${cause.message}). ` +
        `Allow code from strings ('unsafe-eval' in a page's policy), or use another backend`,
      { cause }
    )
  }
}

const unpack = (argument: NumericArgument): ReadonlyArray<string> =>
  argument._tag === "ScalarArg"
    ? [`const s__${argument.name} = args.${argument.name}`]
    : [
      `const v__${argument.name} = args.${argument.name}`,
      ...(argument.withOffset ? [`const o__${argument.name} = args.${argument.name}_offset`] : [])
    ]
