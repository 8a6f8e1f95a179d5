/**
 * Integers of 64 bits in WGSL, which has none: a `vec2<u32>` of the low and the high word, in two's complement. WGSL's own
 * operators of vectors do what is done bit by bit; these functions do the rest, with integers of 32 bits alone, so that no
 * compiler's liberties with floats change a result.
 *
 * Shifts of words are by less than 32 as written, since languages that WGSL is translated to do not agree about more.
 *
 * @internal
 */
import { callOwn, type Writings } from "../../../domain/language/CommonSyntax.ts"
import { type Functions, functionsOf } from "../../../domain/language/FunctionTable.ts"
import { type ExprType, isFloat, isLong, isUnsigned } from "../../../domain/language/Operation.ts"

/** Alike in i64 and u64: in two's complement the low 64 bits are the same. */
const forBoth = (type: "i64" | "u64"): ReadonlyArray<string> => [
  `fn negative__${type}(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(0u - a.x, select(~a.y, 0u - a.y, a.x == 0u));
}`,
  `fn add__${type}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}`,
  `fn subtract__${type}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}`,
  // In digits of 16 bits: a product of two, and two more of them, are less than 2^32.
  `fn multiply__${type}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let first = vec2<u32>(a.x & 0xffffu, a.x >> 16u);
  let second = vec2<u32>(b.x & 0xffffu, b.x >> 16u);
  let middle = first.y * second.x + ((first.x * second.x) >> 16u);
  let carried = first.x * second.y + (middle & 0xffffu);
  let high = first.y * second.y + (middle >> 16u) + (carried >> 16u);
  return vec2<u32>(a.x * b.x, high + a.x * b.y + a.y * b.x);
}`,
  `fn minimum__${type}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, less__${type}(b, a));
}`,
  `fn maximum__${type}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, less__${type}(a, b));
}`,
  `fn clip__${type}(a: vec2<u32>, b: vec2<u32>, c: vec2<u32>) -> vec2<u32> {
  return minimum__${type}(maximum__${type}(a, b), c);
}`,
  `fn countOneBits__${type}(a: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(countOneBits(a.x) + countOneBits(a.y), 0u);
}`,
  `fn countLeadingZeros__${type}(a: vec2<u32>) -> vec2<u32> {
  let high = countLeadingZeros(a.y);
  return vec2<u32>(select(high, high + countLeadingZeros(a.x), a.y == 0u), 0u);
}`,
  // The bits that come over are shifted in two steps, so that those of a shift by 0 vanish.
  `fn leftShift__${type}(a: vec2<u32>, places: u32) -> vec2<u32> {
  let some = places & 31u;
  let low = a.x << some;
  let high = (a.y << some) | ((a.x >> 1u) >> (31u - some));
  return select(vec2<u32>(low, high), vec2<u32>(0u, low), (places & 32u) != 0u);
}`
]

const comparisons: ReadonlyArray<string> = [
  `fn less__u64(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}`,
  `fn less__i64(a: vec2<u32>, b: vec2<u32>) -> bool {
  return bitcast<i32>(a.y) < bitcast<i32>(b.y) || (a.y == b.y && a.x < b.x);
}`
]

const shifts: ReadonlyArray<string> = [
  // All bits of the sign.
  "fn signs__i64(a: vec2<u32>) -> u32 { return bitcast<u32>(bitcast<i32>(a.y) >> 31u); }",
  `fn rightShift__u64(a: vec2<u32>, places: u32) -> vec2<u32> {
  let some = places & 31u;
  let high = a.y >> some;
  let low = (a.x >> some) | ((a.y << 1u) << (31u - some));
  return select(vec2<u32>(low, high), vec2<u32>(high, 0u), (places & 32u) != 0u);
}`,
  `fn rightShift__i64(a: vec2<u32>, places: u32) -> vec2<u32> {
  let some = places & 31u;
  let high = bitcast<u32>(bitcast<i32>(a.y) >> some);
  let low = (a.x >> some) | ((a.y << 1u) << (31u - some));
  return select(vec2<u32>(low, high), vec2<u32>(high, signs__i64(a)), (places & 32u) != 0u);
}`
]

