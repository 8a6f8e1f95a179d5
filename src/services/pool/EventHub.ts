/**
 * Where memories and those who listen to them meet, and what those are told: what the machine decides, and the hits and ends of leases
 * that pass it by. A program in which nobody listens loads nothing else of events.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { PoolInputs } from "../../domain/pool/machine/PoolInputs.ts"
import type { PoolObserver } from "../../domain/pool/machine/PoolObserver.ts"
import type { PoolPort } from "../../domain/pool/machine/PoolState.ts"
import type { Family, WaitPolicy } from "../../domain/pool/machine/Request.ts"
import type { Origin } from "../../domain/pool/machine/Reservation.ts"
import type { PoolCore } from "../../domain/pool/PoolCore.ts"
import type { Released } from "../../domain/pool/PoolEvent.ts"
import type { MemorySettings } from "../../domain/pool/PoolOptions.ts"
import type { Block, Leasable, Lease } from "../lease/Lease.ts"
import type { LeaseTable } from "../lease/LeaseTable.ts"
import type { PoolSource } from "../lease/PoolSource.ts"

/**
 * Called what happens to a memory. Each is called in the step of what it tells, before what follows from that, and
 * never throws.
 *
 * @category models
 * @since 0.1.0
 */
export interface Publisher extends PoolObserver {
  /** A hit that made no request of its own. */
  hit(request: number, lease: Lease, from: Origin, source: PoolSource, waitPolicy: WaitPolicy): void
  released(lease: Lease, block: Block, why: Released["why"]): void
  /** What takes the place of the inputs of its machine, for one that hears of them too. */
  inputsOf?(inputs: PoolInputs<Leasable>): PoolInputs<Leasable>
}

/**
 * A memory, as those know it that listen.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObservedMemory extends Pick<PoolPort, "hasSeveralQueues" | "lost" | "outer"> {
  /** Tells it from all other memories of the program. */
  readonly number: number
  readonly label: string | undefined
  readonly device: string
  readonly deviceInfo: DeviceInfo
  readonly settings: MemorySettings
  readonly core: PoolCore<Leasable, Family>
  readonly leases: LeaseTable
  /** Its machine listens while the end of a lease may be of use to those who wait. */
  readonly machine: { readonly listens: boolean }
  readonly activeBytes: number
  readonly heldBytes: number
  /** From now on it tells this one, or nobody; of hits and of ends of leases the second one. */
  hear(publisher: Publisher | undefined, ofLeases: Publisher | undefined): void
}

/**
 * What connects memories with those who listen.
 *
 * @category models
 * @since 0.1.0
 */
export interface Connecting {
  readonly connect: (memory: ObservedMemory) => void
  readonly leave: (memory: ObservedMemory) => void
}

/**
 * Memories on one side, listeners on the other: each new one of either side meets all of the other.
 *
 * @category models
 * @since 0.1.0
 */
export class EventHub {
  /** Those that are open. */
  readonly memories = new Set<ObservedMemory>()
  /** Set by the first who listens. */
  connecting: Connecting | undefined = undefined

  /** Adds a memory. Returns the way to leave. */
  join(memory: ObservedMemory): () => void {
    this.memories.add(memory)
    this.connecting?.connect(memory)
    return () => {
      this.memories.delete(memory)
      this.connecting?.leave(memory)
    }
  }
}

/**
 * That of the whole program, unless a part of it has one of its own.
 *
 * @category functions
 * @since 0.1.0
 */
export const CurrentHub: Context.Reference<EventHub> = Context.Reference<EventHub>("effect-gpu-pool/EventHub", {
  defaultValue: () => new EventHub()
})
