/**
 * Rounding as devices do it.
 *
 * @internal
 */

/** The nearest whole number, of two equally near ones the even one; `value` is not negative. */
export const roundHalfEven = (value: number): number => {
  const below = Math.floor(value)
  const rest = value - below
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below
}
