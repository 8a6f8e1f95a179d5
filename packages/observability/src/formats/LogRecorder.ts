/**
 * Makes a recording from another allocator's log: each allocation becomes a lease, and what existed before the log becomes an early
 * block. A segment that was never divided is one block, which the allocator keeps for reuse; each part of a divided one is a block of
 * its own, made for its lease and freed after it.
 *
 * @internal
 */
import type { FreeReason, Happened, OfRequest, Released } from "effect-gpu-pool/PoolEvent"
import * as Effect from "effect/Effect"
import type { RecordedBlock, RecordedMemory, Recording } from "../recording/Recording.ts"
import { RecordingBuilder } from "../recording/RecordingBuilder.ts"
import type { AllocatorLog, LastLease, LogEntry } from "./AllocatorLog.ts"
import { type Segment, Segments } from "./Segments.ts"

/** Other tools log no usage: all blocks of an import are of one family, so a request can get any that is large enough. */
const family = "imported"

/** A block with a lease. */
interface Leased {
  readonly block: number
  readonly size: number
  readonly capacity: number
  readonly label: string | undefined
  readonly callSite: string | undefined
  readonly pool: string
  readonly segment: Segment | undefined
}

/** One device of the log. */
class ImportedMemory {
  readonly number: number
  readonly device: string
  readonly leases = new Map<number, Leased>()
  /** The block size of each requested size, by pool. */
  readonly sizes = new Map<string, Map<number, number>>()
  activeBytes = 0
  heldBytes = 0

  constructor(number: number, device: string) {
    this.number = number
    this.device = device
  }

  asked(pool: string, size: number, capacity: number): void {
    const sizes = this.sizes.get(pool) ?? new Map<number, number>()
    this.sizes.set(pool, sizes.set(size, capacity))
  }

  happened(at: number): Happened {
    return { at, memory: undefined, memoryNumber: this.number, device: this.device }
  }

  get recorded(): RecordedMemory {
    return {
      number: this.number,
      device: this.device,
      kind: "pool",
      maxBytes: Number.POSITIVE_INFINITY,
      maxHeldBytes: Number.POSITIVE_INFINITY,
      maxBypasses: Number.POSITIVE_INFINITY,
      deadlockTimeoutMillis: Number.POSITIVE_INFINITY
    }
  }
}

class LogRecorder {
  readonly #log: AllocatorLog
  readonly #entries: ReadonlyArray<LogEntry>
  readonly #segments: Segments
  readonly #builder = new RecordingBuilder()
  readonly #memories = new Map<string, ImportedMemory>()
  readonly #blocks: Array<RecordedBlock> = []
  #lastBlock = 0
  #lastRequest = 0
  #lastTime = 0

  constructor(log: AllocatorLog) {
    this.#log = log
    this.#entries = log.inOrder()
    this.#segments = new Segments(log, this.#entries)
  }

  /** The recording of the whole log. The recorder must not be used afterwards. */
  record(source: string): Recording {
    this.#before()
    for (const [place, entry] of this.#entries.entries()) {
      this.#lastTime = entry.at
      if (this.#segments.before.unknown.has(entry)) this.#log.leaveOut("frees of what is not allocated", entry.where)
      else this.#take(entry, place)
    }
    return this.#builder.build({
      source,
      reason: "imported",
      takenAt: this.#lastTime,
      dropped: 0,
      memories: Array.from(this.#memories.values(), ({ recorded }) => recorded),
      families: Array.from(this.#memories.values()).flatMap((memory) =>
        Array.from(memory.sizes, ([pool, sizes]) => ({
          memory: memory.number,
          pool,
          family,
          clears: false,
          sizes: Array.from(sizes, ([size, capacity]) => [size, capacity, capacity, capacity] as const)
        }))
      ),
      budgets: [],
      blocks: this.#blocks
    })
  }

