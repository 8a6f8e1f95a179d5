/**
 * The subscribers of one hub, and the publishers that they have at its memories.
 *
 * @internal
 */
import type { Connecting, EventHub, ObservedMemory, Publisher } from "effect-gpu-pool/EventHub"
import { together } from "./Together.ts"

/** Makes a publisher for each memory. */
export interface Subscriber {
  readonly of: (memory: ObservedMemory) => Partial<Publisher>
  /** Whether hits and ends of leases are published to it, too. If no subscriber wants them, a hit is as fast as without subscribers. */
  readonly ofLeases: boolean
}

export class Subscribers implements Connecting {
  readonly #hub: EventHub
  readonly #all = new Set<Subscriber>()
  readonly #publishers = new Map<ObservedMemory, Map<Subscriber, Partial<Publisher>>>()

  constructor(hub: EventHub) {
    this.#hub = hub
    hub.connecting = this
  }

  static readonly #ofHubs = new WeakMap<EventHub, Subscribers>()

  static of(hub: EventHub): Subscribers {
    const known = Subscribers.#ofHubs.get(hub) ?? new Subscribers(hub)
    Subscribers.#ofHubs.set(hub, known)
    return known
  }

  /** Adds a subscriber. Returns a function that removes it. */
  add(subscriber: Subscriber): () => void {
    this.#all.add(subscriber)
    this.#connectAll()
    return () => {
      if (this.#all.delete(subscriber)) this.#connectAll()
    }
  }

  /** Connects the current subscribers to a memory. Publishers have state, so those of subscribers that stay are kept. */
  connect(memory: ObservedMemory): void {
    const known = this.#publishers.get(memory) ?? new Map<Subscriber, Partial<Publisher>>()
    this.#publishers.set(memory, known)
    for (const subscriber of known.keys()) if (!this.#all.has(subscriber)) known.delete(subscriber)
    for (const subscriber of this.#all) if (!known.has(subscriber)) known.set(subscriber, subscriber.of(memory))
    const all = Array.from(known.values())
    const ofLeases = Array.from(known).flatMap(([subscriber, publisher]) => subscriber.ofLeases ? [publisher] : [])
    memory.observe(one(all), one(ofLeases))
  }

  leave(memory: ObservedMemory): void {
    this.#publishers.delete(memory)
  }

  #connectAll(): void {
    for (const memory of this.#hub.memories) this.connect(memory)
  }
}

/** All as one; undefined for none: then nothing is published. */
const one = (publishers: ReadonlyArray<Partial<Publisher>>): Publisher | undefined =>
  publishers.length === 0 ? undefined : together<Publisher>(publishers)
