/**
 * The counts of a replay: a fold over its events.
 *
 * @internal
 */
import type { EventRow } from "../recording/EventRow.ts"
import { columns, kinds } from "../recording/EventShape.ts"
import type { Counts } from "./ReplayReport.ts"

type Totals = Omit<Counts, "fragmentation" | "hitRate">

export class Tally {
  readonly totals: { -readonly [K in keyof Totals]: number } = {
    leases: 0,
    hits: 0,
    borrows: 0,
    misses: 0,
    evictions: 0,
    evictedBytes: 0,
    driverAllocations: 0,
    driverFrees: 0,
    refusals: 0,
    peakActiveBytes: 0,
    peakActiveAt: 0,
    peakManagedBytes: 0,
    peakManagedAt: 0,
    waits: 0,
    waitedMillis: 0,
    longestWaitMillis: 0
  }
  #activeBytes = 0
  #managedBytes = 0
  /** The active bytes at the peak of managed bytes. */
  #activeAtPeak = 0
  /** The requests that wait now. */
  readonly #waiting = new Set<number>()

  /** Counts the next event of the replay. */
  take(row: EventRow): void {
    const { totals } = this
    const { at, kind, values } = row
    const capacity = values[columns.capacity]!
    const size = values[columns.size]!
    const request = values[columns.request]!
    switch (kinds[kind]!.tag) {
      case "Leased":
        return this.#leased(row, size, capacity)
      case "Kept":
        return this.#made(at, capacity)
      case "Released":
        this.#activeBytes -= size
        return
      case "Freed":
        return this.#freed(row, capacity)
      case "Refused":
        totals.refusals++
        return
      case "Waiting":
        if (!this.#waiting.has(request)) totals.waits++
        this.#waiting.add(request)
        return
      case "Waited":
        this.#waiting.delete(request)
        totals.waitedMillis += capacity
        totals.longestWaitMillis = Math.max(totals.longestWaitMillis, capacity)
    }
  }

  #leased(row: EventRow, size: number, capacity: number): void {
    const { totals } = this
    const from = row.text(columns.detail)
    totals.leases++
    if (from === "driver") {
      totals.misses++
      this.#made(row.at, capacity)
    } else totals.hits++
    if (from === "borrowed") totals.borrows++
    this.activate(row.at, size)
    if (this.#managedBytes === totals.peakManagedBytes) {
      this.#activeAtPeak = Math.max(this.#activeAtPeak, this.#activeBytes)
    }
  }

  #made(at: number, capacity: number): void {
    this.totals.driverAllocations++
    this.manage(at, capacity)
  }

  #freed(row: EventRow, capacity: number): void {
    const { totals } = this
    this.#managedBytes -= capacity
    totals.driverFrees++
    if (row.text(columns.detail) !== "evicted") return
    totals.evictions++
    totals.evictedBytes += capacity
  }

  /** Adds to the active bytes. */
  activate(at: number, size: number): void {
    const { totals } = this
    this.#activeBytes += size
    if (this.#activeBytes <= totals.peakActiveBytes) return
    totals.peakActiveBytes = this.#activeBytes
    totals.peakActiveAt = at
  }

  /** Adds to the managed bytes. */
  manage(at: number, capacity: number): void {
    const { totals } = this
    this.#managedBytes += capacity
    if (this.#managedBytes <= totals.peakManagedBytes) return
    totals.peakManagedBytes = this.#managedBytes
    totals.peakManagedAt = at
    this.#activeAtPeak = this.#activeBytes
  }

  /** The counts for a report. */
  get counts(): Counts {
    const { totals, totals: { hits, leases, peakManagedBytes } } = this
    return {
      ...totals,
      hitRate: leases === 0 ? 1 : hits / leases,
      fragmentation: peakManagedBytes === 0 ? 0 : (peakManagedBytes - this.#activeAtPeak) / peakManagedBytes
    }
  }
}
