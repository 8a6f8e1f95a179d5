/**
 * The facts of a recording about the memories of its events: their state before the first one.
 *
 * @internal
 */
import * as CallSite from "effect-gpu-pool/CallSite"
import type { ObservedMemory } from "effect-gpu-pool/EventHub"
import type { Block } from "effect-gpu-pool/Lease"
import { blocks, type PoolStrategy } from "effect-gpu-pool/PoolStrategy"
import { ByPlace } from "../ByPlace.ts"
import { placeOf as placeOfBlock, poolOf } from "../events/EventMaker.ts"
import { type EventChunk, EventReader } from "./EventChunk.ts"
import type { EventRow } from "./EventRow.ts"
import { columns, placeOf } from "./EventShape.ts"
import type { RecordedBlock, RecordedBudget, RecordedFamily, RecordedMemory } from "./RecordingFacts.ts"
import type { RingContent } from "./Ring.ts"

/** A strategy, of which a memory's core has parts of multiples of `unit` bytes. */
export const strategyFacts = (
  strategy: PoolStrategy | undefined,
  unit: number,
  granularity: number | undefined
): RecordedMemory["strategy"] => {
  if (strategy === undefined || strategy === blocks) return undefined
  const { arena, name } = strategy
  if (arena === undefined) return { name }
  return { name, unitBytes: unit, slabBytes: arena.slabBytes, growth: arena.growth, borrow: arena.borrow, granularity }
}

/** A memory as it is now. */
export const memoryFacts = ({ core, device, deviceInfo, number, settings }: ObservedMemory): RecordedMemory => {
  const { eviction, idle, kind, label, maxHeldBytes, maxBypasses, reuse, deadlockTimeoutMillis, strategy } = settings
  return {
    number,
    label,
    device,
    kind,
    maxBytes: core.maxBytes,
    maxHeldBytes,
    strategy: strategyFacts(strategy, core.slabs?.unit ?? 1, deviceInfo.limits.granularity),
    outgrown: core.outgrownSoFar,
    deviceBytes: deviceInfo.limits.memoryBytes,
    maxBufferSize: deviceInfo.limits.maxBufferSize,
    eviction,
    reuse,
    idle: idle && { steps: idle.steps, keepBytes: idle.keepBytes, stepMillis: idle.stepMillis },
    maxBypasses,
    deadlockTimeoutMillis
  }
}

/** A lease, or a place in a block at which none began. */
interface NotedLease extends NonNullable<RecordedBlock["lease"]> {
  readonly block: number
  readonly offset: number
  /** 0 for a lease of the whole block. */
  readonly partBytes: number
  readonly isThere: boolean
}

/** Blocks by their numbers, null for one that did not exist; and their leases. */
interface NotedBlocks {
  readonly blocks: Map<number, RecordedBlock | null>
  readonly leases: ByPlace<NotedLease>
}

/** The blocks of the memories that are open, as they are now. */
const blocksNow = (memories: Iterable<ObservedMemory>): NotedBlocks => {
  const noted: NotedBlocks = { blocks: new Map(), leases: new ByPlace() }
  for (const { core, leases, number: memory } of memories) {
    for (const block of core.held()) noted.blocks.set(block.whole.number, blockOf(memory, block))
    for (const lease of leases.live()) {
      const { block, label, size } = lease
      if (block === undefined) continue
      const { block: number, offset = 0, partBytes = 0 } = placeOfBlock(block)
      noted.blocks.set(number, blockOf(memory, block))
      const callSite = CallSite.of(lease)
      noted.leases.set(number, offset, { block: number, offset, partBytes, size, label, callSite, isThere: true })
    }
  }
  return noted
}

const blockOf = (memory: number, block: Block): RecordedBlock => ({
  memory,
  block: block.whole.number,
  capacity: block.whole.capacity,
  pool: poolOf(block),
  family: block.bin === undefined ? undefined : String(block.bin.family),
  lease: undefined
})

const [leased, kept, released, freed] = (["Leased", "Kept", "Released", "Freed"] as const).map(placeOf)

/** The state of an event's block before the event; null where the block did not exist. */
const before = (row: EventRow, family: string | undefined): RecordedBlock | null => {
  const { kind, memory, values } = row
  if (kind === kept || (kind === leased && row.text(columns.detail) === "driver")) return null
  return {
    memory,
    block: values[columns.block]!,
    capacity: values[columns.capacity]!,
    pool: row.text(columns.pool) ?? "",
    family: kind === leased ? row.text(columns.family) : family,
    lease: undefined
  }
}

/** The state of the place of an event's lease before the event: a lease is there only if the event ends it. */
const leaseBefore = (row: EventRow): NotedLease => {
  const { kind, values } = row
  return {
    block: values[columns.block]!,
    offset: values[columns.offset]!,
    partBytes: values[columns.partBytes]!,
    size: values[columns.size]!,
    label: row.text(columns.label),
    callSite: row.text(columns.callSite),
    isThere: kind === released
  }
}

/** What the events of a ring imply of the blocks and leases before its first event. */
const blocksImplied = (content: RingContent, now: NotedBlocks["blocks"]): NotedBlocks => {
  const { blocks, leases }: NotedBlocks = { blocks: new Map(), leases: new ByPlace() }
  const reader = new EventReader(content)
  while (reader.next()) {
    const { row, row: { kind, values } } = reader
    if (kind !== leased && kind !== kept && kind !== released && kind !== freed) continue
    const block = values[columns.block]!
    const known = blocks.get(block)
    if (known === undefined) blocks.set(block, before(row, now.get(block)?.family))
    else if (kind === leased && known !== null && known.family === undefined) {
      blocks.set(block, { ...known, family: row.text(columns.family) })
    }
    if (known === null || kind === kept || kind === freed) continue
    const offset = values[columns.offset]!
    if (leases.get(block, offset) === undefined) leases.set(block, offset, leaseBefore(row))
  }
  return { blocks, leases }
}

/**
 * The blocks before the first event of a ring, of memories that are open or have closed. This needs no `BlockLedger`: the first
 * event of a block, and of a place in it, implies the state before, and what has no events was as it is now.
 */
export const blocksBefore = (
  content: RingContent,
  memories: Iterable<ObservedMemory>
): ReadonlyArray<RecordedBlock> => {
  const { blocks, leases } = blocksNow(memories)
  const implied = blocksImplied(content, blocks)
  for (const [block, known] of implied.blocks) blocks.set(block, known)
  for (const lease of implied.leases.values()) leases.set(lease.block, lease.offset, lease)
  const parts = new Map<number, Array<NonNullable<RecordedBlock["parts"]>[number]>>()
  for (const { block, callSite, isThere, label, offset, partBytes, size } of leases.values()) {
    const known = isThere ? blocks.get(block) : undefined
    if (known === undefined || known === null) continue
    const lease = { size, label, callSite }
    if (partBytes === 0) blocks.set(block, { ...known, lease })
    else {
      const others = parts.get(block) ?? []
      parts.set(block, others)
      others.push({ offset, partBytes, ...lease })
    }
  }
  return Array.from(blocks.values())
    .filter((block) => block !== null)
    .map((block) => parts.has(block.block) ? { ...block, parts: parts.get(block.block) } : block)
    .sort((a, b) => a.block - b.block)
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
