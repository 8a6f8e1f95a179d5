/**
 * Replays the events of a recording, from the first to the last, through the pool's own code.
 *
 * An event says either what came from outside of the pool (a request, the end of a lease, an answer of the driver, a trim, a limit), or
 * what the pool did. The replay does the first to the simulated pool. Of the second it makes sure that the pool has come so far: it
 * runs tasks until the pool has told the same, where the policy is the recorded one, and all tasks, where it is another.
 *
 * @internal
 */
import type { LimitChanged, OfRequest, PoolEvent, Released, TrimAsked } from "../../domain/pool/PoolEvent.ts"
import type { Lease } from "../../services/lease/Lease.ts"
import { PoolEmitter } from "../events/PoolEmitter.ts"
import { events, type Recording } from "../recording/Recording.ts"
import { RecordingBuilder } from "../recording/RecordingBuilder.ts"
import { renamed, ReplayEmitter, type Told } from "./ReplayEmitter.ts"
import type { ReplayPlan } from "./ReplayOptions.ts"
import { type Failed, Requesting } from "./Requesting.ts"
import type { Script } from "./Script.ts"
import { SimulatedDevice } from "./SimulatedDevice.ts"
import { SimulatedMemory } from "./SimulatedMemory.ts"
import { Tally } from "./Tally.ts"
import type { Ticket } from "./Ticket.ts"
import { VirtualTime } from "./VirtualTime.ts"

