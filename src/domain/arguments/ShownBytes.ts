/**
 * A number of bytes as people read it.
 *
 * @internal
 */

const units = ["B", "KiB", "MiB", "GiB", "TiB"]

/** As `512 B` and `1.5 GiB`. */
export const shownBytes = (count: number): string => {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10))
  const value = count / 2 ** (10 * power)
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`
}
