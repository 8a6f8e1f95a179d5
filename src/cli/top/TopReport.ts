/**
 * What `effect-gpu-pool top` prints. The JSON form is an interface for scripts: a field can be added, but none is removed or changes
 * its meaning without a new `version`.
 *
 * @internal
 */
import CliTable from "cli-table3"
import { line } from "../../domain/arguments/ShownValue.ts"
import * as Shown from "../Shown.ts"
import type { Style } from "../Style.ts"
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

const head = ["program", "memory", "device", "active", "held", "limit", "hits", "leases/s", "waiting", "out of memory"]

export const text = (watched: Watched, style: Style): string => {
  const { memories, programs } = watched
  const silent = programs.filter((told) => told.memories.length === 0)
  return [
    ...(programs.length === 0 ? ["No program is connected."] : []),
    ...(memories.length === 0 ? [] : [table(memories, style)]),
    ...silent.map(({ program }) =>
      `Program ${program} tells of no pool: it needs PoolMetrics.layer(), or has opened none.`
    )
  ].join("\n")
}

const table = (memories: ReadonlyArray<WatchedMemory>, style: Style): string => {
  const table = new CliTable({
    head,
    style: { head: [], border: [], compact: true },
    colAligns: head.map((_, at) => at < 3 ? "left" : "right")
  })
  table.push(...memories.map((memory) => row(memory, style)))
  return table.toString()
}

const row = (memory: WatchedMemory, style: Style): Array<string> => {
  const { counts, device, leasesPerSecond, number, program } = memory
  const rate = hitRate(memory)
  const waiting = counts.waiters ?? 0
  const failed = counts.outOfMemory ?? 0
  return [
    String(program),
    line(`${memory.memory ?? "(no label)"}${number === 1 ? "" : ` ${number}`}`),
    line(device, 40),
    Shown.bytes(counts.activeBytes ?? 0),
    Shown.bytes(counts.heldBytes ?? 0),
    counts.limitBytes === undefined ? "" : Shown.bytes(counts.limitBytes),
    rate === null ? "" : `${(100 * rate).toFixed(1)} %`,
    leasesPerSecond === undefined ? "" : Shown.count(Math.round(leasesPerSecond)),
    waiting > 0 ? style.strong(Shown.count(waiting)) : "0",
    failed > 0 ? style.bad(Shown.count(failed)) : "0"
  ]
}
