/**
 * The three float types as the reference needs them: how they round, and how far apart their numbers are.
 *
 * @internal
 */
import { type DType, f16round } from "effect-gpu-pool/DType"

export type FloatType = "f16" | "f32" | "f64"

export interface FloatFormat {
  /** The nearest number of the type, infinities included. */
  readonly round: (value: number) => number
  /** Bits of the significand, the leading one included. */
  readonly precision: number
  /** The least positive number that a device must not flush to zero. */
  readonly leastNormal: number
  readonly leastSubnormal: number
  readonly largest: number
}

const formats: { readonly [T in FloatType]: FloatFormat } = {
  f16: { round: f16round, precision: 11, leastNormal: 2 ** -14, leastSubnormal: 2 ** -24, largest: 65504 },
  f32: {
    round: Math.fround,
    precision: 24,
    leastNormal: 2 ** -126,
    leastSubnormal: 2 ** -149,
    largest: (2 - 2 ** -23) * 2 ** 127
  },
  f64: {
    round: (value) => value,
    precision: 53,
    leastNormal: 2 ** -1022,
    leastSubnormal: Number.MIN_VALUE,
    largest: Number.MAX_VALUE
  }
}

export const formatOf = (type: FloatType): FloatFormat => formats[type]

export const isFloat = (type: DType | "bool"): type is FloatType => type in formats

/** The distance between the numbers of a type around a value: a unit in the last place. */
export const unitAt = (value: number, { largest, leastNormal, leastSubnormal, precision }: FloatFormat): number => {
  const magnitude = Math.min(Math.abs(value), largest)
  if (!(magnitude >= leastNormal)) return leastSubnormal
  const exponent = Math.floor(Math.log2(magnitude))
  // The logarithm of a number just below a power of two may be rounded up.
  const power = magnitude < 2 ** exponent ? exponent - 1 : exponent
  return Math.max(2 ** (power - precision + 1), leastSubnormal)
}
