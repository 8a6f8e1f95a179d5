/**
 * The lease under a buffer.
 */
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import type * as BufferLike from "./BufferLike.ts"
import { PooledBuffer } from "./PooledBuffer.ts"

/** The lease under each sub-region, for sub-regions of sub-regions. */
export const leases = new WeakMap<DeviceBuffer, PooledBuffer>()

/**
 * The lease of a buffer's memory: the buffer itself, or the lease under a sub-region.
 */
export const leaseOf = (buffer: BufferLike.BufferLike): PooledBuffer | undefined =>
  buffer instanceof PooledBuffer ? buffer : leases.get(buffer)
