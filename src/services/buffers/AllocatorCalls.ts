/**
 * How the library calls an allocator, which may be anybody's: one that keeps buffers gives them to their next owners as they
 * are.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type GpuError, outOfMemory } from "../../domain/GpuError.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import { logged } from "../device/GivingBack.ts"
import * as Attachments from "../lease/Attachments.ts"

interface Allocating<Options> {
  readonly allocate: (bytes: number, options?: Options) => Effect.Effect<DeviceBuffer, GpuError>
  readonly freeUnsafe: (buffer: DeviceBuffer) => Exit.Exit<void, GpuError>
}

/** Frees a buffer in this step, after what is attached to it. */
export const freeOf = (allocator: Allocating<never>, buffer: DeviceBuffer): Exit.Exit<void, GpuError> => {
  const ended = Attachments.endAll(buffer, "released")
  const freed = allocator.freeUnsafe(buffer)
  return Exit.isFailure(ended) ? ended : freed
}

/**
 * Allocates memory that may be used. Memory that may not exist, or which others can reach, is put aside until the allocator
 * has given another one, and then freed. An allocator that has only such memory, after so many, has none.
 */
export const allocateFrom = <Options>(
  allocator: Allocating<Options>,
  bytes: number,
  options: Options | undefined,
  most = 64
): Effect.Effect<DeviceBuffer, GpuError> =>
  Effect.flatMap(allocator.allocate(bytes, options), (buffer) => {
    if (buffer.recyclable) return Exit.succeed(buffer)
    const another = most > 0 ? allocateFrom(allocator, bytes, options, most - 1) : outOfMemory(bytes)
    return Effect.ensuring(another, logged(() => allocator.freeUnsafe(buffer)))
  })
