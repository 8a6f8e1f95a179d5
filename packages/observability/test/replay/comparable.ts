/**
 * Events in the form in which a recording and its replay are compared: all members, with blocks numbered in order of
 * appearance.
 */
import type { PoolEvent } from "effect-gpu-pool/PoolEvent"

export const comparable = (events: Iterable<PoolEvent>): ReadonlyArray<string> => {
  const names = new Map<number, number>()
  const nameOf = (block: number): number => {
    const known = names.get(block) ?? names.size
    names.set(block, known)
    return known
  }
  return Array.from(events, (event) => {
    const own = "block" in event ? { ...event, block: nameOf(event.block) } : event
    const { _tag, at, ...rest } = own
    const said = Object.entries(rest)
      .filter(([name, value]) =>
        value !== undefined && name !== "memoryNumber" && name !== "device" && name !== "memory"
      )
      .sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, value]) => `${name} ${value}`)
    return `${at} ${_tag}: ${said.join(", ")}`
  })
}
