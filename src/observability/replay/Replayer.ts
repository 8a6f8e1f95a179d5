/**
 * Replays the events of a recording, from the first to the last, through the pool's own code.
 *
 * An event says either what came from outside of the pool (a request, the end of a lease, an answer of the driver, a trim, a limit), or
 * what the pool did. The replay does the first to the simulated pool. Of the second it makes sure that the pool has come so far. Under the
 * recorded policy the order of events decides who goes on, as `Turns` says; under another one everybody does, as soon as they can.
 *
 * @internal
 */
import { type GpuError, invalidRequest } from "../../domain/GpuError.ts"
import type { GaveUp, LimitChanged, OfRequest, PoolEvent, Released, TrimAsked } from "../../domain/pool/PoolEvent.ts"
import type { Lease } from "../../services/lease/Lease.ts"
import { isFailure, isTooLarge } from "../events/Failure.ts"
import { EventReader } from "../recording/EventReader.ts"
import type { MemoryNames } from "../recording/EventRow.ts"
import { RecordingBuilder } from "../recording/RecordingBuilder.ts"
import { namesOf, type Recording, startOf } from "../recording/RecordingModel.ts"
import { Likeness } from "./Likeness.ts"
import { mostMemories, type Replayed, ReplayedMemories } from "./ReplayedMemories.ts"
import type { ReplayPlan } from "./ReplayOptions.ts"
import { type Failed, Requesting } from "./Requesting.ts"
import type { Script } from "./Script.ts"
import { StepBound } from "./StepBound.ts"
import { Tally } from "./Tally.ts"
import type { Ticket } from "./Ticket.ts"
import { Turns } from "./Turns.ts"
import { VirtualTime } from "./VirtualTime.ts"

export interface ReplayerOptions {
  readonly plan: ReplayPlan
  readonly script: Script
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
  readonly #turns: Turns
  readonly #recorded: EventReader
  readonly #names: ReadonlyMap<number, MemoryNames>
  /** The next events of the recording, as far as they were looked at. */
  readonly #ahead: Array<PoolEvent> = []
  /** Those of them for which a request has begun before its first event, which may be over already. */
  readonly #begun = new WeakSet<PoolEvent>()
  /** The place of the event that has come last. */
  #at = -1
  /** Under the recorded policy, if the events of the replay are wanted. */
  readonly #likeness: Likeness | undefined

