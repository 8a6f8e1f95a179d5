/**
 * Exact operations on integers: computed without bounds, and then wrapped.
 *
 * @internal
 */
import type { Operation } from "effect-gpu-pool/Operation"

export type IntegerType = "i32" | "u32"

/** The number of the type that is congruent modulo 2^32. */
export const wrapped = (value: bigint, type: IntegerType): number =>
  Number(type === "i32" ? BigInt.asIntN(32, value) : BigInt.asUintN(32, value))

export const applyToIntegers = (
  operation: Operation,
  operands: ReadonlyArray<number>,
  type: IntegerType
): number => wrapped(meaning(operation, operands.map(BigInt)), type)

type Meaning = (a: bigint, b: bigint, c: bigint) => bigint

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
  countOneBits: (a) => BigInt(bitsOf(a).replaceAll("0", "").length),
  countLeadingZeros: (a) => BigInt(/^0*/.exec(bitsOf(a))![0].length),
  leftShift: (a, b) => a << (b % 32n),
  rightShift: (a, b) => a >> (b % 32n)
}

const meaning = (operation: Operation, [a = 0n, b = 0n, c = 0n]: ReadonlyArray<bigint>): bigint => {
  const known = meanings[operation]
  if (known === undefined) throw new Error(`the reference has no ${operation} of integers`)
  return known(a, b, c)
}

const bitsOf = (value: bigint): string => BigInt.asUintN(32, value).toString(2).padStart(32, "0")
