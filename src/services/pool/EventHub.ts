/**
 * Where memories and those who listen to them meet. A program in which nobody listens loads nothing else of events.
 *
 * @internal
 */
import * as Context from "effect/Context"
import type { DeviceInfo } from "../../domain/device/DeviceInfo.ts"
import type { PoolCore } from "../../domain/pool/PoolCore.ts"
import type { Family, Leasable } from "../lease/Lease.ts"
import type { LeaseTable } from "../lease/LeaseTable.ts"
import type { MemorySettings } from "./PoolOptions.ts"
import type { Emitter } from "./waiting/Emitter.ts"

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
  /** From now on it tells this one, or nobody. */
  hear(emitter: Emitter | undefined): void
}

/** Makes emitters for those who listen in one way. */
export interface Ear {
  readonly of: (memory: Heard) => Emitter
  /** One that tells both. */
  readonly both: (one: Emitter, other: Emitter) => Emitter
}

export class EventHub {
  /** The memories, each with the emitters that it tells. */
  readonly #memories = new Map<Heard, Map<Ear, Emitter>>()
  readonly #ears = new Set<Ear>()

  /** Adds a memory. Returns the way to leave. */
  join(memory: Heard): () => void {
    this.#memories.set(memory, new Map())
    this.#connect(memory)
    return () => {
      this.#memories.delete(memory)
    }
  }

  /** The memories that are open. */
  get memories(): Iterable<Heard> {
    return this.#memories.keys()
  }

  /** From now on what happens is told to the emitters of this ear too. Returns the way to stop. */
  add(ear: Ear): () => void {
    this.#ears.add(ear)
    this.#connectAll()
    return () => {
      if (this.#ears.delete(ear)) this.#connectAll()
    }
  }

  #connectAll(): void {
    for (const memory of this.#memories.keys()) this.#connect(memory)
  }

  /** Emitters know what happened before: those of ears that stay are kept. */
  #connect(memory: Heard): void {
    const known = this.#memories.get(memory)!
    let told: Emitter | undefined
    for (const ear of known.keys()) if (!this.#ears.has(ear)) known.delete(ear)
    for (const ear of this.#ears) {
      const emitter = known.get(ear) ?? ear.of(memory)
      known.set(ear, emitter)
      told = told === undefined ? emitter : ear.both(told, emitter)
    }
    memory.hear(told)
  }
}

/** That of the whole program, unless a part of it has one of its own. */
export const CurrentHub: Context.Reference<EventHub> = Context.Reference<EventHub>("effect-gpu-pool/EventHub", {
  defaultValue: () => new EventHub()
})
