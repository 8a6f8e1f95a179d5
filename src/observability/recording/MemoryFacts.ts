/**
 * What a recording says of the memories of its events: how they were before the first one.
 *
 * @internal
 */
import * as CallSite from "../../services/calls/CallSite.ts"
import type { Block } from "../../services/lease/Lease.ts"
import type { Heard } from "../../services/pool/EventHub.ts"
import { poolOf } from "../events/PoolEmitter.ts"
import type { EventChunk, FamilyNote } from "./EventChunk.ts"
import { columns, placeOf } from "./EventShape.ts"
import type { RecordedBlock, RecordedBudget, RecordedFamily, RecordedMemory } from "./RecordingFacts.ts"
import type { RingContent } from "./Ring.ts"

/** A memory as it is now. */
export const memoryFacts = ({ core, device, deviceInfo, number, settings }: Heard): RecordedMemory => {
  const { eviction, idle, kind, label, maxHeldBytes, maxOvertakes, reuse, stepMillis, suspectAfterMillis } = settings
  return {
    number,
    label,
    device,
    kind,
    maxBytes: core.maxBytes,
    maxHeldBytes,
    deviceBytes: deviceInfo.limits.memoryBytes,
    eviction,
    reuse,
    idle: idle === undefined ? undefined : { ...idle, stepMillis },
    maxOvertakes,
    suspectAfterMillis
  }
}

/** The blocks of the memories that are open, as they are now. */
const blocksNow = (memories: Iterable<Heard>): Map<number, RecordedBlock> => {
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

const [leased, kept, released, freed, limitChanged] = (["Leased", "Kept", "Released", "Freed", "LimitChanged"] as const)
  .map(placeOf)

const ofBlocks = [leased, kept, released, freed]

/** How the block of an event was before it; null where it was not there. */
const before = (chunk: EventChunk, at: number, family: string | undefined): RecordedBlock | null => {
  const kind = chunk.kind(at)
  if (kind === kept || (kind === leased && chunk.text(at, columns.detail) === "driver")) return null
  const label = chunk.text(at, columns.label)
  return {
    memory: chunk.memory(at),
    block: chunk.number(at, columns.block),
    capacity: chunk.number(at, columns.capacity),
    pool: chunk.text(at, columns.pool) ?? "",
    family: kind === leased ? chunk.text(at, columns.family) : family,
    lease: kind === released ? { size: chunk.number(at, columns.size), label, callSite: undefined } : undefined
  }
}

/**
 * The blocks before the first event that a ring has, of memories that are open or have closed. This needs no `BlockLedger`: the first
 * event of a block says how it was, and a block of no event is as it is now.
 */
export const blocksBefore = (
  { chunks, skipped }: RingContent,
  memories: Iterable<Heard>
): ReadonlyArray<RecordedBlock> => {
  const now = blocksNow(memories)
  const first = new Map<number, RecordedBlock | null>()
  for (const [index, chunk] of chunks.entries()) {
    for (let at = index === 0 ? skipped : 0; at < chunk.length; at++) {
      const kind = chunk.kind(at)
      if (!ofBlocks.includes(kind)) continue
      const block = chunk.number(at, columns.block)
      const known = first.get(block)
      if (known === undefined) first.set(block, before(chunk, at, now.get(block)?.family))
      else if (kind === leased && known !== null && known.family === undefined) {
        first.set(block, { ...known, family: chunk.text(at, columns.family) })
      }
    }
  }
  for (const [block, known] of first) {
    if (known === null) now.delete(block)
    else now.set(block, known)
  }
  return Array.from(now.values()).sort((a, b) => a.block - b.block)
}

/** What the chunks know of each memory, budget or family: what the first of them says was so at first. */
const firstOf = <K, V>(chunks: ReadonlyArray<EventChunk>, notes: (chunk: EventChunk) => Map<K, V>): Map<K, V> => {
  const all = new Map<K, V>()
  for (const chunk of chunks) {
    for (const [key, note] of notes(chunk)) if (!all.has(key)) all.set(key, note)
  }
  return all
}

/** The limit that events change before the first one that is part of the recording. */
const withoutSkipped = <N extends { readonly number: number; readonly maxBytes: number }>(
  { chunks, skipped }: RingContent,
  notes: Map<number, N>,
  numberOf: (chunk: EventChunk, at: number) => number | undefined
): ReadonlyArray<N> => {
  const [first] = chunks
  for (let at = 0; at < skipped; at++) {
    const number = first!.kind(at) === limitChanged ? numberOf(first!, at) : undefined
    const note = number === undefined ? undefined : notes.get(number)
    if (note !== undefined) notes.set(note.number, { ...note, maxBytes: first!.number(at, columns.capacity) })
  }
  return Array.from(notes.values())
}

const budgetOf = (chunk: EventChunk, at: number): number | undefined =>
  chunk.word(at, columns.budgetNumber) || undefined

/** The memories of a ring's events, and those that are open. */
export const memoriesOf = (content: RingContent, open: Iterable<Heard>): ReadonlyArray<RecordedMemory> => {
  const known = firstOf(content.chunks, ({ memories }) => memories)
  for (const memory of open) if (!known.has(memory.number)) known.set(memory.number, memoryFacts(memory))
  return withoutSkipped(
    content,
    known,
    (chunk, at) => budgetOf(chunk, at) === undefined ? chunk.memory(at) : undefined
  )
}

export const budgetsOf = (content: RingContent): ReadonlyArray<RecordedBudget> =>
  withoutSkipped(content, firstOf(content.chunks, ({ budgets }) => budgets), budgetOf)

export const familiesOf = ({ chunks }: RingContent): ReadonlyArray<RecordedFamily> => {
  const all = new Map<string, FamilyNote>()
  for (const { families } of chunks) {
    for (const [key, { facts, sizes }] of families) {
      const note = all.get(key) ?? { facts, sizes: new Map() }
      all.set(key, note)
      for (const [size, answers] of sizes) note.sizes.set(size, answers)
    }
  }
  return Array.from(all.values(), ({ facts, sizes }) => ({ ...facts, sizes: Array.from(sizes.values()) }))
}