const magnitudes: ReadonlyArray<string> = [
  `fn abs__i64(a: vec2<u32>) -> vec2<u32> {
  let signs = vec2<u32>(signs__i64(a));
  return subtract__i64(a ^ signs, signs);
}`,
  "fn sign__u64(a: vec2<u32>) -> vec2<u32> { return vec2<u32>(min(a.x | a.y, 1u), 0u); }",
  `fn sign__i64(a: vec2<u32>) -> vec2<u32> {
  let signs = signs__i64(a);
  return vec2<u32>(signs | min(a.x | a.y, 1u), signs);
}`
]

/**
 * Long division in digits of 16 bits.
 *
 * @see D. E. Knuth, The Art of Computer Programming, volume 2, section 4.3.1, algorithm D
 */
const divisions: ReadonlyArray<string> = [
  // The digit (rest * 2^16 + next) / divisor, where the divisor's highest bit is set and the rest is less than the divisor.
  `fn digit__u64(rest: u32, next: u32, divisor: u32) -> u32 {
  let high = divisor >> 16u;
  let low = divisor & 0xffffu;
  var digit = rest / high;
  var left = rest - digit * high;
  for (var steps = 0u; steps < 2u; steps++) {
    if (left > 0xffffu || digit * low <= (left << 16u) + next) { break; }
    digit -= 1u;
    left += high;
  }
  return digit;
}`,
  // a / b, where the quotient is less than 2^32.
  `fn shortQuotient__u64(a: vec2<u32>, b: u32) -> u32 {
  let places = countLeadingZeros(b);
  let divisor = b << places;
  let dividend = leftShift__u64(a, places);
  let first = digit__u64(dividend.y, dividend.x >> 16u, divisor);
  let rest = (dividend.y << 16u) + (dividend.x >> 16u) - first * divisor;
  return (first << 16u) | digit__u64(rest, dividend.x & 0xffffu, divisor);
}`,
  // A divisor of two words is divided by as its highest 32 bits, from which the quotient is right or 1 too large.
  `fn truncDivide__u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  if (b.y == 0u) {
    if (b.x == 0u) { return vec2<u32>(0u, 0u); }
    let high = a.y / b.x;
    if (a.y == 0u) { return vec2<u32>(a.x / b.x, 0u); }
    return vec2<u32>(shortQuotient__u64(vec2<u32>(a.x, a.y - high * b.x), b.x), high);
  }
  let places = countLeadingZeros(b.y);
  let estimate = shortQuotient__u64(rightShift__u64(a, 1u), leftShift__u64(b, places).y) >> (31u - places);
  let quotient = vec2<u32>(estimate - min(estimate, 1u), 0u);
  let isShort = less__u64(subtract__u64(a, multiply__u64(quotient, b)), b);
  return vec2<u32>(select(quotient.x + 1u, quotient.x, isShort), 0u);
}`,
  `fn fmod__u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let rest = subtract__u64(a, multiply__u64(truncDivide__u64(a, b), b));
  return select(rest, vec2<u32>(0u, 0u), (b.x | b.y) == 0u);
}`,
  // The magnitude of the least number is 2^63 as an unsigned one.
  `fn truncDivide__i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let quotient = truncDivide__u64(abs__i64(a), abs__i64(b));
  return select(quotient, negative__i64(quotient), ((a.y ^ b.y) >> 31u) == 1u);
}`,
  `fn fmod__i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let rest = fmod__u64(abs__i64(a), abs__i64(b));
  return select(rest, negative__i64(rest), (a.y >> 31u) == 1u);
}`
]