  #memoryOf(device: string): ImportedMemory {
    const memory = this.#memories.get(device) ?? new ImportedMemory(this.#memories.size + 1, device)
    this.#memories.set(device, memory)
    return memory
  }

  #before(): void {
    for (const lease of this.#segments.before.leases) this.#leaseBefore(lease)
    for (const segment of this.#segments.before.segments) {
      if (segment.divided || segment.block !== 0) continue
      segment.block = ++this.#lastBlock
      const memory = this.#memoryOf(segment.device)
      memory.heldBytes += segment.size
      this.#blocks.push({
        memory: memory.number,
        block: segment.block,
        capacity: segment.size,
        pool: defaultPool,
        family,
        lease: undefined
      })
    }
  }

  #leaseBefore(lease: LastLease): void {
    const { callSite, device, label, pool, size } = lease
    const memory = this.#memoryOf(device)
    const segment = wholeOf(this.#segments.ofLeaseBefore(lease))
    const capacity = capacityOf(lease, segment)
    const block = ++this.#lastBlock
    if (segment !== undefined) segment.block = block
    memory.leases.set(lease.address, { block, size, capacity, label, callSite, pool, segment })
    memory.activeBytes += capacity
    memory.asked(pool, size, capacity)
    this.#blocks.push({ memory: memory.number, block, capacity, pool, family, lease: { size, label, callSite } })
  }

  #take(entry: LogEntry, place: number): void {
    const memory = this.#memoryOf(entry.device)
    const segment = wholeOf(this.#segments.of(entry))
    if (entry.action === "alloc") this.#alloc(memory, entry, segment)
    else if (entry.action === "free") this.#release(memory, entry)
    else if (entry.action === "failure") this.#fail(memory, entry)
    else if (entry.action === "segmentFree") this.#freeSegment(memory, entry, segment)
    else this.#beginSegment(memory, entry, segment, place)
  }

  #alloc(memory: ImportedMemory, entry: LogEntry, segment: Segment | undefined): void {
    if (memory.leases.has(entry.address)) {
      this.#log.leaveOut("allocations of what was not freed, which end the one before", entry.where)
      this.#release(memory, entry)
    }
    const isHeld = segment !== undefined && segment.block !== 0
    const block = isHeld ? segment.block : ++this.#lastBlock
    if (segment !== undefined) segment.block = block
    const capacity = capacityOf(entry, segment)
    const { callSite, label, pool, size } = entry
    memory.leases.set(entry.address, { block, size, capacity, label, callSite, pool, segment })
    memory.activeBytes += capacity
    if (isHeld) memory.heldBytes -= capacity
    memory.asked(pool, size, capacity)
    const from = isHeld ? "held" : "driver"
    this.#builder.add({ _tag: "Leased", ...this.#request(memory, entry), from, block, capacity })
  }

  #release(memory: ImportedMemory, { address, at }: LogEntry): void {
    const lease = memory.leases.get(address)
    if (lease === undefined) return
    memory.leases.delete(address)
    const { block, callSite, capacity, label, pool, segment, size } = lease
    memory.activeBytes -= capacity
    memory.heldBytes += capacity
    const why: Released["why"] = "released"
    this.#builder.add({ _tag: "Released", ...memory.happened(at), pool, block, size, capacity, label, callSite, why })
    if (segment === undefined) this.#free(memory, at, { pool, block, capacity }, "notKept")
  }

  #free(memory: ImportedMemory, at: number, block: Pick<Leased, "pool" | "block" | "capacity">, why: FreeReason): void {
    memory.heldBytes -= block.capacity
    const { capacity, pool } = block
    this.#builder.add({ _tag: "Freed", ...memory.happened(at), pool, block: block.block, capacity, why })
  }

  #fail(memory: ImportedMemory, entry: LogEntry): void {
    const { activeBytes, heldBytes } = memory
    this.#builder.add({ _tag: "RanOut", ...this.#request(memory, entry), stepsTried: [], activeBytes, heldBytes })
  }

  #freeSegment(memory: ImportedMemory, entry: LogEntry, segment: Segment | undefined): void {
    if (segment === undefined || segment.block === 0) return
    this.#release(memory, { ...entry, address: segment.address })
    this.#free(memory, entry.at, { pool: entry.pool, block: segment.block, capacity: segment.size }, "trimmed")
  }

  #beginSegment(memory: ImportedMemory, entry: LogEntry, segment: Segment | undefined, place: number): void {
    for (const ended of this.#segments.endedAt(entry)) this.#freeSegment(memory, entry, wholeOf(ended))
    if (segment === undefined || this.#isLeasedNext(segment, entry.device, place)) return
    const block = segment.block = ++this.#lastBlock
    memory.heldBytes += segment.size
    this.#builder.add({ _tag: "Kept", ...this.#request(memory, entry), block, capacity: segment.size })
  }

  /** Whether the device's next entry is a lease of this segment: then the segment was made for it. */
  #isLeasedNext(segment: Segment, device: string, place: number): boolean {
    for (let at = place + 1; at < this.#entries.length; at++) {
      const next = this.#entries[at]!
      if (next.device === device) return next.action === "alloc" && this.#segments.of(next) === segment
    }
    return false
  }

  #request(memory: ImportedMemory, { at, callSite, label, pool, queue, size }: LogEntry): OfRequest {
    return {
      ...memory.happened(at),
      pool,
      request: ++this.#lastRequest,
      family,
      size,
      label,
      budget: undefined,
      budgetNumber: undefined,
      queue,
      callSite,
      waitAtMost: 0,
      under: undefined
    }
  }
}

/** The pool of blocks for which a log names none. */
export const defaultPool = "BufferPool"

/** The segment if it is a block, undefined if it is divided. */
const wholeOf = (segment: Segment | undefined): Segment | undefined => segment?.divided === true ? undefined : segment

const capacityOf = ({ capacity, size }: LastLease, segment: Segment | undefined): number =>
  segment?.size ?? (Number.isNaN(capacity) ? size : capacity)

/** The recording of a log. A warning lists what it leaves out. */
export const recordingOf = (log: AllocatorLog, source: string): Effect.Effect<Recording> => {
  const recording = new LogRecorder(log).record(source)
  return Effect.as(log.warning, recording)
}
