/**
 * Eviction policies: which held block a pool gives back next when it needs memory.
 *
 * A policy is plain data, not a function as a size policy has one: blocks are evicted while other fibers release and
 * while a pool closes, where nobody could handle an error of the program's function.
 *
 * @since 0.1.0
 */
/**
 * An order in which held blocks go. The policy of the same name says what it does.
 *
 * @category models
 * @since 0.1.0
 */
export type EvictionOrder = "byNeed" | "largestFirst" | "oldestFirst" | "leastRecentlyUsed"

/**
 * The order in which held blocks go: one order for when it is known how many bytes are missing (under a limit, in
 * `trimTo`), and one for when that is unknown (after the driver refused, in `freeHeld`).
 *
 * **Details**
 *
 * A policy never decides how much goes: blocks go one at a time, and only until what is missing is there.
 *
 * **Example** (A policy of your own)
 *
 * ```ts
 * import { BufferPool, type EvictionPolicy } from "effect-gpu-pool"
 *
 * const eviction: EvictionPolicy.EvictionPolicy = {
 *   name: "by need, else by age",
 *   whenKnown: "byNeed",
 *   whenUnknown: "oldestFirst"
 * }
 * const pool = BufferPool.layer({ maxBytes: "512 MiB", eviction })
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface EvictionPolicy {
  /** Says which policy this is, in tables and in the titles of tests. */
  readonly name: string
  /** What goes next while so many bytes are missing. */
  readonly whenKnown: EvictionOrder
  /** What goes next while nobody knows how much is missing. */
  readonly whenUnknown: EvictionOrder
}

const simple = (order: EvictionOrder): EvictionPolicy => ({ name: order, whenKnown: order, whenUnknown: order })

/**
 * The pool's default: the smallest block that covers what is missing goes, or else the largest. Where nobody knows how
 * much is missing, the largest goes. It evicts as few blocks as cover what is missing.
 *
 * **Example** (One block for all that is missing)
 *
 * ```ts
 * import { EvictionPolicy } from "effect-gpu-pool"
 * import { PoolCore } from "effect-gpu-pool/machine"
 *
 * const core = new PoolCore.PoolCore<string>({ eviction: EvictionPolicy.byNeed })
 * for (const bytes of [10, 20, 40]) {
 *   core.addPending(bytes)
 *   core.addHeld(0, bytes, `${bytes} bytes`)
 * }
 * core.evictNext(15)?.value // => "20 bytes"
 * core.evictNext(15)?.value // => "40 bytes"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const byNeed: EvictionPolicy = simple("byNeed")

/**
 * The largest block goes, whatever is missing, as in PyOpenCL's pool. It keeps many small blocks rather than a few large
 * ones.
 *
 * **Example** (The largest, though less is missing)
 *
 * ```ts
 * import { EvictionPolicy } from "effect-gpu-pool"
 * import { PoolCore } from "effect-gpu-pool/machine"
 *
 * const core = new PoolCore.PoolCore<string>({ eviction: EvictionPolicy.largestFirst })
 * for (const bytes of [10, 20, 40]) {
 *   core.addPending(bytes)
 *   core.addHeld(0, bytes, `${bytes} bytes`)
 * }
 * core.evictNext(15)?.value // => "40 bytes"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const largestFirst: EvictionPolicy = simple("largestFirst")

/**
 * The block goes that was released the longest ago, whatever its size. Since a block is not used while it is held, this
 * is what caches of blocks, as those of MLX and PyTorch, call least recently used.
 *
 * **Details**
 *
 * A bin hands out the block that it got back last. So the blocks that go first are spares: those that a peak left and
 * that nobody has needed since, in bins that are in use as well. A pool with this policy keeps its blocks in the order of
 * their release, which makes hits and releases a little dearer.
 *
 * **Example** (A spare goes before what another size has left)
 *
 * ```ts
 * import { EvictionPolicy } from "effect-gpu-pool"
 * import { PoolCore } from "effect-gpu-pool/machine"
 *
 * const core = new PoolCore.PoolCore<string>({ eviction: EvictionPolicy.oldestFirst })
 * for (const [bytes, value] of [[10, "a spare"], [10, "another"], [20, "of another size"]] as const) {
 *   core.addPending(bytes)
 *   core.addHeld(0, bytes, value)
 * }
 * const lease = core.acquire(0, 10, 10, 10)
 * if (lease !== undefined) core.release(lease)
 * core.evictNext(5)?.value // => "a spare"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const oldestFirst: EvictionPolicy = simple("oldestFirst")

/**
 * A block of the bin goes that was not used for the longest time. A bin, which is a usage and a block size, is used when
 * a block of it is handed out or comes back.
 *
 * **Details**
 *
 * All spares of a size that the program no longer uses go before the first one of a size that it still uses, however long
 * that one has been held. Within a bin, whose blocks are interchangeable, the block that came back last goes first. A pool
 * with this policy keeps its blocks and its bins in order, which makes hits and releases a little dearer.
 *
 * **Example** (What another size has left goes before a spare)
 *
 * ```ts
 * import { EvictionPolicy } from "effect-gpu-pool"
 * import { PoolCore } from "effect-gpu-pool/machine"
 *
 * const core = new PoolCore.PoolCore<string>({ eviction: EvictionPolicy.leastRecentlyUsed })
 * for (const [bytes, value] of [[10, "a spare"], [10, "another"], [20, "of another size"]] as const) {
 *   core.addPending(bytes)
 *   core.addHeld(0, bytes, value)
 * }
 * const lease = core.acquire(0, 10, 10, 10)
 * if (lease !== undefined) core.release(lease)
 * core.evictNext(5)?.value // => "of another size"
 * ```
 *
 * @category policies
 * @since 0.1.0
 */
export const leastRecentlyUsed: EvictionPolicy = simple("leastRecentlyUsed")
