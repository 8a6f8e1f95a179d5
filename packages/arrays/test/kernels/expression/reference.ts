/**
 * The operations in plain doubles and BigInt, on numbers of their types. It shares no code with the languages that are
 * tested against it.
 */
import type { DType } from "effect-gpu-pool"

type Type = DType.DType

/** How many bits an integer type has. */
const bitsOf = (type: Type): number => Number(type.slice(1))

const isSigned = (type: Type): boolean => type.startsWith("i")

const isFloat = (type: Type): boolean => type === "f32" || type === "f16" || type === "f64"

/** A real number, rounded to the type. */
export const hold = (type: Type, value: number): number => {
  switch (type) {
    case "f32":
      return Math.fround(value)
    case "f16":
      return Math.f16round(value)
    default:
      return value
  }
}

/** The least and the greatest number of an integer type. */
export const rangeOf = (type: Type): readonly [least: bigint, greatest: bigint] => {
  const all = 2n ** BigInt(bitsOf(type))
  return isSigned(type) ? [-all / 2n, all / 2n - 1n] : [0n, all - 1n]
}

const saturated = (value: number, type: Type): bigint => {
  const [least, greatest] = rangeOf(type)
  if (Number.isNaN(value)) return 0n
  if (Math.abs(value) === Infinity) return value < 0 ? least : greatest
  const whole = BigInt(Math.trunc(value))
  return whole < least ? least : whole > greatest ? greatest : whole
}

/** An integer, rounded to a float type in one step: ties to even. */
const nearestTo = (type: Type, value: bigint): number => {
  const magnitude = value < 0n ? -value : value
  const unit = 2n ** BigInt(Math.max(0, magnitude.toString(2).length - precisions[type]![0]))
  const whole = magnitude / unit
  const twice = 2n * (magnitude % unit)
  const up = twice > unit || (twice === unit && whole % 2n === 1n)
  return hold(type, Number((up ? whole + 1n : whole) * unit) * (value < 0n ? -1 : 1))
}

export const castOf = (from: Type, to: Type, value: number | bigint): number | bigint => {
  if (to === "bool") return Number(value) === 0 ? 0n : 1n
  if (isFloat(from)) return isFloat(to) ? hold(to, Number(value)) : saturated(Number(value), to)
  return isFloat(to) ? nearestTo(to, BigInt(value)) : wrap(to, BigInt(value))
}

/** The bits of an integer, as characters. */
const bits = (type: Type, value: bigint): string =>
  BigInt.asUintN(bitsOf(type), value).toString(2).padStart(bitsOf(type), "0")

const ofBits = (type: Type, text: string): bigint => wrap(type, BigInt(`0b${text}`))

const eachBit = (type: Type, a: bigint, b: bigint, f: (a: string, b: string) => boolean): bigint =>
  ofBits(type, [...bits(type, a)].map((bit, index) => f(bit, bits(type, b)[index]!) ? "1" : "0").join(""))

const lesser = (a: bigint, b: bigint): bigint => a < b ? a : b

const greater = (a: bigint, b: bigint): bigint => a > b ? a : b

/** Operations on integers: the exact result, then wrapped. */
export const integers: Readonly<Record<string, (type: Type, a: bigint, b: bigint, c: bigint) => bigint>> = {
  add: (type, a, b) => wrap(type, a + b),
  subtract: (type, a, b) => wrap(type, a - b),
  multiply: (type, a, b) => wrap(type, a * b),
  truncDivide: (type, a, b) => b === 0n ? 0n : wrap(type, a / b),
  floorDivide: (type, a, b) => b === 0n ? 0n : wrap(type, floored(a, b)),
  remainder: (_, a, b) => b === 0n ? 0n : a - b * floored(a, b),
  fmod: (type, a, b) => b === 0n ? 0n : wrap(type, a % b),
  negative: (type, a) => wrap(type, -a),
  abs: (type, a) => wrap(type, a < 0n ? -a : a),
  sign: (_, a) => a === 0n ? 0n : a < 0n ? -1n : 1n,
  minimum: (_, a, b) => lesser(a, b),
  maximum: (_, a, b) => greater(a, b),
  clip: (_, a, b, c) => lesser(greater(a, b), c),
  bitwiseAnd: (type, a, b) => eachBit(type, a, b, (x, y) => x === "1" && y === "1"),
  bitwiseOr: (type, a, b) => eachBit(type, a, b, (x, y) => x === "1" || y === "1"),
  bitwiseXor: (type, a, b) => eachBit(type, a, b, (x, y) => x !== y),
  bitwiseNot: (type, a) => eachBit(type, a, a, (x) => x === "0"),
  countOneBits: (type, a) => wrap(type, BigInt(bits(type, a).replaceAll("0", "").length)),
  countLeadingZeros: (type, a) => BigInt(/^0*/.exec(bits(type, a))![0].length)
}

const floored = (a: bigint, b: bigint): bigint => a / b - (a % b !== 0n && (a < 0n) !== (b < 0n) ? 1n : 0n)

export const wrap = (type: Type, value: bigint): bigint =>
  isSigned(type) ? BigInt.asIntN(bitsOf(type), value) : BigInt.asUintN(bitsOf(type), value)

export const shiftLeft = (type: Type, a: bigint, places: number): bigint =>
  ofBits(type, bits(type, a).slice(places % bitsOf(type)).padEnd(bitsOf(type), "0"))

export const shiftRight = (type: Type, a: bigint, places: number): bigint => {
  const kept = bits(type, a).slice(0, bitsOf(type) - places % bitsOf(type))
  return ofBits(type, kept.padStart(bitsOf(type), isSigned(type) && a < 0n ? "1" : "0"))
}

export const comparisons: Readonly<Record<string, (a: number | bigint, b: number | bigint) => boolean>> = {
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
