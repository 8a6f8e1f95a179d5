/**
 * Expressions in OpenCL C. Signed overflow, division by zero and conversions of what the target cannot hold have no
 * defined meaning there: signed numbers are added and multiplied as unsigned ones, and functions guard the rest. Integers
 * of 8 and 16 bits are computed in 32, and their results are cut to the type.
 *
 * @internal
 */
import { rangeOf } from "../../../domain/data/ValueType.ts"
import {
  call,
  callOwn,
  comparing,
  computing,
  floats,
  infix,
  integers,
  itemSubscripts,
  listed,
  rounds,
  type Writing,
  type Writings
} from "../../../domain/language/CommonSyntax.ts"
import { functionsCalled } from "../../../domain/language/FunctionTable.ts"
import type { Language } from "../../../domain/language/Language.ts"
import type { Constant, LanguageWriter } from "../../../domain/language/LanguageWriter.ts"
import {
  bitsOf,
  type ExprType,
  isFloat,
  isInteger,
  isUnsigned,
  type Operation
} from "../../../domain/language/Operation.ts"
import { roundToType } from "../../../domain/language/RoundToType.ts"
import { eights } from "./OpenClEights.ts"
import { functions } from "./OpenClFunctions.ts"

const names: { readonly [T in ExprType]: string } = {
  f32: "float",
  i32: "int",
  u32: "uint",
  f16: "half",
  f64: "double",
  i8: "char",
  u8: "uchar",
  i16: "short",
  u16: "ushort",
  i64: "long",
  u64: "ulong",
  c64: "float2",
  bool: "bool"
}

/** The unsigned integer of the same bits. */
const unsignedName = (type: ExprType): string => isUnsigned(type) ? names[type] : `u${names[type]}`

/** An integer of the type, from the low bits of another. */
const cut = (type: ExprType, value: string): string =>
  isUnsigned(type) ? `(${names[type]}) (${value})` : `as_${names[type]}((${unsignedName(type)}) (${value}))`

const always: Writings = {
  ...comparing,
  ...computing,
  multiply: infix("*"),
  equal: infix("=="),
  notEqual: infix("!="),
  where: ([a, b, c]) => `${a} ? ${b} : ${c}`,
  complex: ([a, b]) => `(float2) (${a}, ${b})`,
  real: ([a]) => `${a}.x`,
  imag: ([a]) => `${a}.y`
}

/** For what is undefined for signed numbers where the result is out of range. */
const wrapped = (sign: string): Writing => ([a, b], type) =>
  cut(type, `(${unsignedName(type)}) ${a} ${sign} (${unsignedName(type)}) ${b}`)

/** The number of places of a shift, modulo the bits of the type. */
const places = (b: string, type: ExprType): string => `(${b} & ${bitsOf(type) - 1}u)`

const ofSigned: Writings = {
  add: wrapped("+"),
  subtract: wrapped("-"),
  multiply: wrapped("*"),
  negative: ([a], type) => cut(type, `0u - (${unsignedName(type)}) ${a}`),
  abs: callOwn("abs"),
  sign: ([a]) => `(${a} > 0) - (${a} < 0)`,
  leftShift: ([a, b = ""], type) => cut(type, `(${unsignedName(type)}) ${a} << ${places(b, type)}`)
}

const ofUnsigned: Writings = {
  negative: ([a]) => `0u - ${a}`,
  abs: ([a = ""]) => a,
  sign: ([a]) => `${a} > 0 ? 1 : 0`
}

const ofInteger: Writings = {
  ...integers,
  truncDivide: callOwn("truncDivide"),
  fmod: callOwn("fmod"),
  countOneBits: call("popcount"),
  countLeadingZeros: ([a], type) => `${a} == 0 ? ${bitsOf(type)} : clz(${a})`
}

/**
 * Of 8 and 16 bits: C computes them as int, whose multiplication may overflow. The functions of 32 bits take them, and
 * drivers need no others.
 */
const ofSmall: Writings = {
  ...ofInteger,
  add: ([a, b], type) => cut(type, `${a} + ${b}`),
  subtract: ([a, b], type) => cut(type, `${a} - ${b}`),
  multiply: ([a, b], type) => cut(type, `(uint) ${a} * (uint) ${b}`),
  negative: ([a], type) => cut(type, `-${a}`),
  abs: ([a = ""], type) => isUnsigned(type) ? a : cut(type, `abs__i32(${a})`),
  sign: ([a]) => `(${a} > 0) - (${a} < 0)`,
  minimum: ([a, b]) => `${a} < ${b} ? ${a} : ${b}`,
  maximum: ([a, b]) => `${a} > ${b} ? ${a} : ${b}`,
  clip: ([a, b, c], type) => cut(type, `min(max((int) ${a}, (int) ${b}), (int) ${c})`),
  truncDivide: ([a, b], type) => cut(type, `truncDivide__i32(${a}, ${b})`),
  fmod: ([a, b], type) => cut(type, `fmod__i32(${a}, ${b})`),
  bitwiseAnd: ([a, b], type) => cut(type, `${a} & ${b}`),
  bitwiseOr: ([a, b], type) => cut(type, `${a} | ${b}`),
  bitwiseXor: ([a, b], type) => cut(type, `${a} ^ ${b}`),
  bitwiseNot: ([a], type) => cut(type, `~${a}`),
  leftShift: ([a, b = ""], type) => cut(type, `(uint) ${a} << ${places(b, type)}`),
  rightShift: ([a, b = ""], type) => cut(type, `${a} >> ${places(b, type)}`),
  countOneBits: ([a], type) => `popcount((uint) (${unsignedName(type)}) ${a})`,
  countLeadingZeros: ([a], type) =>
    `${a} == 0 ? ${bitsOf(type)} : clz((uint) (${unsignedName(type)}) ${a}) - ${32 - bitsOf(type)}`
}

