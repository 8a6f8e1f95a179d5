/**
 * The operations in plain doubles and BigInt, on numbers of their types. It shares no code with the languages that are
 * tested against it.
 */
import type { DType } from "effect-gpu-pool"

type Type = DType.DType | "bool"

const isFloat = (type: Type): boolean => type === "f32" || type === "f16" || type === "f64"

/** A real number, rounded to the type. */
export const hold = (type: Type, value: number): number => {
  switch (type) {
    case "f32":
      return Math.fround(value)
    case "f16":
      return Math.f16round(value)
    case "i32":
      return Number(BigInt.asIntN(32, BigInt(value)))
    case "u32":
      return Number(BigInt.asUintN(32, BigInt(value)))
    default:
      return value
  }
}

const saturated = (value: number, least: number, most: number): number =>
  Number.isNaN(value) ? 0 : Math.min(Math.max(Math.trunc(value), least), most)

export const castOf = (from: Type, to: Type, value: number): number => {
  if (to === "bool") return value === 0 ? 0 : 1
  if (isFloat(from) && to === "i32") return saturated(value, -(2 ** 31), 2 ** 31 - 1)
  if (isFloat(from) && to === "u32") return saturated(value, 0, 2 ** 32 - 1)
  return hold(to, value)
}

/** The bits of an integer, as 32 characters. */
const bits = (value: number): string => BigInt.asUintN(32, BigInt(value)).toString(2).padStart(32, "0")

const ofBits = (type: Type, text: string): number => hold(type, Number(BigInt(`0b${text}`)))

const eachBit = (type: Type, a: number, b: number, f: (a: string, b: string) => boolean): number =>
  ofBits(type, [...bits(a)].map((bit, index) => f(bit, bits(b)[index]!) ? "1" : "0").join(""))

/** Operations on integers: the exact result, then wrapped. */
export const integers: Readonly<Record<string, (type: Type, a: number, b: number, c: number) => number>> = {
  add: (type, a, b) => Number(wrap(type, BigInt(a) + BigInt(b))),
  subtract: (type, a, b) => Number(wrap(type, BigInt(a) - BigInt(b))),
  multiply: (type, a, b) => Number(wrap(type, BigInt(a) * BigInt(b))),
  truncDivide: (type, a, b) => b === 0 ? 0 : Number(wrap(type, BigInt(a) / BigInt(b))),
  floorDivide: (type, a, b) => b === 0 ? 0 : Number(wrap(type, floored(BigInt(a), BigInt(b)))),
  remainder: (_, a, b) => b === 0 ? 0 : Number(BigInt(a) - BigInt(b) * floored(BigInt(a), BigInt(b))),
  fmod: (type, a, b) => b === 0 ? 0 : Number(wrap(type, BigInt(a) % BigInt(b))),
  negative: (type, a) => Number(wrap(type, -BigInt(a))),
  abs: (type, a) => Number(wrap(type, a < 0 ? -BigInt(a) : BigInt(a))),
  sign: (_, a) => a === 0 ? 0 : a < 0 ? -1 : 1,
  minimum: (_, a, b) => a < b ? a : b,
  maximum: (_, a, b) => a > b ? a : b,
  clip: (_, a, b, c) => Math.min(Math.max(a, b), c),
  bitwiseAnd: (type, a, b) => eachBit(type, a, b, (x, y) => x === "1" && y === "1"),
  bitwiseOr: (type, a, b) => eachBit(type, a, b, (x, y) => x === "1" || y === "1"),
  bitwiseXor: (type, a, b) => eachBit(type, a, b, (x, y) => x !== y),
  bitwiseNot: (type, a) => eachBit(type, a, a, (x) => x === "0"),
  countOneBits: (_, a) => bits(a).replaceAll("0", "").length,
  countLeadingZeros: (_, a) => bits(a).indexOf("1") === -1 ? 32 : bits(a).indexOf("1")
}

const floored = (a: bigint, b: bigint): bigint => a / b - (a % b !== 0n && (a < 0n) !== (b < 0n) ? 1n : 0n)

const wrap = (type: Type, value: bigint): bigint =>
  type === "i32" ? BigInt.asIntN(32, value) : BigInt.asUintN(32, value)

export const shiftLeft = (type: Type, a: number, places: number): number =>
  ofBits(type, bits(a).slice(places % 32).padEnd(32, "0"))

export const shiftRight = (type: Type, a: number, places: number): number =>
  ofBits(type, bits(a).slice(0, 32 - places % 32).padStart(32, type === "i32" && a < 0 ? "1" : "0"))

