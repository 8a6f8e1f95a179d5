/**
 * Makes the requests of a recording again, through the pool's own machine, under a policy that may be another one.
 *
 * An event is either an input of the machine (a request, the end of a lease, an answer of the driver, a trim, a limit), or something that
 * the machine did. The replay gives the inputs to the machine, and each request acts on the outputs as soon as it can.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "effect-gpu-pool/GpuError"
import type { GaveUp, LimitChanged, OfRequest, PoolEvent, Released, TrimAsked } from "effect-gpu-pool/PoolEvent"
import { isFailure } from "../../events/Failure.ts"
import { EventReader } from "../../recording/EventReader.ts"
import type { Asked } from "../../recording/Inputs.ts"
import { RecordingBuilder } from "../../recording/RecordingBuilder.ts"
import { namesOf, type Recording, startOf } from "../../recording/RecordingModel.ts"
import { mostMemories, ReplayedMemories } from "../ReplayedMemories.ts"
import type { ReplayPlan } from "../ReplayOptions.ts"
import type { Failed } from "../ReplayReport.ts"
import { Tally } from "../Tally.ts"
import { SimulatedMemory } from "./SimulatedMemory.ts"
import { SimulatedRequests } from "./SimulatedRequest.ts"
import type { Trace } from "./Trace.ts"
import { VirtualTime } from "./VirtualTime.ts"

export interface SimulatorOptions {
  readonly plan: ReplayPlan
  readonly trace: Trace
  /** Whether the events of the replay are wanted. */
  readonly keepsEvents: boolean
  /** Whether it ends with the first request that fails, or with the first that fails or waits. */
  readonly endsWith: "failure" | "wait" | undefined
}

export class Simulator {
  readonly tally = new Tally()
  /** The events of the replay, if they are wanted. */
  readonly events = new RecordingBuilder()
  readonly #options: SimulatorOptions
  readonly #length: number
  readonly #time: VirtualTime
  readonly #memories: ReplayedMemories<SimulatedMemory>
  readonly #requests: SimulatedRequests
  readonly #recorded: EventReader
  readonly #names: ReturnType<typeof namesOf>

  constructor(recording: Recording, options: SimulatorOptions) {
    const { plan, trace } = options
    this.#options = options
    this.#recorded = new EventReader(recording, true)
    this.#names = namesOf(recording)
    this.#length = recording.length
    this.#time = new VirtualTime(startOf(recording))
    const shared = { trace, time: this.#time, tally: this.tally, endsWith: options.endsWith }
    this.#requests = new SimulatedRequests(shared)
    const { events, tally } = this
    this.#memories = new ReplayedMemories({
      plan,
      contentOf: (memory) => trace.memory(memory),
      make: (memory) => new SimulatedMemory(memory, trace.memory(memory.memory.number), this.#time),
      tally,
      now: () => this.#time.now,
      rows: {
        row: events.row,
        add: () => {
          tally.take(events.row)
          if (options.keepsEvents) events.addRow()
        },
        withInputs: options.keepsEvents
      }
    })
  }

  /** The facts for the recording of the replay. */
  get facts(): ReplayedMemories<SimulatedMemory>["facts"] {
    return this.#memories.facts
  }

  get failures(): ReadonlyArray<Failed> {
    return this.#requests.failures
  }

