/**
 * Decides which segments of an allocator's log are blocks: those that were never divided. A pool of this library leases whole blocks;
 * other allocators divide what they get from the driver.
 *
 * @internal
 */
import { above } from "../Bisection.ts"
import type { AllocatorLog, LastLease, LogEntry } from "./AllocatorLog.ts"

/** A segment from its allocation to its end. */
export interface Segment {
  readonly device: string
  readonly address: number
  readonly size: number
  /** Whether leases have taken parts of it. */
  divided: boolean
  /** The number of its block, once that has one. */
  block: number
}

/** Segments of one device by address. No two overlap. */
class SegmentIndex {
  readonly #addresses: Array<number> = []
  readonly #segments: Array<Segment> = []

  /** The segment that an address lies in. */
  at(address: number): Segment | undefined {
    const segment = this.#segments[above(this.#addresses, address) - 1]
    return segment !== undefined && address < segment.address + Math.max(1, segment.size) ? segment : undefined
  }

  /** Adds a segment. Returns those that it overlaps: they must have ended, though the log does not say so. */
  add(segment: Segment): ReadonlyArray<Segment> {
    const end = segment.address + Math.max(1, segment.size)
    const before = above(this.#addresses, segment.address)
    const first = this.at(segment.address) === undefined ? before : before - 1
    const overlapping = above(this.#addresses, end - 1) - first
    this.#addresses.splice(first, overlapping, segment.address)
    return this.#segments.splice(first, overlapping, segment)
  }

  remove(segment: Segment): void {
    const place = above(this.#addresses, segment.address) - 1
    if (this.#segments[place] !== segment) return
    this.#addresses.splice(place, 1)
    this.#segments.splice(place, 1)
  }
}

/** What existed before the first entry: the log ends it, or has it at its end, without a beginning. */
interface Before {
  readonly segments: ReadonlyArray<Segment>
  readonly leases: ReadonlyArray<LastLease>
  /** The frees of what did not exist. */
  readonly unknown: ReadonlySet<LogEntry>
}

interface Place {
  readonly device: string
  readonly address: number
}

/** Which leases or segments exist at a point in the log. */
class Present {
  readonly #devices = new Map<string, Map<number, boolean>>()
  /** The entries that end what existed before the log. */
  readonly before: Array<LogEntry> = []

  #of(device: string): Map<number, boolean> {
    const known = this.#devices.get(device)
    if (known !== undefined) return known
    const made = new Map<number, boolean>()
    this.#devices.set(device, made)
    return made
  }

  begin({ address, device }: Place): void {
    this.#of(device).set(address, true)
  }

  /** Ends it. Returns whether it existed, or may have since before the log. */
  end(entry: LogEntry): boolean {
    const present = this.#of(entry.device)
    const was = present.get(entry.address)
    if (was === undefined) this.before.push(entry)
    present.set(entry.address, false)
    return was !== false
  }

  /** Whether the log has no entry of it. */
  hasNoEntryOf({ address, device }: Place): boolean {
    return !this.#of(device).has(address)
  }
}

const beforeOf = (log: AllocatorLog, entries: ReadonlyArray<LogEntry>): Before => {
  const leases = new Present()
  const segments = new Present()
  const unknown = new Set<LogEntry>()
  for (const entry of entries) {
    const { action } = entry
    if (action === "failure") continue
    const present = action === "alloc" || action === "free" ? leases : segments
    if (action === "alloc" || action === "segmentAlloc") present.begin(entry)
    else if (!present.end(entry)) unknown.add(entry)
  }
  const lastSegments = log.lastSegments.filter((last) => segments.hasNoEntryOf(last))
  const lastLeases = log.lastLeases.filter((last) => leases.hasNoEntryOf(last))
  return {
    segments: [...segments.before, ...lastSegments].map(newSegment),
    leases: [...leases.before, ...lastLeases],
    unknown
  }
}

const newSegment = ({ address, device, size }: Pick<Segment, "device" | "address" | "size">): Segment => ({
  device,
  address,
  size,
  divided: false,
  block: 0
})

/** The segments of a log, and which entries belong to which. */
export class Segments {
  readonly before: Before
  readonly #indexes = new Map<string, SegmentIndex>()
  readonly #ofEntries = new Map<LogEntry, Segment>()
  readonly #ended = new Map<LogEntry, ReadonlyArray<Segment>>()
  readonly #ofLeasesBefore = new Map<LastLease, Segment>()

  constructor(log: AllocatorLog, entries: ReadonlyArray<LogEntry>) {
    this.before = beforeOf(log, entries)
    for (const segment of this.before.segments) this.#indexOf(segment.device).add(segment)
    for (const lease of this.before.leases) {
      const segment = this.#divide(lease)
      if (segment !== undefined) this.#ofLeasesBefore.set(lease, segment)
    }
    for (const entry of entries) if (!this.before.unknown.has(entry)) this.#take(entry)
  }

  /** The segment that an entry is about. */
  of(entry: LogEntry): Segment | undefined {
    return this.#ofEntries.get(entry)
  }

  ofLeaseBefore(lease: LastLease): Segment | undefined {
    return this.#ofLeasesBefore.get(lease)
  }

  /** The segments that must have ended when the segment of this entry began. */
  endedAt(entry: LogEntry): ReadonlyArray<Segment> {
    return this.#ended.get(entry) ?? []
  }

  #indexOf(device: string): SegmentIndex {
    const index = this.#indexes.get(device) ?? new SegmentIndex()
    this.#indexes.set(device, index)
    return index
  }

  /** The segment that contains a lease; marked as divided if the lease does not fill it, as far as the log says. */
  #divide({ address, capacity, device, size }: LastLease): Segment | undefined {
    const segment = this.#indexes.get(device)?.at(address)
    if (segment === undefined) return undefined
    const isPart = Number.isNaN(capacity) ? size > segment.size : capacity !== segment.size
    if (address !== segment.address || isPart) segment.divided = true
    return segment
  }

  #take(entry: LogEntry): void {
    if (entry.action === "failure") return
    const index = this.#indexes.get(entry.device)
    if (entry.action === "segmentAlloc") return this.#begin(entry)
    const segment = entry.action === "segmentFree" ? index?.at(entry.address) : this.#divide(entry)
    if (segment === undefined) return
    this.#ofEntries.set(entry, segment)
    if (entry.action === "segmentFree") index?.remove(segment)
  }

  #begin(entry: LogEntry): void {
    const segment = newSegment(entry)
    const ended = this.#indexOf(entry.device).add(segment)
    this.#ofEntries.set(entry, segment)
    if (ended.length > 0) this.#ended.set(entry, ended)
  }
}
