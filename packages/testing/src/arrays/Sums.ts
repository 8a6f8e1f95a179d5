/**
 * Sums in any order: of floats with a bound for every order, of integers exactly.
 *
 * @internal
 */
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { DType } from "effect-gpu-pool/DType"
import { formatOf, isFloat } from "../expressions/FloatFormat.ts"
import { type IntegerType, wrapped } from "../expressions/IntegerReference.ts"
import { type Interval, isNaN, isPoint, notANumber, point, rounded } from "../expressions/Interval.ts"
import type { Value } from "../expressions/Reference.ts"

/** The type that sums and products of elements are kept in: halves would soon leave their range. */
export const carrierOf = (dtype: DType): DType => dtype === "f16" ? "f32" : dtype

/** The sum of the elements, in their type. */
export const sum = (elements: ReadonlyArray<Value>, dtype: DType, rules: FloatRules): Value =>
  isFloat(dtype)
    ? sumOfFloats(elements, dtype, rules)
    : elements.includes(undefined)
    ? undefined
    : wrapped(elements.reduce((total: bigint, element) => total + BigInt(element as number), 0n), dtype as IntegerType)

const sumOfFloats = (elements: ReadonlyArray<Value>, dtype: "f16" | "f32" | "f64", rules: FloatRules): Value => {
  const floats = elements as ReadonlyArray<Interval | undefined>
  if (rules.assumesFinite && !floats.every((float) => float === undefined || isFinite(float))) return undefined
  if (floats.some((float) => float !== undefined && isNaN(float))) return notANumber
  if (!floats.every((float) => float !== undefined)) return undefined
  const infinite = floats.filter((float) => !isFinite(float))
  if (infinite.length > 0) return sumOfInfinite(infinite)
  return near(floats, dtype, rules)
}

const isFinite = ({ hi, lo }: Interval): boolean => Number.isFinite(lo) && Number.isFinite(hi)

/** Infinities of one sign stay; with both signs the sum is NaN. */
const sumOfInfinite = (infinite: ReadonlyArray<Interval>): Value => {
  if (!infinite.every(isPoint)) return undefined
  const signs = new Set(infinite.map(({ lo }) => lo))
  return signs.size === 1 ? point(infinite[0]!.lo) : notANumber
}

/** Each addition rounds a number that is at most the sum of all magnitudes. */
const near = (floats: ReadonlyArray<Interval>, dtype: "f16" | "f32" | "f64", rules: FloatRules): Value => {
  const format = formatOf(dtype)
  let lo = 0
  let hi = 0
  let magnitude = 0
  for (const float of floats) {
    lo += float.lo
    hi += float.hi
    magnitude += Math.max(Math.abs(float.lo), Math.abs(float.hi), float.terms ?? 0)
  }
  // One order may overflow where another does not.
  if (magnitude >= format.largest / 2) return undefined
  const roundings = floats.length < 2 ? 0 : floats.length + 1
  const error = roundings * magnitude * 2 ** -format.precision
  const result = rounded(lo - error, hi + error, format, rules)
  return rules.reorders ? { ...result, terms: magnitude } : result
}

/** The product of the elements, in their type. */
export const product = (elements: ReadonlyArray<Value>, dtype: DType, rules: FloatRules): Value =>
  isFloat(dtype)
    ? productOfFloats(elements as ReadonlyArray<Interval | undefined>, dtype, rules)
    : elements.includes(undefined)
    ? undefined
    : wrapped(
      elements.reduce((total: bigint, element) => BigInt.asUintN(32, total * BigInt(element as number)), 1n),
      dtype as IntegerType
    )

const productOfFloats = (
  floats: ReadonlyArray<Interval | undefined>,
  dtype: "f16" | "f32" | "f64",
  rules: FloatRules
): Value => {
  if (!floats.every((float) => float !== undefined && !isNaN(float) && isFinite(float))) return undefined
  const factors = floats as ReadonlyArray<Interval>
  let [lo, hi] = [1, 1]
  let [up, down] = [1, 1]
  for (const factor of factors) {
    const ends = [lo * factor.lo, lo * factor.hi, hi * factor.lo, hi * factor.hi]
    lo = Math.min(...ends)
    hi = Math.max(...ends)
    const magnitude = Math.max(Math.abs(factor.lo), Math.abs(factor.hi))
    up *= Math.max(1, magnitude)
    down *= Math.min(1, Math.min(Math.abs(factor.lo), Math.abs(factor.hi)))
  }
  // One order may overflow, or vanish, where another does not.
  const format = formatOf(dtype)
  if (up >= format.largest || down <= format.leastNormal) return undefined
  const error = 1.5 * factors.length * 2 ** -format.precision * Math.max(Math.abs(lo), Math.abs(hi))
  return rounded(lo - error, hi + error, format, rules)
}
