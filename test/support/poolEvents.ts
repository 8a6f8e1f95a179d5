/**
 * Pools whose calls to the allocator a test sees in order.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Host } from "../../src/host.ts"
import type * as BufferPool from "../../src/services/buffers/BufferPool.ts"
import type { DeviceContext } from "../../src/services/device/DeviceContext.ts"
import type * as CommandQueue from "../../src/services/queue/CommandQueue.ts"
import { layer, type OpenOptions, recorded } from "./hostPool.ts"

/** A pool whose calls of the allocator are recorded; reading the log empties it. */
export const withEvents = <A, E>(
  options: OpenOptions,
  test: (events: () => ReadonlyArray<string>) => Effect.Effect<A, E, EventServices | Scope.Scope>
) => {
  const events: Array<string> = []
  return Effect.scoped(test(() => events.splice(0))).pipe(
    Effect.provide(layer({ ...options, allocator: recorded(events) }))
  )
}

export type EventServices = BufferPool.BufferPool | CommandQueue.CommandQueue | DeviceContext | Host.Host
