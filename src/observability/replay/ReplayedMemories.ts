/**
 * The memories of a recording while it is replayed. One takes 25 kB, and a recording may have very many, one after the other: each is made
 * for its first event, and forgotten after its last.
 *
 * @internal
 */
import type { Recording } from "../recording/Recording.ts"
import type { RecordingBuilder } from "../recording/RecordingBuilder.ts"
import type { Likeness } from "./Likeness.ts"
import { ReplayEmitter, type Told } from "./ReplayEmitter.ts"
import { type MemoryPlan, memoryUnder, type ReplayPlan } from "./ReplayOptions.ts"
import type { Requesting } from "./Requesting.ts"
import { RowEmitter, type Rows } from "./RowEmitter.ts"
import type { Script } from "./Script.ts"
import { SimulatedDevice } from "./simulated/SimulatedDevice.ts"
import { SimulatedMemory } from "./simulated/SimulatedMemory.ts"
import type { Tally } from "./Tally.ts"
import type { Turns } from "./Turns.ts"
import type { VirtualTime } from "./VirtualTime.ts"

/** One memory of the recording, with what the replay has to know of it. */
export interface Replayed extends Told {
  readonly simulated: SimulatedMemory
  readonly device: SimulatedDevice
  /** The requests that have the blocks of the recording, by the numbers of these. */
  readonly holders: Map<number, number>
  /** Events of no request that the recording has told. */
  heard: number
  /** A trim that was asked for with a limit or the end of holding follows. */
  trimFollows: boolean
}

export interface ReplayedMemoriesOptions {
  readonly plan: ReplayPlan
  readonly script: Script
  readonly requesting: Requesting
  readonly time: VirtualTime
  readonly turns: Turns
  readonly tally: Tally
  readonly likeness: Likeness | undefined
  /** Has the events of the replay, if they are wanted. */
  readonly events: RecordingBuilder | undefined
  /** The place of the event that has come last. */
  readonly place: () => number
}

type Facts = SimulatedMemory["facts"]

/** So many there may be at one time. */
export const mostMemories = 16_384

export class ReplayedMemories {
  readonly #options: ReplayedMemoriesOptions
  readonly #tellsReclaims: boolean
  readonly #rows: Rows | undefined
  readonly #plans: ReadonlyMap<number, MemoryPlan>
  readonly #there = new Map<number, Replayed>()
  /** What the recording of the replay states of those that were forgotten. */
  readonly #forgotten = new Map<number, Facts>()

  constructor({ reason }: Recording, options: ReplayedMemoriesOptions) {
    const { events, likeness, plan: { memories }, script } = options
    this.#options = options
    // Files of other tools do not tell when memory is back.
    this.#tellsReclaims = reason !== "imported"
    this.#rows = events && {
      row: events.row,
      add: () => {
        events.addRow()
        likeness?.take(events.row)
      }
    }
    this.#plans = new Map(memories.map((plan) => [plan.memory.number, plan]))
    // What has blocks before the first event counts from there on.
    for (const number of this.#plans.keys()) if (script.memory(number).blocks.length > 0) this.of(number)
  }

  /** Whether there are more at one time than may be. */
  get areTooMany(): boolean {
    return this.#there.size > mostMemories
  }

  /** One that has begun. */
  known(number: number): Replayed | undefined {
    return this.#there.get(number)
  }

  /** The memory with a number, which begins with its first event. */
  of(number: number): Replayed | undefined {
    const known = this.#there.get(number)
    if (known !== undefined) return known
    const plan = this.#plans.get(number)
    if (plan === undefined) return undefined
    const made = this.#make(number, plan)
    this.#there.set(number, made)
    return made
  }

  #make(number: number, plan: MemoryPlan): Replayed {
    const { likeness, place, plan: { isSame }, requesting, script, tally, time, turns } = this.#options
    const told = script.memory(number)
    const device = new SimulatedDevice(requesting, told, isSame, this.#tellsReclaims, time, place)
    const handlers = requesting.handlersOf(number)
    const simulated = new SimulatedMemory(plan, told, isSame, time, turns.scheduler, device, handlers)
    device.memory = simulated.memory
    const replayed: Replayed = { simulated, device, holders: new Map(), heard: 0, count: 0, trimFollows: false }
    for (const { size } of simulated.earlyLeases.values()) tally.activate(size)
    tally.manage(simulated.memory.core.managedBytes)
    const now = (): number => likeness?.nextAt ?? time.now
    const made = this.#rows &&
      new RowEmitter(simulated.heard, now, requesting.tickets, simulated.recordedBudgets, this.#rows)
    simulated.hear(new ReplayEmitter(requesting, tally, replayed, made))
    return replayed
  }

  /** The event at a place has come. A memory of which no more is told is forgotten, unless something of it goes on. */
  passed(number: number, place: number): void {
    if (place < this.#options.script.memory(number).last) return
    const simulated = this.#there.get(number)?.simulated
    if (simulated?.isIdle !== true) return
    this.#there.delete(number)
    this.#forgotten.set(number, simulated.facts)
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
    const { families } = this.#options.script.memory(number)
    return this.#there.get(number)?.simulated.facts ?? this.#forgotten.get(number) ??
      { memories: [memoryUnder(plan)], families, blocks: [] }
  }
}
