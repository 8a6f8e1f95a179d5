/**
 * The memories of a recording while it is replayed. A memory takes 25 kB, and a recording may have very many, one after the other: each
 * is made at its first event, and forgotten after its last.
 *
 * @internal
 */
import type { MemoryContent, ReplayedMemory } from "./ReplayedMemory.ts"
import { type MemoryPlan, memoryUnder, type ReplayPlan } from "./ReplayOptions.ts"
import { RowPublisher, type Rows } from "./RowPublisher.ts"
import type { Tally } from "./Tally.ts"

export interface ReplayedMemoriesOptions<M> {
  readonly plan: ReplayPlan
  readonly contentOf: (memory: number) => MemoryContent
  readonly make: (plan: MemoryPlan, content: MemoryContent) => M
  readonly tally: Tally
  readonly now: () => number
  /** Receives what the memories publish. */
  readonly rows: Rows
}

type Facts = ReplayedMemory["facts"]

/** The most memories that may exist at one time. */
export const mostMemories = 16_384

export class ReplayedMemories<M extends ReplayedMemory> {
  readonly #options: ReplayedMemoriesOptions<M>
  readonly #plans: ReadonlyMap<number, MemoryPlan>
  readonly #there = new Map<number, M>()
  /** The facts of forgotten memories, for the recording of the replay. */
  readonly #forgotten = new Map<number, Facts>()

  constructor(options: ReplayedMemoriesOptions<M>) {
    const { contentOf, plan: { memories } } = options
    this.#options = options
    this.#plans = new Map(memories.map((plan) => [plan.memory.number, plan]))
    // A memory with blocks before the first event exists from the beginning.
    for (const number of this.#plans.keys()) if (contentOf(number).blocks.length > 0) this.of(number)
  }

  /** Whether more memories exist at one time than may. */
  get areTooMany(): boolean {
    return this.#there.size > mostMemories
  }

  /** The memory with a number, made at its first event. */
  of(number: number): M | undefined {
    const known = this.#there.get(number)
    if (known !== undefined) return known
    const plan = this.#plans.get(number)
    if (plan === undefined) return undefined
    const made = this.#make(number, plan)
    this.#there.set(number, made)
    return made
  }

  #make(number: number, plan: MemoryPlan): M {
    const { contentOf, make, now, rows, tally } = this.#options
    const memory = make(plan, contentOf(number))
    memory.begin()
    for (const { size } of memory.earlyLeases.values()) tally.activate(now(), size)
    tally.manage(now(), memory.core.managedBytes)
    memory.observe(new RowPublisher(memory, now, rows))
    return memory
  }

  /** The recording has no more events of a memory: forgets it, unless it has open requests or leases. */
  forget(number: number): void {
    const memory = this.#there.get(number)
    if (memory?.isIdle !== true) return
    this.#there.delete(number)
    this.#forgotten.set(number, memory.facts)
  }

  /** What the recording of the replay states besides its events. */
  get facts(): Facts {
    const all = Array.from(this.#plans.values(), (plan) => this.#factsOf(plan))
    return {
      memories: all.flatMap(({ memories }) => memories),
      families: all.flatMap(({ families }) => families),
      blocks: all.flatMap(({ blocks }) => blocks)
    }
  }

  #factsOf(plan: MemoryPlan): Facts {
    const { number } = plan.memory
    const { families } = this.#options.contentOf(number)
    return this.#there.get(number)?.facts ?? this.#forgotten.get(number) ??
      { memories: [memoryUnder(plan)], families, blocks: [] }
  }
}
