/**
 * How a pool keeps free memory; and decorators of an Allocator: each takes the one in context, adds one thing, and can stand under any
 * pool.
 *
 * @since 0.1.0
 */

/**
 * How a pool keeps free memory: as blocks, or as slabs that it splits and merges.
 *
 * @category pools
 * @since 0.1.0
 */
export * as PoolStrategy from "./domain/pool/PoolStrategy.ts"

/**
 * An allocator that fails where a test planned it.
 *
 * @category allocators
 * @since 0.1.0
 */
export * as FaultyAllocator from "./services/buffers/allocators/FaultyAllocator.ts"

/**
 * An allocator with a byte limit of its own.
 *
 * @category allocators
 * @since 0.1.0
 */
export * as LimitingAllocator from "./services/buffers/allocators/LimitingAllocator.ts"

/**
 * An allocator that counts bytes and allocations.
 *
 * @category allocators
 * @since 0.1.0
 */
export * as StatisticsAllocator from "./services/buffers/allocators/StatisticsAllocator.ts"

/**
 * An allocator that knows what was not freed.
 *
 * @category allocators
 * @since 0.1.0
 */
export * as TrackingAllocator from "./services/buffers/allocators/TrackingAllocator.ts"
