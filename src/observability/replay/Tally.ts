/**
 * What a replay counts.
 *
 * @internal
 */
import type { Origin } from "../../domain/pool/machine/Reservation.ts"
import type { FreeReason, OfRequest } from "../../domain/pool/PoolEvent.ts"

export class Tally {
  readonly #now: () => number
  activeBytes = 0
  managedBytes = 0
  peakActiveBytes = 0
  peakManagedBytes = 0
  peakActiveAt = 0
  peakManagedAt = 0
  /** What was leased at the peak of managed bytes. */
  activeAtPeak = 0
  leases = 0
  hits = 0
  borrows = 0
  misses = 0
  evictions = 0
  evictedBytes = 0
  driverAllocations = 0
  driverFrees = 0
  refusals = 0
  waits = 0
  waitedMillis = 0
  longestWaitMillis = 0
  readonly #since = new Map<number, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  leased({ size }: OfRequest, capacity: number, from: Origin): void {
    this.leases++
    if (from === "driver") {
      this.misses++
      this.#make(capacity)
    } else this.hits++
    if (from === "borrowed") this.borrows++
    this.activate(size)
    if (this.managedBytes === this.peakManagedBytes) {
      this.activeAtPeak = Math.max(this.activeAtPeak, this.activeBytes)
    }
  }

  activate(size: number): void {
    this.activeBytes += size
    if (this.activeBytes <= this.peakActiveBytes) return
    this.peakActiveBytes = this.activeBytes
    this.peakActiveAt = this.#now()
  }

  manage(capacity: number): void {
    this.managedBytes += capacity
    if (this.managedBytes <= this.peakManagedBytes) return
    this.peakManagedBytes = this.managedBytes
    this.peakManagedAt = this.#now()
    this.activeAtPeak = this.activeBytes
  }

  #make(capacity: number): void {
    this.driverAllocations++
    this.manage(capacity)
  }

  kept(capacity: number): void {
    this.#make(capacity)
  }

  released(size: number): void {
    this.activeBytes -= size
  }

  freed(capacity: number, why: FreeReason): void {
    this.managedBytes -= capacity
    this.driverFrees++
    if (why !== "evicted") return
    this.evictions++
    this.evictedBytes += capacity
  }

  waiting({ request }: OfRequest): void {
    this.waits++
    this.#since.set(request, this.#now())
  }

  waited({ request }: OfRequest): void {
    const since = this.#since.get(request)
    if (since === undefined) return
    this.#since.delete(request)
    const millis = this.#now() - since
    this.waitedMillis += millis
    this.longestWaitMillis = Math.max(this.longestWaitMillis, millis)
  }
}
