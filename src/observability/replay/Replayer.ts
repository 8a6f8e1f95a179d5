/**
 * Replays the events of a recording, from the first to the last, through the pool's own machine.
 *
 * An event says either what came from outside of the machine (a request, the end of a lease, an answer of the driver, a trim, a limit), or
 * what the machine did. The replay gives the first to the machine. Of the second it makes sure that the machine has come so far. Under the
 * recorded policy the order of events decides which request goes on; under another one each does as soon as it can.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type { GaveUp, LimitChanged, OfRequest, PoolEvent, Released, TrimAsked } from "../../domain/pool/PoolEvent.ts"
import { isFailure, isTooLarge } from "../events/Failure.ts"
import { EventReader } from "../recording/EventReader.ts"
import type { MemoryNames } from "../recording/EventRow.ts"
import { RecordingBuilder } from "../recording/RecordingBuilder.ts"
import { namesOf, type Recording, startOf } from "../recording/RecordingModel.ts"
import { Diff } from "./Diff.ts"
import type { Failed } from "./Performing.ts"
import { mostMemories, ReplayedMemories } from "./ReplayedMemories.ts"
import type { ReplayedMemory } from "./ReplayedMemory.ts"
import type { ReplayedRequest } from "./ReplayedRequest.ts"
import type { ReplayedLease } from "./ReplayedSource.ts"
import type { ReplayPlan } from "./ReplayOptions.ts"
import { Requesting } from "./Requesting.ts"
import { StepBound } from "./StepBound.ts"
import { Tally } from "./Tally.ts"
import type { Trace } from "./Trace.ts"
import { VirtualTime } from "./VirtualTime.ts"

export interface ReplayerOptions {
  readonly plan: ReplayPlan
  readonly trace: Trace
  /** Whether the events of the replay are wanted. */
  readonly keepsEvents: boolean
  /** Whether it ends with the first request that fails, or that waits. */
  readonly endsWith: "failure" | "wait" | undefined
}

export class Replayer {
  readonly tally: Tally
  /** The events of the replay, if they are wanted. */
  readonly events = new RecordingBuilder()
  readonly #options: ReplayerOptions
  readonly #length: number
  readonly #bound: StepBound
  readonly #time: VirtualTime
  readonly #memories: ReplayedMemories
  readonly #requesting: Requesting
  readonly #recorded: EventReader
  readonly #names: ReadonlyMap<number, MemoryNames>
  /** The next events of the recording, as far as they were looked at. */
  readonly #ahead: Array<PoolEvent> = []
  /** Those of them for which a request has begun before its first event, which may be over already. */
  readonly #begun = new WeakSet<PoolEvent>()
  /** The place of the event that has come last. */
  #at = -1
  /** Under the recorded policy, if the events of the replay are wanted. */
  readonly #diff: Diff | undefined

