/**
 * What the reference knows of a float: two numbers between which it is, both included. A float that is certainly no
 * number has NaN on both sides; of one that may be a number or not, nothing is known.
 *
 * A zero whose sign is not certain reaches from -0 to 0.
 *
 * @internal
 */
import type { FloatRules } from "../../domain/device/BackendTraits.ts"
import type { FloatFormat } from "./FloatFormat.ts"

export interface Interval {
  readonly lo: number
  readonly hi: number
  /** How large the terms of a sum were together, where a backend may add them in another order. */
  readonly terms?: number
}

export const point = (value: number): Interval => ({ lo: value, hi: value })

export const notANumber: Interval = point(NaN)

export const isNaN = ({ lo }: Interval): boolean => lo !== lo

export const isPoint = ({ hi, lo }: Interval): boolean => Object.is(lo, hi)

export const hasZero = ({ hi, lo }: Interval): boolean => lo <= 0 && hi >= 0

export const mayBeInfinite = ({ hi, lo }: Interval): boolean => lo === -Infinity || hi === Infinity

/** The magnitude of its terms, or of itself. */
export const termsOf = ({ hi, lo, terms }: Interval): number => terms ?? Math.max(Math.abs(lo), Math.abs(hi))

/** Whether a number may be what the interval stands for, of two zeros only the right one where that is certain. */
export const contains = ({ hi, lo }: Interval, value: number): boolean =>
  lo !== lo ? value !== value : lo === 0 && Object.is(lo, hi) ? Object.is(value, lo) : lo <= value && value <= hi

/** An interval that holds both, where both are numbers or both are none. */
export const hull = (a: Interval, b: Interval): Interval | undefined => {
  if (isNaN(a) || isNaN(b)) return isNaN(a) && isNaN(b) ? a : undefined
  return { lo: Math.min(a.lo, b.lo), hi: Math.max(a.hi, b.hi), terms: Math.max(termsOf(a), termsOf(b)) }
}

/**
 * Whether a wrong result would show: it is one number, or a range that is narrow beside its distance from zero, or
 * around a zero that something was subtracted to.
 */
export const isSharp = ({ hi, lo }: Interval): boolean =>
  lo !== lo || lo === hi || hi - lo <= Math.max(2 ** -8, Math.max(Math.abs(lo), Math.abs(hi)) / 16)

/** A number as memory holds it, which may be read as zero if it is subnormal. */
export const loaded = (value: number, format: FloatFormat, { flushes }: FloatRules): Interval =>
  flushes && value !== 0 && Math.abs(value) < format.leastNormal ? withZero(value, value) : point(value)

/** The numbers of a type that the reals from `lo` to `hi` are rounded to. */
export const rounded = (lo: number, hi: number, format: FloatFormat, { flushes }: FloatRules): Interval => {
  const least = format.round(lo)
  const most = format.round(hi)
  const tiny = flushes && ((least > 0 && least <= format.leastNormal) || (most < 0 && most >= -format.leastNormal))
  return tiny || least === 0 || most === 0 ? withZero(least, most) : { lo: least, hi: most }
}

/** With zero of either sign. */
const withZero = (lo: number, hi: number): Interval => ({
  lo: Math.min(lo, -0),
  hi: Math.max(hi, 0)
})

/** A double that is less, by a unit in the last place or two. */
export const below = (value: number): number => Number.isFinite(value) ? value - Math.abs(value) * 2 ** -52 : value

export const above = (value: number): number => -below(-value)
