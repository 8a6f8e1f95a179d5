/**
 * Every elementwise operation with its expected result: integers by BigInt, floats by doubles that are rounded at the
 * end.
 */
import { DeviceArray } from "@effect-gpu-pool/arrays"
import type { GpuError } from "effect-gpu-pool"
import * as Effect from "effect/Effect"
import type { TestedType } from "../TestedTypes.ts"

export type Numbers = DeviceArray.DeviceArray
export type Computed = Effect.Effect<Numbers, GpuError.GpuError, DeviceArray.ArrayServices>
type Type = TestedType

/** How far an answer may be from the reference, for operands of a float type with that relative error of rounding. */
type Tolerance = (expected: number, epsilon: number, a: number, b: number) => number

const exact: Tolerance = () => 0
/** Devices may lose a few digits in divisions and functions. */
const within = (roundings: number): Tolerance => (expected, epsilon) =>
  roundings * epsilon * Math.max(1, Math.abs(expected))
/** An error of the operand grows with the function. */
const exponential: Tolerance = (expected, epsilon, x) => (8 + 4 * Math.abs(x)) * epsilon * Math.abs(expected)
/** Devices need not reduce angles beyond a half turn exactly, as doubles do; `most` is the largest error there. */
const periodic = (roundings: number, most: number): Tolerance => (expected, epsilon, x, y) =>
  Math.abs(x) > (epsilon < 2 ** -50 ? 100 : Math.PI) ? most : within(roundings)(expected, epsilon, x, y)

export interface UnaryOperation {
  readonly of: (x: Numbers) => Computed
  readonly integer?: ((x: bigint, type: Type) => bigint) | undefined
  readonly float?: ((x: number) => number) | undefined
  readonly result: "same" | "real" | "u32"
  readonly tolerance: Tolerance
}

export interface BinaryOperation {
  readonly of: (a: Numbers, b: Numbers) => Computed
  /** The result for integers: comparisons get the values before any cast, others the operands in their common type. */
  readonly integer?: ((a: bigint, b: bigint) => bigint) | undefined
  readonly float?: ((a: number, b: number) => number) | undefined
  readonly result: "common" | "real" | "u32" | "first"
  readonly tolerance: Tolerance
}

const whole = (of: UnaryOperation["of"], float: (x: number) => number): UnaryOperation => ({
  of,
  integer: (x) => x,
  float,
  result: "same",
  tolerance: exact
})

const real = (of: UnaryOperation["of"], float: (x: number) => number, tolerance = within(64)): UnaryOperation => ({
  of,
  float,
  result: "real",
  tolerance
})

/** Truth values as numbers, which the tests stack and compare. */
const asNumbers = (truths: Computed): Computed => Effect.flatMap(truths, DeviceArray.astype("u32"))

const test = (of: UnaryOperation["of"], float: (x: number) => boolean): UnaryOperation => ({
  of: (x) => asNumbers(of(x)),
  integer: (x) => BigInt(float(Number(x))),
  float: (x) => Number(float(x)),
  result: "u32",
  tolerance: exact
})

/** The types forbid floats for these; the tables pass only integers. */
const bits = (
  of: (x: DeviceArray.DeviceArray<"i32">) => Computed,
  integer: UnaryOperation["integer"]
): UnaryOperation => ({
  of: (x) => of(x as DeviceArray.DeviceArray<"i32">),
  integer,
  result: "same",
  tolerance: exact
})

const roundHalfEven = (x: number): number => {
  const below = Math.floor(x)
  return x - below === 0.5 ? 2 * Math.round(below / 2) : Math.round(x)
}

const abs = (x: bigint): bigint => x < 0n ? -x : x

