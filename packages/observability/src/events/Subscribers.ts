/**
 * The subscribers of one hub, and the publishers that they have at its memories.
 *
 * @internal
 */
import type { Connecting, EventHub, ObservedMemory, Publisher } from "effect-gpu-pool/EventHub"
import type { PoolInputs } from "effect-gpu-pool/PoolInputs"
import type { PoolObserver } from "effect-gpu-pool/PoolObserver"

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
    memory.observe(together(all), together(ofLeases))
  }

  leave(memory: ObservedMemory): void {
    this.#publishers.delete(memory)
  }

  #connectAll(): void {
    for (const memory of this.#hub.memories) this.connect(memory)
  }
}

type Method = (...args: ReadonlyArray<never>) => void

/** What the machine publishes, and then what its shell publishes: hits, ends of leases, and what the machine reads outside of itself. */
const methods = {
  closed: true,
  closing: true,
  driverAsked: true,
  freed: true,
  gaveUp: true,
  handlersAsked: true,
  holdingChanged: true,
  idleStep: true,
  kept: true,
  leased: true,
  limitChanged: true,
  lost: true,
  ranOut: true,
  reclaimed: true,
  refused: true,
  reservationEnded: true,
  reserved: true,
  roomNeeded: true,
  trimAsked: true,
  waited: true,
  waiting: true,
  hit: true,
  released: true,
  found: true
} satisfies { readonly [K in keyof PoolObserver]: true } & { readonly [name: string]: true }

type Methods = { readonly [K in keyof typeof methods]: Method }

const names = Object.keys(methods) as ReadonlyArray<keyof Methods>

interface Recording {
  readonly inputsOf?: ((inputs: PoolInputs) => PoolInputs) | undefined
}

const nothing = (): void => {}

const all = (methods: ReadonlyArray<Method>): Method =>
  methods.length < 2 ? methods[0] ?? nothing : (...args) => {
    for (const method of methods) method(...args)
  }

/**
 * Several publishers, as one, or undefined for none: then nothing is published. Each is called for what it has a method for; perhaps it
 * has `inputsOf`, which wraps the inputs of the machine.
 */
const together = (publishers: ReadonlyArray<Partial<Publisher>>): Publisher | undefined => {
  const those = publishers as ReadonlyArray<Partial<Methods> & Recording>
  const [only] = those
  if (only === undefined) return undefined
  // A bound method would make each recorded hit a tenth slower.
  if (those.length === 1 && names.every((name) => name === "found" || name in only)) return only as unknown as Publisher
  const joined: Partial<Record<keyof Methods, Method>> & Recording = {
    inputsOf: (inputs) => those.reduce((inner, one) => one.inputsOf?.(inner) ?? inner, inputs)
  }
  for (const name of names) joined[name] = all(those.flatMap((one) => one[name]?.bind(one) ?? []))
  return joined as unknown as Publisher
}
