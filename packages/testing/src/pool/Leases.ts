/**
 * The leases that tests begin with.
 *
 * @internal
 */
import { BufferPool, CommandQueue } from "effect-gpu-pool"
import type { HostData } from "effect-gpu-pool/CommandQueue"
import * as Effect from "effect/Effect"

/** A lease with these bytes. */
export const written = (data: HostData, options?: BufferPool.AllocateOptions) =>
  Effect.tap(BufferPool.allocate(data.byteLength, options), (lease) => CommandQueue.write(lease, data))

/** A lease of that many bytes, filled with a pattern. */
export const filled = (size: number, pattern: number | HostData, options?: BufferPool.AllocateOptions) =>
  Effect.tap(BufferPool.allocate(size, options), (lease) => CommandQueue.fill(lease, pattern))
