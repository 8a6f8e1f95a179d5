/**
 * Random elements: mostly small numbers, for which functions have useful results, and some awkward ones.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Random } from "../Random.ts"
import { type FloatType, formatOf, isFloat } from "./FloatFormat.ts"
import { bitsOf, type Integer, type IntegerType, rangeOf, wrapped } from "./IntegerReference.ts"

/** The numbers of a float type at which operations behave differently. */
const awkwardFloats = (type: FloatType): ReadonlyArray<number> => {
  const { largest, leastNormal, leastSubnormal, precision } = formatOf(type)
  return [
    0,
    -0,
    1,
    -1,
    0.5,
    -0.5,
    1.5,
    -2.5,
    1 + 2 ** (1 - precision),
    2 ** precision,
    -(2 ** precision) - 2,
    largest,
    -largest,
    leastNormal,
    -leastNormal,
    leastSubnormal,
    -leastNormal / 2,
    Infinity,
    -Infinity,
    NaN
  ]
}

/** The ends of its range, numbers near powers of two, and numbers of places to shift by. */
const awkwardIntegers = (type: IntegerType): ReadonlyArray<Integer> => {
  const [least, most] = rangeOf(type)
  const bits = BigInt(bitsOf(type))
  const near = [
    0n,
    1n,
    2n,
    3n,
    -1n,
    -2n,
    bits - 1n,
    bits,
    bits + 1n,
    -bits,
    0xffn,
    0x10000n,
    0x1000001n,
    2n ** 53n + 1n
  ]
  const ends = [least, least + 1n, most / 2n, most / 2n + 1n, most - 1n, most]
  return [...new Set([...near.filter((value) => value >= least && value <= most), ...ends])].map((value) =>
    wrapped(value, type)
  )
}

/** The awkward numbers of a type; of truth values 0 and 1. */
export const awkwardNumbers = (type: DType): ReadonlyArray<Integer> =>
  type === "bool" ? [0, 1] : isFloat(type) ? awkwardFloats(type) : awkwardIntegers(type)

/** A number of the type. */
export const anyNumber = (random: Random, type: DType): Integer =>
  type === "bool" ? random.integer(0, 1) : isFloat(type) ? anyFloat(random, type) : anyInteger(random, type)

/** A number of the type that is small enough for sums to stay accurate. */
export const calmNumber = (random: Random, type: DType): Integer => {
  if (isFloat(type)) return formatOf(type).round(random.integer(-0x8000000, 0x8000000) * 2 ** random.integer(-28, -25))
  if (type === "bool") return random.integer(0, 1)
  return wrapped(BigInt(type.startsWith("i") ? random.integer(-20, 20) : random.integer(0, 40)), type)
}

const anyFloat = (random: Random, type: FloatType): number => {
  const { round } = formatOf(type)
  return random.weighted([
    [1, () => random.pick(awkwardFloats(type))],
    [1, () => random.integer(-100, 100)],
    [2, () => random.integer(-16, 16) / 4],
    [1, () => round(random.integer(-0x8000000, 0x8000000) * 2 ** random.integer(-40, -20))],
    [5, () => round(random.integer(-0x8000000, 0x8000000) * 2 ** random.integer(-28, -25))]
  ])
}

const anyInteger = (random: Random, type: IntegerType): Integer => {
  const small = (least: number, most: number) => wrapped(BigInt(random.integer(least, most)), type)
  return random.weighted<Integer>([
    [1, () => random.pick(awkwardIntegers(type))],
    [1, () => wrapped(new DataView(random.bytes(8).buffer).getBigUint64(0), type)],
    [1, () => small(0, 31)],
    [3, () => type.startsWith("i") ? small(-20, 20) : small(0, 200)]
  ])
}
