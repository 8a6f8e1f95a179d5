/**
 * One device allocation, opaque outside the backend that made it.
 *
 * @since 0.1.0
 */
import type { BufferUsage } from "../domain/BufferUsage.ts"
import type { DeviceInfo } from "../domain/DeviceInfo.ts"

/**
 * A buffer as the driver gave it: around a GPUBuffer, a cl_mem or an ArrayBuffer. Programs hold leases
 * (`PooledBuffer`) instead; a device buffer is what an Allocator hands out, and whoever allocated it frees it.
 *
 * Each backend has a subclass of its own and unwraps only that.
 *
 * **Example** (The buffers of a backend of your own)
 *
 * ```ts
 * import { BufferUsage, DeviceBuffer } from "effect-gpu-pool"
 * import type { DeviceInfo } from "effect-gpu-pool"
 *
 * class MyBuffer extends DeviceBuffer.DeviceBuffer {
 *   readonly memory: ArrayBuffer
 *   constructor(owner: DeviceInfo.DeviceInfo, bytes: number) {
 *     super(owner, bytes, BufferUsage.defaultUsage, undefined)
 *     this.memory = new ArrayBuffer(bytes)
 *   }
 * }
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export abstract class DeviceBuffer {
  /** The open device that made it, compared by identity. */
  readonly owner: DeviceInfo
  /** Bytes that can be addressed. */
  readonly size: number
  readonly usage: BufferUsage
  /** What errors call it: the label of its present lease, or the one that it was allocated with. */
  label: string | undefined
  /** Set by the backend when it gives the memory back. */
  destroyed = false
  /**
   * False once a command on it was refused for want of memory or by the driver, or failed on OpenCL: its memory may
   * not exist, so no pool leases it again.
   */
  recyclable = true

  constructor(owner: DeviceInfo, size: number, usage: BufferUsage, label: string | undefined) {
    this.owner = owner
    this.size = size
    this.usage = usage
    this.label = label
  }

  /** The same as `size`: a device buffer has no slack. */
  get capacity(): number {
    return this.size
  }
}
