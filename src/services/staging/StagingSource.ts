/**
 * The pool's source of staging memory: buffers that the program maps, one family for each direction.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as BufferUsage from "../../domain/BufferUsage.ts"
import type { GpuError } from "../../domain/GpuError.ts"
import { BufferSource } from "../buffers/BufferSource.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import * as KnownQueues from "../device/queues/KnownQueues.ts"

export class StagingSource extends BufferSource {
  override readonly service = "StagingPool"

  /** No flags: more than those of its direction would make it another kind of memory. */
  protected override readonly added = 0

  override isUsual(): boolean {
    return true
  }

  /** Its mappings are commands of the first queue, whichever queue copies to it and from it. */
  override create(...request: Parameters<BufferSource["create"]>): Effect.Effect<DeviceBuffer, GpuError> {
    return Effect.tap(
      super.create(...request),
      (buffer) => Effect.sync(() => KnownQueues.of(buffer.owner)?.serialise(buffer))
    )
  }

  /** Commands cannot write to what the program uploads from: `StagedArray` fills that itself. */
  override clearUnsafe(buffer: DeviceBuffer, capacity: number): Exit.Exit<void, GpuError> {
    return buffer.usage === BufferUsage.upload ? Exit.void : super.clearUnsafe(buffer, capacity)
  }
}
