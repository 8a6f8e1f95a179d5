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
  `${name} minimum__${dtype}(const ${name} a, const ${name} b) {
  return isNaN__${dtype}(a) ? a : isNaN__${dtype}(b) ? b : fmin(a, b);
}`,
  `${name} maximum__${dtype}(const ${name} a, const ${name} b) {
  return isNaN__${dtype}(a) ? a : isNaN__${dtype}(b) ? b : fmax(a, b);
}`,
  `${name} sign__${dtype}(const ${name} a) { return a > 0 ? (${name}) 1 : a < 0 ? (${name}) -1 : a; }`,
  `${name} fmod__${dtype}(const ${name} a, const ${name} b) {
  const ${name} quotient = trunc(a / b);
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
}`
]

/**
 * Not `abs`, which drivers compute with signed numbers: constant folding gets the least one wrong. Nor a condition,
 * which LLVM compiles to an instruction that Oclgrind lacks.
 */
const abs = "int abs__i32(const int a) { return select(a, as_int(0u - as_uint(a)), a < 0); }"

export const functions: Functions = functionsOf([
  abs,
  `int truncDivide__i32(const int a, const int b) {
  return b == 0 ? 0 : b == -1 ? as_int(0u - as_uint(a)) : a / b;
}`,
  "uint truncDivide__u32(const uint a, const uint b) { return b == 0 ? 0 : a / b; }",
  "int fmod__i32(const int a, const int b) { return b == 0 || b == -1 ? 0 : a % b; }",
  "uint fmod__u32(const uint a, const uint b) { return b == 0 ? 0 : a % b; }",
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
