/**
 * Exact operations on integers: computed without bounds, and then wrapped.
 *
 * @internal
 */
import type { Operation } from "@effect-gpu-pool/arrays/Operation"

export type IntegerType = "i32" | "u32"

/** The number of the type that is congruent modulo 2^32. */
export const wrapped = (value: bigint, type: IntegerType): number =>
  Number(type === "i32" ? BigInt.asIntN(32, value) : BigInt.asUintN(32, value))

export const applyToIntegers = (
  operation: Operation,
  operands: ReadonlyArray<number>,
  type: IntegerType
): number => wrapped(meaning(operation, operands.map(BigInt)), type)

const meaning = (operation: Operation, [a = 0n, b = 0n, c = 0n]: ReadonlyArray<bigint>): bigint => {
  switch (operation) {
    case "add":
      return a + b
    case "subtract":
      return a - b
    case "multiply":
      return a * b
    case "truncDivide":
      return b === 0n ? 0n : a / b
    case "fmod":
      return b === 0n ? 0n : a % b
    case "negative":
      return -a
    case "abs":
      return a < 0n ? -a : a
    case "sign":
      return a > 0n ? 1n : a < 0n ? -1n : 0n
    case "minimum":
      return a < b ? a : b
    case "maximum":
      return a > b ? a : b
    case "clip":
      return meaning("minimum", [meaning("maximum", [a, b]), c])
    case "bitwiseAnd":
      return a & b
    case "bitwiseOr":
      return a | b
    case "bitwiseXor":
      return a ^ b
    case "bitwiseNot":
      return ~a
    case "countOneBits":
      return BigInt(bitsOf(a).replaceAll("0", "").length)
    case "countLeadingZeros":
      return BigInt(/^0*/.exec(bitsOf(a))![0].length)
    case "leftShift":
      return a << (b % 32n)
    case "rightShift":
      return a >> (b % 32n)
    default:
      throw new Error(`the reference has no ${operation} of integers`)
  }
}

const bitsOf = (value: bigint): string => BigInt.asUintN(32, value).toString(2).padStart(32, "0")
