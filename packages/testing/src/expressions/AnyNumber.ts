/**
 * Random elements: mostly small numbers, for which functions have useful results, and some awkward ones.
 *
 * @internal
 */
import type { DType } from "effect-gpu-pool/DType"
import type { Random } from "../Random.ts"
import { type FloatType, formatOf, isFloat } from "./FloatFormat.ts"

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

const awkwardIntegers: { readonly [T in "i32" | "u32"]: ReadonlyArray<number> } = {
  i32: [0, 1, -1, 2, -2, 31, 32, 33, -32, 0x7fffffff, -0x80000000, -0x7fffffff, 0x1000001, 0x10000],
  u32: [0, 1, 2, 3, 31, 32, 33, 0xff, 0x10000, 0x1000001, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff]
}

/** The awkward numbers of a type. */
export const awkwardNumbers = (type: DType): ReadonlyArray<number> =>
  isFloat(type) ? awkwardFloats(type) : awkwardIntegers[type]

/** A number of the type. */
export const anyNumber = (random: Random, type: DType): number =>
  isFloat(type) ? anyFloat(random, type) : anyInteger(random, type)

/** A number of the type that is small enough for sums to stay accurate. */
export const calmNumber = (random: Random, type: DType): number =>
  isFloat(type)
    ? formatOf(type).round(random.integer(-0x8000000, 0x8000000) * 2 ** random.integer(-28, -25))
    : type === "i32"
    ? random.integer(-20, 20)
    : random.integer(0, 40)

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

const anyInteger = (random: Random, type: "i32" | "u32"): number =>
  random.weighted([
    [1, () => random.pick(awkwardIntegers[type])],
    [1, () => type === "i32" ? random.integer(-0x80000000, 0x7fffffff) : random.integer(0, 0xffffffff)],
    [1, () => random.integer(0, 31)],
    [3, () => type === "i32" ? random.integer(-20, 20) : random.integer(0, 200)]
  ])
