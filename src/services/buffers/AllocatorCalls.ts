/**
 * How the library calls an allocator. It may be the program's, and may give out kept buffers again as they are.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { driverError, type GpuError } from "../../domain/GpuError.ts"
import type { Warn } from "../calls/Warnings.ts"
import type { DeviceBuffer } from "../device/DeviceBuffer.ts"
import { warned } from "../device/ReleaseInOrder.ts"
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
 * Allocates memory that is safe to lease. A buffer whose memory may not exist, or which others can reach, is kept until
 * the allocator has given another, since it would give the same again, and freed then. Such buffers count against no
 * limit of a pool, so there are few: at most `most`.
 */
export const allocateFrom = <Options>(
  allocator: Allocating<Options>,
  warn: Warn,
  bytes: number,
  options: Options | undefined,
  most = 8
): Effect.Effect<DeviceBuffer, GpuError> =>
  Effect.flatMap(allocator.allocate(bytes, options), (buffer) => {
    if (buffer.recyclable) return Exit.succeed(buffer)
    const another = most > 1 ? allocateFrom(allocator, warn, bytes, options, most - 1) : untrusted(buffer)
    return Effect.ensuring(another, warned(warn, () => allocator.freeUnsafe(buffer)))
  })

const untrusted = ({ owner, size }: DeviceBuffer): GpuError =>
  driverError({
    backend: owner.backend,
    call: "Allocator.allocate",
    log: `the allocator gave one buffer of ${size} bytes after the other that may not exist, or that others can reach`,
    hint: "Let the allocator keep no buffer that it gets back with recyclable: false."
  })
