/**
 * Expressions in WGSL. Every value is a `let`, so that nothing is a const-expression, whose overflows and divisions by
 * zero are errors of the compiler.
 *
 * @internal
 */
import { rangeOf } from "../../../domain/data/ValueType.ts"
import {
  call,
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
import { type Functions, functionsCalled } from "../../../domain/language/FunctionTable.ts"
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
import { functions } from "./WgslFunctions.ts"
import { language } from "./WgslLanguage.ts"
import { fromLong, longConstant, longs, ofLong, toLong } from "./WgslLongs.ts"
import { packedBits, typeNames } from "./WgslTypes.ts"

const known: Functions = new Map([...functions, ...longs])

const always: Writings = {
  ...comparing,
  ...computing,
  multiply: infix("*"),
  equal: infix("=="),
  notEqual: ([a, b]) => `!(${a} == ${b})`,
  negative: ([a], type) => type === "u32" ? `0u - ${a}` : `-${a}`,
  where: ([a, b, c]) => `select(${c}, ${b}, ${a})`,
  complex: ([a, b]) => `vec2<f32>(${a}, ${b})`,
  real: ([a]) => `${a}.x`,
  imag: ([a]) => `${a}.y`
}

/** Division by zero gives the dividend in WGSL. */
const divided = (sign: string): Writing => ([a, b], type) => {
  const zero = type === "u32" ? "0u" : "0i"
  return `select(${a} ${sign} ${b}, ${zero}, ${b} == ${zero})`
}

const ofInteger: Writings = {
  ...integers,
  truncDivide: divided("/"),
  fmod: divided("%"),
  // Not `abs`: NVIDIA's compiler makes j of `max(j, abs(j))`, and 0 of `max(max(0, abs(j)), j)`, where j is negative.
  abs: ([a = ""], type) => type === "u32" ? a : `(${a} ^ (${a} >> 31u)) - (${a} >> 31u)`,
  sign: ([a], type) => type === "u32" ? `min(${a}, 1u)` : `sign(${a})`,
  countOneBits: call("countOneBits"),
  countLeadingZeros: call("countLeadingZeros")
}

const ofSingle = (name: string): Writing => ([a], type) => `${name}__f32(${type === "f16" ? `f32(${a})` : a})`

/** What f16 has as exactly as f32. */
const ofFloat: Writings = {
  ...floats,
  floor: call("floor"),
  ceil: call("ceil"),
  trunc: call("trunc"),
  round: call("round"),
  abs: call("abs"),
  fma: call("fma"),
  isNaN: ofSingle("isNaN"),
  isFinite: ofSingle("isFinite"),
  mix: ([a, b, c], type) => `${a} * (1.0${type === "f16" ? "h" : "f"} - ${c}) + ${b} * ${c}`
}

/** The same bits of an integer of 32 bits as a smaller one: what it wraps to. */
const narrowed = (text: string, type: ExprType): string => {
  const rest = 32 - bitsOf(type)
  return isUnsigned(type) ? `(${text}) & ${maskOf(type)}` : `((${text}) << ${rest}u) >> ${rest}u`
}

const maskOf = (type: ExprType): string => `0x${"f".repeat(bitsOf(type) / 4)}`

/** The bits of a small integer alone, without those of the sign above. */
const ownBits = (a: string, type: ExprType): string => isUnsigned(type) ? a : `${a} & ${maskOf(type)}`

/** Of integers of 8 and 16 bits, what those of 32 do in another way. */
const ofSmall: Writings = {
  leftShift: ([a, b], type) => `${a} << (${b} & ${bitsOf(type) - 1}u)`,
  rightShift: ([a, b], type) => `${a} >> (${b} & ${bitsOf(type) - 1}u)`,
  countOneBits: ([a = ""], type) => `countOneBits(${ownBits(a, type)})`,
  countLeadingZeros: ([a = ""], type) => `countLeadingZeros(${ownBits(a, type)}) - ${32 - bitsOf(type)}`
}

/** Operations whose result, computed with 32 bits, may not fit into 8 or 16. */
const widening: ReadonlySet<Operation> = new Set(
  ["add", "subtract", "multiply", "negative", "abs", "truncDivide", "bitwiseNot", "leftShift"]
)

const applyToSmall = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType): string => {
  const text = ofSmall[operation]?.(operands, type) ??
    apply(operation, operands, isUnsigned(type) ? "u32" : "i32", "bool")
  return widening.has(operation) ? narrowed(text, type) : text
}

/** WGSL's own functions of floats, which do what the operation says under its name. */
const builtIn: ReadonlySet<Operation> = new Set(
  ["sqrt", "inverseSqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan"]
)

const single = (operation: Operation, operands: ReadonlyArray<string>): string => {
  const [a, b] = operands
  switch (operation) {
    case "divide":
      return `${a} / ${b}`
    case "degrees":
      return `${a} * ${Math.fround(180 / Math.PI)}f`
    case "radians":
      return `${a} * ${Math.fround(Math.PI / 180)}f`
    default:
      return `${operation}${builtIn.has(operation) ? "" : "__f32"}(${operands.join(", ")})`
  }
}

/**
 * Functions whose f16 form is worse than it need be are computed in f32. There is no f64: a kernel that uses it is refused
 * before a compiler sees its WGSL, which may therefore say f32.
 */
