/**
 * The memories of a recording while it is replayed. One takes 25 kB, and a recording may have very many, one after the other: each is made
 * for its first event, and forgotten after its last.
 *
 * @internal
 */
import type { RecordingBuilder } from "../recording/RecordingBuilder.ts"
import type { Diff } from "./Diff.ts"
import { ReplayedMemory } from "./ReplayedMemory.ts"
import type { ReplayedRequest } from "./ReplayedRequest.ts"
import { ReplayObserver } from "./ReplayObserver.ts"
import { type MemoryPlan, memoryUnder, type ReplayPlan } from "./ReplayOptions.ts"
import type { Requesting } from "./Requesting.ts"
import { RowEmitter, type Rows } from "./RowEmitter.ts"
import type { Tally } from "./Tally.ts"
import type { Trace } from "./Trace.ts"

export interface ReplayedMemoriesOptions {
  readonly plan: ReplayPlan
  readonly trace: Trace
  readonly requesting: Requesting
  readonly tally: Tally
  readonly diff: Diff | undefined
  /** Has the events of the replay, if they are wanted. */
  readonly events: RecordingBuilder | undefined
}

type Facts = ReplayedMemory<ReplayedRequest>["facts"]

/** So many there may be at one time. */
export const mostMemories = 16_384

export class ReplayedMemories {
  readonly #options: ReplayedMemoriesOptions
  readonly #rows: Rows | undefined
  readonly #plans: ReadonlyMap<number, MemoryPlan>
  readonly #there = new Map<number, ReplayedMemory<ReplayedRequest>>()
  /** What the recording of the replay states of those that were forgotten. */
  readonly #forgotten = new Map<number, Facts>()

  constructor(options: ReplayedMemoriesOptions) {
    const { events, diff, plan: { memories }, trace } = options
    this.#options = options
    this.#rows = events && {
      row: events.row,
      add: () => {
        events.addRow()
        diff?.take(events.row)
      }
    }
    this.#plans = new Map(memories.map((plan) => [plan.memory.number, plan]))
    // What has blocks before the first event counts from there on.
    for (const number of this.#plans.keys()) if (trace.memory(number).blocks.length > 0) this.of(number)
  }

  /** Whether there are more at one time than may be. */
  get areTooMany(): boolean {
    return this.#there.size > mostMemories
  }

  /** One that has begun. */
  known(number: number): ReplayedMemory<ReplayedRequest> | undefined {
    return this.#there.get(number)
  }

  /** The memory with a number, which begins with its first event. */
  of(number: number): ReplayedMemory<ReplayedRequest> | undefined {
    const known = this.#there.get(number)
    if (known !== undefined) return known
    const plan = this.#plans.get(number)
    if (plan === undefined) return undefined
    const made = this.#make(number, plan)
    this.#there.set(number, made)
    return made
  }

  #make(number: number, plan: MemoryPlan): ReplayedMemory<ReplayedRequest> {
    const { diff, requesting, trace, tally } = this.#options
    const memory = new ReplayedMemory(plan, trace.memory(number), requesting)
    for (const { size } of memory.earlyLeases.values()) tally.activate(size)
    tally.manage(memory.core.managedBytes)
    const now = (): number => diff?.nextAt ?? requesting.time.now
    const rows = this.#rows && new RowEmitter(memory.told, memory.recordedBudgets, now, this.#rows)
    memory.observe(new ReplayObserver(memory, tally, rows))
    return memory
  }

  /** The event at a place has come. A memory of which no more is told is forgotten, unless something of it goes on. */
  passed(number: number, place: number): void {
    if (place < this.#options.trace.memory(number).last) return
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
    const { families } = this.#options.trace.memory(number)
    return this.#there.get(number)?.facts ?? this.#forgotten.get(number) ??
      { memories: [memoryUnder(plan)], families, blocks: [] }
  }
}