export const unary: Readonly<Record<string, UnaryOperation>> = {
  negate: { of: DeviceArray.negative, integer: (x) => -x, float: (x) => -x, result: "same", tolerance: exact },
  abs: { of: DeviceArray.abs, integer: abs, float: Math.abs, result: "same", tolerance: exact },
  sign: {
    of: DeviceArray.sign,
    integer: (x) => x > 0n ? 1n : x < 0n ? -1n : 0n,
    float: Math.sign,
    result: "same",
    tolerance: exact
  },
  square: { of: DeviceArray.square, integer: (x) => x * x, float: (x) => x * x, result: "same", tolerance: exact },
  floor: whole(DeviceArray.floor, Math.floor),
  ceil: whole(DeviceArray.ceil, Math.ceil),
  trunc: whole(DeviceArray.trunc, Math.trunc),
  round: whole(DeviceArray.round, roundHalfEven),
  copy: whole(DeviceArray.copy, (x) => x),
  reciprocal: real(DeviceArray.reciprocal, (x) => 1 / x, within(4)),
  sqrt: real(DeviceArray.sqrt, Math.sqrt, within(4)),
  inverseSqrt: real(DeviceArray.inverseSqrt, (x) => 1 / Math.sqrt(x), within(4)),
  exp: real(DeviceArray.exp, Math.exp, exponential),
  exp2: real(DeviceArray.exp2, (x) => 2 ** x, exponential),
  log: real(DeviceArray.log, Math.log),
  log2: real(DeviceArray.log2, Math.log2),
  log10: real(DeviceArray.log10, Math.log10),
  sin: real(DeviceArray.sin, Math.sin, periodic(64, 2)),
  cos: real(DeviceArray.cos, Math.cos, periodic(64, 2)),
  tan: real(DeviceArray.tan, Math.tan, periodic(1024, Infinity)),
  asin: real(DeviceArray.asin, Math.asin),
  acos: real(DeviceArray.acos, Math.acos),
  atan: real(DeviceArray.atan, Math.atan),
  sinh: real(DeviceArray.sinh, Math.sinh, exponential),
  cosh: real(DeviceArray.cosh, Math.cosh, exponential),
  tanh: real(DeviceArray.tanh, Math.tanh),
  asinh: real(DeviceArray.asinh, Math.asinh),
  acosh: real(DeviceArray.acosh, Math.acosh),
  atanh: real(DeviceArray.atanh, Math.atanh),
  degrees: real(DeviceArray.degrees, (x) => x * 180 / Math.PI, within(4)),
  radians: real(DeviceArray.radians, (x) => x * Math.PI / 180, within(4)),
  logicalNot: test(DeviceArray.logicalNot, (x) => x === 0),
  isNaN: test(DeviceArray.isNaN, Number.isNaN),
  isFinite: test(DeviceArray.isFinite, Number.isFinite),
  isInfinite: test(DeviceArray.isInf, (x) => Math.abs(x) === Infinity),
  bitNot: bits(DeviceArray.bitwiseNot, (x) => ~x),
  countOneBits: bits(
    DeviceArray.countOneBits,
    (x) => BigInt(BigInt.asUintN(32, x).toString(2).replaceAll("0", "").length)
  )
}

const floored = (a: bigint, b: bigint): bigint => {
  if (b === 0n) return 0n
  const rest = a % b
  return a / b - (rest !== 0n && (rest < 0n) !== (b < 0n) ? 1n : 0n)
}

/** Python's, on doubles. */
const remainder = (a: number, b: number): number => {
  const rest = a % b
  return rest !== 0 && (rest < 0) !== (b < 0) ? rest + b : rest
}

const floorDivide = (a: number, b: number): number => {
  if (b === 0) return a / b
  const rest = a % b
  const quotient = (a - rest) / b - (rest !== 0 && (rest < 0) !== (b < 0) ? 1 : 0)
  return Math.round(quotient)
}

const integerPower = (base: bigint, exponent: bigint): bigint => {
  if (exponent < 0n) return abs(base) === 1n ? base ** (-exponent % 2n) : 0n
  let power = 1n
  let square = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) power = BigInt.asIntN(32, power * square)
    square = BigInt.asIntN(32, square * square)
  }
  return power
}

/** JavaScript has NaN for 1 to the NaN and to an infinity. */
const power = (base: number, exponent: number): number =>
  base === 1 || (base === -1 && Math.abs(exponent) === Infinity) ? 1 : base ** exponent

const arithmetic = (
  of: BinaryOperation["of"],
  integer: (a: bigint, b: bigint) => bigint,
  float: (a: number, b: number) => number,
  tolerance = exact
): BinaryOperation => ({ of, integer, float, result: "common", tolerance })

const truth = (of: BinaryOperation["of"], holds: (a: number, b: number) => boolean): BinaryOperation => ({
  of: (a, b) => asNumbers(of(a, b)),
  integer: (a, b) => BigInt(holds(Number(a), Number(b))),
  float: (a, b) => Number(holds(a, b)),
  result: "u32",
  tolerance: exact
})

