/**
 * What an operation on buffers takes: a lease, or a device buffer straight from an Allocator.
 *
 * @since 0.1.0
 */
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import { type GpuError, released } from "../../domain/GpuError.ts"
import { detachedProblem } from "../device/DetachedMemory.ts"
import { DeviceBuffer } from "../device/DeviceBuffer.ts"
import * as DriverObject from "../device/DriverObject.ts"
import { EmptyBuffer } from "../device/EmptyBuffer.ts"
import { PooledBuffer } from "./PooledBuffer.ts"

/**
 * A lease or a device buffer.
 *
 * **Example** (A step that works with and without a pool)
 *
 * ```ts
 * import { CommandQueue } from "effect-gpu-pool"
 * import type { BufferLike } from "effect-gpu-pool/backend"
 *
 * const clear = (buffer: BufferLike.BufferLike) => CommandQueue.fill(buffer, 0)
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export type BufferLike = PooledBuffer | DeviceBuffer

/**
 * Whether a value is a lease or a device buffer.
 *
 * @category functions
 * @since 0.1.0
 */
export const isBufferLike = (value: unknown): value is BufferLike =>
  value instanceof PooledBuffer || value instanceof DeviceBuffer

/**
 * Why `buffer` cannot be used on the device `owner`, or `undefined`: Released, ForeignDevice, or InvalidRequest for a buffer that
 * stands for memory in a trace.
 *
 * **Example** (The raw handles of a backend of your own)
 *
 * ```ts
 * import { Effect, Exit } from "effect"
 * import { GpuError } from "effect-gpu-pool"
 * import { BufferLike, type DeviceBuffer, type DeviceInfo } from "effect-gpu-pool/backend"
 *
 * const rawBuffer = (buffer: BufferLike.BufferLike, info: DeviceInfo.DeviceInfo) =>
 *   Effect.suspend((): Exit.Exit<DeviceBuffer.DeviceBuffer, GpuError.GpuError> => {
 *     const problem = BufferLike.problem("MyBackend.handle", buffer, info)
 *     if (problem !== undefined) return Exit.fail(problem)
 *     const memory = BufferLike.deviceBuffer(buffer)
 *     return memory === undefined
 *       ? Exit.fail(GpuError.invalidRequest("MyBackend.handle", "the buffer has no bytes", "Allocate at least one byte."))
 *       : Exit.succeed(memory)
 *   })
 * ```
 *
 * @category predicates
 * @since 0.1.0
 */
export const problem = (operation: string, buffer: BufferLike, owner: DeviceInfo): GpuError | undefined => {
  if (buffer instanceof DeviceBuffer) {
    return DriverObject.problem(operation, buffer, owner, buffer.size) ??
      detachedProblem(operation, "buffer", buffer.root.pinned)
  }
  if (buffer.list === undefined) return released(operation, buffer)
  const { owner: granted } = buffer.list
  if (granted.deviceInfo === owner) return undefined
  return granted.problem?.(operation, buffer) ?? DriverObject.foreign(operation, buffer, granted.deviceInfo, owner)
}

/**
 * The device memory of a buffer that has no {@link problem}; `undefined` for a lease or buffer of 0 bytes.
 *
 * **Example** (Whether a buffer has memory at all)
 *
 * ```ts
 * import { BufferLike } from "effect-gpu-pool/backend"
 *
 * const isEmpty = (buffer: BufferLike.BufferLike) => BufferLike.deviceBuffer(buffer) === undefined
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const deviceBuffer = (buffer: BufferLike): DeviceBuffer | undefined => {
  if (!(buffer instanceof DeviceBuffer)) return buffer.block?.value
  return buffer instanceof EmptyBuffer ? undefined : buffer
}
