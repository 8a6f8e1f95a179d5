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
import { EventReader } from "../../recording/EventChunk.ts"
import type { Asked } from "../../recording/Inputs.ts"
import { RecordingBuilder } from "../../recording/RecordingBuilder.ts"
import { type Recording, startOf } from "../../recording/RecordingModel.ts"
import { mostMemories, Replayer } from "../Replayer.ts"
import type { MemoryPlan, ReplayPlan } from "../ReplayOptions.ts"
import type { Rows } from "../RowPublisher.ts"
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

export class Simulator extends Replayer<SimulatedMemory> {
  /** The events of the replay, if they are wanted. */
  readonly events = new RecordingBuilder()
  readonly #options: SimulatorOptions
  readonly #recording: Recording
  readonly #time: VirtualTime
  readonly #requests: SimulatedRequests
  protected readonly rows: Rows

  constructor(recording: Recording, options: SimulatorOptions) {
    const { endsWith, keepsEvents, plan, trace } = options
    super(recording, plan, (memory) => trace.memory(memory))
    this.#options = options
    this.#recording = recording
    const time = this.#time = new VirtualTime(startOf(recording))
    const { events, failures, tally } = this
    this.#requests = new SimulatedRequests({ trace, time, tally, failures, endsWith })
    this.rows = {
      row: events.row,
      add: () => {
        tally.take(events.row)
        if (keepsEvents) events.addRow()
      },
      withInputs: keepsEvents
    }
  }

  protected make(plan: MemoryPlan): SimulatedMemory {
    return new SimulatedMemory(plan, this.#options.trace.memory(plan.memory.number), this.#time)
  }

  protected now(): number {
    return this.#time.now
  }

  /** Whether the replay continues: its result is open, and no bound is exceeded. */
  get #goesOn(): boolean {
    return !this.#requests.isOver && !this.hasTooMany
  }

  /** Replays all events. Requests that wait at the end stay unserved. */
  run(operation: string): GpuError | undefined {
    this.begin()
    const reader = new EventReader(this.#recording, true)
    while (this.#goesOn && reader.next()) {
      const entry = reader.row.entry(this.names)
      if (entry._tag === "Input") continue
      if (entry._tag !== "Asked") this.#requests.place++
      this.#step(entry)
    }
    this.#time.finish(() => this.#goesOn)
    this.#requests.finish()
    if (!this.hasTooMany) return undefined
    const place = `event ${this.#requests.place + 1} of ${this.#recording.length}`
    const problem = `it has more than ${mostMemories} memories at ${place}, and a replay has no more at one time`
    return invalidRequest(operation, problem, "Record fewer pools at a time.")
  }

  #step(event: PoolEvent | Asked): void {
    this.#time.advance(event.at)
    const memory = this.memoryOf(event.memoryNumber)
    if (memory === undefined) return
    // The first event of a new request is the next event.
    memory.handlersAt(event._tag === "Asked" ? this.#requests.place + 1 : this.#requests.place)
    if (event._tag === "Asked") this.#asked(event, memory)
    else if ("request" in event) this.#ofRequest(event, memory)
    else this.#ofMemory(event, memory)
    this.#time.drain()
    if (this.#requests.place >= memory.trace.last) this.forget(event.memoryNumber)
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
    if (event._tag === "Leased") memory.holders.set(event.block, event.offset ?? 0, event.request)
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
    const { block, offset = 0 } = event
    const early = earlyLeases.get(block, offset)
    if (early !== undefined) {
      earlyLeases.delete(block, offset)
      memory.endLease(early, event.why)
      return
    }
    const holder = holders.get(block, offset)
    const replayed = holder === undefined ? undefined : this.#requests.known.get(holder)
    if (replayed === undefined) return
    holders.delete(block, offset)
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
