/**
 * Functions in OpenCL C for the operations that it lacks, or that its rules leave open.
 *
 * @internal
 */
import { type Functions, functionsOf } from "../../../domain/language/FunctionTable.ts"

interface Float {
  readonly dtype: "f32" | "f16" | "f64"
  readonly name: string
  /** The unsigned integer of that size, and what it is for an infinity and for the bits without the sign. */
  readonly bits: string
  readonly infinity: string
  readonly magnitude: string
}

const forFloat = ({ bits, dtype, infinity, magnitude, name }: Float): ReadonlyArray<string> => [
  `bool isNaN__${dtype}(const ${name} a) { return (as_${bits}(a) & ${magnitude}) > ${infinity}; }`,
  `bool isFinite__${dtype}(const ${name} a) { return (as_${bits}(a) & ${infinity}) != ${infinity}; }`,
  ...["exp", "exp2", "sinh", "tanh"].map((called) =>
    `${name} ${called}__${dtype}(const ${name} a) { return isNaN__${dtype}(a) ? a : ${called}(a); }`
  ),
  ...["floor", "ceil", "trunc", "rint"].map((called) =>
    `${name} ${called}__${dtype}(const ${name} a) { return isFinite__${dtype}(a) ? ${called}(a) : a; }`
  ),
  `${name} minimum__${dtype}(const ${name} a, const ${name} b) {
  return isNaN__${dtype}(a) ? a : isNaN__${dtype}(b) ? b : fmin(a, b);
}`,
  `${name} maximum__${dtype}(const ${name} a, const ${name} b) {
  return isNaN__${dtype}(a) ? a : isNaN__${dtype}(b) ? b : fmax(a, b);
}`,
  `${name} sign__${dtype}(const ${name} a) { return a > 0 ? (${name}) 1 : a < 0 ? (${name}) -1 : a; }`,
  `${name} fmod__${dtype}(const ${name} a, const ${name} b) {
  const ${name} quotient = trunc__${dtype}(a / b);
  const ${name} product = b * quotient;
  return a - product;
}`,
  `${name} mix__${dtype}(const ${name} a, const ${name} b, const ${name} c) {
  const ${name} rest = (${name}) 1 - c;
  const ${name} first = a * rest;
  const ${name} second = b * c;
  return first + second;
}`,
  `int i32__${dtype}(const ${name} a) {
  return isNaN__${dtype}(a) ? 0 : a >= 2147483648.0f ? 2147483647 : a <= -2147483648.0f ? -2147483647 - 1 : (int) a;
}`,
  `uint u32__${dtype}(const ${name} a) {
  return isNaN__${dtype}(a) || a <= 0 ? 0u : a >= 4294967296.0f ? 4294967295u : (uint) a;
}`,
  `long i64__${dtype}(const ${name} a) {
  return isNaN__${dtype}(a) ? 0 : a >= 9223372036854775808.0f ? 9223372036854775807l
    : a <= -9223372036854775808.0f ? -9223372036854775807l - 1 : (long) a;
}`,
  `ulong u64__${dtype}(const ${name} a) {
  return isNaN__${dtype}(a) || a <= 0 ? 0ul : a >= 18446744073709551616.0f ? 18446744073709551615ul : (ulong) a;
}`
]

interface Integer {
  readonly signed: string
  readonly unsigned: string
  /** How many bits it has, in the names of its types. */
  readonly bits: 32 | 64
}

/**
 * `abs` is not OpenCL's own, which drivers compute with signed numbers: constant folding gets the least one wrong. Nor is
 * it a condition, which LLVM compiles to an instruction that Oclgrind lacks.
 */
const forInteger = ({ bits, signed, unsigned }: Integer): ReadonlyArray<string> => [
  `${signed} abs__i${bits}(const ${signed} a) {
  return select(a, as_${signed}(0u - as_${unsigned}(a)), (${signed}) (a < 0));
}`,
  `${signed} truncDivide__i${bits}(const ${signed} a, const ${signed} b) {
  return b == 0 ? 0 : b == -1 ? as_${signed}(0u - as_${unsigned}(a)) : a / b;
}`,
  `${unsigned} truncDivide__u${bits}(const ${unsigned} a, const ${unsigned} b) { return b == 0 ? 0 : a / b; }`,
  `${signed} fmod__i${bits}(const ${signed} a, const ${signed} b) { return b == 0 || b == -1 ? 0 : a % b; }`,
  `${unsigned} fmod__u${bits}(const ${unsigned} a, const ${unsigned} b) { return b == 0 ? 0 : a % b; }`
]

export const functions: Functions = functionsOf([
  ...forInteger({ bits: 32, signed: "int", unsigned: "uint" }),
  ...forInteger({ bits: 64, signed: "long", unsigned: "ulong" }),
  ...forFloat({ dtype: "f32", name: "float", bits: "uint", infinity: "0x7f800000u", magnitude: "0x7fffffffu" }),
  ...forFloat({ dtype: "f16", name: "half", bits: "ushort", infinity: "0x7c00", magnitude: "0x7fff" }),
  ...forFloat({
    dtype: "f64",
    name: "double",
    bits: "ulong",
    infinity: "0x7ff0000000000000ul",
    magnitude: "0x7ffffffffffffffful"
  })
])
