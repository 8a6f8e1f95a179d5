/**
 * Groups leases by label, call site or size: the largest groups separately and the others together. Also says which leases pass the
 * filter.
 *
 * @internal
 */
import { bytesText } from "./Format.ts"
import type { Run } from "./Run.ts"

export type GroupBy = "label" | "site" | "size"

export interface Filter {
  /** A part of a label or a call site, in upper or lower case. */
  readonly text: string
  /** The index of a memory, or undefined for all. */
  readonly memory: number | undefined
}

/** Further groups are drawn as one, with one colour. */
export const mostGroups = 12

/** The group of leases that the filter leaves out. */
export const leftOut = 255

export interface Grouping {
  /** The largest group first; the last one may be "other". */
  readonly names: ReadonlyArray<string>
  /** For each lease, the index of its group, or {@link leftOut}. */
  readonly of: Uint8Array
  /** How many groups are in "other". */
  readonly others: number
}

export const noLabel = "(no label)"
export const noSite = "(call site not tracked)"

/** For each lease, the number of its group. */
const keysOf = ({ timeline: { leases } }: Run, by: GroupBy): Int32Array => {
  if (by === "label") return leases.label
  if (by === "site") return leases.site
  return Int32Array.from(leases.size, (size) => size < 1 ? 0 : 1 + Math.ceil(Math.log2(size)))
}

const nameOf = (run: Run, by: GroupBy, key: number): string => {
  if (by === "size") return key === 0 ? "0 B" : `up to ${bytesText(2 ** (key - 1))}`
  const text = run.timeline.texts[key]!
  return text !== "" ? text : by === "label" ? noLabel : noSite
}

/** Whether each lease passes the filter. */
export const passing = ({ timeline }: Run, { memory, text }: Filter): Uint8Array => {
  const wanted = text.toLowerCase()
  const fits = timeline.texts.map((known) => known.toLowerCase().includes(wanted))
  const { block, label, site } = timeline.leases
  return Uint8Array.from(label, (of, at) => {
    const inside = memory === undefined || timeline.blocks.memory[block[at]!] === memory
    return inside && (wanted === "" || fits[of] === true || fits[site[at]!] === true) ? 1 : 0
  })
}

/** The most bytes that the leases of each key have had at once. */
const peaksOf = (run: Run, keys: Int32Array, passes: Uint8Array): ReadonlyMap<number, number> => {
  const now = new Map<number, number>()
  const most = new Map<number, number>()
  for (const change of run.leaseChanges.of) {
    const lease = Math.abs(change) - 1
    if (passes[lease] === 0) continue
    const key = keys[lease]!
    const bytes = (now.get(key) ?? 0) + Math.sign(change) * run.timeline.leases.size[lease]!
    now.set(key, bytes)
    if (bytes >= (most.get(key) ?? 0)) most.set(key, bytes)
  }
  return most
}

export const groupingOf = (run: Run, by: GroupBy, passes: Uint8Array): Grouping => {
  const keys = keysOf(run, by)
  const ranked = [...peaksOf(run, keys, passes)].sort(([, one], [, other]) => other - one).map(([key]) => key)
  const alone = ranked.length <= mostGroups + 1 ? ranked : ranked.slice(0, mostGroups)
  const places = new Map(alone.map((key, place) => [key, place]))
  const others = ranked.length - alone.length
  return {
    names: [...alone.map((key) => nameOf(run, by, key)), ...others > 0 ? [`${others} others`] : []],
    of: Uint8Array.from(keys, (key, at) => passes[at] === 0 ? leftOut : places.get(key) ?? mostGroups),
    others
  }
}
