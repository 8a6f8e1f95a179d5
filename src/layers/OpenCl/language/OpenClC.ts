/**
 * Expressions in OpenCL C. Signed overflow, division by zero and conversions of what the target cannot hold have no
 * defined meaning there: signed numbers are added and multiplied as unsigned ones, and functions guard the rest.
 *
 * @internal
 */
import {
  call,
  callOwn,
  comparing,
  computing,
  floats,
  infix,
  integers,
  itemSubscripts,
  rounds,
  type Writing,
  type Writings
} from "../../../domain/language/CommonSyntax.ts"
import { functionsCalled } from "../../../domain/language/FunctionTable.ts"
import type { Language } from "../../../domain/language/Language.ts"
import type { LanguageWriter } from "../../../domain/language/LanguageWriter.ts"
import { type ExprType, isFloat, type Operation } from "../../../domain/language/Operation.ts"
import { roundToType } from "../../../domain/language/RoundToType.ts"
import { eights } from "./OpenClEights.ts"
import { functions } from "./OpenClFunctions.ts"

const names: { readonly [T in ExprType]: string } = {
  f32: "float",
  i32: "int",
  u32: "uint",
  f16: "half",
  f64: "double",
  bool: "bool"
}

const always: Writings = {
  ...comparing,
  ...computing,
  multiply: infix("*"),
  equal: infix("=="),
  notEqual: infix("!="),
  where: ([a, b, c]) => `${a} ? ${b} : ${c}`
}

/** For what is undefined for int where the result is out of range. */
const wrapped = (sign: string): Writing => ([a, b]) => `as_int(as_uint(${a}) ${sign} as_uint(${b}))`

const ofSigned: Writings = {
  add: wrapped("+"),
  subtract: wrapped("-"),
  multiply: wrapped("*"),
  negative: ([a]) => `as_int(0u - as_uint(${a}))`,
  abs: ([a]) => `abs__i32(${a})`,
  sign: ([a]) => `(${a} > 0) - (${a} < 0)`,
  leftShift: ([a, b]) => `as_int(as_uint(${a}) << (${b} & 31u))`
}

const ofUnsigned: Writings = {
  negative: ([a]) => `0u - ${a}`,
  abs: ([a = ""]) => a,
  sign: ([a]) => `min(${a}, 1u)`
}

const ofInteger: Writings = {
  ...integers,
  truncDivide: callOwn("truncDivide"),
  fmod: callOwn("fmod"),
  countOneBits: call("popcount"),
  countLeadingZeros: ([a]) => `${a} == 0 ? 32 : clz(${a})`
}

const ofFloat: Writings = {
  ...floats,
  isNaN: callOwn("isNaN"),
  isFinite: callOwn("isFinite"),
  mix: callOwn("mix"),
  negative: ([a]) => `-${a}`,
  abs: call("fabs")
}

/** OpenCL's own functions of floats, where they have other names than the operation. */
const builtIn: { readonly [name in Operation]?: string } = { inverseSqrt: "rsqrt", power: "pow", round: "rint" }

const single = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType): string => {
  const [a, b] = operands
  switch (operation) {
    case "divide":
      return `${a} / ${b}`
    case "degrees":
      return `${a} * ${constant(180 / Math.PI, type)}`
    case "radians":
      return `${a} * ${constant(Math.PI / 180, type)}`
    default:
      return `${builtIn[operation] ?? operation}(${operands.join(", ")})`
  }
}

/** Functions of halves are computed in float, and the result is rounded once. */
const apply = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result: ExprType): string => {
  if (operation === "astype") return cast(operands[0]!, type, result)
  const own = type === "i32" ? ofSigned : type === "u32" ? ofUnsigned : undefined
  const writing = own?.[operation] ?? always[operation] ?? (isFloat(type) ? ofFloat : ofInteger)[operation]
  if (writing !== undefined) return writing(operands, type)
  if (!isFloat(type)) throw new Error(`OpenCL C has no ${operation} of ${type}`)
  return type === "f16"
    ? `(half) (${single(operation, operands.map((operand) => `(float) ${operand}`), "f32")})`
    : single(operation, operands, type)
}

const cast = (a: string, type: ExprType, result: ExprType): string => {
  if (type === result) return a
  if (result === "bool") return `${a} != 0`
  if (isFloat(type) && (result === "i32" || result === "u32")) {
    return `${result}__${type === "f16" ? `f32((float) ${a})` : `${type}(${a})`}`
  }
  if (type === "i32" && result === "u32") return `as_uint(${a})`
  if (type === "u32" && result === "i32") return `as_int(${a})`
  return `(${names[result]}) ${a}`
}

const constant = (value: number | boolean, type: ExprType): string => {
  if (typeof value === "boolean") return String(value)
  switch (type) {
    case "f32": {
      const held = roundToType(type, value)
      return needsBits(held) ? `as_float(0x${hex(Float32Array.of(held).buffer)}u)` : `${decimal(held)}f`
    }
    case "f64":
      return needsBits(value) ? `as_double(0x${hex(Float64Array.of(value).buffer)}ul)` : decimal(value)
    case "f16": {
      const held = roundToType(type, value)
      if (Number.isNaN(held)) return "as_half((ushort) 0x7e00)"
      return Number.isFinite(held) ? `(half) (${decimal(held)}f)` : `as_half((ushort) 0x${held > 0 ? "7c00" : "fc00"})`
    }
    case "i32":
      return value === -0x80000000 ? "(-2147483647 - 1)" : String(value)
    default:
      return `${value}u`
  }
}

const needsBits = (value: number): boolean => !Number.isFinite(value)

const hex = (buffer: ArrayBuffer): string =>
  new Uint32Array(buffer).reduceRight<string>((text, word) => text + word.toString(16).padStart(8, "0"), "")

/** Without a point or an exponent it would be an integer. */
const decimal = (value: number): string => {
  const text = Object.is(value, -0) ? "-0" : String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}

/** What others must know of it. */
export const language: Language = { id: "opencl", name: "OpenCL C", bodies: "items", hasEights: true }

export const openClC: LanguageWriter = {
  ...itemSubscripts,
  language,
  declare: (name, type, value) => `const ${names[type]} ${name} = ${value};`,
  constant,
  apply,
  variable: (name, type, value) => `${names[type]} ${name} = ${value};`,
  walk: ({ begin, position, step, times }, lines) => [
    `uint ${position} = ${begin};`,
    `for (uint ${rounds} = 0; ${rounds} < ${times}; ${rounds}++, ${position} += ${step}) {`,
    ...lines,
    "}"
  ],
  // Each step is rounded by itself.
  preamble: ({ operations }) => {
    const texts = operations.map(({ operation, result, type }) => apply(operation, ["a", "b", "c"], type, result))
    return ["#pragma OPENCL FP_CONTRACT OFF", ...functionsCalled(functions, texts)].join("\n")
  },
  eights
}
