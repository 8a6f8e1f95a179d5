/**
 * Scoped, pooled GPU buffers for Effect programs, whatever the backend.
 *
 * @since 0.1.0
 */
export * as BufferUsage from "./domain/BufferUsage.ts"
export * as DeviceInfo from "./domain/DeviceInfo.ts"
export * as DeviceStatus from "./domain/DeviceStatus.ts"
export * as DriverObjects from "./domain/DriverObjects.ts"
export * as DType from "./domain/DType.ts"
export * as GpuError from "./domain/GpuError.ts"
export * as HostData from "./domain/HostData.ts"
export * as Kernel from "./domain/Kernel.ts"
export * as KernelArgument from "./domain/KernelArgument.ts"
export * as PoolCore from "./domain/PoolCore.ts"
export * as PoolStats from "./domain/PoolStats.ts"
export * as SizePolicy from "./domain/SizePolicy.ts"
export * as Allocator from "./services/Allocator.ts"
export * as BufferLike from "./services/BufferLike.ts"
export * as BufferPool from "./services/BufferPool.ts"
export * as CommandQueue from "./services/CommandQueue.ts"
export * as DeviceBuffer from "./services/DeviceBuffer.ts"
export * as DeviceContext from "./services/DeviceContext.ts"
export * as DispatchArguments from "./services/DispatchArguments.ts"
export * as KernelCache from "./services/KernelCache.ts"
export * as LeaseHolder from "./services/LeaseHolder.ts"
export * as PooledBuffer from "./services/PooledBuffer.ts"
export * as QueueDriver from "./services/QueueDriver.ts"
