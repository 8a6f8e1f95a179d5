/**
 * Where memories and those who listen to them meet. A program in which nobody listens loads nothing else of events.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { Family } from "../../domain/pool/machine/Request.ts"
import type { PoolCore } from "../../domain/pool/PoolCore.ts"
import type { Leasable } from "../lease/Lease.ts"
import type { LeaseTable } from "../lease/LeaseTable.ts"
import type { Emitter } from "./Emitter.ts"
import type { MemorySettings } from "./PoolOptions.ts"

/** A memory, as those know it that listen. */
export interface Heard {
  /** Tells it from all other memories of the program. */
  readonly number: number
  readonly label: string | undefined
  readonly device: string
  readonly deviceInfo: DeviceInfo
  readonly settings: MemorySettings
  readonly core: PoolCore<Leasable, Family>
  readonly leases: LeaseTable
  readonly activeBytes: number
  readonly heldBytes: number
  /** From now on it tells this one, or nobody; of hits and of ends of leases the second one. */
  hear(emitter: Emitter | undefined, ofLeases: Emitter | undefined): void
}

/** What connects memories with those who listen. */
export interface Connecting {
  readonly connect: (memory: Heard) => void
  readonly leave: (memory: Heard) => void
}

export class EventHub {
  /** Those that are open. */
  readonly memories = new Set<Heard>()
  /** Set by the first who listens. */
  connecting: Connecting | undefined = undefined

  /** Adds a memory. Returns the way to leave. */
  join(memory: Heard): () => void {
    this.memories.add(memory)
    this.connecting?.connect(memory)
    return () => {
      this.memories.delete(memory)
      this.connecting?.leave(memory)
    }
  }
}

/** That of the whole program, unless a part of it has one of its own. */
export const CurrentHub: Context.Reference<EventHub> = Context.Reference<EventHub>("effect-gpu-pool/EventHub", {
  defaultValue: () => new EventHub()
})
