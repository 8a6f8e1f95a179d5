/**
 * Numbers and names as people read them. JSON has the plain ones.
 *
 * @internal
 */
import { shownBytes as bytes } from "effect-gpu-pool/Format"

/** As `512 B` and `1.5 GiB`. */
export { bytes }

/** As `1,048,576`. */
export const count = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 3 })

/** `maxBufferSize` as `max buffer size`; an abbreviation keeps its capitals, and a dimension its place. */
export const words = (name: string): string =>
  name.replace(/([a-z0-9])([A-Z](?![A-Z]))/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`)
    .replace(/([a-z])([A-Z]{2,})/g, "$1 $2")

/** Names of sizes, whose values are bytes. */
const isOfBytes = (name: string): boolean => /Bytes$|^max(?:Buffer|Binding)Size$|BindingSize$|StorageSize$/.test(name)

/** A number under the unit that its name says. */
export const quantity = (name: string, value: number): string =>
  isOfBytes(name) && value >= 1024
    ? `${bytes(value)} (${count(value)} B)`
    : isOfBytes(name)
    ? bytes(value)
    : count(value)

/** From the largest. */
const timeUnits = [["s", 1e9], ["ms", 1e6], ["µs", 1e3]] as const

/** Nanoseconds as `0.83 µs` and `12 ms`, in two digits at least. */
export const duration = (nanos: number): string => {
  const [unit, size] = timeUnits.find(([, size]) => nanos >= size) ?? ["ns", 1]
  const value = nanos / size
  return `${value >= 100 ? Math.round(value) : value.toPrecision(2)} ${unit}`
}
