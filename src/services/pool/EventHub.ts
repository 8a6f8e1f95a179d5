/**
 * Connects memories with the subscribers to their events: the decisions of the machine, and the hits and ends of leases, which need no
 * machine. A program without subscribers loads no other module of events.
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
import type { BlockCore } from "../../domain/pool/PoolCore.ts"
import type { Released } from "../../domain/pool/PoolEvent.ts"
import type { MemorySettings } from "../../domain/pool/PoolOptions.ts"
import type { Block, Leasable, Lease } from "../lease/Lease.ts"
import type { LeaseTable } from "../lease/LeaseTable.ts"
import type { PoolSource } from "../lease/PoolSource.ts"

/**
 * Called with the events of a memory. Each method is called synchronously when the event happens, before its consequences, and
 * never throws.
 *
 * @category models
 * @since 0.1.0
 */
export interface Publisher extends PoolObserver {
  /** A hit that made no request of its own. */
  hit(request: number, lease: Lease, from: Origin, source: PoolSource, waitPolicy: WaitPolicy): void
  released(lease: Lease, block: Block, why: Released["why"]): void
  /** For a publisher that records inputs too: what takes the place of the machine, and passes the inputs on. */
  inputsOf?(inputs: PoolInputs<Leasable>): PoolInputs<Leasable>
}

/**
 * A memory, as subscribers know it.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObservedMemory extends Pick<PoolPort, "hasSeveralQueues" | "lost" | "outer"> {
  /** Unique among the memories of the program. */
  readonly number: number
  readonly label: string | undefined
  readonly device: string
  readonly deviceInfo: DeviceInfo
  readonly settings: MemorySettings
  readonly core: BlockCore<Leasable, Family>
  readonly leases: LeaseTable
  /** Its machine, which listens while requests may wait for the end of a lease. */
  readonly machine: { readonly listens: boolean }
  readonly activeBytes: number
  readonly heldBytes: number
  /** Sets the publisher that it calls from now on, and the one for hits and ends of leases; `undefined` for none. */
  observe(publisher: Publisher | undefined, ofLeases: Publisher | undefined): void
}

/**
 * What connects memories with subscribers.
 *
 * @category models
 * @since 0.1.0
 */
export interface Connecting {
  readonly connect: (memory: ObservedMemory) => void
  readonly leave: (memory: ObservedMemory) => void
}

/**
 * The open memories of a program, and what connects each with the subscribers.
 *
 * @category models
 * @since 0.1.0
 */
export class EventHub {
  /** The open memories. */
  readonly memories = new Set<ObservedMemory>()
  /** Set by the first subscriber. */
  connecting: Connecting | undefined = undefined

  /** Adds a memory. Returns a function that removes it. */
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
 * The hub in context: one for the whole program, unless a part of it provides its own.
 *
 * @category functions
 * @since 0.1.0
 */
export const CurrentHub: Context.Reference<EventHub> = Context.Reference<EventHub>("effect-gpu-pool/EventHub", {
  defaultValue: () => new EventHub()
})
