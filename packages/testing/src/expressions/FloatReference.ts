/**
 * Operations on floats, as intervals. An interval contains every result that a conforming backend may return: it
 * includes the operation's tolerance, rounding, and the freedom of the backend's rules.
 *
 * The reference computes everything in doubles, from the definition of an operation, and copies no backend.
 *
 * @internal
 */
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { Operation } from "effect-gpu-pool/Operation"
import { type FloatFormat, type FloatType, formatOf, unitAt } from "./FloatFormat.ts"
import {
  above,
  below,
  hasZero,
  hull,
  type Interval,
  isNaN,
  isPoint,
  mayBeInfinite,
  notANumber,
  point,
  rounded,
  termsOf
} from "./Interval.ts"
import { toleranceOf } from "./Tolerances.ts"

/** What is known of a result; `undefined` if nothing is known. */
type Known = Interval | undefined

export interface FloatContext {
  readonly type: FloatType
  readonly format: FloatFormat
  readonly rules: FloatRules
}

export const floatContext = (type: FloatType, rules: FloatRules): FloatContext => ({
  type,
  rules,
  format: formatOf(type)
})

/** The result of an operation from floats to a float, for operands of which something is known. */
export const applyToFloats = (
  operation: Operation,
  operands: ReadonlyArray<Interval>,
  context: FloatContext
): Known => {
  const { assumesFinite } = context.rules
  if (!assumesFinite || looking.has(operation)) return compute(operation, operands, context)
  if (operation === "power" && operands.some(isNaN)) return compute(operation, operands, context)
  if (!operands.every(isFinite)) return undefined
  const result = compute(operation, operands, context)
  return result !== undefined && (isFinite(result) || (operation === "power" && isNaN(result))) ? result : undefined
}

const isFinite = ({ hi, lo }: Interval): boolean => Number.isFinite(lo) && Number.isFinite(hi)

/** Operations that return an operand or its sign. They work on the bits, also of NaN. */
const looking: ReadonlySet<Operation> = new Set(["negative", "abs", "sign", "minimum", "maximum", "clip"])

type Computation = (operands: readonly [Interval, Interval, Interval], context: FloatContext) => Known

/** Operations for which evaluating the function at the ends of the operands is not enough. */
const computations: { readonly [O in Operation]?: Computation } = {
  negative: ([a]) => negate(a),
  abs: ([a]) => abs(a),
  sign: ([a]) => monotone(Math.sign, a),
  minimum: ([a, b]) => choose(Math.min, a, b),
  maximum: ([a, b]) => choose(Math.max, a, b),
  clip: ([a, b, c]) => choose(Math.min, choose(Math.max, a, b), c),
  floor: ([a]) => monotone(Math.floor, a),
  ceil: ([a]) => monotone(Math.ceil, a),
  trunc: ([a]) => monotone(Math.trunc, a),
  round: ([a]) => monotone(nearestEven, a),
  add: ([a, b], context) => add(a, b, context),
  subtract: ([a, b], context) => add(a, negate(b), context),
  multiply: ([a, b], context) => multiply(a, b, context),
  divide: ([a, b], context) => divide(a, b, context),
  fmod: ([a, b], context) => remainder(a, b, context),
  fract: ([a], context) => fract(a, context),
  mix: ([a, b, c], context) => mix(a, b, c, context),
  fma: ([a, b, c], context) => fusedMultiplyAdd(a, b, c, context),
  sin: ([a], context) => wave("sin", a, context),
  cos: ([a], context) => wave("cos", a, context),
  tan: ([a], context) => tangent(a, context),
  cosh: ([a], context) => {
    const ends = corners("cosh", [a], context)
    return hasZero(a) ? joined([ends, corners("cosh", [point(0)], context)]) : ends
  },
  inverseSqrt: ([a], context) =>
    a.lo <= 0 && a.hi >= 0 && !Object.is(a.lo, 0) ? undefined : corners("inverseSqrt", [a], context),
  atan2: ([a, b], context) => arcTangent(a, b, context)
}

const compute = (operation: Operation, operands: ReadonlyArray<Interval>, context: FloatContext): Known => {
  const all = operands as unknown as readonly [Interval, Interval, Interval]
  // These return numbers even for NaN operands.
  if (operation === "power") return power(all[0], all[1], context)
  if (operands.some(isNaN)) return notANumber
  const computation = computations[operation]
  return computation === undefined ? corners(operation, operands, context) : computation(all, context)
}

const joined = (intervals: ReadonlyArray<Known>): Known =>
  intervals.reduce((a, b) => a === undefined || b === undefined ? undefined : hull(a, b))

const negate = ({ hi, lo, terms }: Interval): Interval => ({ lo: -hi, hi: -lo, ...(terms !== undefined && { terms }) })

const abs = (a: Interval): Interval =>
  a.lo > 0 || Object.is(a.lo, 0)
    ? a
    : a.hi < 0 || Object.is(a.hi, -0)
    ? negate(a)
    : { lo: 0, hi: Math.max(-a.lo, a.hi) }

