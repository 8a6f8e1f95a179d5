/**
 * Half-precision numbers by their 16 bits, for runtimes without `Float16Array` too.
 *
 * @internal
 */
import { roundHalfEven } from "./RoundHalfEven.ts"

const largest = 65504
const smallestNormal = 2 ** -14
/** Bits of the fraction: how many steps there are between two powers of two. */
const steps = 1024

/** The bits of the half nearest to a number, ties to even, as `Math.f16round` rounds. */
export const toBits = (value: number): number => {
  if (Number.isNaN(value)) return 0x7e00
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const size = Math.abs(value)
  // Below the middle of the step above the largest half it rounds down to that; the middle itself rounds up to
  // infinity.
  if (size >= largest + 16) return sign | 0x7c00
  if (size < smallestNormal) return sign | roundHalfEven(size * 2 ** 24)
  const exponent = exponentOf(size)
  // A fraction that rounds up to 1 carries into the exponent, as it must.
  return sign | (((exponent + 15) << 10) + roundHalfEven((size / 2 ** exponent - 1) * steps))
}

/** The power of two at or below a number that is 2^-14 to 2^16. */
const exponentOf = (size: number): number => {
  let exponent = -14
  while (2 ** (exponent + 1) <= size) exponent += 1
  return exponent
}

/** The number that 16 bits stand for. */
export const fromBits = (bits: number): number => {
  const sign = (bits & 0x8000) === 0 ? 1 : -1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / steps) * 2 ** (exponent - 15)
}