type Bitwise = (a: DeviceArray.DeviceArray<"i32">, b: DeviceArray.DeviceArray<"i32">) => Computed

const bitwise = (
  of: Bitwise,
  integer: (a: bigint, b: bigint) => bigint,
  result: "common" | "first" = "common"
): BinaryOperation => ({
  of: (a, b) => of(a as DeviceArray.DeviceArray<"i32">, b as DeviceArray.DeviceArray<"i32">),
  integer,
  result,
  tolerance: exact
})

const infiniteOr = (f: (a: number, b: number) => number) => (a: number, b: number): number =>
  Math.abs(a) === Infinity || Math.abs(b) === Infinity ? Infinity : f(a, b)

const finite = (x: number): number => Number.isFinite(x) ? Math.abs(x) : 0

export const binary: Readonly<Record<string, BinaryOperation>> = {
  add: arithmetic(DeviceArray.add, (a, b) => a + b, (a, b) => a + b),
  subtract: arithmetic(DeviceArray.subtract, (a, b) => a - b, (a, b) => a - b),
  multiply: arithmetic(DeviceArray.multiply, (a, b) => a * b, (a, b) => a * b),
  floorDivide: arithmetic(
    DeviceArray.floorDivide,
    floored,
    floorDivide,
    (expected, epsilon) => finite(expected) * epsilon < 0.5 ? 0 : 4 * epsilon * finite(expected)
  ),
  remainder: arithmetic(
    DeviceArray.remainder,
    (a, b) => b === 0n ? 0n : a - b * floored(a, b),
    remainder,
    (_, epsilon, a, b) => 4 * epsilon * (finite(a) + finite(b))
  ),
  power: arithmetic(
    DeviceArray.power,
    integerPower,
    power,
    (expected, epsilon, a, b) => 64 * epsilon * Math.abs(expected) * (1 + finite(b * Math.log2(Math.abs(a))))
  ),
  minimum: arithmetic(DeviceArray.minimum, (a, b) => a < b ? a : b, Math.min),
  maximum: arithmetic(DeviceArray.maximum, (a, b) => a > b ? a : b, Math.max),
  divide: { of: DeviceArray.divide, float: (a, b) => a / b, result: "real", tolerance: within(4) },
  atan2: { of: DeviceArray.atan2, float: Math.atan2, result: "real", tolerance: within(64) },
  hypot: { of: DeviceArray.hypot, float: infiniteOr(Math.hypot), result: "real", tolerance: within(16) },
  equal: truth(DeviceArray.equal, (a, b) => a === b),
  notEqual: truth(DeviceArray.notEqual, (a, b) => a !== b),
  less: truth(DeviceArray.less, (a, b) => a < b),
  lessEqual: truth(DeviceArray.lessEqual, (a, b) => a <= b),
  greater: truth(DeviceArray.greater, (a, b) => a > b),
  greaterEqual: truth(DeviceArray.greaterEqual, (a, b) => a >= b),
  logicalAnd: truth(DeviceArray.logicalAnd, (a, b) => a !== 0 && b !== 0),
  logicalOr: truth(DeviceArray.logicalOr, (a, b) => a !== 0 || b !== 0),
  logicalXor: truth(DeviceArray.logicalXor, (a, b) => (a !== 0) !== (b !== 0)),
  bitAnd: bitwise(DeviceArray.bitwiseAnd, (a, b) => a & b),
  bitOr: bitwise(DeviceArray.bitwiseOr, (a, b) => a | b),
  bitXor: bitwise(DeviceArray.bitwiseXor, (a, b) => a ^ b),
  shiftLeft: bitwise(DeviceArray.leftShift, (a, b) => a << (b & 31n), "first"),
  shiftRight: bitwise(DeviceArray.rightShift, (a, b) => a >> (b & 31n), "first")
}

export const types: ReadonlyArray<Type> = ["f32", "i32", "u32", "f16", "f64"]

