/**
 * Expressions in WGSL. Every value is a `let`, so that nothing is a const-expression, whose overflows and divisions by
 * zero are errors of the compiler.
 *
 * @internal
 */
import { comparing, computing, itemSubscripts, rounds } from "../../../domain/language/CommonSyntax.ts"
import { functionsCalled } from "../../../domain/language/FunctionTable.ts"
import type { LanguageWriter } from "../../../domain/language/LanguageWriter.ts"
import { type ExprType, isFloat, type Operation } from "../../../domain/language/Operation.ts"
import { roundToType } from "../../../domain/language/RoundToType.ts"
import { functions } from "./WgslFunctions.ts"
import { language } from "./WgslLanguage.ts"

/** What WGSL writes as an operator between the operands, on every type. */
const infix: { readonly [name in Operation]?: string } = { ...computing, ...comparing, multiply: "*", equal: "==" }

/** WGSL's own functions of floats, which do what the operation says under its name. */
const builtIn: ReadonlySet<Operation> = new Set(
  ["sqrt", "inverseSqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan"]
)

/** Those that also f16 has exactly. */
const exact: ReadonlySet<Operation> = new Set(["floor", "ceil", "trunc", "round"])

const apply = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType, result: ExprType): string => {
  const [a = "", b = "", c = ""] = operands
  const sign = infix[operation]
  if (sign !== undefined) return `${a} ${sign} ${b}`
  switch (operation) {
    case "notEqual":
      return `!(${a} == ${b})`
    case "negative":
      return type === "u32" ? `0u - ${a}` : `-${a}`
    case "logicalNot":
      return `!${a}`
    case "bitwiseNot":
      return `~${a}`
    case "where":
      return `select(${c}, ${b}, ${a})`
    case "astype":
      return cast(a, type, result)
  }
  return isFloat(type)
    ? applyFloat(operation, operands, type === "f16" ? "f16" : "f32")
    : applyInteger(operation, operands, type)
}

const applyInteger = (operation: Operation, operands: ReadonlyArray<string>, type: ExprType): string => {
  const [a = "", b = "", c = ""] = operands
  switch (operation) {
    // Division by zero gives the dividend in WGSL.
    case "truncDivide":
      return type === "u32" ? `select(${a} / ${b}, 0u, ${b} == 0u)` : `select(${a} / ${b}, 0i, ${b} == 0i)`
    case "fmod":
      return type === "u32" ? `select(${a} % ${b}, 0u, ${b} == 0u)` : `select(${a} % ${b}, 0i, ${b} == 0i)`
    // Not `abs`: NVIDIA's compiler makes j of `max(j, abs(j))`, and 0 of `max(max(0, abs(j)), j)`, where j is negative.
    case "abs":
      return type === "u32" ? a : `(${a} ^ (${a} >> 31u)) - (${a} >> 31u)`
    case "sign":
      return type === "u32" ? `min(${a}, 1u)` : `sign(${a})`
    case "minimum":
      return `min(${a}, ${b})`
    case "maximum":
      return `max(${a}, ${b})`
    case "clip":
      return `min(max(${a}, ${b}), ${c})`
    case "leftShift":
      return `${a} << (${b} & 31u)`
    case "rightShift":
      return `${a} >> (${b} & 31u)`
    case "countOneBits":
    case "countLeadingZeros":
      return `${operation}(${a})`
    default:
      throw new Error(`WGSL has no ${operation} of ${type}`)
  }
}

/**
 * Functions whose f16 form is worse than it need be are computed in f32. There is no f64: a kernel that uses it is refused
 * before a compiler sees its WGSL, which may therefore say f32.
 */
const applyFloat = (operation: Operation, operands: ReadonlyArray<string>, type: "f32" | "f16"): string => {
  const [a = "", b = "", c = ""] = operands
  const suffix = type === "f16" ? "h" : "f"
  if (exact.has(operation)) return `${operation}(${a})`
  switch (operation) {
    case "isNaN":
    case "isFinite":
      return `${operation}__f32(${type === "f16" ? `f32(${a})` : a})`
    case "abs":
      return `abs(${a})`
    case "sign":
    case "minimum":
    case "maximum":
    case "fmod":
      return `${operation}__${type}(${operands.join(", ")})`
    case "clip":
      return `minimum__${type}(maximum__${type}(${a}, ${b}), ${c})`
    case "fract":
      return `${a} - floor(${a})`
    case "mix":
      return `${a} * (1.0${suffix} - ${c}) + ${b} * ${c}`
    case "fma":
      return `fma(${a}, ${b}, ${c})`
  }
  if (type === "f16") return `f16(${applyFloat(operation, operands.map((operand) => `f32(${operand})`), "f32")})`
  if (operation === "divide") return `${a} / ${b}`
  if (operation === "degrees") return `${a} * ${Math.fround(180 / Math.PI)}f`
  if (operation === "radians") return `${a} * ${Math.fround(Math.PI / 180)}f`
  return `${operation}${builtIn.has(operation) ? "" : "__f32"}(${operands.join(", ")})`
}

const cast = (a: string, type: ExprType, result: ExprType): string => {
  if (type === result) return a
  if (result === "bool") return type === "i32" || type === "u32" ? `${a} != 0` : `!(${a} == 0)`
  if (result === "i32" || result === "u32") {
    if (type === "f32") return `${result}__f32(${a})`
    if (type === "f16") return `${result}__f32(f32(${a}))`
  }
  // SwiftShader rounds large numbers to one of their neighbours; the halves are exact, and their sum is rounded once.
  if (type === "u32" && result === "f32") return `f32(${a} >> 16u) * 65536.0f + f32(${a} & 0xffffu)`
  return `${result}(${a})`
}

/** Literals must be finite, and a driver may take subnormal ones for zero; bits are what they are. */
const needsBits = (value: number, smallest: number): boolean =>
  !Number.isFinite(value) || Object.is(value, -0) || (value !== 0 && Math.abs(value) < smallest)

const constant = (value: number | boolean, type: ExprType): string => {
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

export const wgsl: LanguageWriter = {
  ...itemSubscripts,
  language,
  // WGSL lets compilers reassociate and join float operations, and has no word against it.
  // https://www.w3.org/TR/WGSL/#reassociation-and-fusion
  seal: (value, zero, type) =>
    type === "f16"
      ? `bitcast<vec2<f16>>(bitcast<u32>(vec2<f16>(${value}, 0h)) ^ ${zero}).x`
      : `bitcast<f32>(bitcast<u32>(${value}) ^ ${zero})`,
  declare: (name, type, value) => `let ${name}: ${type} = ${value};`,
  constant,
  apply,
  variable: (name, type, value) => `var ${name}: ${type} = ${value};`,
  walk: ({ begin, position, step, times }, lines) => [
    `var ${position}: u32 = ${begin};`,
    `for (var ${rounds} = 0u; ${rounds} < ${times}; ${rounds}++) {`,
    ...lines,
    `${position} += ${step};`,
    "}"
  ],
  preamble: ({ constants, operations }) =>
    functionsCalled(functions, [
      ...operations.map(({ operation, result, type }) => apply(operation, ["a", "b", "c"], type, result)),
      ...constants.map(({ type, value }) => constant(value, type))
    ]).join("\n")
}
