/**
 * The leases that tests begin with.
 *
 * @internal
 */
import * as Effect from "effect/Effect"
import type { HostData } from "../../domain/data/HostData.ts"
import * as BufferPool from "../../services/buffers/BufferPool.ts"
import * as CommandQueue from "../../services/queue/CommandQueue.ts"

/** A lease with these bytes. */
export const written = (data: HostData, options?: BufferPool.AllocateOptions) =>
  Effect.tap(BufferPool.allocate(data.byteLength, options), (lease) => CommandQueue.write(lease, data))

/** A lease of that many bytes, filled with a pattern. */
export const filled = (size: number, pattern: number | HostData, options?: BufferPool.AllocateOptions) =>
  Effect.tap(BufferPool.allocate(size, options), (lease) => CommandQueue.fill(lease, pattern))