  constructor(recording: Recording, options: ReplayerOptions) {
    const { plan, script } = options
    this.#options = options
    this.#likeness = plan.isSame && options.keepsEvents ? new Likeness(recording) : undefined
    this.#recorded = new EventReader(recording)
    this.#names = namesOf(recording)
    this.#length = recording.length
    const idleSteps = plan.memories.reduce((most, { settings: { idle } }) => Math.max(most, idle?.steps ?? 0), 0)
    this.#bound = new StepBound(recording.blocks.length, idleSteps)
    this.#time = new VirtualTime(startOf(recording), !plan.isSame, this.#bound, () => this.#requesting.length)
    this.#turns = new Turns(this.#time, plan.isSame, this.#bound)
    this.tally = new Tally(() => this.#time.now)
    this.#requesting = new Requesting({
      script,
      isSame: plan.isSame,
      time: this.#time,
      turns: this.#turns,
      tally: this.tally,
      endsWith: options.endsWith,
      place: () => this.#at
    })
    this.#memories = new ReplayedMemories(recording, {
      plan,
      script,
      requesting: this.#requesting,
      time: this.#time,
      turns: this.#turns,
      tally: this.tally,
      likeness: this.#likeness,
      events: options.keepsEvents ? this.events : undefined,
      place: () => this.#at
    })
  }

  /** The place of the first event that is other than recorded, under the recorded policy. */
  get differsAt(): number | undefined {
    return this.#likeness?.differsAt
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
    const replayed = this.#memories.of(event.memoryNumber)
    if (replayed === undefined) return
    if ("request" in event) this.#ofRequest(event, replayed)
    else this.#ofMemory(event, replayed)
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
    const own = this.#ticketOf(event)
    if (own !== undefined && (this.#turns.goOn(own) || this.#answer(event, own) || this.#end(event, own))) return true
    for (let after = 0; after < mostAhead; after++) {
      const next = this.#peek(after)
      if (next === undefined || !("request" in next)) continue
      const ticket = this.#ticketOf(next)
      if (ticket === undefined ? this.#begin(next) : this.#answer(next, ticket)) return true
    }
    return false
  }

  #ticketOf(event: PoolEvent): Ticket | undefined {
    return "request" in event ? this.#requesting.tickets.get(event.request) : undefined
  }

  /** Memory is back: for the program or the clock, or for a request, which goes on in the same step with what the recording tells next. */
  #reclaimed(event: PoolEvent, { device, simulated }: Replayed): boolean {
    const next = this.#nextOf(event.memoryNumber)
    const isInterrupted = next?._tag === "GaveUp" && next.why === "interrupted"
    const asked = next === undefined || isInterrupted ? undefined : this.#ticketOf(next)
    // The request whose event is next has its memory back now, before memory that no request waits for, even if that was freed earlier.
    if ((asked !== undefined && device.reclaimed(asked)) || device.reclaimed(undefined)) return true
    if (asked !== undefined && this.#turns.goOn(asked)) return true
    const { freesAreLate } = simulated.memory.machine.memory
    if (next !== undefined && "request" in next && freesAreLate && this.#begin(next)) return true
    // It is back for one that tells nothing of it in this step, since another fiber went on then.
    return device.reclaimedFirst() || this.#letWait()
  }

  /** Lets the first one go on that stands, of those whose events are next: it waits for its memory then. */
  #letWait(): boolean {
    for (let after = 0; after < mostAhead; after++) {
      const next = this.#peek(after)
      const ticket = next === undefined ? undefined : this.#ticketOf(next)
      if (ticket !== undefined && this.#turns.goOn(ticket)) return true
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
    if (this.#ticketOf(first) !== undefined || this.#begun.has(first)) return false
    const simulated = this.#memories.known(first.memoryNumber)?.simulated
    // One that is too large tells that in the step in which it is made.
    if (simulated?.hasWaiters !== true || this.#isOver(first.request) || isTooLarge(first)) return false
    this.#begun.add(first)
    this.#requesting.make(first, simulated)
    return true
  }

  /** The driver or the handlers of the recording answer a request. False when it has not asked them. */
  #answer(event: PoolEvent, ticket: Ticket): boolean {
    switch (event._tag) {
      case "Leased":
      case "Kept":
      case "Refused": {
        const { answer } = ticket
        const [why, block] = event._tag === "Refused" ? [event.why, undefined] : [undefined, event.block]
        if (answer !== undefined) this.#turns.take(ticket, () => answer(why, block))
        return answer !== undefined
      }
      case "HandlersAsked":
        return this.#requesting.answerHandlers(ticket, event.freed)
      default:
        return false
    }
  }

  /** The time of a request is over, or the standstill ends for which it waits. */
  #end(event: PoolEvent, ticket: Ticket): boolean {
    const requesting = this.#requesting
    switch (event._tag) {
      case "RanOut":
        return requesting.endWait(ticket) || requesting.fail(ticket)
      case "Waited":
        return !event.served && requesting.endWait(ticket)
      case "Waiting":
        return requesting.promote(ticket)
      default:
        return false
    }
  }

  /** Whether its last event has come. */
  #isOver(request: number): boolean {
    const fate = this.#options.script.fates.get(request)
    return fate !== undefined && fate.last <= this.#at
  }

  #ofRequest(event: Extract<PoolEvent, OfRequest>, replayed: Replayed): void {
    const requesting = this.#requesting
    const known = requesting.tickets.get(event.request)
    const recorded = this.#options.script.fates.get(event.request)
    // It is over, and the replay has forgotten it.
    if (known === undefined && recorded !== undefined && recorded.first < this.#at) return
    if (event._tag === "Leased") replayed.holders.set(event.block, event.request)
    const losesScope = recorded?.beforeLost === this.#at
    const ticket = known ?? requesting.make(event, replayed.simulated)
    ticket.heard++
    const isTold = (): boolean => ticket.told >= ticket.heard
    switch (event._tag) {
      case "Kept":
        requesting.loseScope(ticket)
        break
      case "Refused":
        if (losesScope) requesting.loseScope(ticket)
        break
      case "GaveUp":
        if (isByProgram(event) && !isTold()) requesting.giveUp(ticket)
        break
      case "HandlersAsked":
        // Under another policy the handlers may be asked at another time.
        if (!this.#options.plan.isSame) this.#answer(event, ticket)
        break
      case "ReservationEnded":
        requesting.endReservation(ticket, event.at)
        break
    }
    this.#until(isTold, event)
    if (isFailure(event)) requesting.refuseLate(ticket)
    if (event._tag === "Waited") {
      // It was to have bytes, and then its scope closed, before it could go on.
      if (losesScope && event.served) requesting.loseScope(ticket)
      // It has left the line without a word: its scope has closed.
      if (!event.served && !isTold()) requesting.giveUp(ticket)
    }
    requesting.passed(ticket)
  }

  #ofMemory(event: Exclude<PoolEvent, OfRequest>, replayed: Replayed): void {
    replayed.heard++
    const { simulated, simulated: { memory } } = replayed
    const isTold = (): boolean => replayed.count >= replayed.heard
    switch (event._tag) {
      case "Released":
        this.#released(event, replayed)
        break
      case "Reclaimed":
        this.#until(isTold, event, () => this.#reclaimed(event, replayed))
        return
      case "IdleStep":
        if (this.#options.plan.isSame) this.#until(isTold, event, () => simulated.wakeIdle(event.steps))
        return
      case "LimitChanged":
        this.#limitChanged(event, replayed)
        break
      case "TrimAsked":
        this.#trimAsked(event, replayed)
        break
      case "HoldingChanged":
        replayed.trimFollows = !event.holds
        simulated.run(event.holds ? memory.resumeHolding : memory.stopHolding)
        break
      case "Lost":
        this.#requesting.beginTurn(simulated)
        simulated.status.lose("as recorded")
        break
      case "Closing":
        this.#requesting.beginTurn(simulated)
        simulated.putFirst(this.#closingLeases(replayed))
        simulated.close(event.pool, event.budgetNumber)
        break
    }
  }

  #holderOf({ holders }: Replayed, block: number): Ticket | undefined {
    const holder = holders.get(block)
    return holder === undefined ? undefined : this.#requesting.tickets.get(holder)
  }

  /** The leases that end now, in order: a recording does not know the scopes that have them. */
  #closingLeases(replayed: Replayed): ReadonlyArray<Lease> {
    const { simulated } = replayed
    const leases = (this.#options.script.closings.get(this.#at) ?? []).map((block) => {
      const holder = this.#holderOf(replayed, block)
      return simulated.earlyLeases.get(block) ?? (holder?.memory === simulated ? holder.live : undefined)
    })
    return leases.filter((lease) => lease !== undefined)
  }

  #released(event: Released, replayed: Replayed): void {
    const { holders, simulated } = replayed
    const early = simulated.earlyLeases.get(event.block)
    if (early !== undefined) {
      simulated.earlyLeases.delete(event.block)
      if (early.list !== undefined) simulated.endLease(early, event.why)
      return
    }
    const ticket = this.#holderOf(replayed, event.block)
    if (ticket === undefined) return
    holders.delete(event.block)
    while (ticket.live === undefined && !ticket.isOver && this.#turns.goOn(ticket));
    this.#requesting.release(ticket, event.why, event.at)
  }

  #limitChanged({ budgetNumber, from, to }: LimitChanged, replayed: Replayed): void {
    const { simulated } = replayed
    if (budgetNumber !== undefined) {
      simulated.budgetOf(budgetNumber)?.setLimit(to)
    } else if (!simulated.plan.hasOwnLimit) {
      replayed.trimFollows = to < from
      simulated.run(simulated.memory.setMaxBytes(to))
    } else {
      replayed.trimFollows = to < from
    }
  }

  #trimAsked({ all, queue, to }: TrimAsked, replayed: Replayed): void {
    const { simulated } = replayed
    if (replayed.trimFollows) replayed.trimFollows = false
    else simulated.trim(all ? undefined : to, queue)
  }
}

/** Whether the program ends it, rather than the pool. */
const isByProgram = ({ why }: GaveUp): boolean => why === "interrupted" || why === "scopeClosed"

/** How many events are looked at for the one who goes on. */
const mostAhead = 8
