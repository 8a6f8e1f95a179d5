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

const minute = 60_000

const longUnits = [["d", 86_400_000], ["h", 3_600_000], ["min", minute]] as const

/** A number without the zeros at its end, rounded to a step. */
const rounded = (value: number, step: number): string =>
  String(Number(value.toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)))))

/** Seconds or less, in the largest unit of which there is at least one. */
const shortText = (millis: number, step: number): string => {
  if (millis >= 1000) return `${rounded(millis / 1000, step / 1000)} s`
  if (millis >= 1 || step >= 1 || millis === 0) return `${rounded(millis, step)} ms`
  return `${rounded(millis * 1000, step * 1000)} µs`
}

/** A time in all its units, to a step in milliseconds: `1 h 2 min 3.456 s`. */
export const momentText = (millis: number, step: number): string => {
  if (millis < 0) return `−${momentText(-millis, step)}`
  let left = Math.round(millis / step) * step
  const parts: Array<string> = []
  for (const [unit, size] of longUnits) {
    // a step such as 0.001 has no exact multiples
    const count = Math.floor(left / size + 1e-9)
    if (count > 0) parts.push(`${count} ${unit}`)
    left = Math.max(0, left - count * size)
  }
  if (left >= step / 2 || parts.length === 0) {
    parts.push(parts.length > 0 ? `${rounded(left / 1000, step / 1000)} s` : shortText(left, step))
  }
  return parts.join(" ")
}

/** How long something takes: with three digits, or two units above a minute, and never finer than a step: `1.25 s`, `2 h 5 min`. */
export const spanText = (millis: number, step: number): string => {
  const coarsest = millis >= 86_400_000 ? 3_600_000 : millis >= 3_600_000 ? minute : 1000
  const digits = millis === 0 ? step : 10 ** (Math.floor(Math.log10(Math.abs(millis))) - 2)
  return momentText(millis, Math.max(step, Math.abs(millis) >= minute ? coarsest : digits))
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

/** The milliseconds of `1.25 s`, `3 min 2 s`, or of seconds without a unit; undefined for any other text. */
export const parseMillis = (text: string): number | undefined => {
  const parts = Array.from(text.matchAll(/([\d.,_]+)\s*([a-zµ]*)\s*/gi))
  const isWhole = parts.map(([part]) => part).join("") === text.trimStart()
  const millis = parts.reduce(
    (sum, [, digits = "", unit = ""]) =>
      sum + Number(digits.replaceAll(/[,_]/g, "")) * (lengths[unit.toLowerCase()] ?? Number.NaN),
    0
  )
  return parts.length === 0 || !isWhole || Number.isNaN(millis) ? undefined : millis
}

/** The number of an event, with or without commas between its digits. */
export const parseCount = (text: string): number | undefined => {
  const value = Number(text.replaceAll(/[\s,_#]/g, ""))
  return text.trim() === "" || Number.isNaN(value) ? undefined : value
}
