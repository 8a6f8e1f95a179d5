/**
 * What `effect-gpu-pool top` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or changes
 * its meaning without a new `version`.
 *
 * @internal
 */
import { line } from "../../domain/arguments/ShownValue.ts"
import * as Shown from "../Shown.ts"
import type { Style } from "../Style.ts"
import { table } from "../Table.ts"
import { hitRate } from "./Memories.ts"
import type { Told, Watched, WatchedMemory } from "./Watched.ts"

/** What one program told, on one line. */
export const json = ({ memories, program, time }: Told): string =>
  JSON.stringify({
    version: 1,
    time,
    program,
    memories: memories.map((memory) => ({
      memory: memory.memory,
      device: memory.device,
      number: memory.number,
      hitRate: hitRate(memory),
      ...memory.counts
    }))
  })

export const text = (watched: Watched, style: Style, width: number): string => {
  const { memories, programs } = watched
  const silent = programs.filter((told) => told.memories.length === 0)
  return [
    ...(programs.length === 0 ? ["No program is connected."] : []),
    ...(memories.length === 0 ? [] : [fitting(memories, style, width)]),
    ...silent.map(poolless)
  ].join("\n")
}

export const poolless = ({ program }: Told): string =>
  `Program ${program} tells of no pool: it needs PoolMetrics.layer(), or has opened none.`

type Cell = (memory: WatchedMemory, style: Style) => string

const marked = (count: number, mark: (text: string) => string): string => count > 0 ? mark(Shown.count(count)) : "0"

const columns: { readonly [head: string]: Cell } = {
  program: ({ program }) => String(program),
  memory: ({ memory, number }) => line(`${memory ?? "(no label)"}${number === 1 ? "" : ` ${number}`}`),
  device: ({ device }) => line(device, 40),
  active: ({ counts }) => Shown.bytes(counts.activeBytes ?? 0),
  held: ({ counts }) => Shown.bytes(counts.heldBytes ?? 0),
  limit: ({ counts }) => counts.limitBytes === undefined ? "" : Shown.bytes(counts.limitBytes),
  hits: (memory) => {
    const rate = hitRate(memory)
    return rate === null ? "" : `${(100 * rate).toFixed(1)} %`
  },
  "leases/s": ({ leasesPerSecond }) => leasesPerSecond === undefined ? "" : Shown.count(Math.round(leasesPerSecond)),
  waiting: ({ counts }, style) => marked(counts.waiters ?? 0, style.strong),
  "out of memory": ({ counts }, style) => marked(counts.outOfMemory ?? 0, style.bad)
}

/** What goes first where a terminal is narrow: a line that wraps cannot be read. */
const dispensable = ["device", "limit", "leases/s", "held", "program"]

const fitting = (
  memories: ReadonlyArray<WatchedMemory>,
  style: Style,
  width: number,
  [first, ...others] = dispensable,
  heads = Object.keys(columns)
): string => {
  const shown = table(
    heads.map((head) => ({ head, isRight: !onTheLeft.includes(head) })),
    memories.map((memory) => heads.map((head) => columns[head]!(memory, style))),
    width
  )
  return shown.indexOf("\n") <= width || first === undefined
    ? shown
    : fitting(memories, style, width, others, heads.filter((head) => head !== first))
}

const onTheLeft = ["program", "memory", "device"]
