/**
 * The positions of an axis that slices and indices select.
 *
 * @internal
 */

/** The positions of a slice by Python's rules, one after the other. */
export const inRange = (
  length: number,
  start: number | undefined,
  stop: number | undefined,
  step: number
): ReadonlyArray<number> => {
  const from = (position: number): number => position < 0 ? position + length : position
  const first = start === undefined
    ? (step > 0 ? 0 : length - 1)
    : step > 0
    ? Math.max(0, from(start))
    : Math.min(length - 1, from(start))
  const indices: Array<number> = []
  for (let index = first; index >= 0 && index < length; index += step) {
    if (stop !== undefined && (step > 0 ? index >= Math.max(0, from(stop)) : index <= Math.max(-1, from(stop)))) break
    indices.push(index)
  }
  return indices
}

/** The position of an index. A negative one counts from the end. Past an end it is clamped, or wraps around. */
export const placeOf = (index: number, length: number, mode: "clip" | "wrap"): number => {
  if (mode === "wrap") return ((index % length) + length) % length
  return Math.min(length - 1, Math.max(0, index < 0 ? index + length : index))
}
