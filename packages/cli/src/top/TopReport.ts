/**
 * What `effect-gpu-pool top` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or changes
 * its meaning without a new `version`.
 *
 * @internal
 */
import { line, list } from "effect-gpu-pool/Format"
import * as Format from "../Format.ts"
import type { Style } from "../Output.ts"
import { json as asJson } from "../Printable.ts"
import { columnsOf, withoutEnd, withoutMiddle } from "../ShortName.ts"
import { table } from "../Table.ts"
import { type Answer, hitRate, type Watched, type WatchedMemory } from "./Watched.ts"

/** The answer of one program, on one line. */
export const json = ({ memories, program, time }: Answer): string =>
  asJson({
    version: 1,
    time,
    program,
    memories: memories.map((memory) => ({
      ...memory.counts,
      memory: memory.memory,
      device: memory.device,
      host: memory.host,
      number: memory.number,
      hitRate: hitRate(memory)
    }))
  })

/** The most rows without a terminal: more take long to draw, and JSON has all. */
const mostRows = 100

/** The lines of a table around its rows, a line under it, and the one of the cursor. */
const otherLines = 6

export interface Room {
  /** Characters of a line. */
  readonly width: number
  readonly height: number
}

export const text = (watched: Watched, style: Style, { height, width }: Room): string => {
  const { memories, programs } = watched
  const silent = programs.filter((answer) => answer.memories.length === 0)
  const most = Math.max(1, Math.min(mostRows, height - otherLines - Math.min(1, silent.length)))
  return [
    ...(programs.length === 0 ? ["No program is connected."] : []),
    ...(memories.length === 0 ? [] : [fitting(largest(memories, most), style, width)]),
    ...(memories.length > most
      ? [`and ${Format.count(memories.length - most)} smaller ones, which --json has too`]
      : []),
    ...(silent.length === 0 ? [] : [poolless(silent)])
  ].join("\n")
}

/** The memories that manage the most bytes, in their own order. */
const largest = (memories: ReadonlyArray<WatchedMemory>, most: number): ReadonlyArray<WatchedMemory> => {
  if (memories.length <= most) return memories
  const bytes = memories.map(({ counts }) => counts.managedBytes ?? 0)
  const shown = bytes.map((_, at) => at).sort((one, other) => bytes[other]! - bytes[one]!).slice(0, most)
  return shown.sort((one, other) => one - other).map((at) => memories[at]!)
}

export const poolless = (answers: ReadonlyArray<Answer>): string =>
  answers.length === 1
    ? `Program ${answers[0]!.program} reports no pool: it needs PoolMetrics.layer(), or has opened none.`
    : `Programs ${
      list(answers.map(({ program }) => String(program)), ", ", 8)
    } report no pool: each needs PoolMetrics.layer(), or has opened none.`

/** The most columns that names may take. */
interface NameRoom {
  readonly memory: number
  readonly device: number
}

type Cell = (memory: WatchedMemory, style: Style, room: NameRoom) => string

const marked = (count: number, mark: (text: string) => string): string => count > 0 ? mark(Format.count(count)) : "0"

const columns: { readonly [head: string]: Cell } = {
  program: ({ program }) => String(program),
  host: ({ host = "" }, _, room) => withoutMiddle(line(host), room.device),
  // the number tells equal labels apart, so it is never cut
  memory: ({ memory, number }, _, room) => {
    const suffix = number === 1 ? "" : ` ${number}`
    return `${withoutMiddle(line(memory ?? "(no label)"), room.memory - suffix.length)}${suffix}`
  },
  device: ({ device }, _, room) => withoutEnd(line(device), room.device),
  active: ({ counts }) => Format.bytes(counts.activeBytes ?? 0),
  held: ({ counts }) => Format.bytes(counts.heldBytes ?? 0),
  limit: ({ counts }) => counts.limitBytes === undefined ? "" : Format.bytes(counts.limitBytes),
  hits: (memory) => {
    const rate = hitRate(memory)
    return rate === null ? "" : `${(100 * rate).toFixed(1)} %`
  },
  "leases/s": ({ leasesPerSecond }) => leasesPerSecond === undefined ? "" : Format.count(Math.round(leasesPerSecond)),
  waiting: ({ counts }, style) => marked(counts.waiters ?? 0, style.strong),
  "out of memory": ({ counts }, style) => marked(counts.outOfMemory ?? 0, style.bad)
}

/** The columns that a narrow terminal leaves out, the first ones first: a wrapped row cannot be read. */
const dispensable = ["device", "limit", "leases/s", "held", "program", "host"]

/** There is a column of hosts where programs name theirs. */
const headsOf = (memories: ReadonlyArray<WatchedMemory>): ReadonlyArray<string> =>
  Object.keys(columns).filter((head) => head !== "host" || memories.some(({ host }) => host !== undefined))

/** Names are cut to these widths before a column is left out. */
const least: NameRoom = { memory: 20, device: 20 }

const narrowest = 8

/** The most that names get where there is room. */
const most: NameRoom = { memory: 60, device: 40 }

const needOf = (name: keyof NameRoom, memories: ReadonlyArray<WatchedMemory>, style: Style): number =>
  Math.max(least[name], ...memories.map((memory) => columnsOf(columns[name]!(memory, style, most))))

const fitting = (
  memories: ReadonlyArray<WatchedMemory>,
  style: Style,
  width: number,
  [first, ...others] = dispensable,
  heads = headsOf(memories)
): string => {
  const drawn = (room: NameRoom): string =>
    table(
      heads.map((head) => ({ head, isRight: !onTheLeft.includes(head) })),
      memories.map((memory) => heads.map((head) => columns[head]!(memory, style, room))),
      width
    )
  const whole = drawn(most)
  const missing = whole.indexOf("\n") - width
  if (missing <= 0) return whole
  const needs = { memory: needOf("memory", memories, style), device: needOf("device", memories, style) }
  const ofDevice = heads.includes("device") ? Math.min(missing, needs.device - least.device) : 0
  const ofMemory = missing - ofDevice
  // where no column is left to leave out, labels get even narrower
  const leastMemory = first === undefined ? narrowest : least.memory
  return ofMemory <= needs.memory - leastMemory || first === undefined
    ? drawn({ device: needs.device - ofDevice, memory: Math.max(leastMemory, needs.memory - ofMemory) })
    : fitting(memories, style, width, others, heads.filter((head) => head !== first))
}

const onTheLeft = ["program", "host", "memory", "device"]
