/**
 * Exact operations on integers: computed without bounds, and then wrapped.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Operation } from "effect-gpu-pool/Operation"

export type IntegerType = Exclude<DType, "f32" | "f16" | "f64" | "bool">

/** An integer as the type has it in JavaScript: a bigint for 64 bits. */
export type Integer = number | bigint

/** How many bits the type has. */
export const bitsOf = (type: IntegerType): number => Number(type.slice(1))

/** The number of the type that is congruent modulo 2^n, for its n bits. */
export const wrapped = (value: bigint, type: IntegerType): Integer => {
  const bits = bitsOf(type)
  const inside = type.startsWith("i") ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value)
  return bits === 64 ? inside : Number(inside)
}

/** The least and the greatest number of the type. */
export const rangeOf = (type: IntegerType): readonly [least: bigint, greatest: bigint] => {
  const all = 2n ** BigInt(bitsOf(type))
  return type.startsWith("i") ? [-all / 2n, all / 2n - 1n] : [0n, all - 1n]
}

export const applyToIntegers = (
  operation: Operation,
  operands: ReadonlyArray<Integer>,
  type: IntegerType
): Integer => wrapped(meaning(operation, operands.map(BigInt), BigInt(bitsOf(type))), type)

type Meaning = (a: bigint, b: bigint, c: bigint, bits: bigint) => bigint

const lesser = (a: bigint, b: bigint): bigint => a < b ? a : b
const greater = (a: bigint, b: bigint): bigint => a > b ? a : b

const meanings: { readonly [O in Operation]?: Meaning } = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  truncDivide: (a, b) => b === 0n ? 0n : a / b,
  fmod: (a, b) => b === 0n ? 0n : a % b,
  negative: (a) => -a,
  abs: (a) => a < 0n ? -a : a,
  sign: (a) => a > 0n ? 1n : a < 0n ? -1n : 0n,
  minimum: lesser,
  maximum: greater,
  clip: (a, b, c) => lesser(greater(a, b), c),
  bitwiseAnd: (a, b) => a & b,
  bitwiseOr: (a, b) => a | b,
  bitwiseXor: (a, b) => a ^ b,
  bitwiseNot: (a) => ~a,
  countOneBits: (a, _b, _c, bits) => BigInt(digitsOf(a, bits).replaceAll("0", "").length),
  countLeadingZeros: (a, _b, _c, bits) => BigInt(/^0*/.exec(digitsOf(a, bits))![0].length),
  leftShift: (a, b, _c, bits) => a << (b % bits),
  rightShift: (a, b, _c, bits) => a >> (b % bits)
}

const meaning = (operation: Operation, [a = 0n, b = 0n, c = 0n]: ReadonlyArray<bigint>, bits: bigint): bigint => {
  const known = meanings[operation]
  if (known === undefined) throw new Error(`the reference has no ${operation} of integers`)
  return known(a, b, c, bits)
}

const digitsOf = (value: bigint, bits: bigint): string =>
  BigInt.asUintN(Number(bits), value).toString(2).padStart(Number(bits), "0")