/** One memory of the recording, with what the replay has to know of it. */
interface Replayed extends Told {
  readonly simulated: SimulatedMemory
  readonly device: SimulatedDevice
  /** Events of no request that the recording has told. */
  heard: number
  /** A trim that was asked for with a limit or the end of holding follows. */
  trimFollows: boolean
}

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
  readonly #time: VirtualTime
  readonly #memories = new Map<number, Replayed>()
  readonly #requesting: Requesting
  /** The requests that have the blocks of the recording, by the numbers of these. */
  readonly #holders = new Map<number, number>()
  readonly #earlyLeases = new Map<number, SimulatedMemory["earlyLeases"][number]["lease"]>()
  readonly #events: Iterator<PoolEvent, void>
  /** The next event of the recording, and the place of the one before it. */
  #next: PoolEvent | undefined
  #at = -1

  constructor(recording: Recording, options: ReplayerOptions) {
    const { plan, script } = options
    this.#options = options
    this.#events = events(recording)
    this.#next = take(this.#events)
    this.#time = new VirtualTime(this.#next?.at ?? recording.takenAt)
    this.tally = new Tally(() => this.#time.now)
    this.#requesting = new Requesting({
      script,
      isSame: plan.isSame,
      time: this.#time,
      tally: this.tally,
      endsWith: options.endsWith,
      place: () => this.#at,
      goOn: () => this.#goOn(),
      endsNow: (ticket) => this.#endsNow(ticket)
    })
    for (const memory of plan.memories) {
      const { number } = memory.memory
      const told = script.memory(number)
      const device = new SimulatedDevice(this.#requesting, told, script, plan.isSame, this.#time, () => this.#at)
      const simulated = new SimulatedMemory(memory, recording, told, plan.isSame, this.#time, device)
      device.memory = simulated.memory
      const replayed: Replayed = { simulated, device, heard: 0, count: 0, trimFollows: false }
      this.#memories.set(number, replayed)
      for (const { block, lease } of simulated.earlyLeases) {
        this.#earlyLeases.set(block, lease)
        this.tally.activate(lease.size)
      }
      this.tally.manage(simulated.memory.core.managedBytes)
      const budgets = new Map<number, number>()
      const tell = (event: PoolEvent): void => {
        for (const [recorded, budget] of simulated.budgets) budgets.set(budget.number, recorded)
        this.events.add(renamed(event, this.#requesting, budgets))
      }
      const made = options.keepsEvents ? new PoolEmitter(simulated.heard, () => this.#time.now, tell) : undefined
      simulated.hear(new ReplayEmitter(this.#requesting, this.tally, replayed, made))
    }
  }

  get failures(): ReadonlyArray<Failed> {
    return this.#requesting.failures
  }

  /** Whether the requests so far leave anything to look for. */
  get #goesOn(): boolean {
    return !this.#requesting.isOver
  }

  run(): void {
    const { isSame } = this.#options.plan
    while (this.#next !== undefined && this.#goesOn) this.#step(this.#next)
    if (isSame) this.#time.drain()
    else this.#time.finish(() => this.#goesOn)
    if (this.#goesOn) this.#requesting.finish()
    for (const { simulated } of this.#memories.values()) simulated.end()
    this.#time.drain()
  }

  #step(event: PoolEvent): void {
    this.#time.advance(event.at)
    // What was due by then may have gone on with it.
    if (this.#next !== event) return
    this.#at++
    this.#next = take(this.#events)
    const replayed = this.#memories.get(event.memoryNumber)
    if (replayed === undefined) return
    if (!this.#options.plan.isSame) this.#time.drain()
    if ("request" in event) this.#ofRequest(event, replayed)
    else this.#ofMemory(event, replayed)
  }

  /** A request has its answer, and the program goes on in the same step: with what it did next, as far as the recording tells. */
  #goOn(): void {
    for (let next = this.#next; next !== undefined && this.#isNow(next); next = this.#next) this.#step(next)
  }

  /** Whether the next event has been told already, or is something that the program does, after everything else was told. */
  #isNow(next: PoolEvent): boolean {
    const ahead = this.#requesting.told - this.#at - 1
    if (next.at !== this.#time.now || ahead !== 0) return next.at === this.#time.now && ahead > 0
    if ("request" in next) {
      const ticket = this.#requesting.tickets.get(next.request)
      if (next._tag === "ReservationEnded") return ticket?.endReservation !== undefined
      return next._tag === "GaveUp" || ticket === undefined
    }
    return next._tag === "Released" || next._tag === "LimitChanged" || next._tag === "TrimAsked" ||
      next._tag === "HoldingChanged"
  }

  #endsNow({ asked }: Ticket): boolean {
    const next = this.#next
    return this.#requesting.told === this.#at + 1 && next?._tag === "ReservationEnded" &&
      next.request === asked.request && next.at === this.#time.now
  }

  /** Acts, or runs tasks until it can, until the pool has told what the recording tells now. */
  #until(isTold: () => boolean, act?: () => boolean): void {
    let goesOn = true
    while (goesOn && !isTold()) goesOn = act?.() === true || this.#time.runOne()
  }

  #ofRequest(event: Extract<PoolEvent, OfRequest>, replayed: Replayed): void {
    const requesting = this.#requesting
    const known = requesting.tickets.get(event.request)
    const recorded = this.#options.script.fates.get(event.request)
    // It is over, and the replay has forgotten it.
    if (known === undefined && recorded !== undefined && recorded.first < this.#at) return
    if (event._tag === "Leased") this.#holders.set(event.block, event.request)
    if (known !== undefined) known.heard++
    const losesScope = recorded?.beforeLost === this.#at
    // What the program does next in the same step may come within this.
    const ticket = known ?? requesting.make(event, replayed.simulated)
    const isTold = (): boolean => ticket.told >= ticket.heard
    switch (event._tag) {
      case "Leased":
        if (event.from === "driver") this.#answered(event, ticket, undefined)
        break
      case "Kept":
        requesting.loseScope(ticket)
        this.#answered(event, ticket, undefined)
        break
      case "Refused":
        if (losesScope) requesting.loseScope(ticket)
        this.#answered(event, ticket, event.why)
        break
      case "GaveUp":
        if (!isTold()) requesting.giveUp(ticket)
        break
      case "HandlersAsked":
        this.#until(isTold, () => answer(ticket.answerHandlers, event.freed))
        break
      case "RanOut":
        this.#until(isTold, () => requesting.endWait(ticket))
        if (this.#options.plan.isSame && !isTold()) requesting.endStandstill(ticket)
        requesting.refuseLate(ticket)
        break
      case "Waited":
        if (!event.served) this.#until(isTold, () => requesting.endWait(ticket))
        break
      case "ReservationEnded":
        requesting.endReservation(ticket, event.at)
        break
    }
    if (this.#options.plan.isSame) this.#until(isTold)
    // It was to have bytes, and then its scope closed, before it could go on.
    if (losesScope && event._tag === "Waited" && event.served) requesting.loseScope(ticket)
    // It has left the line without a word: its scope has closed.
    if (event._tag === "Waited" && !event.served && !isTold()) requesting.giveUp(ticket)
  }

  /** The driver's answer to a call of the recording, which the replay may have made as well. */
  #answered(
    event: { readonly block?: number; readonly capacity: number },
    ticket: Ticket,
    why: string | undefined
  ): void {
    if (!this.#options.plan.isSame) return
    const isTold = (): boolean => ticket.told >= ticket.heard
    this.#until(isTold, () => {
      if (ticket.answer === undefined) return false
      ticket.answer(why, event.block)
      return true
    })
  }

  #ofMemory(event: Exclude<PoolEvent, OfRequest>, replayed: Replayed): void {
    replayed.heard++
    const { simulated, simulated: { memory } } = replayed
    switch (event._tag) {
      case "Released":
        this.#released(event, replayed)
        break
      case "Reclaimed":
        this.#until(() => replayed.count >= replayed.heard, () => replayed.device.reclaimed())
        return
      case "IdleStep":
        this.#until(() => replayed.count >= replayed.heard, () => simulated.wakeIdle())
        simulated.idleStepTold()
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
        simulated.status.lose("as recorded")
        break
      case "Closing":
        simulated.putFirst(this.#closingLeases())
        simulated.close(event.pool, event.budgetNumber)
        break
    }
    if (this.#options.plan.isSame) this.#until(() => replayed.count >= replayed.heard)
  }

  #holderOf(block: number): Ticket | undefined {
    const holder = this.#holders.get(block)
    return holder === undefined ? undefined : this.#requesting.tickets.get(holder)
  }

  /** The leases that end now, in order: a recording does not know the scopes that have them. */
  #closingLeases(): ReadonlyArray<Lease> {
    const blocks = this.#options.script.closings.get(this.#at) ?? []
    const leases = blocks.map((block) => this.#earlyLeases.get(block) ?? this.#holderOf(block)?.live)
    return leases.filter((lease) => lease !== undefined)
  }

  #released(event: Released, replayed: Replayed): void {
    const early = this.#earlyLeases.get(event.block)
    if (early !== undefined) {
      this.#earlyLeases.delete(event.block)
      if (early.list !== undefined) replayed.simulated.endLease(early, event.why)
      return
    }
    const ticket = this.#holderOf(event.block)
    if (ticket === undefined) return
    this.#holders.delete(event.block)
    if (this.#options.plan.isSame) this.#until(() => ticket.live !== undefined || ticket.isOver)
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

const take = (events: Iterator<PoolEvent, void>): PoolEvent | undefined => events.next().value ?? undefined

/** Whether somebody waited for the answer. */
const answer = <A>(waits: ((value: A) => void) | undefined, value: A): boolean => {
  waits?.(value)
  return waits !== undefined
}
