/**
 * Which listed devices one part of a selection matches, or why none.
 *
 * @internal
 */
import { line } from "../arguments/Format.ts"
import type { ListedDevice, Named } from "./ListedDevice.ts"
import type { Part } from "./Selection.ts"

/** A selection with one device part. */
export interface Wanted {
  readonly backend: string
  readonly platform: Part
  readonly device: Part
}

type WithDevice = ListedDevice & { readonly device: Named }

/** The usable devices that the selection matches; or the reason, if it matches none. */
export const match = (wanted: Wanted, listed: ReadonlyArray<ListedDevice>): ReadonlyArray<ListedDevice> | string => {
  const ofBackend = listed.filter(({ backend }) => backend === wanted.backend)
  const platforms = distinct(ofBackend.flatMap(({ platform }) => platform ?? []))
  if (platforms.length === 0) return reasons(ofBackend) ?? `this machine has no ${wanted.backend} platform`
  const chosen = platforms.filter((platform) => fits(wanted.platform, platform, platforms.length))
  if (chosen.length === 0) {
    return `no such platform; there ${are("platform", platforms)}${advice(wanted, ofBackend, platforms)}`
  }
  const onThem = ofBackend.filter(({ platform }) => chosen.some(({ index }) => index === platform?.index))
  const there = onThem.filter((entry): entry is WithDevice => entry.device !== undefined)
  if (there.length === 0) return reasons(onThem) ?? "the platform has no device"
  const counts = countsOf(there)
  const fitting = there.filter((entry) => fits(wanted.device, entry.device, counts.get(entry.platform?.index) ?? 0))
  if (fitting.length === 0) {
    return `no such device; there ${are("device", there.map(deviceOf))}${quoting(wanted.device, there.map(deviceOf))}`
  }
  const usable = fitting.filter(({ unusable }) => unusable === undefined)
  return usable.length > 0 ? usable : reasons(fitting)!
}

const deviceOf = ({ device }: WithDevice): Named => device

/** How many devices each platform has, by its index. */
const countsOf = (devices: ReadonlyArray<WithDevice>): ReadonlyMap<number | undefined, number> => {
  const counts = new Map<number | undefined, number>()
  for (const { platform } of devices) counts.set(platform?.index, (counts.get(platform?.index) ?? 0) + 1)
  return counts
}

const distinct = (platforms: ReadonlyArray<Named>): ReadonlyArray<Named> =>
  platforms.filter((platform, at) => platforms.findIndex(({ index }) => index === platform.index) === at)

/** Whether a part matches an item; `count` is the length of the item's list. */
const fits = (part: Part, item: Named, count: number): boolean => {
  if (part === undefined) return true
  if (typeof part === "string") return has(item.name, part) || has(item.vendor, part)
  return item.index === (part < 0 ? count + part : part)
}

const has = (text: string, part: string): boolean => text.toLowerCase().includes(part.toLowerCase())

const reasons = (entries: ReadonlyArray<ListedDevice>): string | undefined => {
  const all = new Set(entries.flatMap(({ unusable }) => unusable ?? []))
  return all.size === 0 ? undefined : [...all].join("; ")
}

const shownAtMost = 8

const are = (what: "platform" | "device", items: ReadonlyArray<Named>): string => {
  const shown = items.slice(0, shownAtMost).map(({ index, name }) => `${index} "${line(name)}"`)
  const more = items.length - shown.length
  return `${items.length === 1 ? `is ${what}` : `are ${what}s`} ${shown.join(", ")}${
    more > 0 ? ` and ${more} more` : ""
  }`
}

/** Advice for a device's name in the place of a platform. */
const advice = (wanted: Wanted, listed: ReadonlyArray<ListedDevice>, platforms: ReadonlyArray<Named>): string => {
  const { backend, platform } = wanted
  const isDevice = typeof platform === "string" && wanted.device === undefined &&
    listed.some(({ device }) => device !== undefined && fits(platform, device, 0))
  return isDevice
    ? `. A device has that name: a device is the third part, as ${backend}:*:${platform}`
    : quoting(platform, platforms)
}

const quoting = (part: Part, items: ReadonlyArray<Named>): string =>
  typeof part === "number" && items.some(({ name }) => name.includes(String(part)))
    ? `. A number is an index: "${part}" in quotes is a part of a name`
    : ""
