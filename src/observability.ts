/**
 * Seeing memory: what pools do, as it happens.
 *
 * @since 0.1.0
 */

/**
 * What happens to the memory of pools, as data.
 *
 * @category events
 * @since 0.1.0
 */
export * as PoolEvent from "./domain/pool/PoolEvent.ts"

/**
 * What happens to the memory of pools, as it happens.
 *
 * @category events
 * @since 0.1.0
 */
export * as PoolEvents from "./observability/events/PoolEvents.ts"

/**
 * Functions that pools call when they lease, take back and free.
 *
 * @category events
 * @since 0.1.0
 */
export * as MemoryHook from "./observability/events/MemoryHook.ts"

/**
 * What happened to the memory of a program, kept.
 *
 * @category recordings
 * @since 0.1.0
 */
export * as Recording from "./observability/recording/Recording.ts"
