/**
 * Scoped, pooled GPU buffers for Effect programs, whatever the backend.
 *
 * @since 0.1.0
 */

/**
 * Where a pool gets device memory from; buffers without a pool.
 *
 * @category pools
 * @since 0.1.0
 */
export * as Allocator from "./services/buffers/Allocator.ts"

/**
 * The pool: scoped leases on memory that is kept and reused.
 *
 * @category pools
 * @since 0.1.0
 */
export * as BufferPool from "./services/buffers/BufferPool.ts"

/**
 * What a buffer may be used for, as flags.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as BufferUsage from "./domain/BufferUsage.ts"

/**
 * Where in a program memory was asked for.
 *
 * @category errors
 * @since 0.1.0
 */
export * as CallSite from "./services/calls/CallSite.ts"

/**
 * Ordered work on a device: writes, reads, copies, fills, kernels.
 *
 * @category commands
 * @since 0.1.0
 */
export * as CommandQueue from "./services/queue/CommandQueue.ts"

/**
 * The element types of kernels.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as DType from "./domain/data/DType.ts"

/**
 * One open device.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceContext from "./services/device/DeviceContext.ts"

/**
 * The memory of a device, shared by several pools.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as DeviceMemory from "./services/pool/DeviceMemory.ts"

/**
 * Which held block a pool evicts next when it needs memory.
 *
 * @category pools
 * @since 0.1.0
 */
export * as EvictionPolicy from "./domain/pool/EvictionPolicy.ts"

/**
 * The one error, and its reasons.
 *
 * @category errors
 * @since 0.1.0
 */
export * as GpuError from "./domain/GpuError.ts"

/**
 * Kernel definitions: arguments, and a body per language.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as Kernel from "./domain/kernel/Kernel.ts"

/**
 * The arguments of kernels.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as KernelArgument from "./domain/kernel/KernelArgument.ts"

/**
 * The lease on pooled memory of any kind, and how to end or move it.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as Lease from "./services/lease/Lease.ts"

/**
 * Values that hold leases and move with them.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as LeaseHolder from "./services/lease/LeaseHolder.ts"

/**
 * Device memory as typed arrays of the host.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as Mapping from "./services/buffers/mapping/Mapping.ts"

/**
 * Buffers made from the program's own data, and where the memory of buffers is.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as MemoryObjects from "./services/queue/MemoryObjects.ts"

/**
 * A pool's counters, and what follows from them.
 *
 * @category pools
 * @since 0.1.0
 */
export * as PoolStats from "./domain/pool/PoolStats.ts"

/**
 * Positions in a queue, to wait for.
 *
 * @category commands
 * @since 0.1.0
 */
export * as QueueEvent from "./services/device/QueueEvent.ts"

/**
 * Programs that survive a lost device: the next effect runs on a fresh one.
 *
 * @category devices
 * @since 0.1.0
 */
export * as Reconnecting from "./services/backend/reconnecting/Reconnecting.ts"

/**
 * How far a program may be ahead of its device.
 *
 * @category commands
 * @since 0.1.0
 */
export * as Backpressure from "./services/queue/Backpressure.ts"

/**
 * Which held blocks a request may get that other queues have used.
 *
 * @category pools
 * @since 0.1.0
 */
export * as ReusePolicy from "./domain/pool/ReusePolicy.ts"

/**
 * How a request's bytes become the bytes of its block.
 *
 * @category pools
 * @since 0.1.0
 */
export * as SizePolicy from "./domain/pool/SizePolicy.ts"

/**
 * Pools of staging memory, which the program maps: page-locked memory where a driver has that.
 *
 * @category pools
 * @since 0.1.0
 */
export * as StagingPool from "./services/staging/StagingPool.ts"

/**
 * Parts of a buffer that are buffers themselves.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as SubRegion from "./services/buffers/SubRegion.ts"

/**
 * Streams of data to and from device memory.
 *
 * @category commands
 * @since 0.1.0
 */
export * as Transfers from "./services/staging/Transfers.ts"