const casts: ReadonlyArray<string> = [
  // Rounded to nearest, ties to even, by its bits: the carry of a mantissa of ones goes on into the exponent.
  `fn f32__u64(a: vec2<u32>) -> f32 {
  if ((a.x | a.y) == 0u) { return 0.0f; }
  let places = countLeadingZeros__u64(a).x;
  let number = leftShift__u64(a, places);
  let mantissa = (number.y >> 8u) & 0x7fffffu;
  let rest = number.y & 0xffu;
  let isUp = rest > 0x80u || (rest == 0x80u && (number.x != 0u || (mantissa & 1u) == 1u));
  return bitcast<f32>(((190u - places) << 23u) + mantissa + select(0u, 1u, isUp));
}`,
  `fn f32__i64(a: vec2<u32>) -> f32 {
  return bitcast<f32>(bitcast<u32>(f32__u64(abs__i64(a))) | (a.y & 0x80000000u));
}`,
  // A number's magnitude without its fraction, if that is less than 2^64.
  `fn whole__u64(bits: u32) -> vec2<u32> {
  let exponent = (bits >> 23u) & 0xffu;
  let mantissa = (bits & 0x7fffffu) | 0x800000u;
  if (exponent < 127u) { return vec2<u32>(0u, 0u); }
  if (exponent < 150u) { return vec2<u32>(mantissa >> (150u - exponent), 0u); }
  return leftShift__u64(vec2<u32>(mantissa, 0u), exponent - 150u);
}`,
  `fn u64__f32(a: f32) -> vec2<u32> {
  let bits = bitcast<u32>(a);
  if (bits >= 0x80000000u || bits > 0x7f800000u) { return vec2<u32>(0u, 0u); }
  if (bits >= 0x5f800000u) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  return whole__u64(bits);
}`,
  `fn i64__f32(a: f32) -> vec2<u32> {
  let bits = bitcast<u32>(a);
  let magnitude = bits & 0x7fffffffu;
  let isNegative = bits >= 0x80000000u;
  if (magnitude > 0x7f800000u) { return vec2<u32>(0u, 0u); }
  if (magnitude >= 0x5f000000u) {
    return select(vec2<u32>(0xffffffffu, 0x7fffffffu), vec2<u32>(0u, 0x80000000u), isNegative);
  }
  let whole = whole__u64(magnitude);
  return select(whole, negative__i64(whole), isNegative);
}`
]

/** Bodies that are written by hand may call them, too. */
export const longs: Functions = functionsOf([
  ...comparisons,
  ...forBoth("u64"),
  ...forBoth("i64"),
  ...shifts,
  ...magnitudes,
  ...divisions,
  ...casts
])

/** Operations for which WGSL's own operators of vectors do not do. */
export const ofLong: Writings = {
  add: callOwn("add"),
  subtract: callOwn("subtract"),
  multiply: callOwn("multiply"),
  truncDivide: callOwn("truncDivide"),
  fmod: callOwn("fmod"),
  negative: callOwn("negative"),
  abs: ([a = ""], type) => type === "u64" ? a : `abs__${type}(${a})`,
  sign: callOwn("sign"),
  minimum: callOwn("minimum"),
  maximum: callOwn("maximum"),
  clip: callOwn("clip"),
  countOneBits: callOwn("countOneBits"),
  countLeadingZeros: callOwn("countLeadingZeros"),
  leftShift: callOwn("leftShift"),
  rightShift: callOwn("rightShift"),
  // Not `all` and `any`, which arguments may be called.
  equal: ([a, b]) => `${a}.x == ${b}.x && ${a}.y == ${b}.y`,
  notEqual: ([a, b]) => `${a}.x != ${b}.x || ${a}.y != ${b}.y`,
  less: callOwn("less"),
  lessEqual: ([a, b], type) => `!less__${type}(${b}, ${a})`,
  greater: ([a, b], type) => `less__${type}(${b}, ${a})`,
  greaterEqual: ([a, b], type) => `!less__${type}(${a}, ${b})`
}

/** A value as a 64-bit integer. */
export const toLong = (a: string, type: ExprType, result: "i64" | "u64"): string => {
  if (isLong(type)) return a
  if (isFloat(type)) return `${result}__f32(${type === "f16" ? `f32(${a})` : a})`
  if (type === "bool" || isUnsigned(type)) return `vec2<u32>(u32(${a}), 0u)`
  return `vec2<u32>(bitcast<u32>(${a}), bitcast<u32>(${a} >> 31u))`
}

/**
 * A 64-bit integer as a smaller number or a truth value; `cast` casts numbers of 32 bits. What an f16 can represent is exact in
 * f32, so it is rounded once.
 */
export const fromLong = (
  a: string,
  type: "i64" | "u64",
  result: ExprType,
  cast: (a: string, type: ExprType, result: ExprType) => string
): string => {
  if (result === "bool") return `(${a}.x | ${a}.y) != 0u`
  if (isFloat(result)) return cast(`f32__${type}(${a})`, "f32", result)
  return isUnsigned(result) ? cast(`${a}.x`, "u32", result) : cast(`bitcast<i32>(${a}.x)`, "i32", result)
}

export const longConstant = (value: bigint): string => {
  const bits = BigInt.asUintN(64, value)
  return `vec2<u32>(${bits & 0xffffffffn}u, ${bits >> 32n}u)`
}
