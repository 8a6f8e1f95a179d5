/**
 * How far the functions of expressions may be from the exact result, on any backend.
 *
 * For f32, WGSL's functions have WGSL's tolerances, from which those of the library's own functions are derived.
 * OpenCL's and JavaScript's functions are more exact. f16 is computed in f32 and rounded; f64 has OpenCL's tolerances.
 *
 * @see https://www.w3.org/TR/WGSL/#floating-point-accuracy
 * @see https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_C.html#relative-error-as-ulps
 * @internal
 */
import type { Operation } from "effect-gpu-pool/Operation"
import { type FloatType, formatOf, unitAt } from "./FloatFormat.ts"

/** The largest error of a result: some units in its last place, or an absolute distance if that is more. */
export interface Tolerance {
  readonly units: number
  /** More units for each 1 of the first operand's magnitude. */
  readonly unitsPerOne: number
  readonly absolute: number
  /** The largest magnitude of the first operand for which the tolerance is valid. */
  readonly upTo: number
}

const within = (units: number, more: Partial<Tolerance> = {}): Tolerance => ({
  units,
  unitsPerOne: 0,
  absolute: 0,
  upTo: Infinity,
  ...more
})

type Table = { readonly [O in Operation]?: Tolerance }

const wave = { absolute: 2 ** -11, upTo: Math.PI }
const logarithm = { absolute: 2 ** -21 }

const single: Table = {
  divide: within(2.5),
  degrees: within(1.5),
  radians: within(1.5),
  sqrt: within(7),
  inverseSqrt: within(2),
  exp: within(3, { unitsPerOne: 2 }),
  exp2: within(3, { unitsPerOne: 2 }),
  log: within(3, logarithm),
  log2: within(3, logarithm),
  sin: within(4, wave),
  cos: within(4, wave),
  asin: within(12),
  acos: within(12),
  atan: within(8),
  atan2: within(12),
  sinh: within(8, { unitsPerOne: 2 }),
  cosh: within(8, { unitsPerOne: 2 }),
  tanh: within(12),
  asinh: within(16),
  acosh: within(16),
  atanh: within(16)
}

const half: Table = {
  ...Object.fromEntries(Object.keys(single).map((operation) => [operation, within(1)])),
  log: within(1, logarithm),
  log2: within(1, logarithm),
  sin: within(1, { ...wave, absolute: 2 ** -10 }),
  cos: within(1, { ...wave, absolute: 2 ** -10 })
}

const double: Table = {
  divide: within(0.5),
  degrees: within(1.5),
  radians: within(1.5),
  sqrt: within(0.5),
  inverseSqrt: within(2),
  exp: within(3),
  exp2: within(3),
  log: within(3),
  log2: within(3),
  sin: within(4),
  cos: within(4),
  tan: within(5),
  asin: within(4),
  acos: within(4),
  atan: within(5),
  atan2: within(6),
  sinh: within(4),
  cosh: within(4),
  tanh: within(5),
  asinh: within(4),
  acosh: within(4),
  atanh: within(5),
  power: within(16)
}

const tables: { readonly [T in FloatType]: Table } = { f32: single, f16: half, f64: double }

/**
 * The tolerance of an operation, or `undefined` where it follows from both operands (`pow`), from the place (`tan`), or
 * where the result is exact or rounded once.
 */
export const tolerance = (operation: Operation, type: FloatType): Tolerance | undefined => tables[type][operation]

/** How far a result may be from `exact`; `undefined` where nothing is promised. */
export const toleranceOf = (
  operation: Operation,
  type: FloatType,
  operands: ReadonlyArray<number>,
  exact: number
): number | undefined => {
  // For infinite and NaN operands the tolerance does not grow with the operand.
  const [a = 0, b = 0] = operands.map((operand) => Number.isFinite(operand) ? operand : 0)
  const format = formatOf(type)
  const unit = Number.isFinite(exact) ? unitAt(exact, format) : 0
  if (operands.some((operand) => operand !== 0 && Math.abs(operand) < format.leastNormal)) return undefined
  if (operation === "divide" && type === "f32" && Number.isFinite(b) && Math.abs(b) > 2 ** 126) return undefined
  const known = tables[type][operation]
  if (known !== undefined) {
    const { absolute, units, unitsPerOne, upTo } = known
    if (Number.isFinite(a) && Math.abs(a) > upTo) return undefined
    const more = unitsPerOne === 0 ? 0 : unitsPerOne * Math.abs(a)
    return unit === 0 ? 0 : Math.max(absolute, (units + more) * unit)
  }
  switch (operation) {
    case "tan":
      return tangent(a, type, unit)
    case "power":
      return unit === 0 ? 0 : power(a, b, type) * unit
    default:
      return undefined
  }
}

/** The quotient of a sine and a cosine. */
const tangent = (a: number, type: FloatType, unit: number): number | undefined => {
  if (!Number.isFinite(a)) return 0
  const cosine = Math.cos(a)
  return Math.abs(a) > Math.PI || Math.abs(cosine) < 1 / 16
    ? undefined
    : 2 ** -10 / cosine ** 2 + (type === "f16" ? 1 : 4) * unit
}

/**
 * `exp2(b * log2(a))`: the errors of the logarithm and the product grow with the exponent, and near 1 the logarithm has
 * an absolute error.
 */
const power = (a: number, b: number, type: FloatType): number => {
  const exponent = Math.abs(b * Math.log2(Math.abs(a)))
  const units = 16 + 7 * (Number.isFinite(exponent) ? exponent : 0) + 6 * Math.abs(b)
  return type === "f16" ? 1 + units * 2 ** -12 : units
}