const apply = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result: ExprType): string => {
  if (operation === "astype") return cast(operands[0]!, type, result)
  if (isInteger(type) && bitsOf(type) < 32) return applyToSmall(operation, operands, type)
  const writing = (isLong(type) ? ofLong[operation] : undefined) ?? always[operation] ??
    (isFloat(type) ? ofFloat : ofInteger)[operation]
  if (writing !== undefined) return writing(operands, type === "f64" ? "f32" : type)
  if (!isFloat(type)) throw new Error(`WGSL has no ${operation} of ${type}`)
  return type === "f16"
    ? `f16(${single(operation, operands.map((operand) => `f32(${operand})`))})`
    : single(operation, operands)
}

const cast = (a: string, type: ExprType, result: ExprType): string => {
  if (type === result) return a
  if (isLong(result)) return toLong(a, type, result)
  if (isLong(type)) return fromLong(a, type, result, cast)
  if (result === "bool") return isInteger(type) ? `${a} != 0` : `!(${a} == 0)`
  if (isInteger(result)) return castToInteger(a, type, result)
  // SwiftShader rounds large numbers to one of their neighbours; the halves are exact, and their sum is rounded once.
  if (type === "u32" && result === "f32") return `f32(${a} >> 16u) * 65536.0f + f32(${a} & 0xffffu)`
  return `${typeNames[result]}(${a})`
}

const castToInteger = (a: string, type: ExprType, result: Parameters<typeof rangeOf>[0]): string => {
  const isSmall = bitsOf(result) < 32
  const wide = typeNames[result]
  if (!isFloat(type)) {
    const converted = typeNames[type] === wide ? a : `${wide}(${a})`
    return isSmall && type !== "bool" ? narrowed(converted, result) : converted
  }
  const saturated = `${wide}__f32(${type === "f16" ? `f32(${a})` : a})`
  return isSmall ? `clamp(${saturated}, ${rangeOf(result).join(", ")})` : saturated
}

/** Literals must be finite, and a driver may take subnormal ones for zero; bits are what they are. */
const needsBits = (value: number, smallest: number): boolean =>
  !Number.isFinite(value) || Object.is(value, -0) || (value !== 0 && Math.abs(value) < smallest)

const constant = (value: Constant, type: ExprType): string => {
  if (typeof value === "bigint") return longConstant(value)
  if (typeof value === "boolean") return String(value)
  switch (type) {
    case "f32": {
      const held = roundToType(type, value)
      return needsBits(held, 2 ** -126) ? `bits__f32(0x${bitsOfSingle(held).toString(16)}u)` : `${held}f`
    }
    case "f16": {
      const held = roundToType(type, value)
      return needsBits(held, 2 ** -14) ? `bits__f16(0x${bitsOfHalf(held).toString(16)}u)` : `${held}h`
    }
    case "i8":
    case "i16":
    case "i32":
      return value === -0x80000000 ? "i32(-2147483648)" : `${value}i`
    default:
      return `${value}u`
  }
}

const bitsOfSingle = (value: number): number => new Uint32Array(Float32Array.of(value).buffer)[0]!

/** For the values that are written as bits: no number, infinite, or a multiple of the least subnormal one. */
const bitsOfHalf = (value: number): number => {
  if (Number.isNaN(value)) return 0x7e00
  const magnitude = Math.abs(value) === Infinity ? 0x7c00 : Math.abs(value) * 2 ** 24
  return magnitude + (value < 0 || Object.is(value, -0) ? 0x8000 : 0)
}

/** What the functions call that load and store elements of words: a vector of that name would hide it. */
const reserved: ReadonlySet<string> = new Set(["atomicCompareExchangeWeak", "atomicLoad"])

export const wgsl: LanguageWriter = {
  ...itemSubscripts,
  language,
  // WGSL lets compilers reassociate and join float operations, and has no word against it.
  // https://www.w3.org/TR/WGSL/#reassociation-and-fusion
  seal: (value, zero, type) =>
    type === "f16"
      // Naga has no bitcast from halves.
      ? `f16(unpack2x16float(pack2x16float(vec2<f32>(f32(${value}), 0f)) ^ ${zero}).x)`
      : `bitcast<f32>(bitcast<u32>(${value}) ^ ${zero})`,
  reserved,
  load: (vector, index, dtype) =>
    packedBits(dtype) === 0 ? itemSubscripts.load(vector, index, dtype) : `${vector}_load(${index})`,
  store: (vector, index, value, dtype) =>
    packedBits(dtype) === 0
      ? itemSubscripts.store(vector, index, value, dtype)
      : `${vector}_store(${index}, ${value});`,
  declare: (name, type, value) => `let ${name}: ${typeNames[type]} = ${value};`,
  constant,
  apply,
  variable: (name, type, value) => `var ${name}: ${typeNames[type]} = ${value};`,
  // Small integers are not packed there.
  groups: { barrier: "workgroupBarrier();", load: itemSubscripts.load, store: itemSubscripts.store },
  walk: ({ begin, position, step, times }, lines) => [
    `var ${position}: u32 = ${begin};`,
    `for (var ${rounds} = 0u; ${rounds} < ${times}; ${rounds}++) {`,
    ...lines,
    `${position} += ${step};`,
    "}"
  ],
  each: (values, type, { lines, place, value }) => [
    "{",
    `var ${listed} = array<${typeNames[type]}, ${values.length}>(${values.join(", ")});`,
    `for (var ${place} = 0u; ${place} < ${values.length}u; ${place}++) {`,
    `let ${value}: ${typeNames[type]} = ${listed}[${place}];`,
    ...lines,
    "}",
    "}"
  ],
  preamble: ({ constants, operations }) =>
    functionsCalled(known, [
      ...operations.map(({ operation, result, type }) => apply(operation, ["a", "b", "c"], type, result)),
      ...constants.map(({ type, value }) => constant(value, type))
    ]).join("\n")
}
