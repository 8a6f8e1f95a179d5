/**
 * The options of a pool's core.
 *
 * @since 0.1.0
 */
import type * as EvictionPolicy from "./EvictionPolicy.ts"
import type { IdleRule } from "./IdleDecay.ts"
import type { OutgrownOptions } from "./Outgrown.ts"

/**
 * The options of a `PoolCore`.
 *
 * @category models
 * @since 0.1.0
 */
export interface PoolCoreOptions {
  /** The limit on managed and pending bytes together. Default: none. */
  readonly maxBytes?: number | undefined
  /** The limit on held bytes. Default: none. A finite one turns `recency` on. */
  readonly maxHeldBytes?: number | undefined
  /**
   * Whether held blocks are kept in the order of their release too, so that the longest held one can be evicted. It
   * makes hits and releases a little dearer. Default: false.
   */
  readonly recency?: boolean | undefined
  /** How idle blocks are freed, by `PoolCore.idleDecay`. Default: they stay. It turns `recency` on. */
  readonly idle?: IdleRule | undefined
  /**
   * The order in which held blocks go when their memory is needed. Default: `EvictionPolicy.byNeed`. One that asks for
   * ages turns `recency` on.
   */
  readonly eviction?: EvictionPolicy.EvictionPolicy | undefined
  /**
   * Whether blocks that the program has outgrown are freed, and what was known of its sizes before: see
   * `PoolCore.evictOutgrown`. Default: they stay.
   */
  readonly outgrown?: OutgrownOptions | undefined
}
