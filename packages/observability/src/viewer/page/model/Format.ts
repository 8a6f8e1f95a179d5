/**
 * Formats bytes and times for people.
 *
 * @internal
 */

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

/** With three digits: `1.5 MiB`. */
export const bytesText = (bytes: number): string => {
  const size = Math.abs(bytes)
  const power = size < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(size) / 10))
  const value = bytes / 2 ** (10 * power)
  const digits = power === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return `${String(Number(value.toFixed(digits)))} ${units[power]}`
}

/** A difference with its sign, also if it is positive. */
export const differenceText = (bytes: number): string =>
  `${bytes > 0 ? "+" : bytes < 0 ? "−" : ""}${bytesText(Math.abs(bytes))}`

export const countText = (count: number): string => count.toLocaleString("en")

const steps = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000], ["ms", 1]] as const

/** Milliseconds in the largest unit of which there is at least one: `1.25 s`. */
export const millisText = (millis: number, digits = 3): string => {
  const [unit, size] = steps.find(([, size]) => Math.abs(millis) >= size) ?? ["ms", 1] as const
  return `${String(Number((millis / size).toFixed(digits)))} ${unit}`
}

const lengths: Readonly<Record<string, number>> = {
  "": 1000,
  us: 0.001,
  "µs": 0.001,
  ms: 1,
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000
}

/** The milliseconds of `1.25 s`, `3 min`, or of seconds without a unit; undefined for any other text. */
export const parseMillis = (text: string): number | undefined => {
  const found = /^\s*(-?[\d.,_]+)\s*([a-zµ]*)\s*$/i.exec(text)
  const value = Number(found?.[1]?.replaceAll(/[,_]/g, ""))
  const unit = lengths[(found?.[2] ?? "").toLowerCase()]
  return found === null || Number.isNaN(value) || unit === undefined ? undefined : value * unit
}

/** The number of an event, with or without commas between its digits. */
export const parseCount = (text: string): number | undefined => {
  const value = Number(text.replaceAll(/[\s,_#]/g, ""))
  return text.trim() === "" || Number.isNaN(value) ? undefined : value
}