/** Functions that never decrease and whose results are numbers of the type. The sign of a zero result is open. */
const monotone = (f: (value: number) => number, { hi, lo }: Interval): Interval => {
  const least = f(lo)
  const most = f(hi)
  return least === 0 || most === 0 ? { lo: Math.min(least, -0), hi: Math.max(most, 0) } : { lo: least, hi: most }
}

/** The lesser or the greater of two operands; of two zeros, either one. */
const choose = (f: (a: number, b: number) => number, a: Interval, b: Interval): Interval => {
  const lo = f(a.lo, b.lo)
  const hi = f(a.hi, b.hi)
  return hasZero(a) && hasZero(b) ? { lo: Math.min(lo, -0), hi: Math.max(hi, 0) } : { lo, hi }
}

const nearestEven = (value: number): number => {
  if (!(Math.abs(value) < 2 ** 52)) return value
  const shift = value < 0 ? -(2 ** 52) : 2 ** 52
  return value + shift - shift
}

const add = (a: Interval, b: Interval, { format, rules }: FloatContext): Known => {
  const opposed = (a.hi === Infinity && b.lo === -Infinity) || (a.lo === -Infinity && b.hi === Infinity)
  if (opposed) return isPoint(a) && isPoint(b) ? notANumber : undefined
  const lo = a.lo + b.lo
  const hi = a.hi + b.hi
  if (rules.reorders) return reordered(lo, hi, termsOf(a) + termsOf(b), format, rules)
  // A rounded double may be on the other side of the middle between two numbers of the type.
  const once = format.precision === 53
  return rounded(
    once || isSum(lo, a.lo, b.lo) ? lo : below(lo),
    once || isSum(hi, a.hi, b.hi) ? hi : above(hi),
    format,
    rules
  )
}

/** Whether a sum in doubles is exact. */
const isSum = (sum: number, a: number, b: number): boolean => sum - a === b && sum - b === a

const multiply = (a: Interval, b: Interval, { format, rules }: FloatContext): Known => {
  const product = exactProduct(a, b)
  if (product === undefined || isNaN(product)) return product
  return rules.reorders
    ? reordered(product.lo, product.hi, termsOf(a) * termsOf(b), format, rules)
    : rounded(product.lo, product.hi, format, rules)
}

/** Each step may round as if its numbers were as large as the sum of all terms. */
const reordered = (lo: number, hi: number, terms: number, format: FloatFormat, rules: FloatRules): Interval => {
  const unit = unitAt(terms, format)
  return { ...rounded(lo - unit, hi + unit, format, rules), terms }
}

const exactProduct = (a: Interval, b: Interval): Known => {
  if ((hasZero(a) && mayBeInfinite(b)) || (hasZero(b) && mayBeInfinite(a))) {
    return isPoint(a) && isPoint(b) ? notANumber : undefined
  }
  const products = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi]
  return { lo: Math.min(...products), hi: Math.max(...products) }
}

const divide = (a: Interval, b: Interval, context: FloatContext): Known => {
  if (hasZero(a) && hasZero(b)) return isZero(a) && isZero(b) ? notANumber : undefined
  if (mayBeInfinite(a) && mayBeInfinite(b)) return isPoint(a) && isPoint(b) ? notANumber : undefined
  // The sign of the zero decides which infinity is the result.
  if (hasZero(b) && !Object.is(b.lo, 0) && !Object.is(b.hi, -0)) return undefined
  return corners("divide", [a, b], context)
}

const isZero = ({ hi, lo }: Interval): boolean => lo === 0 && hi === 0

/** `a - b * trunc(a / b)`, each step rounded. Unlike `divide` it takes divisors of any size. */
const remainder = (a: Interval, b: Interval, context: FloatContext): Known => {
  const isLarge = Math.max(-b.lo, b.hi) > 2 ** 126
  const quotient = isLarge ? divide(quarter(a), quarter(b), context) : divide(a, b, context)
  if (quotient === undefined || isNaN(quotient)) return quotient
  const product = multiply(b, monotone(Math.trunc, quotient), context)
  if (product === undefined || isNaN(product)) return product
  return add(a, negate(product), context)
}

const quarter = ({ hi, lo }: Interval): Interval => ({ lo: lo / 4, hi: hi / 4 })

/** `a - floor(a)`: both operands depend on `a`, so their intervals are not independent. */
const fract = (a: Interval, context: FloatContext): Known => {
  const { hi, lo } = monotone(Math.floor, a)
  return lo === hi ? add(a, point(-lo), context) : mayBeInfinite(a) ? undefined : { lo: -0, hi: 1 }
}

/** `a * (1 - c) + b * c`, each step rounded. */
const mix = (a: Interval, b: Interval, c: Interval, context: FloatContext): Known => {
  const rest = add(point(1), negate(c), context)
  if (rest === undefined || isNaN(rest)) return rest
  const first = multiply(a, rest, context)
  const second = multiply(b, c, context)
  if (first === undefined || second === undefined) return undefined
  return isNaN(first) || isNaN(second) ? notANumber : add(first, second, context)
}

