/**
 * Those who listen at one hub, and the emitters that they have at its memories.
 *
 * @internal
 */
import type { Connecting, Emitter, EventHub, Heard } from "effect-gpu-pool/EventHub"
import { together } from "./Together.ts"

/** Makes emitters for those who listen in one way. */
export interface Ear {
  readonly of: (memory: Heard) => Partial<Emitter>
  /** Whether they hear of hits and of ends of leases, too. Where nobody does, a hit is as fast as when nobody listens. */
  readonly ofLeases: boolean
}

export class Ears implements Connecting {
  readonly #hub: EventHub
  readonly #all = new Set<Ear>()
  readonly #emitters = new Map<Heard, Map<Ear, Partial<Emitter>>>()

  constructor(hub: EventHub) {
    this.#hub = hub
    hub.connecting = this
  }

  static readonly #ofHubs = new WeakMap<EventHub, Ears>()

  static of(hub: EventHub): Ears {
    const known = Ears.#ofHubs.get(hub) ?? new Ears(hub)
    Ears.#ofHubs.set(hub, known)
    return known
  }

  /** From now on what happens is told to the emitters of this ear too. Returns the way to stop. */
  add(ear: Ear): () => void {
    this.#all.add(ear)
    this.#connectAll()
    return () => {
      if (this.#all.delete(ear)) this.#connectAll()
    }
  }

  /** Emitters know what happened before: those of ears that stay are kept. */
  connect(memory: Heard): void {
    const known = this.#emitters.get(memory) ?? new Map<Ear, Partial<Emitter>>()
    this.#emitters.set(memory, known)
    for (const ear of known.keys()) if (!this.#all.has(ear)) known.delete(ear)
    for (const ear of this.#all) if (!known.has(ear)) known.set(ear, ear.of(memory))
    const all = Array.from(known.values())
    const ofLeases = Array.from(known).flatMap(([ear, emitter]) => ear.ofLeases ? [emitter] : [])
    memory.hear(one(all), one(ofLeases))
  }

  leave(memory: Heard): void {
    this.#emitters.delete(memory)
  }

  #connectAll(): void {
    for (const memory of this.#hub.memories) this.connect(memory)
  }
}

/** Undefined where nobody hears anything: then nothing is told. */
const one = (emitters: ReadonlyArray<Partial<Emitter>>): Emitter | undefined =>
  emitters.length === 0 ? undefined : together<Emitter>(emitters)
