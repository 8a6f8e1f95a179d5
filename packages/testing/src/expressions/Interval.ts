/**
 * What the reference knows of a float: an interval with both its ends. A float that is certainly NaN has NaN at both
 * ends. Of a float that may be NaN or a number, nothing is known.
 *
 * A zero of unknown sign is the interval from -0 to 0.
 *
 * @internal
 */
import type { FloatRules } from "effect-gpu-pool/BackendTraits"
import type { FloatFormat } from "./FloatFormat.ts"

export interface Interval {
  readonly lo: number
  readonly hi: number
  /** The sum of the magnitudes of a sum's terms, where a backend may add them in another order. */
  readonly terms?: number
}

export const point = (value: number): Interval => ({ lo: value, hi: value })

export const notANumber: Interval = point(NaN)

export const isNaN = ({ lo }: Interval): boolean => lo !== lo

export const isPoint = ({ hi, lo }: Interval): boolean => Object.is(lo, hi)

export const hasZero = ({ hi, lo }: Interval): boolean => lo <= 0 && hi >= 0

export const mayBeInfinite = ({ hi, lo }: Interval): boolean => lo === -Infinity || hi === Infinity

/** The magnitude of its terms, or its own if it has none. */
export const termsOf = ({ hi, lo, terms }: Interval): number => terms ?? Math.max(Math.abs(lo), Math.abs(hi))

/** Whether the interval contains a number; of two zeros only the right one, where the sign is certain. */
export const contains = ({ hi, lo }: Interval, value: number): boolean =>
  lo !== lo ? value !== value : lo === 0 && Object.is(lo, hi) ? Object.is(value, lo) : lo <= value && value <= hi

/** An interval that contains both, if both are numbers or both are NaN. */
export const hull = (a: Interval, b: Interval): Interval | undefined => {
  if (isNaN(a) || isNaN(b)) return isNaN(a) && isNaN(b) ? a : undefined
  return { lo: Math.min(a.lo, b.lo), hi: Math.max(a.hi, b.hi), terms: Math.max(termsOf(a), termsOf(b)) }
}

/**
 * Whether the comparison would find a wrong result: the interval is one number, or narrow compared to its distance from
 * zero, or narrow around a zero that a subtraction gave.
 */
export const isSharp = ({ hi, lo }: Interval): boolean =>
  lo !== lo || lo === hi || hi - lo <= Math.max(2 ** -8, Math.max(Math.abs(lo), Math.abs(hi)) / 16)

/** A number of the memory; a device may read a subnormal one as zero. */
export const loaded = (value: number, format: FloatFormat, { flushes }: FloatRules): Interval =>
  flushes && value !== 0 && Math.abs(value) < format.leastNormal ? withZero(value, value) : point(value)

/** The numbers of a type to which the reals from `lo` to `hi` round. */
export const rounded = (lo: number, hi: number, format: FloatFormat, { flushes }: FloatRules): Interval => {
  const least = format.round(lo)
  const most = format.round(hi)
  const tiny = flushes && ((least > 0 && least <= format.leastNormal) || (most < 0 && most >= -format.leastNormal))
  return tiny || least === 0 || most === 0 ? withZero(least, most) : { lo: least, hi: most }
}

/** Adds zeros of both signs. */
const withZero = (lo: number, hi: number): Interval => ({
  lo: Math.min(lo, -0),
  hi: Math.max(hi, 0)
})

/** A double that is less by one or two units in the last place. */
export const below = (value: number): number => Number.isFinite(value) ? value - Math.abs(value) * 2 ** -52 : value

export const above = (value: number): number => -below(-value)