/** Numbers of each type at which mistakes are likely, and some ordinary ones. */
export const samples: { readonly [D in Type]: ReadonlyArray<number> } = {
  f32: [-7.5, -2, -1, -0.5, -0, 0, 0.25, 0.5, 1, 1.5, 2.5, 3, 7, 80.25, NaN, Infinity, -Infinity],
  f16: [-7.5, -2, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2.5, 3, 7, NaN, Infinity, -Infinity],
  f64: [-7.5, -2, -1, -0.5, -0, 0, 0.25, 0.5, 1, 1.5, 2.5, 3, 7, 80.25, 1e100, NaN, Infinity, -Infinity],
  i32: [-2147483648, -2147483647, -65537, -32, -7, -2, -1, 0, 1, 2, 3, 7, 31, 33, 65536, 123456789, 2147483647],
  u32: [0, 1, 2, 3, 7, 31, 32, 33, 65537, 123456789, 2147483647, 2147483648, 4294967289, 4294967294, 4294967295]
}

export const isInteger = (type: Type): boolean => type === "i32" || type === "u32"

const wrap = (type: Type, value: bigint): bigint =>
  type === "i32" ? BigInt.asIntN(32, value) : BigInt.asUintN(32, value)

/** A number as an element of the type, by the rules of casts. */
export const as = (type: Type, value: number): number => {
  switch (type) {
    case "f32":
      return Math.fround(value)
    case "f16":
      return (Math as { readonly f16round?: (value: number) => number }).f16round!(value)
    case "f64":
      return value
    case "i32":
    case "u32": {
      if (Number.isNaN(value)) return 0
      const [least, greatest] = type === "i32" ? [-2147483648, 2147483647] : [0, 4294967295]
      return Math.trunc(Math.min(greatest, Math.max(least, value)))
    }
  }
}

/** The same between integers, which keep their bits. */
export const cast = (from: Type, to: Type, value: number): number =>
  isInteger(from) && isInteger(to) ? Number(wrap(to, BigInt(value))) : as(to, value)

const epsilons: { readonly [D in Type]: number } = { f32: 2 ** -24, f16: 2 ** -11, f64: 2 ** -53, i32: 0, u32: 0 }

export interface Expected {
  readonly value: number
  readonly tolerance: number
}

const floating = (type: Type): Type => isInteger(type) ? "f32" : type

const resultType = (result: "same" | "common" | "first" | "real" | "u32", common: Type, first: Type): Type =>
  result === "u32" ? "u32" : result === "real" ? floating(common) : result === "first" ? first : common

/** The expected result for a value of a type; `undefined` if the operation does not take the type. */
export const expectedOfUnary = (operation: UnaryOperation, type: Type): {
  readonly dtype: Type
  readonly at: (x: number) => Expected
} | undefined => {
  const dtype = resultType(operation.result, type, type)
  const { float, integer, tolerance } = operation
  if (isInteger(type) && integer !== undefined) {
    return { dtype, at: (x) => ({ value: Number(wrap(dtype, integer(BigInt(x), type))), tolerance: 0 }) }
  }
  const inside = floating(type)
  if (float === undefined) return undefined
  return {
    dtype,
    at: (x) => {
      const value = as(dtype, float(as(inside, x)))
      return { value, tolerance: tolerance(value, epsilons[inside], x, 0) }
    }
  }
}

export const expectedOfBinary = (operation: BinaryOperation, a: Type, b: Type, common: Type): {
  readonly dtype: Type
  readonly at: (x: number, y: number) => Expected
} | undefined => {
  const dtype = resultType(operation.result, common, a)
  const { float, integer, tolerance } = operation
  if (integer !== undefined && isInteger(common)) {
    const operand = (value: number, type: Type): bigint =>
      operation.result === "common" ? wrap(common, BigInt(value)) : wrap(type, BigInt(value))
    return {
      dtype,
      at: (x, y) => ({ value: Number(wrap(dtype, integer(operand(x, a), operand(y, b)))), tolerance: 0 })
    }
  }
  if (float === undefined) return undefined
  const inside = floating(common)
  return {
    dtype,
    at: (x, y) => {
      const [left, right] = [as(inside, x), as(inside, y)]
      const value = as(dtype, float(left, right))
      return { value, tolerance: tolerance(value, epsilons[inside], left, right) }
    }
  }
}

export const agrees = (actual: number, { tolerance, value }: Expected): boolean =>
  actual === value || (Number.isNaN(actual) && Number.isNaN(value)) || Math.abs(actual - value) <= tolerance
