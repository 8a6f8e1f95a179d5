/**
 * Binary search in ascending lists of numbers.
 *
 * @internal
 */

/** The first index from 0 to `length` for which `isBefore` is false, if it is true for all before. */
export const firstNot = (length: number, isBefore: (at: number) => boolean): number => {
  let from = 0
  let to = length
  while (from < to) {
    const middle = (from + to) >>> 1
    if (isBefore(middle)) from = middle + 1
    else to = middle
  }
  return from
}

/** The first index of an ascending list whose value is greater. */
export const above = (values: ArrayLike<number>, value: number): number =>
  firstNot(values.length, (at) => values[at]! <= value)

/** The first index of an ascending list whose value is not less. */
export const notBelow = (values: ArrayLike<number>, value: number): number =>
  firstNot(values.length, (at) => values[at]! < value)
