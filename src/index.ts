/**
 * Scoped, pooled GPU buffers for Effect programs, whatever the backend.
 *
 * @since 0.1.0
 */

/**
 * What a buffer may be used for, as flags.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as BufferUsage from "./domain/BufferUsage.ts"

/**
 * The memory of a device, shared by several pools.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as DeviceMemory from "./services/pool/DeviceMemory.ts"

/**
 * What is known of an open device.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceInfo from "./domain/device/DeviceInfo.ts"

/**
 * Whether a device is alive or lost.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceStatus from "./domain/device/DeviceStatus.ts"

/**
 * Counts of what a driver has given and got back.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DriverObjects from "./domain/device/DriverObjects.ts"

/**
 * The element types of kernels.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as DType from "./domain/data/DType.ts"

/**
 * Which held block a pool gives back next when it needs memory.
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
 * Data of the host program on its way to a device.
 *
 * @category commands
 * @since 0.1.0
 */
export * as HostData from "./domain/data/HostData.ts"

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
 * Byte limits: bytes, sizes with units, shares of a device's memory.
 *
 * @category pools
 * @since 0.1.0
 */
export * as MemoryLimit from "./domain/pool/MemoryLimit.ts"

/**
 * Free lists and the byte ledger behind every pool, synchronous.
 *
 * @category pools
 * @since 0.1.0
 */
export * as PoolCore from "./domain/pool/PoolCore.ts"

/**
 * A pool's counters, and what follows from them.
 *
 * @category pools
 * @since 0.1.0
 */
export * as PoolStats from "./domain/pool/PoolStats.ts"

/**
 * What a pool has for one queue of its device.
 *
 * @category pools
 * @since 0.1.0
 */
export * as QueueStats from "./domain/pool/QueueStats.ts"

/**
 * Regions of rows within linear memory.
 *
 * @category commands
 * @since 0.1.0
 */
export * as Rectangle from "./domain/data/Rectangle.ts"

/**
 * Which held blocks a request may get that other queues have used.
 *
 * @category pools
 * @since 0.1.0
 */
export * as ReusePolicy from "./domain/pool/ReusePolicy.ts"

/**
 * From the bytes of a request to those of its block.
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
 * Streams of data to and from device memory.
 *
 * @category commands
 * @since 0.1.0
 */
export * as Transfers from "./services/staging/Transfers.ts"

/**
 * Where a pool gets device memory from; buffers without a pool.
 *
 * @category pools
 * @since 0.1.0
 */
export * as Allocator from "./services/buffers/Allocator.ts"

/**
 * A lease or a device buffer.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as BufferLike from "./services/buffers/BufferLike.ts"

/**
 * The pool: scoped leases on memory that is kept and reused.
 *
 * @category pools
 * @since 0.1.0
 */
export * as BufferPool from "./services/buffers/BufferPool.ts"

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
 * All services of an open device, from what its backend gives.
 *
 * @category devices
 * @since 0.1.0
 */
export * as Device from "./services/backend/Device.ts"

/**
 * How the devices of a backend are listed, chosen and opened.
 *
 * @category devices
 * @since 0.1.0
 */
export * as Backend from "./services/backend/Backend.ts"

/**
 * What a backend is like, whichever device is open.
 *
 * @category devices
 * @since 0.1.0
 */
export * as BackendTraits from "./domain/device/BackendTraits.ts"

/**
 * One device allocation, as a backend makes it.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as DeviceBuffer from "./services/device/DeviceBuffer.ts"

/**
 * One open device.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceContext from "./services/device/DeviceContext.ts"

/**
 * Results that are computed once for each open device.
 *
 * @category devices
 * @since 0.1.0
 */
export * as DeviceMemo from "./services/device/DeviceMemo.ts"

/**
 * The arguments of one dispatch.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as DispatchArguments from "./services/queue/DispatchArguments.ts"

/**
 * An allocator that fails where a test planned it.
 *
 * @category allocators
 * @since 0.1.0
 */
export * as FaultyAllocator from "./services/buffers/allocators/FaultyAllocator.ts"

/**
 * Compiled kernels of a device.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as KernelCache from "./services/device/KernelCache.ts"

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
 * An allocator with a byte limit of its own.
 *
 * @category allocators
 * @since 0.1.0
 */
export * as LimitingAllocator from "./services/buffers/allocators/LimitingAllocator.ts"

/**
 * Buffers made from the program's own data, and where the memory of buffers is.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as MemoryObjects from "./services/queue/MemoryObjects.ts"

/**
 * Device memory as typed arrays of the host.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as Mapping from "./services/buffers/mapping/Mapping.ts"

/**
 * An allocator that counts bytes and allocations.
 *
 * @category allocators
 * @since 0.1.0
 */
export * as StatisticsAllocator from "./services/buffers/allocators/StatisticsAllocator.ts"

/**
 * What every pool can do, whatever it leases.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as Pool from "./services/pool/Pool.ts"

/**
 * The lease on a buffer.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as PooledBuffer from "./services/buffers/PooledBuffer.ts"

/**
 * Parts of a buffer that are buffers themselves.
 *
 * @category buffers
 * @since 0.1.0
 */
export * as SubRegion from "./services/buffers/SubRegion.ts"

/**
 * What a backend gives so that a queue can be built on it.
 *
 * @category backends
 * @since 0.1.0
 */
export * as QueueDriver from "./services/device/QueueDriver.ts"

/**
 * Moments of a queue, to wait for.
 *
 * @category commands
 * @since 0.1.0
 */
export * as QueueEvent from "./services/device/QueueEvent.ts"

/**
 * Programs that go on with a fresh device when one is lost.
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
export * as RecordingLimit from "./services/queue/RecordingLimit.ts"

/**
 * An allocator that knows what was not freed.
 *
 * @category allocators
 * @since 0.1.0
 */
export * as TrackingAllocator from "./services/buffers/allocators/TrackingAllocator.ts"

/**
 * The types of what kernels take by value.
 *
 * @category kernels
 * @since 0.1.0
 */
export * as ValueType from "./domain/data/ValueType.ts"
