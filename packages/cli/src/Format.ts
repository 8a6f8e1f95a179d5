/**
 * Formats numbers and names for people. JSON has the plain ones.
 *
 * @internal
 */
const units = ["B", "KiB", "MiB", "GiB", "TiB"]

/** Formats bytes: `512 B`, `1.5 GiB`. */
export const bytes = (count: number): string => {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10))
  const value = count / 2 ** (10 * power)
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[power]}`
}

/** Formats a whole number: `1,048,576`. */
export const count = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 3 })

/** `maxBufferSize` becomes `max buffer size`; abbreviations keep their capitals, and dimensions their position. */
export const words = (name: string): string =>
  name.replace(/([a-z0-9])([A-Z](?![A-Z]))/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`)
    .replace(/([a-z])([A-Z]{2,})/g, "$1 $2")

/** Names of sizes, whose values are bytes. */
const isOfBytes = (name: string): boolean => /Bytes$|^max(?:Buffer|Binding)Size$|BindingSize$|StorageSize$/.test(name)

/** Formats a number in the unit that its name implies. */
export const quantity = (name: string, value: number): string =>
  isOfBytes(name) && value >= 1024
    ? `${bytes(value)} (${count(value)} B)`
    : isOfBytes(name)
    ? bytes(value)
    : count(value)

/** Units of time, from the largest. */
const timeUnits = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]] as const

/** Formats a number with two digits at least, and no more than it needs for whole ones: `0.83`, `1.5`, `120`. */
export const twoDigits = (value: number): string =>
  // 99.6 has the digits of 100
  value >= 99.5 ? String(Math.round(value)) : value.toPrecision(2)

/** Formats nanoseconds, with two digits at least: `0.83 µs`, `12 ms`. */
export const duration = (nanos: number): string => {
  const [unit, size] = timeUnits.find(([, size]) => nanos >= size) ?? ["ns", 1]
  return `${twoDigits(nanos / size)} ${unit}`
}