export const comparisons: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  equal: (a, b) => a === b,
  notEqual: (a, b) => a !== b,
  less: (a, b) => a < b,
  lessEqual: (a, b) => a <= b,
  greater: (a, b) => a > b,
  greaterEqual: (a, b) => a >= b
}

const nearestEven = (value: number): number => {
  const below = Math.floor(value)
  const rest = value - below
  return rest < 0.5 ? below : rest > 0.5 ? below + 1 : below % 2 === 0 ? below : below + 1
}

/** Operations on floats whose results are exact, or rounded step by step. */
export const floats: Readonly<
  Record<string, (type: Type, a: number, b: number, c: number) => number | ReadonlyArray<number>>
> = {
  add: (type, a, b) => hold(type, a + b),
  subtract: (type, a, b) => hold(type, a - b),
  multiply: (type, a, b) => hold(type, a * b),
  divide: (type, a, b) => hold(type, a / b),
  fmod: (type, a, b) => hold(type, a - hold(type, b * Math.trunc(hold(type, a / b)))),
  negative: (_, a) => -a,
  abs: (_, a) => Math.abs(a),
  sign: (_, a) => Math.sign(a),
  minimum: (_, a, b) => Math.min(a, b),
  maximum: (_, a, b) => Math.max(a, b),
  clip: (_, a, b, c) => Math.min(Math.max(a, b), c),
  floor: (_, a) => Math.floor(a),
  ceil: (_, a) => Math.ceil(a),
  trunc: (_, a) => Math.trunc(a),
  round: (_, a) => Math.abs(a) < 2 ** 52 ? nearestEven(a) : a,
  fract: (type, a) => hold(type, a - Math.floor(a)),
  mix: (type, a, b, c) => hold(type, hold(type, a * hold(type, 1 - c)) + hold(type, b * c)),
  fma: (type, a, b, c) => [roundedOnce(type, a, b, c), hold(type, a * b + c), hold(type, hold(type, a * b) + c)]
}

/** Finer than the product of any two doubles. */
const scale = 2200

/** A double in units of 2 ** -scale. */
const scaled = (value: number): bigint => {
  const word = new DataView(new ArrayBuffer(8))
  word.setFloat64(0, value)
  const bits = word.getBigUint64(0)
  const exponent = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & 0xfffffffffffffn
  const magnitude = (exponent === 0 ? fraction : fraction | 0x10000000000000n) <<
    BigInt(Math.max(exponent, 1) - 1075 + scale)
  return value < 0 ? -magnitude : magnitude
}

const precisions: Readonly<Record<string, readonly [precision: number, leastExponent: number]>> = {
  f16: [11, -24],
  f32: [24, -149],
  f64: [53, -1074]
}

/** `a * b + c`, rounded to the type in one step. */
export const roundedOnce = (type: Type, a: number, b: number, c: number): number => {
  if (!Number.isFinite(a) || !Number.isFinite(b)) return a * b + c
  if (!Number.isFinite(c)) return c
  const sum = ((scaled(a) * scaled(b)) >> BigInt(scale)) + scaled(c)
  const magnitude = sum < 0n ? -sum : sum
  const [precision, leastExponent] = precisions[type]!
  const exponent = Math.max(magnitude.toString(2).length - precision, leastExponent + scale)
  const unit = 1n << BigInt(exponent)
  const rest = magnitude % unit
  const whole = magnitude / unit
  const up = rest * 2n > unit || (rest * 2n === unit && whole % 2n === 1n)
  // As two factors, neither of which overflows a double.
  const half = Math.trunc((exponent - scale) / 2)
  const result = Number(up ? whole + 1n : whole) * 2 ** half * 2 ** (exponent - scale - half)
  return hold(type, sum < 0n ? -result : result)
}

/** NumPy's power, which is 1 where JavaScript's is NaN. */
const power = (a: number, b: number): number => a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b

/** Operations on floats whose results have a tolerance. */
export const functions: Readonly<Record<string, (a: number, b: number) => number>> = {
  sqrt: Math.sqrt,
  inverseSqrt: (a) => 1 / Math.sqrt(a),
  exp: Math.exp,
  exp2: (a) => 2 ** a,
  log: Math.log,
  log2: Math.log2,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  degrees: (a) => a * (180 / Math.PI),
  radians: (a) => a * (Math.PI / 180),
  atan2: Math.atan2,
  power
}
