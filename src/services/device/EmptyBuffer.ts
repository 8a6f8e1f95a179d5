/**
 * A buffer of no bytes: no driver has one, and no command on it has anything to do.
 *
 * @see pyopencl.tools.DeferredAllocator, whose allocation of no bytes succeeds with None
 * @internal
 */
import * as Exit from "effect/Exit"
import type { BufferUsage } from "../../domain/BufferUsage.ts"
import { type DeviceInfo, format } from "../../domain/DeviceInfo.ts"
import { ForeignDevice, type GpuError, make as makeError } from "../../domain/GpuError.ts"
import { DeviceBuffer } from "./DeviceBuffer.ts"

/**
 * What an Allocator gives for 0 bytes, on every backend. It owns nothing of the driver, so `BufferLike.deviceBuffer` answers
 * `undefined` for it, as for a lease of no bytes, and no driver ever gets it.
 *
 * @internal
 */
export class EmptyBuffer extends DeviceBuffer {
  constructor(owner: DeviceInfo, usage: BufferUsage, label: string | undefined) {
    super(owner, 0, usage, label)
  }

  /** Given back to a device, as any other buffer is, but without the driver. A second time does nothing. */
  giveBackUnsafe(device: DeviceInfo): Exit.Exit<void, GpuError> {
    if (this.owner !== device) {
      return Exit.fail(makeError(
        new ForeignDevice({
          operation: "Allocator.freeUnsafe",
          label: this.label,
          owner: format(this.owner),
          expected: format(device)
        })
      ))
    }
    this.destroyed = true
    return Exit.void
  }
}
