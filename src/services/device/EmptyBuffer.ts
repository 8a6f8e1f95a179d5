/**
 * A buffer of 0 bytes: it has no driver object, and commands on it do nothing.
 *
 * @see pyopencl.tools.DeferredAllocator, whose allocation of no bytes succeeds with None
 * @internal
 */
import * as Exit from "effect/Exit"
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { DeviceBuffer } from "./DeviceBuffer.ts"
import { foreign } from "./DriverObject.ts"

/**
 * What an Allocator gives for 0 bytes, on every backend. It has no driver object, so `BufferLike.deviceBuffer` returns
 * `undefined` for it, as for a lease of 0 bytes, and no driver ever gets it.
 */
export class EmptyBuffer extends DeviceBuffer {
  constructor(owner: DeviceInfo, usage: BufferUsage, label: string | undefined) {
    super(owner, 0, usage, label)
  }

  /** Releases it without the driver. A second call does nothing. */
  releaseInOrderUnsafe(device: DeviceInfo): Exit.Exit<void, GpuError> {
    if (this.owner !== device) return Exit.fail(foreign("Allocator.freeUnsafe", this, this.owner, device))
    this.destroyed = true
    return Exit.void
  }
}
