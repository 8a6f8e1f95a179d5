/**
 * The pool's source of staging memory: buffers that the program maps, one family for each direction.
 *
 * @internal
 */
import * as Exit from "effect/Exit"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { BufferSource } from "../buffers/BufferSource.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"

export class StagingSource extends BufferSource {
  override readonly service = "StagingPool"

  /** Flags besides those of its direction would make it other memory. */
  protected override readonly added = 0

  override isUsual(): boolean {
    return true
  }

  /** Commands cannot write to what the program uploads from: `StagedArray` fills that itself. */
  override clearUnsafe(buffer: DeviceBuffer, capacity: number): Exit.Exit<void, GpuError> {
    return buffer.usage === BufferUsage.upload ? Exit.void : super.clearUnsafe(buffer, capacity)
  }
}
