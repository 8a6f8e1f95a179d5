/**
 * Expressions in JavaScript, for the host backend. Numbers of 32 bits and less are rounded after every step, as a
 * device's registers round them.
 *
 * @internal
 */
import * as HostSource from "effect-gpu-pool/HostSource"
import type { HostBody } from "effect-gpu-pool/Kernel"
import type { NumericArgument } from "effect-gpu-pool/KernelArgument"
import { messageOf } from "effect-gpu-pool/ShownValue"
import * as SourceExcerpt from "effect-gpu-pool/SourceExcerpt"
import { heldBy } from "./HeldBy.ts"
import { comparing, computing, type Language } from "./Language.ts"
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
const infix: { readonly [name in Operation]?: string } = { ...comparing, equal: "===", notEqual: "!==" }

/** Operators whose result may lie outside the type. */
const roundedInfix: { readonly [name in Operation]?: string } = { ...computing, leftShift: "<<" }

/** Functions of the same meaning, of `Math` or among {@link functions}, where they have other names than the operation. */
const calls: { readonly [name in Operation]?: string } = {
  inverseSqrt: "1 / sqrt",
  round: "roundHalfEven",
  // Math's answer NaN where an operand is, as ours do.
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

/** Floats go to integers saturated; NaN goes to 0, as `| 0` has it. */
const cast = (a: string, type: ExprType, result: ExprType): string => {
  if (type === result) return a
  if (type === "bool") return `${a} ? 1 : 0`
  if (result === "bool") return `${a} !== 0`
  if (isFloat(type) && result === "i32") return `max(-2147483648, min(2147483647, ${a})) | 0`
  if (isFloat(type) && result === "u32") return `max(0, min(4294967295, ${a})) >>> 0`
  return rounded(result, a)
}

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
const own = { countOneBits, roundHalfEven, power, exp2: (value: number) => 2 ** value }

/** What bodies can call. */
const functions: { readonly [name: string]: unknown } = {
  ...Object.fromEntries(Object.getOwnPropertyNames(Math).map((name) => [name, Reflect.get(Math, name)])),
  ...own
}

/** The same as text. */
const functionsText = (): string =>
  `({ ...Object.fromEntries(Object.getOwnPropertyNames(Math).map((name) => [name, Math[name]])), ...${
    HostSource.literal(own)
  } })`

/** The function of a range of items, as a function of what it calls. */
type Program = (calls: typeof functions) => (from: number, to: number, args: unknown) => void

/**
 * A body for the host backend. It is written and compiled when it first runs, so that programs on other backends do not
 * pay for it. Where a page's policy forbids that, it throws, and the command fails with what to do.
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
    () => `((calls) => {\n${source()}\n})(${functionsText()})`
  )
}

/** Names become code, so they must be names, also in a program without types that calls a body by itself. */
const identifier = /^[A-Za-z]\w*$/

const sourceOf = (name: string, args: ReadonlyArray<NumericArgument>, lines: ReadonlyArray<string>): string => {
  const stray = [name, ...args.map((argument) => argument.name)].find((text) => !identifier.test(text))
  if (stray !== undefined) throw new TypeError(`${JSON.stringify(stray)} is no name of a kernel or an argument`)
  return [
    `"use strict"`,
    `const { ${Object.keys(functions).filter((name) => identifier.test(name)).join(", ")} } = calls`,
    `return (from, to, args) => {`,
    ...args.flatMap(unpack),
    ...lines,
    `}`,
    `//# sourceURL=effect-gpu-pool/${name}.js`
  ].join("\n")
}

const compile = <Args extends ReadonlyArray<NumericArgument>>(source: string): HostBody<Args> => {
  try {
    const program = new Function("calls", source) as Program
    return program(functions)
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
