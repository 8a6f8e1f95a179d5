/**
 * A recording's memories as they are replayed, and what is counted of them: a memory takes 25 kB, and a recording may have very many, one
 * after the other, so each is made at its first event, and forgotten after its last.
 *
 * @internal
 */
import { namesOf, type Recording } from "../recording/RecordingModel.ts"
import type { MemoryContent, ReplayedMemory } from "./ReplayedMemory.ts"
import { type MemoryPlan, memoryUnder, type ReplayPlan } from "./ReplayOptions.ts"
import { type Failed, Tally } from "./ReplayReport.ts"
import { RowPublisher, type Rows } from "./RowPublisher.ts"

type Facts = ReplayedMemory["facts"]

/** The most memories that may exist at one time. */
export const mostMemories = 16_384

export abstract class Replayer<M extends ReplayedMemory> {
  readonly tally = new Tally()
  readonly failures: Array<Failed> = []
  /** The names that events of the recording have for memories. */
  protected readonly names: ReturnType<typeof namesOf>
  readonly #contentOf: (memory: number) => MemoryContent
  readonly #plans: ReadonlyMap<number, MemoryPlan>
  readonly #there = new Map<number, M>()
  /** The facts of forgotten memories, for the recording of the replay. */
  readonly #forgotten = new Map<number, Facts>()

  constructor(recording: Recording, { memories }: ReplayPlan, contentOf: (memory: number) => MemoryContent) {
    this.names = namesOf(recording)
    this.#contentOf = contentOf
    this.#plans = new Map(memories.map((plan) => [plan.memory.number, plan]))
  }

  protected abstract make(plan: MemoryPlan, content: MemoryContent): M
  protected abstract now(): number
  /** Receives what the memories publish. */
  protected abstract readonly rows: Rows

  /** Makes the memories that have blocks before the first event. */
  protected begin(): void {
    for (const number of this.#plans.keys()) if (this.#contentOf(number).blocks.length > 0) this.memoryOf(number)
  }

  /** Whether more memories exist at one time than may. */
  protected get hasTooMany(): boolean {
    return this.#there.size > mostMemories
  }

  /** The memory with a number, made at its first event. */
  protected memoryOf(number: number): M | undefined {
    const known = this.#there.get(number)
    if (known !== undefined) return known
    const plan = this.#plans.get(number)
    if (plan === undefined) return undefined
    const memory = this.make(plan, this.#contentOf(number))
    this.#there.set(number, memory)
    memory.begin()
    for (const { size } of memory.earlyLeases.values()) this.tally.activate(this.now(), size)
    this.tally.manage(this.now(), memory.core.managedBytes)
    memory.observe(new RowPublisher(memory, () => this.now(), this.rows))
    return memory
  }

  /** The recording has no more events of a memory: forgets it, unless it has open requests or leases. */
  protected forget(number: number): void {
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
    const { families } = this.#contentOf(number)
    return this.#there.get(number)?.facts ?? this.#forgotten.get(number) ??
      { memories: [memoryUnder(plan)], families, blocks: [] }
  }
}