  /** Whether the replay continues: its result is open, and no bound is exceeded. */
  get #goesOn(): boolean {
    return !this.#requests.isOver && !this.#memories.areTooMany
  }

  /** Replays all events. Requests that wait at the end stay unserved. */
  run(operation: string): GpuError | undefined {
    for (; this.#goesOn && this.#recorded.next();) {
      const entry = this.#recorded.row.entry(this.#names)
      if (entry._tag === "Input") continue
      if (entry._tag !== "Asked") this.#requests.place++
      this.#step(entry)
    }
    this.#time.finish(() => this.#goesOn)
    this.#requests.finish()
    if (!this.#memories.areTooMany) return undefined
    const place = `event ${this.#requests.place + 1} of ${this.#length}`
    const problem = `it has more than ${mostMemories} memories at ${place}, and a replay has no more at one time`
    return invalidRequest(operation, problem, "Record fewer pools at a time.")
  }

  #step(event: PoolEvent | Asked): void {
    this.#time.advance(event.at)
    const memory = this.#memories.of(event.memoryNumber)
    if (memory === undefined) return
    // The first event of a new request is the next event.
    memory.handlersAt(event._tag === "Asked" ? this.#requests.place + 1 : this.#requests.place)
    if (event._tag === "Asked") this.#asked(event, memory)
    else if ("request" in event) this.#ofRequest(event, memory)
    else this.#ofMemory(event, memory)
    this.#time.drain()
    if (this.#requests.place >= memory.trace.last) this.#memories.forget(event.memoryNumber)
  }

  /** Makes a request. In a recording without inputs, its first event does so. */
  #asked(asked: Asked, memory: SimulatedMemory): void {
    if (!this.#requests.known.has(asked.request)) this.#requests.make(asked, memory)
  }

  #ofRequest(event: Extract<PoolEvent, OfRequest>, memory: SimulatedMemory): void {
    const requests = this.#requests
    const known = requests.known.get(event.request)
    const recorded = this.#options.trace.outcomes.get(event.request)
    // The replay has forgotten this request, which is over.
    if (known === undefined && recorded !== undefined && recorded.first < this.#requests.place) return
    if (event._tag === "Leased") memory.holders.set(event.block, event.request)
    const replayed = known ?? requests.make(event, memory)
    switch (event._tag) {
      case "GaveUp":
        if (isByProgram(event)) replayed.giveUp()
        break
      case "HandlersAsked":
        replayed.answerHandlers?.(event.freed)
        break
      case "ReservationEnded":
        replayed.endReservation(event.at)
        break
    }
    if (isFailure(event)) replayed.refuseLate()
    replayed.passed()
  }

  #ofMemory(event: Exclude<PoolEvent, OfRequest>, memory: SimulatedMemory): void {
    switch (event._tag) {
      case "Released":
        this.#released(event, memory)
        break
      case "LimitChanged":
        this.#limitChanged(event, memory)
        break
      case "TrimAsked":
        this.#trimAsked(event, memory)
        break
      case "HoldingChanged":
        memory.trimFollows = !event.holds
        memory.setHolding(event.holds)
        break
      case "Lost":
        memory.lose()
        break
      case "Closing":
        memory.close(event.pool, event.budgetNumber)
        break
    }
  }

  #released(event: Released, memory: SimulatedMemory): void {
    const { earlyLeases, holders } = memory
    const early = earlyLeases.get(event.block)
    if (early !== undefined) {
      earlyLeases.delete(event.block)
      memory.endLease(early, event.why)
      return
    }
    const holder = holders.get(event.block)
    const replayed = holder === undefined ? undefined : this.#requests.known.get(holder)
    if (replayed === undefined) return
    holders.delete(event.block)
    replayed.release(event.why, event.at)
  }

  #limitChanged({ budgetNumber, from, to }: LimitChanged, memory: SimulatedMemory): void {
    if (budgetNumber !== undefined) {
      const budget = memory.budgetOf(budgetNumber)
      if (budget !== undefined) memory.inputs.setBudgetLimit(budget, to)
      return
    }
    memory.trimFollows = to < from
    if (!memory.plan.hasOwnLimit) memory.setMaxBytes(to)
  }

  #trimAsked({ all, queue, to }: TrimAsked, memory: SimulatedMemory): void {
    if (memory.trimFollows) memory.trimFollows = false
    else memory.trim(all ? undefined : to, queue)
  }
}

/** Whether the program ended the request, not the pool. */
const isByProgram = ({ why }: GaveUp): boolean => why === "interrupted" || why === "scopeClosed"