const ofFloat: Writings = {
  ...floats,
  isNaN: callOwn("isNaN"),
  isFinite: callOwn("isFinite"),
  mix: callOwn("mix"),
  negative: ([a]) => `-${a}`,
  abs: call("fabs"),
  fract: ([a], type) => `${a} - ${type === "f16" ? `floor(${a})` : `floor__${type}(${a})`}`
}

/** What a type has of its own. */
const ofType = (type: ExprType): Writings => {
  if (!isInteger(type)) return isFloat(type) ? ofFloat : {}
  return bitsOf(type) < 32 ? ofSmall : isUnsigned(type) ? ofUnsigned : ofSigned
}

/** OpenCL's own functions of floats, where they have other names than the operation. */
const builtIn: { readonly [name in Operation]?: string } = { inverseSqrt: "rsqrt", power: "pow", round: "rint" }

/**
 * Functions that convert to integers on the way: where LLVM knows the operand when it compiles PoCL's, a NaN and for some an
 * infinity give any number at all.
 */
const guarded: ReadonlySet<Operation> = new Set(["exp", "exp2", "sinh", "tanh", "floor", "ceil", "trunc", "round"])

const single = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType): string => {
  if (guarded.has(operation)) return callOwn(builtIn[operation] ?? operation)(operands, type)
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
  const writing = ofType(type)[operation] ?? always[operation] ?? (isInteger(type) ? ofInteger[operation] : undefined)
  if (writing !== undefined) return writing(operands, type)
  if (!isFloat(type)) throw new Error(`OpenCL C has no ${operation} of ${type}`)
  return type === "f16"
    ? `(half) (${single(operation, operands.map((operand) => `(float) ${operand}`), "f32")})`
    : single(operation, operands, type)
}

const cast = (a: string, type: ExprType, result: ExprType): string => {
  if (type === result) return a
  if (result === "bool") return `${a} != 0`
  if (isFloat(type) && isInteger(result)) return castToInteger(a, type, result)
  return isInteger(type) && isInteger(result) ? cut(result, a) : `(${names[result]}) ${a}`
}

const castToInteger = (a: string, type: ExprType, result: Parameters<typeof rangeOf>[0]): string => {
  const from = type === "f16" ? `f32((float) ${a})` : `${type}(${a})`
  return bitsOf(result) < 32
    ? `(${names[result]}) clamp(i32__${from}, ${rangeOf(result).join(", ")})`
    : `${result}__${from}`
}

const constant = (value: Constant, type: ExprType): string => {
  if (typeof value === "boolean") return String(value)
  if (typeof value === "bigint") return longConstant(value, type)
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
    case "u32":
      return `${value}u`
    default:
      return value === -0x80000000 ? "(-2147483647 - 1)" : String(value)
  }
}

const longConstant = (value: bigint, type: ExprType): string => {
  if (type === "u64") return `${value}ul`
  return value === -(2n ** 63n) ? "(-9223372036854775807l - 1)" : `${value}l`
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
export const language: Language = { id: "opencl", name: "OpenCL C", bodies: "items", eights }

const load: LanguageWriter["load"] = (vector, index, dtype) => `${vector}[${index}]${dtype === "bool" ? " != 0" : ""}`

export const openClC: LanguageWriter = {
  ...itemSubscripts,
  load,
  groups: { barrier: "barrier(CLK_LOCAL_MEM_FENCE);", load, store: itemSubscripts.store },
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
  each: (values, type, { lines, place, value }) => [
    "{",
    `const ${names[type]} ${listed}[${values.length}] = { ${values.join(", ")} };`,
    `for (uint ${place} = 0; ${place} < ${values.length}; ${place}++) {`,
    `const ${names[type]} ${value} = ${listed}[${place}];`,
    ...lines,
    "}",
    "}"
  ],
  // Each step is rounded by itself.
  preamble: ({ operations }) => {
    const texts = operations.map(({ operation, result, type }) => apply(operation, ["a", "b", "c"], type, result))
    return ["#pragma OPENCL FP_CONTRACT OFF", ...functionsCalled(functions, texts)].join("\n")
  }
}
