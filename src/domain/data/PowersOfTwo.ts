/**
 * Binary exponents of byte counts, exact up to 2^53−1.
 *
 * JavaScript's bit operators see 32 bits and `Math.log2` rounds (it puts 2^49−1 at 49), so the exponent is read from
 * the two 32-bit words of the number, and scaling uses exact powers of two.
 *
 * @internal
 */

const wordSize = 2 ** 32
const lowestExponent = -64

const powers = Float64Array.from({ length: 129 }, (_, index) => 2 ** (index + lowestExponent))

/** The largest byte count that a JavaScript number holds exactly. */
export const maxBytes = Number.MAX_SAFE_INTEGER

/** `2^exponent` for an integer exponent from −64 to 64, without the cost of `**`. */
export const powerOfTwo = (exponent: number): number => powers[exponent - lowestExponent]!

/** The exponent of the largest power of two that is not above `n`, for an integer `n` from 1 to 2^53−1. */
export const floorLog2 = (n: number): number => n < wordSize ? 31 - Math.clz32(n) : 63 - Math.clz32(n / wordSize)
