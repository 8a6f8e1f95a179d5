/**
 * The memory of a pool now, and its counters so far.
 *
 * @since 0.1.0
 */

/**
 * A snapshot of a pool's ledger. Blocks are counted one by one; every other size is in bytes.
 *
 * **Details**
 *
 * It follows the counters of PyOpenCL's `MemoryPool` (held_blocks, active_blocks, managed_bytes, active_bytes) and adds
 * the rest. These hold at all times: `managedBlocks = driverAllocations − driverFrees`, which is `heldBlocks + activeBlocks`
 * where no slab is split, and `managedBytes + pendingBytes` never grows above the pool's limit, and neither does `managedBytes − heldBytes +
 * pendingBytes + reservedBytes`.
 *
 * @category models
 * @since 0.1.0
 */
export type PoolStats = { readonly [Counter in keyof PoolCounters]: PoolCounters[Counter] }

/**
 * Counters that all begin at 0: what a ledger writes, and {@link PoolStats} shows. The owner of a `PoolCore` counts
 * `releaseFailures`, `waiters` and `reservedBytes` in it.
 *
 * **Example** (A ledger of your own)
 *
 * ```ts
 * import { PoolStats } from "effect-gpu-pool"
 *
 * const counters = new PoolStats.PoolCounters()
 * counters.hits++
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export class PoolCounters {
  /** Blocks kept for reuse. */
  heldBlocks = 0
  /** Blocks leased to a live scope. */
  activeBlocks = 0
  /** Blocks that the driver has not got back: the held and active ones, or the slabs that these are parts of. */
  managedBlocks = 0
  /** Capacity of the held blocks, in bytes. */
  heldBytes = 0
  /** Of the held bytes, those beside leases in a slab of an arena: the driver gets them back only when the leases have ended. */
  fragmentedBytes = 0
  /** Bytes that the active leases asked for; their blocks' capacity is `managedBytes − heldBytes`. */
  activeBytes = 0
  /** Capacity of the held and active blocks, in bytes. */
  managedBytes = 0
  /** Bytes of driver allocations under way. */
  pendingBytes = 0
  /** The most bytes that active leases asked for at one time. */
  peakActiveBytes = 0
  /** The most blocks that were active at one time. */
  peakActiveBlocks = 0
  /** The most bytes that were managed at one time. */
  peakManagedBytes = 0
  /** The most blocks that were managed at one time. */
  peakManagedBlocks = 0
  /** Leases served from a held block, borrowed ones included. */
  hits = 0
  /** Hits served from another bin than the request's own, mostly a larger one. */
  borrows = 0
  /** Leases that needed the driver. */
  misses = 0
  /** Blocks that the driver made for the pool. */
  driverAllocations = 0
  /** Blocks that the pool gave back to the driver. */
  driverFrees = 0
  /** Driver errors while a block was released or freed; they cannot fail the scope that closes, so they are counted. */
  releaseFailures = 0
  /** Requests that wait for a release. */
  waiters = 0
  /** Bytes that `BufferPool.reserve` has reserved for running effects, and that they do not use now. */
  reservedBytes = 0
}

/**
 * The share of leases that were served from a held block, from 0 to 1; 0 before the first lease.
 *
 * **Example** (Reporting how well a pool reuses)
 *
 * ```ts
 * import { BufferPool, PoolStats } from "effect-gpu-pool"
 * import { Effect } from "effect"
 *
 * const report = Effect.map(BufferPool.stats, (stats) => `${Math.round(100 * PoolStats.hitRate(stats))} % hits`)
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const hitRate = (stats: Pick<PoolStats, "hits" | "misses">): number => {
  const leases = stats.hits + stats.misses
  return leases === 0 ? 0 : stats.hits / leases
}

/**
 * The counters of several pools, added up; all 0 of none. Peaks are added, too, though the pools may have had theirs at different
 * times: the sum is an upper bound.
 *
 * **Example** (Two pools together)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, PoolStats, StagingPool } from "effect-gpu-pool"
 *
 * const managed = Effect.map(
 *   Effect.all([BufferPool.stats, StagingPool.stats]),
 *   (each) => PoolStats.sum(each).managedBytes
 * )
 * ```
 *
 * @category combinators
 * @since 0.1.0
 */
export const sum = (stats: ReadonlyArray<PoolStats>): PoolStats => {
  const total = { ...none }
  for (const each of stats) {
    for (const counter of names) total[counter] += each[counter]
  }
  return total
}

/** A plain object, of which a copy takes a fraction of what a copy of a class's instance does. */
const none = { ...new PoolCounters() }

const names = Object.keys(none) as ReadonlyArray<keyof PoolStats>

/**
 * The counters in one line, for logs: active, held and managed blocks, and the share of hits. A pool prints the same
 * line.
 *
 * **Example** (One line about a pool)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { BufferPool, PoolStats } from "effect-gpu-pool"
 *
 * BufferPool.allocate(1000).pipe(
 *   Effect.andThen(BufferPool.stats),
 *   Effect.map(PoolStats.format)
 * ) // => "active 1 (1000 B), held 0 (0 B), managed 1024 B, hits 0 of 1"
 * ```
 *
 * @category formatting
 * @since 0.1.0
 */
export const format = (
  stats: Pick<
    PoolStats,
    "activeBlocks" | "activeBytes" | "heldBlocks" | "heldBytes" | "managedBytes" | "hits" | "misses" | "waiters"
  >
): string => {
  const { activeBlocks, activeBytes, heldBlocks, heldBytes, hits, managedBytes, misses, waiters } = stats
  return `active ${activeBlocks} (${activeBytes} B), held ${heldBlocks} (${heldBytes} B), managed ${managedBytes} B, ` +
    `hits ${hits} of ${hits + misses}${waiters === 0 ? "" : `, ${waiters} waiting`}`
}

/**
 * A copy of the counters alone, as they are now.
 *
 * @category getters
 * @since 0.1.0
 */
export const snapshotOf = (counters: PoolStats): PoolStats => {
  const snapshot = { ...none }
  for (const counter of names) snapshot[counter] = counters[counter]
  return snapshot
}

/**
 * The held blocks of one queue, and the leases that it got. They are counted while the device has several queues.
 *
 * @category models
 * @since 0.1.0
 */
export interface QueueStats {
  /** What the queue is called: the label that it was opened with, or "queue 2" and so on. */
  readonly label: string
  /** Held blocks that the queue used last; those that no queue has used count for the first one. */
  readonly heldBlocks: number
  /** Their capacity in bytes. */
  readonly heldBytes: number
  /** Leases of held blocks by programs on the queue. */
  readonly leases: number
  /** Of these, leases of a block that another queue may still use: the first command on it waits for that queue, on the device. */
  readonly waits: number
}