  constructor(recording: Recording, options: ReplayerOptions) {
    const { plan, trace } = options
    this.#options = options
    this.#diff = plan.isSame && options.keepsEvents ? new Diff(recording) : undefined
    this.#recorded = new EventReader(recording)
    this.#names = namesOf(recording)
    this.#length = recording.length
    const idleSteps = plan.memories.reduce((most, { settings: { idle } }) => Math.max(most, idle?.steps ?? 0), 0)
    this.#bound = new StepBound(recording.blocks.length, idleSteps)
    this.#time = new VirtualTime(startOf(recording), !plan.isSame, this.#bound, () => this.#requesting.length)
    this.tally = new Tally(() => this.#time.now)
    this.#requesting = new Requesting({
      trace,
      isSame: plan.isSame,
      tellsReclaims: plan.isSame && recording.reason !== "imported",
      time: this.#time,
      bound: this.#bound,
      tally: this.tally,
      endsWith: options.endsWith,
      diff: this.#diff,
      place: () => this.#at
    })
    this.#memories = new ReplayedMemories({
      plan,
      trace,
      requesting: this.#requesting,
      tally: this.tally,
      diff: this.#diff,
      events: options.keepsEvents ? this.events : undefined
    })
  }

  /** The place of the first event that is other than recorded, under the recorded policy. */
  get differsAt(): number | undefined {
    return this.#diff?.differsAt
  }

  /** What the recording of the replay states besides its events. */
  get facts(): ReplayedMemories["facts"] {
    return this.#memories.facts
  }

  get failures(): ReadonlyArray<Failed> {
    return this.#requesting.failures
  }

  /** Whether the requests so far leave anything to look for, and may go on. */
  get #goesOn(): boolean {
    return !this.#requesting.isOver && !this.#bound.isSpent && !this.#memories.areTooMany
  }

  /** Replays all events. Who waits at the end goes on no more. Fails where something repeats itself and leads nowhere. */
  run(operation: string): GpuError | undefined {
    const { isSame } = this.#options.plan
    for (let next = this.#next(); next !== undefined && this.#goesOn; next = this.#next()) {
      this.#at++
      this.#bound.event(this.#requesting.length)
      this.#step(next)
    }
    if (!isSame) this.#time.finish(() => this.#goesOn)
    this.#requesting.finish()
    return this.#problem(operation)
  }

  #problem(operation: string): GpuError | undefined {
    const place = `event ${this.#at + 1} of ${this.#length}`
    if (this.#memories.areTooMany) {
      const problem = `it has more than ${mostMemories} memories at ${place}, and a replay has no more at one time`
      return invalidRequest(operation, problem, "Record fewer pools at a time.")
    }
    if (!this.#bound.isSpent) return undefined
    return invalidRequest(
      operation,
      `the replay repeats itself at ${place}, and comes to no end`,
      "Please report this with the recording: whatever a recording has, its replay ends."
    )
  }

  #next(): PoolEvent | undefined {
    return this.#ahead.length > 0 ? this.#ahead.shift() : this.#read()
  }

  #read(): PoolEvent | undefined {
    return this.#recorded.next() ? this.#recorded.row.event(this.#names) : undefined
  }

  /** The event that comes after so many others. */
  #peek(after: number): PoolEvent | undefined {
    while (this.#ahead.length <= after) {
      const event = this.#read()
      if (event === undefined) return undefined
      this.#ahead.push(event)
    }
    return this.#ahead[after]
  }

  #step(event: PoolEvent): void {
    this.#time.advance(event.at)
    const memory = this.#memories.of(event.memoryNumber)
    if (memory === undefined) return
    if ("request" in event) this.#ofRequest(event, memory)
    else this.#ofMemory(event, memory)
    this.#time.drain()
    this.#memories.passed(event.memoryNumber, this.#at)
  }

  /** Lets others go on until the pool has told what the recording tells now. */
  #until(isTold: () => boolean, event: PoolEvent, act?: () => boolean): void {
    if (!this.#options.plan.isSame) return
    let goesOn = true
    while (goesOn && !isTold() && this.#bound.step()) {
      goesOn = act?.() === true || this.#time.runOne() || this.#goOn(event)
    }
  }

  /** Lets one go on that the event may come of: the request that it is of, or another one, where it tells of that first. */
  #goOn(event: PoolEvent): boolean {
    const own = this.#requestOf(event)
    if (own !== undefined && (this.#requesting.goOn(own) || this.#answer(event, own) || this.#end(event, own))) {
      return true
    }
    for (let after = 0; after < mostAhead; after++) {
      const next = this.#peek(after)
      if (next === undefined || !("request" in next)) continue
      const replayed = this.#requestOf(next)
      if (replayed === undefined ? this.#begin(next) : this.#answer(next, replayed)) return true
    }
    return false
  }

  #requestOf(event: PoolEvent): ReplayedRequest | undefined {
    return "request" in event ? this.#requesting.requests.get(event.request) : undefined
  }

  /** Memory is back: for the program or the clock, or for a request, which goes on in the same step with what the recording tells next. */
  #reclaimed(event: PoolEvent, memory: ReplayedMemory<ReplayedRequest>): boolean {
    const requesting = this.#requesting
    const next = this.#nextOf(event.memoryNumber)
    const isInterrupted = next?._tag === "GaveUp" && next.why === "interrupted"
    const asked = next === undefined || isInterrupted ? undefined : this.#requestOf(next)
    // The request whose event is next has its memory back now, before memory that no request waits for, even if that was freed earlier.
    if (asked !== undefined && requesting.reclaimed(memory, asked)) return true
    if (requesting.reclaimed(memory, undefined)) return true
    if (asked !== undefined && requesting.goOn(asked)) return true
    const { freesAreLate } = memory.machine.memory
    if (next !== undefined && "request" in next && freesAreLate && this.#begin(next)) return true
    // It is back for one that tells nothing of it in this step, since another one went on then.
    return requesting.reclaimedFirst(memory) || this.#letWait()
  }

  /** Lets the first one go on that stands, of those whose events are next: it waits for its memory then. */
  #letWait(): boolean {
    for (let after = 0; after < mostAhead; after++) {
      const next = this.#peek(after)
      const replayed = next === undefined ? undefined : this.#requestOf(next)
      if (replayed !== undefined && this.#requesting.goOn(replayed)) return true
    }
    return false
  }

  /** The next event of a memory. */
  #nextOf(memory: number): PoolEvent | undefined {
    for (let after = 0; after < mostAhead; after++) {
      const next = this.#peek(after)
      if (next === undefined || next.memoryNumber === memory) return next
    }
    return undefined
  }

  /** Begins a request before its first event, where it may meet others that wait. False when it has begun, or may not yet. */
  #begin(first: Extract<PoolEvent, OfRequest>): boolean {
    if (this.#requestOf(first) !== undefined || this.#begun.has(first)) return false
    const memory = this.#memories.known(first.memoryNumber)
    // One that is too large tells that in the step in which it is made.
    if (memory?.hasWaiters !== true || this.#isOver(first.request) || isTooLarge(first)) return false
    this.#begun.add(first)
    this.#requesting.make(first, memory)
    return true
  }

  /** The driver or the handlers of the recording answer a request. False when it has not asked them. */
  #answer(event: PoolEvent, replayed: ReplayedRequest): boolean {
    switch (event._tag) {
      case "Leased":
      case "Kept":
      case "Refused": {
        const { answer } = replayed
        const [why, block] = event._tag === "Refused" ? [event.why, undefined] : [undefined, event.block]
        answer?.(why, block)
        return answer !== undefined
      }
      case "HandlersAsked":
        return this.#requesting.answerHandlers(replayed, event.freed)
      default:
        return false
    }
  }

  /** The time of a request is over, or the standstill ends for which it waits. */
  #end(event: PoolEvent, replayed: ReplayedRequest): boolean {
    const requesting = this.#requesting
    switch (event._tag) {
      case "RanOut":
        return requesting.endWait(replayed) || requesting.fail(replayed)
      case "Waited":
        return event.served ? requesting.serve(replayed) : requesting.endWait(replayed)
      case "Waiting":
        return requesting.promote(replayed)
      default:
        return requesting.serve(replayed)
    }
  }

  /** Whether its last event has come. */
  #isOver(request: number): boolean {
    const outcome = this.#options.trace.outcomes.get(request)
    return outcome !== undefined && outcome.last <= this.#at
  }

  #ofRequest(event: Extract<PoolEvent, OfRequest>, memory: ReplayedMemory<ReplayedRequest>): void {
    const requesting = this.#requesting
    const known = requesting.requests.get(event.request)
    const recorded = this.#options.trace.outcomes.get(event.request)
    // It is over, and the replay has forgotten it.
    if (known === undefined && recorded !== undefined && recorded.first < this.#at) return
    if (event._tag === "Leased") memory.holders.set(event.block, event.request)
    const losesScope = recorded?.beforeLost === this.#at
    const replayed = known ?? requesting.make(event, memory)
    replayed.heard++
    const isTold = (): boolean => replayed.told >= replayed.heard
    switch (event._tag) {
      case "Kept":
        requesting.loseScope(replayed)
        break
      case "Refused":
        if (losesScope) requesting.loseScope(replayed)
        break
      case "GaveUp":
        if (isByProgram(event) && !isTold()) requesting.giveUp(replayed)
        break
      case "HandlersAsked":
        // Under another policy the handlers may be asked at another time.
        if (!this.#options.plan.isSame) this.#answer(event, replayed)
        break
      case "ReservationEnded":
        requesting.endReservation(replayed, event.at)
        break
    }
    this.#until(isTold, event)
    if (isFailure(event)) requesting.refuseLate(replayed)
    if (event._tag === "Waited") {
      // It was to have bytes, and then its scope closed, before it could go on.
      if (losesScope && event.served) requesting.loseScope(replayed)
      // It has left the queue without a word: its scope has closed.
      if (!event.served && !isTold()) requesting.giveUp(replayed)
    }
    requesting.passed(replayed)
  }

  #ofMemory(event: Exclude<PoolEvent, OfRequest>, memory: ReplayedMemory<ReplayedRequest>): void {
    memory.heardOfNone++
    const isTold = (): boolean => memory.toldOfNone >= memory.heardOfNone
    switch (event._tag) {
      case "Released":
        this.#released(event, memory)
        break
      case "Reclaimed":
        this.#until(isTold, event, () => this.#reclaimed(event, memory))
        return
      case "IdleStep":
        if (this.#options.plan.isSame) this.#until(isTold, event, () => memory.idleStep(event.steps))
        return
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
        this.#requesting.beginSection(memory)
        memory.lose()
        break
      case "Closing":
        this.#requesting.beginSection(memory)
        memory.close(event.pool, event.budgetNumber, this.#closingLeases(memory))
        break
    }
  }

  #holderOf({ holders }: ReplayedMemory<ReplayedRequest>, block: number): ReplayedRequest | undefined {
    const holder = holders.get(block)
    return holder === undefined ? undefined : this.#requesting.requests.get(holder)
  }

  /** The leases that end now, in order: a recording does not know the scopes that have them. */
  #closingLeases(memory: ReplayedMemory<ReplayedRequest>): ReadonlyArray<ReplayedLease> {
    const leases = (this.#options.trace.closings.get(this.#at) ?? []).map((block) => {
      const holder = this.#holderOf(memory, block)
      return memory.earlyLeases.get(block) ?? (holder?.memory === memory ? holder.live : undefined)
    })
    return leases.filter((lease) => lease !== undefined)
  }

  #released(event: Released, memory: ReplayedMemory<ReplayedRequest>): void {
    const { earlyLeases, holders } = memory
    const early = earlyLeases.get(event.block)
    if (early !== undefined) {
      earlyLeases.delete(event.block)
      memory.endLease(early, event.why)
      return
    }
    const replayed = this.#holderOf(memory, event.block)
    if (replayed === undefined) return
    holders.delete(event.block)
    while (replayed.live === undefined && !replayed.isOver && this.#requesting.goOn(replayed));
    this.#requesting.release(replayed, event.why, event.at)
  }

  #limitChanged({ budgetNumber, from, to }: LimitChanged, memory: ReplayedMemory<ReplayedRequest>): void {
    if (budgetNumber !== undefined) {
      memory.budgetOf(budgetNumber)?.setLimit(to)
      return
    }
    memory.trimFollows = to < from
    if (!memory.plan.hasOwnLimit) memory.setMaxBytes(to)
  }

  #trimAsked({ all, queue, to }: TrimAsked, memory: ReplayedMemory<ReplayedRequest>): void {
    if (memory.trimFollows) memory.trimFollows = false
    else memory.trim(all ? undefined : to, queue)
  }
}

/** Whether the program ends it, rather than the pool. */
const isByProgram = ({ why }: GaveUp): boolean => why === "interrupted" || why === "scopeClosed"

/** How many events are looked at for the one who goes on. */
const mostAhead = 8
