/**
 * The facts of a recording about the memories of its events: their state before the first one.
 *
 * @internal
 */
import * as CallSite from "effect-gpu-pool/CallSite"
import type { ObservedMemory } from "effect-gpu-pool/EventHub"
import type { Block } from "effect-gpu-pool/Lease"
import { poolOf } from "../events/EventMaker.ts"
import { type EventChunk, EventReader } from "./EventChunk.ts"
import type { EventRow } from "./EventRow.ts"
import { columns, placeOf } from "./EventShape.ts"
import type { RecordedBlock, RecordedBudget, RecordedFamily, RecordedMemory } from "./RecordingFacts.ts"
import type { RingContent } from "./Ring.ts"

/** A memory as it is now. */
export const memoryFacts = ({ core, device, deviceInfo, number, settings }: ObservedMemory): RecordedMemory => {
  const { eviction, idle, kind, label, maxHeldBytes, maxBypasses, reuse, deadlockTimeoutMillis } = settings
  return {
    number,
    label,
    device,
    kind,
    maxBytes: core.maxBytes,
    maxHeldBytes,
    outgrown: core.outgrownSoFar,
    deviceBytes: deviceInfo.limits.memoryBytes,
    maxBufferSize: deviceInfo.limits.maxBufferSize,
    eviction,
    reuse,
    idle,
    maxBypasses,
    deadlockTimeoutMillis
  }
}

/** The blocks of the memories that are open, as they are now. */
const blocksNow = (memories: Iterable<ObservedMemory>): Map<number, RecordedBlock> => {
  const blocks = new Map<number, RecordedBlock>()
  for (const { core, leases, number: memory } of memories) {
    for (const block of core.held()) blocks.set(block.number, blockOf(memory, block))
    for (const lease of leases.live()) {
      const { block, label, size } = lease
      if (block === undefined) continue
      const callSite = CallSite.of(lease)
      blocks.set(block.number, { ...blockOf(memory, block), lease: { size, label, callSite } })
    }
  }
  return blocks
}

const blockOf = (memory: number, block: Block): RecordedBlock => ({
  memory,
  block: block.number,
  capacity: block.capacity,
  pool: poolOf(block),
  family: block.bin === undefined ? undefined : String(block.bin.family),
  lease: undefined
})

const [leased, kept, released, freed] = (["Leased", "Kept", "Released", "Freed"] as const).map(placeOf)

/** The state of an event's block before the event; null where the block did not exist. */
const before = (row: EventRow, family: string | undefined): RecordedBlock | null => {
  const { kind, memory, values } = row
  if (kind === kept || (kind === leased && row.text(columns.detail) === "driver")) return null
  const asked = { size: values[columns.size]!, label: row.text(columns.label), callSite: row.text(columns.callSite) }
  return {
    memory,
    block: values[columns.block]!,
    capacity: values[columns.capacity]!,
    pool: row.text(columns.pool) ?? "",
    family: kind === leased ? row.text(columns.family) : family,
    lease: kind === released ? asked : undefined
  }
}

/**
 * The blocks before the first event of a ring, of memories that are open or have closed. This needs no `BlockLedger`: the first
 * event of a block implies its state before, and a block without events was as it is now.
 */
export const blocksBefore = (
  content: RingContent,
  memories: Iterable<ObservedMemory>
): ReadonlyArray<RecordedBlock> => {
  const now = blocksNow(memories)
  const first = new Map<number, RecordedBlock | null>()
  const reader = new EventReader(content)
  while (reader.next()) {
    const { row } = reader
    const { kind } = row
    if (kind !== leased && kind !== kept && kind !== released && kind !== freed) continue
    const block = row.values[columns.block]!
    const known = first.get(block)
    if (known === undefined) first.set(block, before(row, now.get(block)?.family))
    else if (kind === leased && known !== null && known.family === undefined) {
      first.set(block, { ...known, family: row.text(columns.family) })
    }
  }
  for (const [block, known] of first) {
    if (known === null) now.delete(block)
    else now.set(block, known)
  }
  return Array.from(now.values()).sort((a, b) => a.block - b.block)
}

/** What the chunks know of each memory, budget or family: the first chunk that has one says how it was at first. */
const firstOf = <K, V>(chunks: ReadonlyArray<EventChunk>, notes: (chunk: EventChunk) => Map<K, V>): Map<K, V> => {
  const all = new Map<K, V>()
  for (const chunk of chunks) {
    for (const [key, note] of notes(chunk)) if (!all.has(key)) all.set(key, note)
  }
  return all
}

/** The memories of a ring's events, and all open memories. */
export const memoriesOf = ({ chunks }: RingContent, open: Iterable<ObservedMemory>): ReadonlyArray<RecordedMemory> => {
  const known = firstOf(chunks, ({ memories }) => memories)
  for (const memory of open) if (!known.has(memory.number)) known.set(memory.number, memoryFacts(memory))
  return Array.from(known.values())
}

export const budgetsOf = ({ chunks }: RingContent): ReadonlyArray<RecordedBudget> =>
  Array.from(firstOf(chunks, ({ budgets }) => budgets).values())

type FamilySizes = RecordedFamily["sizes"][number]

export const familiesOf = ({ chunks }: RingContent): ReadonlyArray<RecordedFamily> => {
  const all = new Map<string, Map<number, FamilySizes>>()
  for (const { families } of chunks) {
    for (const [key, { sizes }] of families) {
      const known = all.get(key) ?? new Map<number, FamilySizes>()
      all.set(key, known)
      for (let at = 0; at < sizes.length; at += 4) {
        const noted = sizes.slice(at, at + 4) as unknown as FamilySizes
        const [size, , blockSize] = noted
        // A lower limit made blocks smaller; the largest size is kept, since a replay applies limits itself.
        if (blockSize > (known.get(size)?.[2] ?? 0)) known.set(size, noted)
      }
    }
  }
  return Array.from(firstOf(chunks, ({ families }) => families), ([key, facts]) => ({
    ...facts,
    sizes: Array.from(all.get(key)?.values() ?? [])
  }))
}
