/**
 * What became of the requests of a recording when they were replayed.
 *
 * @since 0.1.0
 */
import type { GpuError } from "effect-gpu-pool/GpuError"
import type { OfRequest } from "effect-gpu-pool/PoolEvent"
import type { EventRow } from "../recording/EventRow.ts"
import { columns, kinds } from "../recording/EventShape.ts"
import type { Recording } from "../recording/Recording.ts"

/**
 * A request that got nothing. Sizes are bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface FailedRequest {
  /** Its number in the recording. */
  readonly request: number
  readonly size: number
  readonly pool: string
  readonly label: string | undefined
  readonly callSite: string | undefined
  /** When it was made in the recording, and when it failed in the replay, in milliseconds since 1970. */
  readonly madeAt: number
  readonly failedAt: number
  /** The reason of its error, such as `"OutOfMemory"`; `"NeverServed"` if it was served in the recording but still waits at the replay's end. */
  readonly why: string
}

/**
 * The result of a replay. Sizes are bytes, over all memories of the recording; times are milliseconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReplayReport {
  /** Leases that were granted; by held blocks (hits), by blocks of other bins among those (borrows), and by the driver (misses). */
  readonly leases: number
  readonly hits: number
  readonly borrows: number
  readonly misses: number
  /** Hits among the leases, from 0 to 1; 1 where there are none. */
  readonly hitRate: number
  /** Held blocks that were freed because other requests needed their bytes. */
  readonly evictions: number
  readonly evictedBytes: number
  readonly driverAllocations: number
  readonly driverFrees: number
  /** Allocations that the driver refused. */
  readonly refusals: number
  /** The most bytes that leases asked for at one time, and when that was first so. */
  readonly peakActiveBytes: number
  readonly peakActiveAt: number
  /** The most bytes of blocks, leased and held, and when that was first so. */
  readonly peakManagedBytes: number
  readonly peakManagedAt: number
  /**
   * The part of the managed bytes at their peak, from 0 to 1, that no lease had asked for: held blocks, and what blocks are larger
   * than the requests that have them.
   */
  readonly fragmentation: number
  /** How often requests waited in the wait queue, for how long together, and the longest time. */
  readonly waits: number
  readonly waitedMillis: number
  readonly longestWaitMillis: number
  /** The requests that failed, in the order of their failures. */
  readonly failed: ReadonlyArray<FailedRequest>
  /**
   * Under the recorded policy: how many events are as recorded before the first that differs, or undefined where none differs.
   * All members of events are compared; blocks have other numbers, but must correspond. Undefined under another policy.
   */
  readonly differsAt: number | undefined
  /**
   * What the replay did, as a recording under the policy that was replayed: requests have the numbers that they have in the other one,
   * blocks have their own.
   */
  readonly recording: Recording
}

/** @internal */
export type Reason = GpuError["reason"]["_tag"]

/** A request that failed in the replay. @internal */
export interface Failed {
  readonly asked: OfRequest
  /** The reason of its error, or that the recording ends before it was served. */
  readonly why: Reason | "NeverServed"
  readonly at: number
}

/** @internal */
export const failedRequest = ({ asked, at, why }: Failed): FailedRequest => {
  const { callSite, label, pool, request, size } = asked
  return { request, size, pool, label, callSite, madeAt: asked.at, failedAt: at, why }
}

type Counts = Omit<ReplayReport, "differsAt" | "failed" | "recording">

type Totals = Omit<Counts, "fragmentation" | "hitRate">

/** The counts of a replay: a fold over its events. @internal */
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

/** @internal */
export const reportOf = (
  { failures, tally }: { readonly failures: ReadonlyArray<Failed>; readonly tally: Tally },
  recording: Recording,
  differsAt: number | undefined
): ReplayReport => ({
  ...tally.counts,
  differsAt,
  failed: failures.map(failedRequest),
  recording
})