/** Rounded once or twice, because not every device computes it in one step. */
const fusedMultiplyAdd = (a: Interval, b: Interval, c: Interval, context: FloatContext): Known => {
  const product = exactProduct(a, b)
  if (product === undefined || isNaN(product)) return product
  const twice = multiply(a, b, context)
  const late = add(widened(product), c, context)
  const early = twice === undefined || isNaN(twice) ? twice : add(twice, c, context)
  return joined([late, early])
}

const widened = ({ hi, lo }: Interval): Interval => ({ lo: below(lo), hi: above(hi) })

/** Functions that are monotone in each operand: the ends of the operands give the ends of the result. */
const corners = (operation: Operation, operands: ReadonlyArray<Interval>, context: FloatContext): Known => {
  let result: Known
  for (const numbers of endsOf(operands)) {
    const at = near(operation, numbers, context)
    if (at === undefined) return undefined
    const next = result === undefined ? at : hull(result, at)
    if (next === undefined) return undefined
    result = next
  }
  // Both ends may be outside a function's domain, and numbers between them inside.
  return result !== undefined && isNaN(result) && !operands.every(isPoint) ? undefined : result
}

const endsOf = (operands: ReadonlyArray<Interval>): ReadonlyArray<ReadonlyArray<number>> =>
  operands.reduce<ReadonlyArray<ReadonlyArray<number>>>(
    (found, operand) =>
      found.flatMap((numbers) =>
        isPoint(operand) ? [[...numbers, operand.lo]] : [[...numbers, operand.lo], [...numbers, operand.hi]]
      ),
    [[]]
  )

/** The possible results of an operation on exactly these numbers. */
const near = (operation: Operation, operands: ReadonlyArray<number>, context: FloatContext): Known => {
  const exact = meaning(operation, operands)
  const tolerance = toleranceOf(operation, context.type, operands, exact)
  if (tolerance === undefined) return undefined
  if (Number.isNaN(exact)) return notANumber
  if (!Number.isFinite(exact)) return point(exact)
  // The doubles of the reference also have an error.
  const slack = context.type === "f64" && operation !== "divide" && operation !== "sqrt" ? 2 : 0
  const distance = tolerance + slack * unitAt(exact, context.format)
  return rounded(exact - distance, exact + distance, context.format, context.rules)
}

/** Operations, in doubles, that JavaScript lacks or names differently. */
const meanings: { readonly [O in Operation]?: (a: number, b: number) => number } = {
  divide: (a, b) => a / b,
  inverseSqrt: (a) => 1 / Math.sqrt(a),
  exp2: (a) => 2 ** a,
  power: (a, b) => a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b,
  degrees: (a) => a * (180 / Math.PI),
  radians: (a) => a * (Math.PI / 180)
}

/** The operations, computed in doubles. */
const meaning = (operation: Operation, [a = NaN, b = NaN]: ReadonlyArray<number>): number => {
  const own = meanings[operation]
  if (own !== undefined) return own(a, b)
  if (!(operation in Math)) throw new Error(`the reference has no ${operation}`)
  return Math[operation as "atan2"](a, b)
}

/** A sine or cosine, whose slope is at most 1. */
const wave = (operation: "sin" | "cos", a: Interval, context: FloatContext): Known => {
  const ends = corners(operation, [a], context)
  if (ends === undefined || isNaN(ends) || isPoint(a)) return ends
  const swing = Math.min(2, a.hi - a.lo)
  return { lo: ends.lo - swing, hi: ends.hi + swing }
}

/** The tangent, which increases between two poles. */
const tangent = (a: Interval, context: FloatContext): Known => {
  const betweenPoles = a.hi - a.lo < 1 && Math.cos(a.lo) * Math.cos(a.hi) > 0
  return isPoint(a) || betweenPoles ? corners("tan", [a], context) : undefined
}

/** `atan2`, which has every value around the origin, and jumps at the negative half of the x axis. */
const arcTangent = (y: Interval, x: Interval, context: FloatContext): Known => {
  if (isPoint(x) && isPoint(y)) return corners("atan2", [y, x], context)
  return hasZero(y) && x.lo <= 0 ? undefined : corners("atan2", [y, x], context)
}

/** NumPy's power: anything to the power of 0 is 1, and so is 1 to the power of anything. */
const power = (a: Interval, b: Interval, context: FloatContext): Known => {
  if (isPoint(a) && isPoint(b)) return corners("power", [a, b], context)
  if (isNaN(a)) return hasZero(b) ? undefined : notANumber
  if (isNaN(b)) return a.lo <= 1 && a.hi >= 1 ? undefined : notANumber
  return a.lo > 0 && !mayBeInfinite(a) && !mayBeInfinite(b) ? corners("power", [a, b], context) : undefined
}
